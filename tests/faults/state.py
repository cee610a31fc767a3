"""What a data directory answers, holds and has lying about, in forms that can be compared."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb

import canonry
from canonry import schemas
from canonry.embedders import register
from canonry.errors import IndexMissing, NotFound
from canonry.layout import TEMPORARY_PREFIX, Layout
from canonry.semantic import Scan
from tests.fakes import WordBag
from tests.faults.lore import NEW_WORDS, WORDS

Answers = dict[str, Any]  # question -> the answer as JSON, or the name of an error that says there is nothing to ask
Rows = dict[str, list[Any]]  # table or kind of file -> its rows, sorted
TIMES = {"valid_from", "valid_to", "created_at", "imported_at", "updated_at", "superseded_at", "decided_at"}
OF_ONE_RUN = {"created_at", "restored_at", "sequence", "frame_secret"}  # of the catalog's meta
SOUND = {"ok", "NULL value in source_label.label"}  # SQLite 3.40 says the latter of every row of such a table
FILES = {f"file {word}": {"query": word, "role": "narrator", "spoiler_level": 9} for word in (*WORDS, *NEW_WORDS)}
QUESTIONS: dict[str, dict[str, Any]] = FILES | {
    "all by words": {"query": "watch counts dusk", "role": "narrator", "spoiler_level": 9, "limit": 40},
    "player by words": {"query": "watch counts dusk", "limit": 40},
    "by both": {"query": "the ember of part 2", "mode": "hybrid", "limit": 40},
    "by meaning": {"query": "the basalt stands in the square", "mode": "semantic", "limit": 40},
}


def ask(campaign: canonry.Campaign, question: dict[str, Any]) -> dict[str, Any]:
    """An answer without its times."""
    answer = campaign.retrieve(**question).as_json()
    results = [{k: v for k, v in passage.items() if k not in TIMES} for passage in answer["results"]]  # type: ignore[attr-defined]
    return {"degraded": answer["degraded"], "results": results}


def answers_of(at: Layout) -> Answers:
    """What every question gets."""
    register(WordBag())
    register(WordBag("bagofwords"))
    try:
        with canonry.open(at.root).campaign(at.campaign) as campaign:
            return {name: ask(campaign, question) for name, question in QUESTIONS.items()}
    except (NotFound, IndexMissing) as error:
        return dict.fromkeys(QUESTIONS, type(error).__name__)


def passages(answer: Any) -> list[tuple[str, str, str]]:
    """(version, chunk, text) of an answer's passages, in order."""
    found = [] if isinstance(answer, str) else answer["results"]
    return [(one["source_version_id"], one["chunk_id"], one["exact_text"]) for one in found]


def said(answer: Any) -> list[list[str]]:
    """[chunk, text] of an answer's passages, in order; whatever version they are of."""
    return [[chunk, text] for _, chunk, text in passages(answer)]


def leavings(root: Path) -> list[str]:
    """Files in the making that nobody makes any more."""
    places = [path for name in ("data", "out") for path in (root / name).rglob(f"{TEMPORARY_PREFIX}*")]
    return sorted(path.relative_to(root).as_posix() for path in places)


def rows_of(at: Layout, *, apart_from: Collection[str] = ()) -> Rows:
    """Everything the campaign holds, without times, row numbers and the names of generations."""
    if not at.catalog.exists():
        return {"files": sorted(path.as_posix() for path in _files(at))}
    rows = {**_catalog_rows(at), **_chunk_rows(at), **_lexical_rows(at), **_vector_rows(at), "files": _kinds(at)}
    return {name: sorted(found, key=repr) for name, found in rows.items() if name not in apart_from}


def _catalog_rows(at: Layout) -> Rows:
    rows: Rows = {}
    with closing(sqlite3.connect(at.catalog)) as db:
        assert {row[0] for row in db.execute("PRAGMA integrity_check")} <= SOUND
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            cursor = db.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            rows[table] = [
                tuple((value is None) if name in TIMES else value for name, value in zip(names, row, strict=True))
                for row in cursor
            ]
    rows["meta"] = [row for row in rows["meta"] if row[0] not in OF_ONE_RUN]
    return rows


