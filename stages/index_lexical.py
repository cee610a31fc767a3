"""index (lexical): Parquet parts of knowledge_chunk -> the FTS5 store, changed in one transaction or not at all.

`build` writes every row anew, clustered; `change` adds versions at the tail and removes others. A reader sees the
store before or after, never between.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from canonry import database, lexical, schemas, text
from canonry.records import Document
from stages.clustering import Place, clustered, runs
from stages.hash import EXTENSIONS

VERSION = f"1.{text.VERSION}"
COMMON_FROM = 0.01  # a term in more than this share of the rows is noted with its number of rows
SAMPLED_ROWS = 4_000  # for that count, spread evenly
_CHUNK_COLUMNS = (
    "chunk_index", "start_byte", "end_byte", "start_line", "end_line", "page", "token_count", "text_hash", "body_hash",
)  # fmt: skip
_WRITTEN = ["document_key", "chunk_id", "heading_path", "heading_terms", "body_terms", *_CHUNK_COLUMNS]
_INSERT_CHUNK = "INSERT INTO knowledge_chunk VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"


@dataclass(frozen=True, slots=True)
class LexicalReport:
    """What a change of the lexical store did, in rows."""

    added: int
    removed: int
    total: int


LayOut = Callable[[Sequence[tuple[int, str, str]], str, tuple[str, str]], dict[str, str]]


def build(
    parts: Sequence[Path], documents: Sequence[Document], store: Path, sequence: int, lay_out: LayOut | None = None
) -> LexicalReport:
    """Write every row of `documents` anew, clustered by (hidden, spoiler level, source, position).

    `lay_out` is given the new (row, chunk id, text hash) rows, the build, and (fingerprint, spec) of the vectors in use; it
    makes a generation of vectors for them and returns what the store must say to name it, so that both are switched at once.
    """
    rows = clustered(parts, documents)
    with _writer(store) as db:
        before = int(db.execute("SELECT count(*) FROM knowledge_chunk").fetchone()[0])
        for table in ("document", "run", "knowledge_chunk", "chunk_terms", "common_term"):
            db.execute(f"DELETE FROM {table}")
        db.execute("INSERT INTO chunk_fts(chunk_fts) VALUES ('delete-all')")
        used, made_as = (lexical.meta(db, "vector_fingerprint"), lexical.meta(db, "vector_spec")), secrets.token_hex(8)
        _set(db, build=made_as, next_row=1, generation="", vectors_to_row=0, vectors_missing=0)
        _insert(db, parts, documents, rows, terms_only=True)
        db.execute("INSERT INTO chunk_fts(chunk_fts, rank) VALUES ('hashsize', 67108864)")
        db.execute("INSERT INTO chunk_fts(chunk_fts) VALUES ('rebuild')")
        _set(db, clustered_to_row=len(rows))
        if lay_out is not None:
            written = db.execute("SELECT row, chunk_id, text_hash FROM knowledge_chunk ORDER BY row").fetchall()
            _set(db, **lay_out(written, made_as, used))
        _finish(db, sequence, len(rows))
    return LexicalReport(len(rows), before, len(rows))


def change(
    parts: Sequence[Path], add: Sequence[Document], remove: Iterable[str], store: Path, sequence: int | None
) -> LexicalReport:
    """Add the versions of `add` at the tail and remove the versions named in `remove`.

    `sequence` is the catalog's, when the store is now up to date with it; None leaves that as it was.
    """
    rows = clustered(parts, add)
    with _writer(store) as db:
        known = {row[0] for row in db.execute("SELECT version_id FROM document")}
        removed = _remove(db, {*remove, *(document.version_id for document in add)} & known)
        _insert(db, parts, add, rows, terms_only=False)
        _finish(db, sequence, len(rows) + removed)
        total = int(db.execute("SELECT count(*) FROM knowledge_chunk").fetchone()[0])
    return LexicalReport(len(rows), removed, total)


def retitle(documents: Iterable[Document], store: Path) -> int:
    """Index versions that are there under the titles of these documents; returns the rows that changed."""
    changed = 0
    with _writer(store) as db:
        for document in documents:
            title = text.index_terms(document.title)
            rows = [row for row in _terms_of(db, document.version_id) if row[1] != title]
            db.executemany(_FORGET_TERMS, rows)
            db.executemany("UPDATE chunk_terms SET title = ? WHERE row = ?", [(title, row[0]) for row in rows])
            db.executemany(
                "INSERT INTO chunk_fts (rowid, title, heading, body) VALUES (?,?,?,?)",
                [(row, title, heading, body) for row, _, heading, body in rows],
            )
            changed += len(rows)
        _finish(db, None, changed)
    return changed


def _insert(
    db: sqlite3.Connection,
    parts: Sequence[Path],
    documents: Sequence[Document],
    places: Sequence[Place],
    *,
    terms_only: bool,
) -> None:
    """Write the rows; with `terms_only` the full-text table itself is left to a rebuild."""
    first = int(lexical.meta(db, "next_row"))
    rows_of: dict[tuple[str, int], list[tuple[int, str]]] = {}
    counts: Counter[str] = Counter()
    for row, place in enumerate(places, first):
        rows_of.setdefault((place.document_key, place.index), []).append((row, place.version_id))
        counts[place.version_id] += 1
    titles = {document.version_id: text.index_terms(document.title) for document in documents}
    for part in parts:
        for batch in schemas.read(part, schemas.CHUNK_CONTRACT, _WRITTEN).to_batches(max_chunksize=2_000):
            _insert_batch(db, batch.to_pydict(), rows_of, titles, terms_only=terms_only)
    db.executemany("INSERT INTO run VALUES (?,?,?,?,?,?)", runs(places, first))
    db.executemany(
        "INSERT INTO document VALUES (?,?,?,?,?)",
        [(d.version_id, d.key, d.content_hash, EXTENSIONS[d.kind], counts[d.version_id]) for d in documents],
    )
    _set(db, next_row=first + len(places))


def _insert_batch(
    db: sqlite3.Connection,
    chunks: dict[str, list[Any]],
    rows_of: dict[tuple[str, int], list[tuple[int, str]]],
    titles: dict[str, str],
    *,
    terms_only: bool,
) -> None:
    """Write the rows of some chunks, given by column; a chunk of two versions has a row for each."""
    stored: list[tuple[Any, ...]] = []
    terms: list[tuple[int, str, str, str]] = []
    paths = [json.dumps(path, ensure_ascii=False) for path in chunks["heading_path"]]
    columns = [chunks[name] for name in _CHUNK_COLUMNS]
    for at, key in enumerate(zip(chunks["document_key"], chunks["chunk_index"], strict=True)):
        for row, version_id in rows_of.pop(key, ()):
            index, start, end, first, last, page, tokens, text_hash, body_hash = (column[at] for column in columns)
            stored.append(
                (
                    row,
                    chunks["chunk_id"][at],
                    version_id,
                    index,
                    start,
                    end,
                    first,
                    last,
                    paths[at],
                    page,
                    tokens,
                    text_hash,
                    body_hash,
                )
            )
            terms.append((row, titles[version_id], chunks["heading_terms"][at], chunks["body_terms"][at]))
    db.executemany(_INSERT_CHUNK, stored)
    db.executemany("INSERT INTO chunk_terms VALUES (?,?,?,?)", terms)
    if not terms_only:
        db.executemany("INSERT INTO chunk_fts (rowid, title, heading, body) VALUES (?,?,?,?)", sorted(terms))


_FORGET_TERMS = "INSERT INTO chunk_fts (chunk_fts, rowid, title, heading, body) VALUES ('delete',?,?,?,?)"


def _terms_of(db: sqlite3.Connection, version_id: str) -> list[tuple[int, str, str, str]]:
    """(row, title, heading, body) of each chunk of a version, as terms."""
    return db.execute(
        "SELECT t.row, t.title, t.heading, t.body FROM knowledge_chunk c JOIN chunk_terms t USING (row) WHERE c.version_id = ?",
        (version_id,),
    ).fetchall()


def _remove(db: sqlite3.Connection, versions: Iterable[str]) -> int:
    removed = 0
    for version_id in sorted(versions):
        rows = _terms_of(db, version_id)
        db.executemany(_FORGET_TERMS, rows)
        db.executemany("DELETE FROM chunk_terms WHERE row = ?", [(row[0],) for row in rows])
        for table in ("knowledge_chunk", "run", "document"):
            db.execute(f"DELETE FROM {table} WHERE version_id = ?", (version_id,))
        removed += len(rows)
    return removed


def _finish(db: sqlite3.Connection, sequence: int | None, changed: int) -> None:
    """Note the common terms anew when enough has changed, and up to which catalog the store is."""
    total = int(db.execute("SELECT count(*) FROM knowledge_chunk").fetchone()[0])
    since = int(lexical.meta(db, "changed_since_count") or 0) + changed
    if since * 10 >= total or not lexical.meta(db, "terms_counted"):
        _count_common_terms(db, total)
        since = 0
    _set(db, changed_since_count=since, terms_counted=1, rows=total)
    if sequence is not None:
        _set(db, catalog_sequence=sequence)


def _count_common_terms(db: sqlite3.Connection, total: int) -> None:
    """How many rows hold each common term, from an even sample of the rows."""
    step = max(1, total // SAMPLED_ROWS)
    rows = [row[0] for row in db.execute("SELECT row FROM knowledge_chunk ORDER BY row")][::step]
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(
            set(
                " ".join(
                    db.execute("SELECT title, heading, body FROM chunk_terms WHERE row = ?", (row,)).fetchone()
                ).split()
            )
        )
    least = max(2, len(rows) * COMMON_FROM)
    db.execute("DELETE FROM common_term")
    db.executemany(
        "INSERT INTO common_term VALUES (?,?)",
        sorted((term, count * step) for term, count in counts.items() if count > least),
    )


def _set(db: sqlite3.Connection, **values: object) -> None:
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?,?)", [(key, str(value)) for key, value in values.items()])


def note_parts(store: Path, parts: Iterable[str]) -> None:
    """Remember which part files there are, so that a lost one is noticed without opening any."""
    names = json.dumps(sorted(parts))
    db = database.open_writer(store, synchronous="NORMAL")
    try:
        if lexical.meta(db, "parts") != names:
            with database.transaction(db):
                _set(db, parts=names)
    finally:
        db.close()


class _writer:  # noqa: N801 - a context manager that reads as a verb
    """One write transaction on the store; makes it, or replaces one that is damaged or of another contract."""

    def __init__(self, store: Path) -> None:
        self._store = store

    def __enter__(self) -> sqlite3.Connection:
        self._store.parent.mkdir(parents=True, exist_ok=True)
        if not is_current(self._store):
            discard(self._store)
        self._db = database.open_writer(self._store, synchronous="NORMAL")
        self._db.execute("PRAGMA cache_size = -131072")
        self._db.execute("BEGIN IMMEDIATE")
        if self._db.execute("PRAGMA application_id").fetchone()[0] != lexical.APPLICATION_ID:
            for statement in lexical.SCHEMA.split(";\n"):
                if statement.strip():
                    self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id = {lexical.APPLICATION_ID}")
            _set(
                self._db,
                contract=lexical.CONTRACT,
                version=VERSION,
                build=secrets.token_hex(8),
                next_row=1,
                catalog_sequence=0,
            )
        return self._db

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._db.rollback() if kind else self._db.commit()
            if kind is None:
                database.empty_log(self._db)
        finally:
            self._db.close()


def compact(store: Path) -> None:
    """Merge the full-text segments, so that no deleted word stays in one, and empty the log."""
    with _writer(store) as db:
        db.execute("INSERT INTO chunk_fts(chunk_fts) VALUES ('optimize')")


def is_current(store: Path) -> bool:
    """Whether the store can be opened and is of this contract and tokenizer. False where there is none."""
    if not store.exists():
        return False
    try:
        db = database.open_reader(store)
        try:
            known = db.execute("PRAGMA application_id").fetchone()[0] == lexical.APPLICATION_ID
            return known and (lexical.meta(db, "contract"), lexical.meta(db, "version")) == (lexical.CONTRACT, VERSION)
        finally:
            db.close()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return False
        raise
    except sqlite3.DatabaseError:  # not a database, or a malformed one
        return False


def discard(store: Path) -> None:
    """Remove a store with its log."""
    for suffix in ("", "-wal", "-shm"):
        store.with_name(store.name + suffix).unlink(missing_ok=True)
