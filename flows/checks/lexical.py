"""The lexical store: whole, up to the catalog, and every row that of the stored bytes."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from canonry import database, lexical
from canonry.errors import NoSpace
from canonry.layout import Layout
from canonry.text import index_terms
from flows.checks.cutting import Slices, digest
from flows.checks.findings import BROKEN, FIX, Examination, Finding, reason
from flows.checks.parts import noted_but_missing
from flows.checks.raw import cut_of, stored
from flows.checks.sqlite_files import damage
from stages import index_lexical
from stages.hash import EXTENSIONS

_CHUNKS = (
    "SELECT c.row, c.chunk_id, c.chunk_index, c.start_byte, c.end_byte, c.start_line, c.end_line, c.heading_path, c.page, "
    "c.token_count, c.text_hash, c.body_hash, t.heading, t.body, t.title FROM knowledge_chunk c "
    "LEFT JOIN chunk_terms t USING (row) WHERE c.version_id = ? ORDER BY c.chunk_index, c.row"
)


def check(look: Examination) -> Iterator[Finding]:
    """Findings about the live lexical store, and whether its versions are the catalog's live ones."""
    at = look.at
    where = look.named(at.lexical)
    if not at.lexical.exists():
        if look.live:
            yield Finding("index-missing", "there is no index", where, FIX, fixable=True)
        return
    try:
        yield from check_store(look, at)
        with closing(database.open_reader(at.lexical)) as db:
            yield from _counts(look, db, where)
            yield from noted_but_missing(look, lexical.meta(db, "parts"))
    except NoSpace:
        raise
    except BROKEN as error:
        yield look.damaged("index-damaged", at.lexical, error, also=_logs(at.lexical))


def _logs(store: Path) -> tuple[Path, ...]:
    return tuple(store.with_name(store.name + suffix) for suffix in ("-wal", "-shm"))


def check_store(look: Examination, at: Layout) -> Iterator[Finding]:
    """Findings about one store, the live one or one of an earlier time; raises what reading a broken one raises."""
    where, remove = look.named(at.lexical), (at.lexical, *_logs(at.lexical))
    if not index_lexical.is_current(at.lexical):
        with closing(database.open_reader(at.lexical)) as db:
            ours = db.execute("PRAGMA application_id").fetchone()[0] == lexical.APPLICATION_ID
        what = "is of another version of canonry" if ours else "is not an index of canonry"
        yield Finding("index-damaged", what, where, FIX, fixable=True, remove=remove)
        return
    with closing(database.open_reader(at.lexical)) as db:
        for line in _integrity(db):
            yield Finding("index-damaged", line, where, FIX, fixable=True, remove=remove)
        differing: list[str] = []
        documents = db.execute(
            "SELECT version_id, document_key, content_hash, extension, chunks FROM document"
        ).fetchall()
        for done, document in enumerate(documents, 1):
            if wrong := _wrong_document(look, db, *document):
                differing.append(wrong)
            look.progress("index", done, len(documents))
        differing += _wrong_counts(db)
        if differing:
            what = f"{len(differing)} of its statements are not those of the stored text: {differing[0]}"
            yield Finding("index-differs", what, where, FIX, fixable=True, remove=remove)


