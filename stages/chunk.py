"""chunk: stored files of some documents -> one Parquet part of knowledge_chunk.

One row per chunk; the part's key is the fingerprint of its documents' keys, so the same documents make the same file.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pyarrow as pa

from canonry import schemas, text, tokens
from canonry.config import ChunkSettings
from canonry.records import Chunk, Document, HeadingRule
from stages import chunking
from stages.chunking.marks import MarkError
from stages.hash import EXTENSIONS as EXTENSIONS

VERSION = f"1.{chunking.VERSION}"
_MARKERS = re.compile(r"<!--\s*(?:canonry|page)\s*:.*?-->", re.DOTALL)
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class ChunkReport:
    """What `chunk_documents` wrote. `rejected` are (document key, reason) of documents that say something unreadable."""

    part: Path | None
    chunks: dict[str, int]  # document key -> number of chunks
    rejected: list[tuple[str, str]] = field(default_factory=list)


def document_key(content_hash: str, kind: str, rules: Sequence[HeadingRule], settings: ChunkSettings) -> str:
    """The fingerprint of everything that decides a document's chunks."""
    made_from = f"{_fingerprint(settings)}|{content_hash}|{kind}|{tuple(rules)!r}"
    return hashlib.sha256(made_from.encode()).hexdigest()[:32]


@cache
def _fingerprint(settings: ChunkSettings) -> str:
    return f"{VERSION}|{tokens.COUNTER}|{settings!r}"


def chunk_id(content_hash: str, start_byte: int, end_byte: int) -> str:
    """The id of a span of a content: the same on every machine, without white space."""
    return "c" + hashlib.sha256(f"{content_hash}:{start_byte}:{end_byte}".encode()).hexdigest()[:20]


def part_key(keys: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(sorted(keys)).encode()).hexdigest()[:20]


def plain(passage: str) -> str:
    """A passage without canonry's own comments, NFC, white space collapsed: what is indexed and embedded."""
    return _SPACE.sub(" ", unicodedata.normalize("NFC", _MARKERS.sub(" ", passage))).strip()


def embedding_parts(heading_path: Sequence[str], lead: str, passage: str) -> tuple[str, str]:
    """(prefix, body) of what an embedder is given for a chunk."""
    return " > ".join(heading_path), plain(f"{lead}\n{passage}" if lead else passage)


def chunk_documents(documents: Sequence[Document], files: Path, out: Path, settings: ChunkSettings) -> ChunkReport:
    """Cut the documents, whose bytes lie in `files`, into a part in the folder `out`. Documents of equal key are cut once."""
    rows: list[dict[str, object]] = []
    counts: dict[str, int] = {}
    rejected: list[tuple[str, str]] = []
    for document in documents:
        if document.key in counts:
            continue
        data = (files / f"{document.content_hash}.{EXTENSIONS[document.kind]}").read_bytes()
        try:
            chunks = cut(data, document, settings)
        except MarkError as error:
            rejected.append((document.key, str(error)))
            continue
        counts[document.key] = len(chunks)
        rows += [_row(document, chunk, data) for chunk in chunks]
    if not counts:
        return ChunkReport(None, counts, rejected)
    part = out / f"chunks-{part_key(list(counts))}.parquet"
    schemas.write(
        pa.Table.from_pylist(rows, schemas.CHUNK),
        part,
        schemas.CHUNK_CONTRACT,
        {"documents": counts, "chunker": VERSION},
    )
    return ChunkReport(part, counts, rejected)


def cut(data: bytes, document: Document, settings: ChunkSettings) -> list[Chunk]:
    """A document's chunks; its front matter is not part of any."""
    return chunking.chunk_document(data, document.kind, settings, document.heading_rules)


def _row(document: Document, chunk: Chunk, data: bytes) -> dict[str, object]:
    passage = data[chunk.start_byte : chunk.end_byte].decode("utf-8")
    prefix, body = embedding_parts(chunk.heading_path, chunk.lead, passage)
    return {
        "document_key": document.key,
        "chunk_index": chunk.index,
        "chunk_id": chunk_id(document.content_hash, chunk.start_byte, chunk.end_byte),
        "content_hash": document.content_hash,
        "start_byte": chunk.start_byte,
        "end_byte": chunk.end_byte,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "heading_path": list(chunk.heading_path),
        "page": chunk.page,
        "token_count": chunk.token_count,
        "spoiler_level": chunk.marks.spoiler_level,
        "spoiler_tags": list(chunk.marks.spoiler_tags),
        "hidden": chunk.marks.hidden,
        "lead": chunk.lead,
        "text": passage,
        "text_hash": _short_hash(f"{prefix}\0{body}"),
        "body_hash": _short_hash(text.same_text_form(body)),
    }


def _short_hash(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8")).hexdigest()[:32]
