"""The chunks of a stored version, made anew from its bytes, as a digest to compare with what is stored."""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from canonry import schemas
from canonry.config import ChunkSettings
from canonry.records import Document
from canonry.text import fold
from stages import chunk

_BREAK = re.compile(rb"\r\n?|\n")
_INDEXED = (
    "chunk_id", "chunk_index", "start_byte", "end_byte", "start_line", "end_line", "heading_path", "page", "token_count",
    "text_hash", "body_hash", "spoiler_level", "spoiler_tags", "hidden", "heading_terms", "body_terms",
)  # fmt: skip
Row = Mapping[str, Any]  # a row of knowledge_chunk by column


@dataclass(frozen=True, slots=True)
class Cut:
    """What a document's chunks must be: how many, the digest of its rows in a part, and of what the index holds of them."""

    chunks: int
    part: bytes
    index: bytes


def cut_anew(data: bytes, document: Document, settings: ChunkSettings) -> Cut:
    """The chunks of a stored version as the chunk stage makes them."""
    rows = [
        dict(zip(schemas.CHUNK.names, chunk.chunk_row(document, made, data), strict=True))
        for made in chunk.cut(data, document, settings)
    ]
    return Cut(len(rows), part_digest(rows), digest(map(indexed, rows)))


def part_digest(rows: Iterable[Row]) -> bytes:
    """Of a document's rows of knowledge_chunk, in their order."""
    return digest([row[name] for name in schemas.CHUNK.names] for row in rows)


def indexed(row: Row) -> list[Any]:
    """What the lexical store must hold of a row of knowledge_chunk."""
    tags = sorted(map(fold, row["spoiler_tags"]))
    return [{"spoiler_tags": tags, "hidden": int(row["hidden"])}.get(name, row[name]) for name in _INDEXED]


def digest(rows: Iterable[Sequence[Any]]) -> bytes:
    """Of rows, in their order."""
    hashed = hashlib.sha256()
    for row in rows:
        hashed.update(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
    return hashed.digest()


class Slices:
    """The bytes of a stored version, to hold spans against."""

    def __init__(self, content_hash: str, data: bytes) -> None:
        self._content_hash, self._data = content_hash, data
        self._starts = [0, *(match.end() for match in _BREAK.finditer(data))]

    def wrong(self, chunk_id: str, start: int, end: int, first_line: int, last_line: int) -> str:
        """What is wrong with a chunk's span, in words; empty where nothing is."""
        if not 0 <= start < end <= len(self._data):
            return f"bytes {start}–{end} lie outside the version's {len(self._data):,}"
        try:
            self._data[start:end].decode("utf-8")
        except UnicodeDecodeError:
            return f"bytes {start}–{end} begin or end inside a character"
        lines = bisect_right(self._starts, start), bisect_right(self._starts, end - 1)
        if lines != (first_line, last_line):
            return f"bytes {start}–{end} are lines {lines[0]}–{lines[1]}, not {first_line}–{last_line}"
        if chunk_id != chunk.chunk_id(self._content_hash, start, end):
            return f"chunk id {chunk_id!r} is not that of bytes {start}–{end}"
        return ""

    def wrong_row(self, row: Row) -> str:
        """What is wrong with a row of knowledge_chunk: its span, its text, its hashes."""
        start, end = row["start_byte"], row["end_byte"]
        if wrong := self.wrong(row["chunk_id"], start, end, row["start_line"], row["end_line"]):
            return wrong
        if row["text"].encode("utf-8") != self._data[start:end]:
            return f"its text is not bytes {start}–{end} of the version"
        if (row["text_hash"], row["body_hash"]) != chunk.hashes_of(row["heading_path"], row["lead"], row["text"]):
            return f"the hashes of bytes {start}–{end} are not those of its text"
        return ""
