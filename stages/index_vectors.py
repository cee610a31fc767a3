"""index (vectors): Parquet parts of knowledge_embedding and the rows of the lexical store -> a new generation.

A generation is the DuckDB vector store and the scan file that queries map; both are whole before the lexical store
names the generation, in one transaction. Older generations are removed afterwards; a reader that still maps one keeps it.
"""

from __future__ import annotations

import itertools
import json
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from canonry import database, lexical, semantic
from canonry.errors import DamagedData
from canonry.files import no_room, whole_file
from stages.embed import Embeddings, read_embeddings

VERSION = "1"
_MOST_NAMED = 500  # rows without a vector that the store names, so that their sources can be told
CONTRACT = "canonry/knowledge_embedding_store/1"
DUCKDB_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
}


@dataclass(frozen=True, slots=True)
class VectorReport:
    """One generation: its name, vectors it holds, passages that still lack one, texts that get none by the reason."""

    generation: str
    vectors: int
    missing: int
    lexical_only: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Matrix:
    """Vectors in the order of the lexical rows; a row with several windows stands several times."""

    rows: np.ndarray  # (n,) int64, ascending
    windows: np.ndarray  # (n,) int32
    chunk_ids: list[str]
    text_hashes: list[str]
    vectors: np.ndarray  # (n, d) float32


@dataclass(frozen=True, slots=True)
class Generation:
    """A generation to be made: its name, its two files, the vectors that go into it."""

    name: str
    vectors: Path
    scan: Path
    embeddings: Path
    spec: str
    fingerprint: str
    dimensions: int


def index_vectors(store: Path, generation: Generation) -> VectorReport:
    """Make the generation for the rows of the lexical store, then let the store name it, in one transaction."""
    build, rows = _read_rows(store)
    report, values = lay_out(rows, build, generation)
    db = database.open_writer(store, synchronous="NORMAL")
    try:
        with database.transaction(db):
            if lexical.meta(db, "build") != build:
                raise DamagedData(f"{store}: was rebuilt while its vectors were written; run `canonry reindex` again")
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?,?)", values.items())
    finally:
        db.close()
    return report


def lay_out(
    rows: Sequence[tuple[int, str, str]], build: str, generation: Generation
) -> tuple[VectorReport, dict[str, str]]:
    """Write both files for (row, chunk id, text hash) rows; the report, and what the lexical store must say to name them."""
    held = read_embeddings(generation.embeddings, generation.fingerprint, generation.dimensions)
    matrix = _gather(rows, held, generation.dimensions)
    embedded = set(matrix.text_hashes)
    texts = {text_hash for _, _, text_hash in rows}
    missing = [row for row, _, text_hash in rows if text_hash not in embedded and text_hash not in held.without]
    alone = dict(Counter(reason for text_hash, reason in held.without.items() if text_hash in texts))
    facts = {
        "generation": generation.name,
        "build": build,
        "spec": generation.spec,
        "fingerprint": generation.fingerprint,
    }
    write_store(matrix, generation.vectors, facts, generation.dimensions)
    write_scan(matrix, generation.scan, facts, generation.dimensions)
    values = {
        "generation": generation.name,
        "vector_fingerprint": generation.fingerprint,
        "vector_spec": generation.spec,
        "vectors_to_row": str(rows[-1][0] if rows else 0),
        "vectors_missing": str(len(missing)),
        "rows_without_vector": json.dumps(missing[:_MOST_NAMED]),
        "vector_dimensions": str(generation.dimensions),
        "lexical_only": json.dumps(alone, sort_keys=True),
    }
    return VectorReport(generation.name, len(matrix.rows), len(missing), alone), values


def forget_generation(store: Path, index: Path) -> None:
    """Let the lexical store name no generation, then remove the files of all."""
    db = database.open_writer(store, synchronous="NORMAL")
    try:
        with database.transaction(db):
            db.execute(
                "DELETE FROM meta WHERE key IN "
                "('generation', 'vector_fingerprint', 'vector_spec', 'vectors_to_row', 'vectors_missing')"
            )
    finally:
        db.close()
    remove_other_generations(index, live="no generation")


def new_generation() -> str:
    """A name that no other generation has."""
    return secrets.token_hex(6)


def _read_rows(store: Path) -> tuple[str, list[tuple[int, str, str]]]:
    """(build, [(row, chunk_id, text_hash), …] by row) of the lexical store at one moment."""
    db = database.open_reader(store)
    try:
        db.execute("BEGIN")
        return lexical.meta(db, "build"), db.execute(
            "SELECT row, chunk_id, text_hash FROM knowledge_chunk ORDER BY row"
        ).fetchall()
    finally:
        db.close()