def _chunk_rows(at: Layout) -> Rows:
    chunks: set[str] = set()
    for part in at.chunks.glob("chunks-*.parquet"):
        chunks |= {repr(row) for row in schemas.read(part, schemas.CHUNK_CONTRACT).to_pylist()}
    vectors: set[tuple[str, str, int, str]] = set()
    for part in (at.chunks / "vectors").glob("*/*.parquet"):
        for row in schemas.read(part, schemas.EMBEDDING_CONTRACT).to_pylist():
            vectors.add((part.parent.name, row["text_hash"], row["window"], repr(row["vector"])))
    return {"knowledge_chunk parts": [*chunks], "knowledge_embedding parts": [*vectors]}


def _lexical_rows(at: Layout) -> Rows:
    if not at.lexical.exists():
        return {}
    with closing(sqlite3.connect(at.lexical, isolation_level=None)) as db:
        assert {row[0] for row in db.execute("PRAGMA integrity_check")} <= SOUND
        db.execute("INSERT INTO chunk_fts(chunk_fts, rank) VALUES ('integrity-check', 1)")
        meta = dict(db.execute("SELECT key, value FROM meta"))
        chunks = db.execute(
            "SELECT c.*, r.version_id, r.spoiler_level, r.spoiler_tags, r.hidden, t.title, t.heading, t.body FROM knowledge_chunk c "
            "JOIN run r ON c.row BETWEEN r.first AND r.last JOIN chunk_terms t USING (row)"
        ).fetchall()
        assert len(chunks) == int(meta["rows"]) == db.execute("SELECT count(*) FROM knowledge_chunk").fetchone()[0]
        documents = db.execute("SELECT * FROM document").fetchall()
    kept = {name: meta.get(name) for name in ("contract", "version", "vectors_missing", "vector_fingerprint")}
    return {"lexical": [row[1:] for row in chunks], "documents": documents, "lexical meta": [*kept.items()]}


def _vector_rows(at: Layout) -> Rows:
    generations = sorted(at.index.glob("vectors-*.duckdb"))
    scans = sorted(at.index.glob("scan-*.bin"))
    if not generations:
        return {"generations": [len(generations), len(scans)]}
    with closing(sqlite3.connect(at.lexical)) as db:
        live = dict(db.execute("SELECT key, value FROM meta"))["generation"]
        chunk_of = dict(db.execute("SELECT row, chunk_id FROM knowledge_chunk"))
    with duckdb.connect(str(at.vectors(live)), read_only=True) as store:
        stored = store.execute('SELECT "row", "window", chunk_id, text_hash, vector::VARCHAR FROM knowledge_embedding')
        rows = [(chunk_of[row[0]], *row[1:]) for row in stored.fetchall()]
    scan = Scan.open(at.scan(live))
    scanned = [(chunk_of[row], vector.tolist()) for row, vector in zip(scan.rows.tolist(), scan.vectors, strict=True)]
    return {"generations": [len(generations), len(scans)], "vectors": rows, "scan": scanned}


def _files(at: Layout) -> list[Path]:
    """Every file of the data directory but what may stay: the lock, the note of its last holder, SQLite's logs."""
    staying = ("-wal", "-shm", ".lock", ".holder.json")
    paths = [path for path in at.root.rglob("*") if path.is_file() and not path.name.endswith(staying)]
    return [path.relative_to(at.root) for path in paths]


def _kinds(at: Layout) -> list[Any]:
    """The files, those of parts and generations by their kind alone, each kind once."""
    kinds = set()
    for path in _files(at):
        name = path.name if path.parts[0] == "raw" else path.name.partition("-")[0] + path.suffix
        kinds.add((path.parent.as_posix(), name))
    return [*kinds]


def difference(found: Rows, expected: Rows) -> str:
    """The first rows that differ, for a message."""
    lines = []
    for name in sorted({*found, *expected}):
        ours, theirs = set(map(repr, found.get(name, ()))), set(map(repr, expected.get(name, ())))
        lines += [f"{name}: too many: {row[:300]}" for row in sorted(ours - theirs)[:3]]
        lines += [f"{name}: missing: {row[:300]}" for row in sorted(theirs - ours)[:3]]
    return json.dumps(lines, indent=1, ensure_ascii=False)
