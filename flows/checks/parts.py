"""The Parquet parts of knowledge_chunk: every row held against the stored bytes that it was cut from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from canonry import schemas
from canonry.records import Document
from flows.checks.cutting import Row, Slices, part_digest
from flows.checks.findings import BROKEN, FIX, FIX_REMOVES, Examination, Finding
from flows.checks.raw import cut_of, stored
from flows.plan import read_index

_ROWS_AT_ONCE = 2_000


def check(look: Examination) -> Iterator[Finding]:
    """Findings about the parts: unreadable, with rows that are not of their text, with documents of no version, incomplete."""
    held: set[str] = set()
    complete = True
    parts = sorted(look.at.chunks.glob("chunks-*.parquet"))
    for done, part in enumerate(parts, 1):
        try:
            yield from _part(look, part, held)
        except BROKEN as error:
            complete = False
            yield look.damaged("part-damaged", part, error)
        look.checked["parts"] += 1
        look.progress("parts", done, len(parts))
    absent = [document for document in look.live.values() if document.key not in held]
    if absent and complete and not _index_is_behind_them(look, absent):
        what = f"the chunks of {len(absent)} live versions are in no part ({absent[0].version_id})"
        yield Finding("parts-incomplete", what, look.named(look.at.chunks), FIX, fixable=True)


def _index_is_behind_them(look: Examination, absent: Sequence[Document]) -> bool:
    """Whether nothing but a reindex is missing: these documents are cut with settings that are not carried out yet."""
    indexed = read_index(look.at).documents
    return all(indexed.get(document.version_id) != document.key for document in absent)


def _part(look: Examination, part: Path, held: set[str]) -> Iterator[Finding]:
    documents = schemas.made_from(part, schemas.CHUNK_CONTRACT)["documents"]
    if not isinstance(documents, dict):
        raise ValueError("its footer names no documents")
    found: Counter[str] = Counter()
    wrong: list[tuple[str, str]] = []
    with pq.ParquetFile(part) as file:
        if not file.schema_arrow.remove_metadata().equals(schemas.CHUNK):
            raise ValueError("its columns are not those of knowledge_chunk")
        for key, group in groupby(_rows(file), itemgetter("document_key")):
            rows = list(group)
            found[key] += len(rows)
            if what := _wrong(look, key, rows):
                wrong.append((key, what))
    for key in documents:  # of which there is no row at all
        cut = cut_of(look, key) if not found[key] else None
        if cut is not None and cut.chunks:
            wrong.append((key, f"document {key} has no row, and {cut.chunks} when it is cut anew"))
    look.checked["chunks"] += sum(found.values())
    held.update(documents)
    counts = {key: count for key, count in documents.items() if count != found[key]}
    where = look.named(part)
    if wrong:
        what = f"the rows of {len(wrong)} documents are not those of their text: {wrong[0][1]}"
        yield Finding("part-differs", what, where, FIX, fixable=True, remove=(part,))
    elif counts or set(found) - set(documents):
        key = next(iter(counts or set(found) - set(documents)))
        what = f"holds {found[key]} chunks of document {key}, where {documents.get(key, 0)} were written"
        yield Finding("part-differs", what, where, FIX, fixable=True, remove=(part,))
    yield from _nobodys(look, part, documents)


def _rows(file: pq.ParquetFile) -> Iterator[dict[str, Any]]:
    for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
        yield from batch.to_pylist()


def _wrong(look: Examination, key: str, rows: Sequence[Row]) -> str:
    """What is wrong with a document's rows; empty where nothing is, or where its bytes cannot be had."""
    cut = cut_of(look, key)
    if cut is not None and cut.part == part_digest(rows):
        return ""
    if what := _wrong_span(look, rows):
        return what
    return "" if cut is None else f"document {key} has {len(rows)} rows that differ from the {cut.chunks} cut anew"


def _wrong_span(look: Examination, rows: Sequence[Row]) -> str:
    content = rows[0]["content_hash"]
    data = stored(look, content)
    if data is None:
        return ""
    slices = Slices(content, data)
    return next((wrong for row in rows if (wrong := slices.wrong_row(row))), "")


def _nobodys(look: Examination, part: Path, documents: dict[str, Any]) -> Iterator[Finding]:
    """Documents that no version has under the present settings: left from earlier ones, or of what was deleted."""
    unknown = {key for key in documents if key not in look.documents}
    if not unknown or not look.versions:
        return
    contents = {document.content_hash for document in look.documents.values()}
    table = schemas.read(part, schemas.CHUNK_CONTRACT, ["document_key", "content_hash"])
    owners = dict(zip(table["document_key"].to_pylist(), table["content_hash"].to_pylist(), strict=True))
    deleted = [key for key in unknown if owners.get(key, next(iter(contents))) not in contents]
    look.stale_documents += len(unknown) - len(deleted)
    if deleted:
        what = f"holds the text of {len(deleted)} documents that no version has any more"
        yield Finding("part-orphan", what, look.named(part), FIX_REMOVES, fixable=True)


def noted_but_missing(look: Examination, noted: str) -> Iterator[Finding]:
    """Part files that the index remembers and that are gone."""
    there = {path.relative_to(look.at.chunks).as_posix() for path in look.at.chunks.glob("**/*.parquet")}
    lost = sorted(set(json.loads(noted or "[]")) - there)
    if lost:
        what = f"{len(lost)} files of chunks or vectors are missing ({lost[0]})"
        yield Finding("parts-missing", what, look.named(look.at.chunks), FIX, fixable=True)
