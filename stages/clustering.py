"""Where the chunks of the lexical store go: clustered, so that what a query may see is a handful of row ranges."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from canonry import schemas, text
from canonry.records import Document

_KEYS = ["document_key", "chunk_index", "spoiler_level", "spoiler_tags", "hidden"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk goes, in the order of clustering."""

    hidden: bool
    level: int
    order: tuple[int, str]
    index: int
    version_id: str
    document_key: str
    marks: tuple[int, str, int]  # of the text: level, tags as JSON, hidden


def clustered(parts: Sequence[Path], documents: Sequence[Document]) -> list[Place]:
    """A place for each chunk of each document, in the order in which rows are numbered."""
    owners: dict[str, list[Document]] = {}
    for document in documents:
        owners.setdefault(document.key, []).append(document)
    places: list[Place] = []
    for key, index, level, tags, hidden in _tuples(parts, _KEYS):
        marks = (int(level), json.dumps(sorted(map(text.fold, tags)), ensure_ascii=False), int(hidden))
        for document in owners.get(key, ()):
            places.append(
                Place(
                    bool(hidden),
                    max(int(level), document.spoiler_level),
                    document.order,
                    int(index),
                    document.version_id,
                    key,
                    marks,
                )
            )
    places.sort(key=lambda place: (place.hidden, place.level, place.order, place.version_id, place.index))
    return places


def _tuples(parts: Sequence[Path], columns: list[str]) -> Iterator[tuple[Any, ...]]:
    seen: set[str] = set()
    for part in parts:
        table = schemas.read(part, schemas.CHUNK_CONTRACT, columns)
        keys = table.column("document_key").to_pylist()
        fresh = {key for key in keys if key not in seen}
        seen |= fresh
        values = [table.column(name).to_pylist() for name in columns]
        yield from (row for row in zip(*values, strict=True) if row[0] in fresh)


def runs(places: Sequence[Place], first: int) -> Iterator[tuple[int, int, str, int, str, int]]:
    """(first, last, version, level, tags, hidden) of each stretch of rows of one version and one set of marks."""
    start = first
    for row, place in enumerate(places, first):
        after = places[row - first + 1] if row - first + 1 < len(places) else None
        if after is None or (after.version_id, after.marks) != (place.version_id, place.marks):
            yield (start, row, place.version_id, *place.marks)
            start = row + 1