def _integrity(db: sqlite3.Connection) -> Iterator[str]:
    """What SQLite finds wrong with the file, and FTS5 with its index. FTS5 checks only what it may write: a copy."""
    if damaged := damage(db):
        yield damaged
        return
    with tempfile.TemporaryDirectory(prefix="canonry-") as folder, closing(_copy(db, Path(folder))) as copy:
        try:
            copy.execute("INSERT INTO chunk_fts(chunk_fts, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError as error:
            yield f"FTS5 finds its words not to be those of the passages ({reason(error)})"


def _copy(db: sqlite3.Connection, folder: Path) -> sqlite3.Connection:
    copy = sqlite3.connect(folder / "copy.sqlite", isolation_level=None)
    try:
        db.backup(copy)
    except sqlite3.OperationalError as error:
        copy.close()
        if "full" in str(error):
            raise NoSpace(f"{folder}: no room for a copy of the index; set TMPDIR to a folder with some") from error
        raise
    return copy


def _wrong_document(
    look: Examination, db: sqlite3.Connection, version: str, key: str, content: str, extension: str, chunks: int
) -> str:
    """What is wrong with the rows of one version; empty where nothing is."""
    rows = db.execute(_CHUNKS, (version,)).fetchall()
    look.checked["rows"] += len(rows)
    if len(rows) != chunks:
        return f"{version} has {len(rows)} rows where {chunks} were written"
    document = look.versions.get(version)
    if document is not None:
        if (content, extension) != (document.content_hash, EXTENSIONS[document.kind]):
            return f"{version} names another content than the catalog"
        title = index_terms(document.title)
        if any(row[-1] != title for row in rows):
            return f"{version} is indexed under another title"
    cut = cut_of(look, key) if key in look.documents else None
    if cut is not None:
        runs = db.execute(
            "SELECT first, last, spoiler_level, spoiler_tags, hidden FROM run WHERE version_id = ? ORDER BY first",
            (version,),
        ).fetchall()
        if digest(_as_indexed(row, runs) for row in rows) == cut.index:
            return ""
    data = stored(look, content)
    if data is None:
        return ""
    slices = Slices(content, data)
    wrong = next((found for row in rows if (found := slices.wrong(row[1], *row[3:7]))), "")
    if wrong:
        return f"{version}: {wrong}"
    return f"{version} has {len(rows)} rows that differ from the {cut.chunks} cut anew" if cut is not None else ""


def _as_indexed(row: tuple[Any, ...], runs: list[tuple[Any, ...]]) -> list[Any]:
    """A row with the marks of its run, in the form of `cutting.indexed`."""
    level, tags, hidden = next((run[2:] for run in runs if run[0] <= row[0] <= run[1]), (None, "null", None))
    return [
        row[1], row[2], row[3], row[4], row[5], row[6], json.loads(row[7]), *row[8:12], level, json.loads(tags), hidden,
        row[12], row[13],
    ]  # fmt: skip


def _wrong_counts(db: sqlite3.Connection) -> list[str]:
    chunks, terms, covered, documents, top = db.execute(
        "SELECT (SELECT count(*) FROM knowledge_chunk), (SELECT count(*) FROM chunk_terms), "
        "(SELECT coalesce(sum(last - first + 1), 0) FROM run), (SELECT coalesce(sum(chunks), 0) FROM document), "
        "(SELECT coalesce(max(row), 0) FROM knowledge_chunk)"
    ).fetchone()
    wrong = []
    for name, count in (
        ("rows of words", terms),
        ("rows in its runs", covered),
        ("chunks of its documents", documents),
    ):
        if count != chunks:
            wrong.append(f"{count} {name} stand beside {chunks} chunks")
    if str(chunks) != lexical.meta(db, "rows"):
        wrong.append(f"it says that it has {lexical.meta(db, 'rows') or 'no'} rows, and has {chunks}")
    if top >= int(lexical.meta(db, "next_row") or 0):
        wrong.append(f"its next row would be {lexical.meta(db, 'next_row')}, which is taken")
    return wrong


def _counts(look: Examination, db: sqlite3.Connection, where: str) -> Iterator[Finding]:
    """Catalog against index: the same versions."""
    look.checked["documents"] = int(db.execute("SELECT count(*) FROM document").fetchone()[0])
    if not look.versions and look.checked["documents"] and look.settings is None:
        return  # the catalog cannot be read
    indexed = {row[0] for row in db.execute("SELECT version_id FROM document")}
    missing, gone = sorted(set(look.live) - indexed), sorted(indexed - set(look.live))
    do = "`canonry reindex` brings it up to date"
    if missing:
        yield Finding("index-behind", f"lacks {len(missing)} live versions ({missing[0]})", where, do, fixable=True)
    if gone:
        what = f"holds {len(gone)} versions that are not live any more ({gone[0]})"
        yield Finding("index-ahead", what, where, do, fixable=True)