def _gather(rows: Sequence[tuple[int, str, str]], held: Embeddings, dimensions: int) -> _Matrix:
    """The vectors of every row that has some, in the order of the rows."""
    places: dict[str, dict[int, int]] = {}
    for at, (text_hash, window) in enumerate(zip(held.hashes, held.windows.tolist(), strict=True)):
        places.setdefault(text_hash, {})[window] = at
    taken = [
        (row, chunk_id, text_hash, window, at)
        for row, chunk_id, text_hash in rows
        for window, at in sorted(places.get(text_hash, {}).items())
    ]
    return _Matrix(
        np.array([entry[0] for entry in taken], np.int64),
        np.array([entry[3] for entry in taken], np.int32),
        [entry[1] for entry in taken],
        [entry[2] for entry in taken],
        held.vectors[np.array([entry[4] for entry in taken], np.int64)]
        if taken
        else np.empty((0, dimensions), np.float32),
    )


def write_store(matrix: _Matrix, path: Path, facts: Mapping[str, str], dimensions: int) -> None:
    """The DuckDB file: knowledge_embedding, one row a window, and meta."""
    table = pa.table({
        "row": pa.array(matrix.rows),
        "window": pa.array(matrix.windows),
        "chunk_id": pa.array(matrix.chunk_ids, pa.string()),
        "text_hash": pa.array(matrix.text_hashes, pa.string()),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(matrix.vectors).ravel()), dimensions),
    })  # fmt: skip
    meta = {
        "contract": CONTRACT,
        **{("embedder" if name == "spec" else name): value for name, value in facts.items()},
        "dimensions": str(dimensions),
        "count": str(len(matrix.rows)),
        "stage": VERSION,
    }
    with (
        whole_file(path) as temporary,
        _plain_errors(path, temporary),
        closing(duckdb.connect(str(temporary), config=DUCKDB_CONFIG)) as db,
    ):
        db.execute("SET enable_progress_bar = false")
        db.execute("CREATE TABLE meta (key VARCHAR PRIMARY KEY, value VARCHAR NOT NULL)")
        db.execute(f"INSERT INTO meta VALUES {', '.join(['(?, ?)'] * len(meta))}", [*itertools.chain(*meta.items())])
        db.execute(
            'CREATE TABLE knowledge_embedding ("row" BIGINT NOT NULL, "window" INTEGER NOT NULL, chunk_id VARCHAR NOT NULL, '
            f"text_hash VARCHAR NOT NULL, vector FLOAT[{int(dimensions)}] NOT NULL)"
        )
        db.register("fresh", table)
        db.execute("INSERT INTO knowledge_embedding SELECT * FROM fresh")
        db.unregister("fresh")
        db.execute("CHECKPOINT")


@contextmanager
def _plain_errors(path: Path, temporary: Path) -> Iterator[None]:
    """What DuckDB says of a full disk, as everyone says it; its log goes, however it ends."""
    try:
        yield
    except (duckdb.IOException, duckdb.FatalException) as error:
        raise no_room(path, str(error).partition("\n")[0]) from error
    finally:
        temporary.with_name(temporary.name + ".wal").unlink(missing_ok=True)


def write_scan(matrix: _Matrix, path: Path, facts: Mapping[str, str], dimensions: int) -> None:
    """The scan file; `canonry.semantic` says how it is laid out."""
    vectors = np.ascontiguousarray(matrix.vectors, np.float32)
    count = len(matrix.rows)
    arrays: dict[str, np.ndarray | None] = {"rows": matrix.rows, "f32": vectors, "i8": None}
    if count >= semantic.INT8_FROM_ROWS:
        arrays["i8"] = semantic.to_bytes(vectors, float(np.abs(vectors).max()))
    header: dict[str, object] = {
        "contract": semantic.CONTRACT,
        **facts,
        "count": count,
        "dimensions": dimensions,
        "single": count == len(np.unique(matrix.rows)),
    }
    at = 4096
    offsets: dict[str, int | None] = {}
    for name, array in arrays.items():
        offsets[name] = None if array is None else at
        at += 0 if array is None else -(-array.nbytes // semantic.ALIGNMENT) * semantic.ALIGNMENT
    line = json.dumps({**header, "offsets": offsets}).encode() + b"\n"
    with whole_file(path) as temporary, temporary.open("wb") as file:
        file.write(semantic.MAGIC + line)
        for name, array in arrays.items():
            if array is not None:
                file.seek(offsets[name] or 0)
                array.tofile(file)
        file.truncate(max(at, file.tell()))


def remove_other_generations(index: Path, live: str) -> None:
    """Remove the files of every generation but the live one; one that is still open elsewhere is left for the next time."""
    for path in (*index.glob("vectors-*.duckdb*"), *index.glob("scan-*.bin")):
        if live not in path.name:
            try:
                path.unlink()
            except PermissionError:  # another system keeps open files
                continue
