"""chunk: stored files of some documents -> one Parquet part of knowledge_chunk.

One row per chunk; the part's key is the fingerprint of its documents' keys, so the same documents make the same file.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pyarrow as pa

from canonry import schemas, text, tokens
from canonry.config import ChunkSettings
from canonry.errors import DamagedData
from canonry.files import read_stored
from canonry.records import Chunk, Document, HeadingRule
from stages import chunking
from stages.chunking.marks import MarkError
from stages.hash import EXTENSIONS as EXTENSIONS

VERSION = f"1.{chunking.VERSION}.{text.VERSION}"
_MARKERS = re.compile(r"<!--\s*(?:canonry|page)\s*:.*?-->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ChunkReport:
    """What `chunk_documents` wrote.

    `rejected` are (document key, reason) of documents that say something unreadable, or whose stored file is damaged.
    """

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


def searchable(lead: str, passage: str) -> str:
    """What of a chunk is indexed and embedded: its lead and its text, without canonry's own comments."""
    whole = f"{lead}\n{passage}" if lead else passage
    return _MARKERS.sub(" ", whole) if "<!--" in whole else whole


def embedding_parts(heading_path: Sequence[str], lead: str, passage: str) -> tuple[str, str]:
    """(prefix, body) of what an embedder is given for a chunk: NFC, white space collapsed."""
    body = " ".join(searchable(lead, passage).split())
    return " > ".join(heading_path), body if body.isascii() else unicodedata.normalize("NFC", body)


def chunk_documents(documents: Sequence[Document], files: Path, out: Path, settings: ChunkSettings) -> ChunkReport:
    """Cut the documents, whose bytes lie in `files`, into a part in the folder `out`. Documents of equal key are cut once."""
    rows: list[tuple[object, ...]] = []
    counts: dict[str, int] = {}
    rejected: list[tuple[str, str]] = []
    for document in documents:
        if document.key in counts:
            continue
        try:
            data = _stored(files / f"{document.content_hash}.{EXTENSIONS[document.kind]}", document)
            chunks = cut(data, document, settings)
        except (MarkError, DamagedData) as error:
            rejected.append((document.key, str(error)))
            continue
        counts[document.key] = len(chunks)
        rows += [chunk_row(document, chunk, data) for chunk in chunks]
    if not counts:
        return ChunkReport(None, counts, rejected)
    part = out / f"chunks-{part_key(list(counts))}.parquet"
    columns = list(zip(*rows, strict=True)) or [()] * len(schemas.CHUNK)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schemas.CHUNK, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=schemas.CHUNK)
    schemas.write(table, part, schemas.CHUNK_CONTRACT, {"documents": counts, "chunker": VERSION})
    return ChunkReport(part, counts, rejected)


def _stored(path: Path, document: Document) -> bytes:
    """The bytes of a version; DamagedData where they are missing or are not those that were imported."""
    data = read_stored(path)
    if hashlib.sha256(data).hexdigest() != document.content_hash:
        raise DamagedData(f"{path}: its bytes were changed; `canonry verify` says from where to import it again")
    return data


def cut(data: bytes, document: Document, settings: ChunkSettings) -> list[Chunk]:
    """A document's chunks; its front matter is not part of any."""
    return chunking.chunk_document(data, document.kind, settings, document.heading_rules)


def text_hashes(parts: Sequence[Path], keys: Collection[str]) -> set[str]:
    """Hashes of the texts of those documents, by key, in the parts."""
    found: set[str] = set()
    for part in parts:
        table = schemas.read(part, schemas.CHUNK_CONTRACT, ["document_key", "text_hash"])
        rows = zip(table["document_key"].to_pylist(), table["text_hash"].to_pylist(), strict=True)
        found.update(text_hash for key, text_hash in rows if key in keys)
    return found


def hashes_of(heading_path: Sequence[str], lead: str, passage: str) -> tuple[str, str]:
    """(hash of what is embedded, hash of the text alone) of a chunk, both normalised."""
    prefix, body = embedding_parts(heading_path, lead, passage)
    return _short_hash(f"{prefix}\0{body}"), _short_hash(text.same_text_form(body))


def chunk_row(document: Document, chunk: Chunk, data: bytes) -> tuple[object, ...]:
    """A row of knowledge_chunk, in the order of its columns."""
    passage = data[chunk.start_byte : chunk.end_byte].decode("utf-8")
    return (
        document.key,
        chunk.index,
        chunk_id(document.content_hash, chunk.start_byte, chunk.end_byte),
        document.content_hash,
        chunk.start_byte,
        chunk.end_byte,
        chunk.start_line,
        chunk.end_line,
        chunk.heading_path,
        chunk.page,
        chunk.token_count,
        chunk.marks.spoiler_level,
        chunk.marks.spoiler_tags,
        chunk.marks.hidden,
        chunk.lead,
        passage,
        *hashes_of(chunk.heading_path, chunk.lead, passage),
        text.index_terms("\n".join(chunk.heading_path)),
        text.index_terms(searchable(chunk.lead, passage)),
    )


def _short_hash(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8")).hexdigest()[:32]
