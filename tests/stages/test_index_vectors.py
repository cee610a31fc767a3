"""A generation of vectors: DuckDB is the reference, the scan file gives the same."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from canonry import lexical
from canonry.database import open_reader
from canonry.embedders import register
from canonry.layout import Layout
from canonry.lexical import Ranges
from canonry.semantic import Scan
from stages.index_vectors import (
    CONTRACT,
    DUCKDB_CONFIG,
    Generation,
    index_vectors,
    new_generation,
    remove_other_generations,
)
from tests.conftest import Workshop
from tests.fakes import WordBag

EVERYTHING = Ranges(((1, 1 << 40),))


@pytest.fixture(scope="module")
def bag() -> WordBag:
    bag = WordBag()
    register(bag)
    return bag


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory, bag: WordBag) -> Layout:
    """A campaign of twenty-one sources, one of them long, whose vectors are made; each test leaves a whole generation."""
    workshop = Workshop(tmp_path_factory.mktemp("vectors"))
    at = workshop.create(embedder="wordbag")
    long = " ".join(f"barley{n % 17} sack{n % 5}" for n in range(120))
    paths = [
        workshop.write(f"{n}.md", f"# Mill {n % 4}\n\nThe {n} keeper counts barley and salt {'at dusk ' * (n % 3)}\n")
        for n in range(20)
    ]
    workshop.bring(at, *paths, workshop.write("long.md", f"# Ledger\n\n{long}\n"))
    return at


def generation_of(at: Layout) -> str:
    db = open_reader(at.lexical)
    try:
        return lexical.meta(db, "generation")
    finally:
        db.close()


def opened(at: Layout) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(str(at.vectors(generation_of(at))), read_only=True, config=DUCKDB_CONFIG)


def test_both_files_hold_the_same_rows_windows_and_vectors(at: Layout) -> None:
    scan = Scan.open(at.scan(generation_of(at)))
    with opened(at) as db:
        found = db.execute(
            'SELECT "row", "window", vector FROM knowledge_embedding ORDER BY "row", "window"'
        ).fetchall()
    assert [row for row, _, _ in found] == scan.rows.tolist()
    assert np.array_equal(np.array([vector for _, _, vector in found], np.float32), scan.vectors)
    assert not scan.single
    assert len(found) > 21


@pytest.mark.parametrize("function", ["array_cosine_similarity", "array_inner_product"])
@pytest.mark.parametrize("query", ["keeper barley salt", "barley3 sack2", "dusk", "Mill 2"])
@pytest.mark.parametrize("limit", [1, 5, 12])
def test_both_files_give_the_same_best_rows(at: Layout, bag: WordBag, function: str, query: str, limit: int) -> None:
    vector = bag.embed_query(query)
    with opened(at) as db:
        expected = db.execute(
            f'SELECT "row", max({function}(vector, ?::FLOAT[64])) AS score FROM knowledge_embedding '
            'GROUP BY "row" ORDER BY round(score, 5) DESC, "row"',
            [vector.tolist()],
        ).fetchall()
    found = Scan.open(at.scan(generation_of(at))).search(vector, EVERYTHING, limit)
    scores = dict(expected)
    assert len(found) >= limit
    assert [round(hit.score, 5) for hit in found][:limit] == [
        pytest.approx(score, abs=2e-5) for _, score in expected[:limit]
    ]
    assert all(hit.score == pytest.approx(scores[hit.row], abs=1e-5) for hit in found)


def test_every_vector_is_of_unit_length_and_of_a_row_that_exists(at: Layout) -> None:
    with opened(at) as db:
        lengths = [
            row[0]
            for row in db.execute("SELECT array_inner_product(vector, vector) FROM knowledge_embedding").fetchall()
        ]
        rows = {
            tuple(row) for row in db.execute('SELECT "row", chunk_id, text_hash FROM knowledge_embedding').fetchall()
        }
    assert np.allclose(lengths, 1, atol=1e-5)
    store = open_reader(at.lexical)
    assert rows <= set(store.execute("SELECT row, chunk_id, text_hash FROM knowledge_chunk"))
    store.close()


def test_the_store_says_what_it_is(at: Layout, bag: WordBag) -> None:
    with opened(at) as db:
        meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
        count = db.execute("SELECT count(*) FROM knowledge_embedding").fetchone()
    assert count is not None
    assert (meta["contract"], meta["generation"], meta["fingerprint"]) == (CONTRACT, generation_of(at), bag.fingerprint)
    assert (meta["dimensions"], meta["count"], meta["embedder"]) == ("64", str(count[0]), "wordbag")


def test_a_store_of_a_generation_holds_no_log_beside_it(at: Layout) -> None:
    assert sorted(path.suffix for path in at.index.iterdir() if path.name.startswith(("vectors", "scan"))) == [
        ".bin",
        ".duckdb",
    ]


def make(at: Layout, bag: WordBag, generation: str) -> int:
    folder = at.embeddings(bag.fingerprint)
    files = at.vectors(generation), at.scan(generation)
    made = Generation(generation, *files, folder, bag.spec, bag.fingerprint, bag.dimensions)
    return index_vectors(at.lexical, made).missing


def test_a_new_generation_becomes_the_live_one_and_the_old_files_stay_until_they_are_removed(
    at: Layout, bag: WordBag
) -> None:
    old, new = generation_of(at), new_generation()
    assert make(at, bag, new) == 0
    assert generation_of(at) == new
    assert at.scan(old).exists()
    remove_other_generations(at.index, new)
    assert not at.scan(old).exists()
    assert not at.vectors(old).exists()
    assert Scan.open(at.scan(new)).generation == new


def test_generations_have_names_of_their_own() -> None:
    assert len({new_generation() for _ in range(100)}) == 100


def test_passages_without_a_vector_are_counted(at: Layout, bag: WordBag) -> None:
    other = WordBag("other")
    assert make(at, other, "empty") == 21
    with duckdb.connect(str(at.vectors("empty")), read_only=True, config=DUCKDB_CONFIG) as db:
        assert db.execute("SELECT count(*) FROM knowledge_embedding").fetchone() == (0,)
    assert Scan.open(at.scan("empty")).search(bag.embed_query("barley"), EVERYTHING, 5) == []
