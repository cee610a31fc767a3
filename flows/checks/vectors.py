"""A generation of vectors: the DuckDB store and the scan file, against each other, the index and the Parquet parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from canonry import database
from canonry.layout import Layout
from canonry.semantic import Scan, to_bytes
from flows.checks.embeddings import wrong_vectors
from flows.checks.findings import BROKEN, FIX, FIX_REMOVES, Examination, Finding
from stages.index_lexical import is_current
from stages.index_vectors import CONTRACT, DUCKDB_CONFIG

_ROWS_AT_ONCE = 8_192
_MEMORY = "512MB"  # of DuckDB, which spills what is more


@dataclass(frozen=True, slots=True)
class _Index:
    """What the lexical store says of its generation; `rows` are those that it covers."""

    meta: dict[str, str]
    rows: dict[int, tuple[str, str]]  # row -> (chunk id, text hash)

    @classmethod
    def of(cls, store: Path) -> _Index:
        with closing(database.open_reader(store)) as db:
            meta = dict(db.execute("SELECT key, value FROM meta"))
            found = db.execute(
                "SELECT row, chunk_id, text_hash FROM knowledge_chunk WHERE row <= ?",
                (int(meta.get("vectors_to_row", 0)),),
            )
            return cls(meta, {row: (chunk_id, text_hash) for row, chunk_id, text_hash in found})


def check(look: Examination) -> Iterator[Finding]:
    """Findings about the live generation, and files of generations that nobody names."""
    at = look.at
    try:
        if not is_current(at.lexical):
            return
        index = _Index.of(at.lexical)
    except BROKEN:
        return  # what is wrong with the index is said elsewhere
    generation = index.meta.get("generation", "")
    for path in sorted((*at.index.glob("vectors-*.duckdb*"), *at.index.glob("scan-*.bin"))):
        if not generation or generation not in path.name:
            yield Finding(
                "generation-orphan", "the index names another generation", look.named(path), FIX_REMOVES, fixable=True,
                remove=(path,),
            )  # fmt: skip
    if generation:
        yield from check_generation(look, at, index)


def check_past(look: Examination, past: Layout) -> Iterator[Finding]:
    """Findings about the generation of an index of an earlier time."""
    index = _Index.of(past.lexical)
    if index.meta.get("generation"):
        yield from check_generation(look, past, index)


def check_generation(look: Examination, at: Layout, index: _Index) -> Iterator[Finding]:
    generation = index.meta["generation"]
    store, scan_file = at.vectors(generation), at.scan(generation)
    both = (store, scan_file)
    missing = [path for path in both if not path.exists()]
    if missing:
        what = "the index names it, and it is not there"
        yield Finding("generation-missing", what, look.named(missing[0]), FIX, fixable=True, remove=both)
        return
    try:
        scan = Scan.open(scan_file)
        if wrong := _wrong_names(scan, index):
            yield Finding("generation-differs", wrong, look.named(scan_file), FIX, fixable=True, remove=both)
            return
    except BROKEN as error:
        yield look.damaged("generation-damaged", scan_file, error, also=both)
        return
    try:
        with closing(duckdb.connect(str(store), read_only=True, config=DUCKDB_CONFIG)) as db:
            db.execute("SET enable_progress_bar = false")
            db.execute(f"SET memory_limit = '{_MEMORY}'")
            wrong = _wrong_meta(db, scan) or _wrong_rows(look, db, index) or _wrong_scan(look, db, scan)
            parts = sorted({*at.embeddings(scan.fingerprint).glob("*.parquet")} - look.bad_parts)
            others = [] if wrong else _other_parts(db, parts)
    except BROKEN as error:
        yield look.damaged("generation-damaged", store, error, also=both)
        return
    if wrong:
        yield Finding("generation-differs", wrong, look.named(store), FIX, fixable=True, remove=both)
    for part in others:
        what = "holds vectors that differ from those that were laid out from it"
        yield Finding("embeddings-differ", what, look.named(part), FIX, fixable=True, remove=(part,))


def _wrong_names(scan: Scan, index: _Index) -> str:
    """Whether the scan file is the one that the index names."""
    wanted = [index.meta.get(key, "") for key in ("generation", "build", "vector_fingerprint")]
    found = [scan.generation, scan.build, scan.fingerprint]
    return "" if wanted == found else f"is generation, build and embedder {found}, the index names {wanted}"


def _wrong_meta(db: duckdb.DuckDBPyConnection, scan: Scan) -> str:
    meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
    rows = db.execute("SELECT count(*) FROM knowledge_embedding").fetchall()[0][0]
    wanted = {
        "contract": CONTRACT, "generation": scan.generation, "build": scan.build, "fingerprint": scan.fingerprint,
        "dimensions": str(scan.vectors.shape[1]), "count": str(rows),
    }  # fmt: skip
    for key, value in wanted.items():
        if meta.get(key) != value:
            return f"its {key} is {meta.get(key)}, not {value}"
    return "" if rows == len(scan.rows) else f"has {rows} vectors, its scan file {len(scan.rows)}"


def _wrong_rows(look: Examination, db: duckdb.DuckDBPyConnection, index: _Index) -> str:
    """Vectors against the rows of the index: none of another passage, none missing that there should be."""
    without = dict(index.rows)
    dead = 0
    found = db.execute('SELECT DISTINCT "row", chunk_id, text_hash FROM knowledge_embedding')
    while batch := found.fetchmany(_ROWS_AT_ONCE):
        for row, chunk_id, text_hash in batch:
            if row not in index.rows:
                dead += 1
            elif index.rows[row] != (chunk_id, text_hash):
                return f"has the vector of {chunk_id} at row {row}, where the index has {index.rows[row][0]}"
            else:
                without.pop(row, None)
    look.dead_vectors += dead
    look.checked["vectors"] += len(index.rows) - len(without)
    wordless = look.wordless.get(index.meta.get("vector_fingerprint", ""), set())
    lacking = sum(1 for _, text_hash in without.values() if text_hash not in wordless)
    known = int(index.meta.get("vectors_missing", 0))
    return f"lacks the vectors of {lacking} passages, where {known} are known to be missing" if lacking > known else ""


def _wrong_scan(look: Examination, db: duckdb.DuckDBPyConnection, scan: Scan) -> str:
    """The scan file against the store, vector by vector, in the order in which both were written."""
    blocks = range(0, len(scan.rows), _ROWS_AT_ONCE)
    largest = max((float(np.abs(scan.vectors[at : at + _ROWS_AT_ONCE]).max()) for at in blocks), default=0.0)
    done = 0
    found = db.sql('SELECT "row", vector FROM knowledge_embedding ORDER BY rowid')
    for batch in found.to_arrow_reader(_ROWS_AT_ONCE):
        stop = done + batch.num_rows
        vectors = batch.column(1).flatten().to_numpy(zero_copy_only=False).reshape(batch.num_rows, -1)
        if wrong := wrong_vectors(vectors):
            return wrong
        same = np.array_equal(batch.column(0).to_numpy(), scan.rows[done:stop])
        if not same or not np.array_equal(vectors, scan.vectors[done:stop]):
            return f"differs from its scan file among vectors {done:,} to {stop:,}"
        if scan.bytes_ is not None and not np.array_equal(to_bytes(vectors, largest), scan.bytes_[done:stop]):
            return f"differs from the bytes of its scan file among vectors {done:,} to {stop:,}"
        done = stop
        look.progress("vectors", done, len(scan.rows))
    rows = np.asarray(scan.rows)
    if (np.diff(rows) < 0).any() or scan.single != (len(np.unique(rows)) == len(rows)):
        return "the rows of its scan file are not in their order"
    return ""


def _other_parts(db: duckdb.DuckDBPyConnection, parts: list[Path]) -> list[Path]:
    """Parts with a vector that the store, which agrees with its scan file, has otherwise; one vector a text and window."""
    if not parts:
        return []
    differing = db.execute(
        "SELECT DISTINCT unnest(files) FROM (SELECT list(p.filename) AS files FROM knowledge_embedding e "
        'JOIN read_parquet(?, filename = true) p ON p.text_hash = e.text_hash AND p."window" = e."window" '
        'GROUP BY e."row", e."window" HAVING bool_and(CAST(p.vector AS FLOAT[]) <> CAST(e.vector AS FLOAT[])))',
        [[str(part) for part in parts]],
    ).fetchall()
    return sorted(Path(name) for (name,) in differing)
