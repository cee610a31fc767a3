"""The scan file: an exact cosine search, whatever the ranges, windows and size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from canonry.errors import DamagedData
from canonry.lexical import Ranges
from canonry.semantic import INT8_FROM_ROWS, Scan, to_bytes
from stages.index_vectors import _Matrix as Matrix
from stages.index_vectors import write_scan

Vectors = NDArray[np.float32]
DIMENSIONS = 32
EVERYTHING = Ranges(((1, 1 << 40),))


def unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32)


def random_vectors(count: int, dimensions: int = DIMENSIONS, seed: int = 1) -> Vectors:
    return unit(np.random.default_rng(seed).standard_normal((count, dimensions), np.float32))


def scan_of(path: Path, vectors: Vectors, rows: list[int] | range) -> Scan:
    numbers = np.array(rows, np.int64)
    windows = (
        np.concatenate([np.arange(count) for count in np.unique(numbers, return_counts=True)[1]])
        if len(rows)
        else np.empty(0)
    )
    matrix = Matrix(
        numbers, windows.astype(np.int32), [f"c{row}" for row in rows], [f"t{row}" for row in rows], vectors
    )
    write_scan(matrix, path, {"generation": "g", "build": "b", "spec": "s", "fingerprint": "f"}, vectors.shape[1])
    return Scan.open(path)


def brute_force(
    vectors: Vectors, rows: list[int] | range, query: Vectors, ranges: Ranges, limit: int
) -> list[tuple[int, float]]:
    """(row, best cosine of its windows) inside the ranges, best first, ties by row, those that tie with the last kept."""
    best: dict[int, float] = {}
    for row, vector in zip(rows, vectors, strict=True):
        if row in ranges:
            best[row] = max(best.get(row, -2.0), float(vector.astype(np.float64) @ query.astype(np.float64)))
    ordered = sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))
    return [pair for pair in ordered if len(ordered) <= limit or pair[1] >= ordered[limit - 1][1]]


RANGES = {
    "everything": EVERYTHING,
    "one range": Ranges(((100, 299),)),
    "many ranges": Ranges(tuple((start, start + 6) for start in range(5, 400, 20))),
    "single rows": Ranges(((3, 3), (77, 77), (400, 400))),
    "partly outside": Ranges(((395, 900),)),
    "outside": Ranges(((500, 900),)),
    "nothing": Ranges(()),
}


@pytest.mark.parametrize("ranges", RANGES.values(), ids=RANGES)
@pytest.mark.parametrize("windows", [1, 3], ids=["one window a row", "several windows a row"])
@pytest.mark.parametrize("limit", [1, 10, 1_000])
def test_a_scan_finds_what_a_plain_comparison_of_all_finds(
    tmp_path: Path, ranges: Ranges, windows: int, limit: int
) -> None:
    rows = [row for row in range(1, 401) for _ in range(1 + row % windows)]
    vectors = random_vectors(len(rows))
    scan = scan_of(tmp_path / "scan.bin", vectors, rows)
    for query in random_vectors(5, seed=2):
        found = [(hit.row, hit.score) for hit in scan.search(query, ranges, limit)]
        expected = brute_force(vectors, rows, query, ranges, limit)
        assert [row for row, _ in found] == [row for row, _ in expected]
        assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=1e-6)


def test_equal_vectors_score_equal_wherever_they_stand_and_are_ordered_by_row(tmp_path: Path) -> None:
    """A last bit that depends on the place in the matrix would let the layout decide between copies."""
    vectors = np.repeat(random_vectors(1, 384), 1_001, axis=0)
    scan = scan_of(tmp_path / "scan.bin", vectors, range(1, 1_002))
    query = random_vectors(1, 384, seed=3)[0]
    for ranges in (EVERYTHING, Ranges(((2, 8), (10, 10), (12, 500)))):
        found = scan.search(query, ranges, 2_000)
        assert len({hit.score for hit in found}) == 1
        assert [hit.row for hit in found] == sorted(hit.row for hit in found)


def test_ties_at_the_end_are_all_kept(tmp_path: Path) -> None:
    vectors = np.concatenate([random_vectors(5), np.repeat(random_vectors(1, seed=9), 20, axis=0)])
    scan = scan_of(tmp_path / "scan.bin", vectors, range(1, 26))
    found = scan.search(vectors[-1], EVERYTHING, 3)
    assert [hit.row for hit in found] == list(range(6, 26))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scan, Vectors]:
    """Fifty thousand random vectors, enough for the pass over bytes."""
    vectors = random_vectors(50_000, 64)
    return scan_of(tmp_path_factory.mktemp("scan") / "scan.bin", vectors, range(1, 50_001)), vectors


def test_a_large_matrix_has_bytes_and_a_small_one_has_none(tmp_path: Path, many: tuple[Scan, Vectors]) -> None:
    assert many[0].bytes_ is not None
    assert many[0].bytes_.shape == many[1].shape
    assert scan_of(tmp_path / "scan.bin", random_vectors(50), range(50)).bytes_ is None


@pytest.mark.parametrize("limit", [1, 10, 100])
@pytest.mark.parametrize(
    "ranges", [EVERYTHING, Ranges(((1, 20_000), (20_100, 45_000)))], ids=["everything", "two ranges"]
)
def test_the_pass_over_bytes_finds_the_same_as_float32(many: tuple[Scan, Vectors], ranges: Ranges, limit: int) -> None:
    scan, vectors = many
    inside = np.array([row in ranges for row in range(1, 50_001)])
    assert inside.sum() >= INT8_FROM_ROWS
    for query in random_vectors(10, 64, seed=5):
        scores = np.where(inside, vectors @ query, -2)
        expected = np.argsort(-scores, kind="stable")[:limit] + 1
        assert [hit.row for hit in scan.search(query, ranges, limit)][:limit] == expected.tolist()


def test_a_small_scope_of_a_large_matrix_is_searched_in_float32(many: tuple[Scan, Vectors]) -> None:
    scan, vectors = many
    query = random_vectors(1, 64, seed=6)[0]
    found = scan.search(query, Ranges(((7, 106),)), 100)
    assert [hit.row for hit in found] == (np.argsort(-(vectors[6:106] @ query), kind="stable") + 7).tolist()


def test_copies_beyond_the_pass_over_bytes_are_chosen_by_row_and_not_by_chance(tmp_path: Path) -> None:
    """Two thousand copies of one passage: which of them are found must not depend on how the matrix is laid out."""
    vectors = random_vectors(INT8_FROM_ROWS + 2_000, 16)
    copies = np.random.default_rng(4).choice(len(vectors), 2_000, replace=False)
    vectors[copies] = vectors[copies[0]]
    scan = scan_of(tmp_path / "scan.bin", vectors, range(1, len(vectors) + 1))
    found = scan.search(vectors[copies[0]], EVERYTHING, 100)
    assert [hit.row for hit in found][:100] == (np.sort(copies)[:100] + 1).tolist()


def test_rows_of_many_windows_do_not_crowd_out_others_in_the_pass_over_bytes(tmp_path: Path) -> None:
    """Fifty windows of one row are nearest; the next rows still fill the limit."""
    vectors = random_vectors(INT8_FROM_ROWS + 1_000, 16)
    query = random_vectors(1, 16, seed=8)[0]
    vectors[:50] = unit(query + 0.01 * random_vectors(50, 16, seed=9))
    rows = [1] * 50 + list(range(2, len(vectors) - 48))
    scan = scan_of(tmp_path / "scan.bin", vectors, rows)
    expected = [row for row, _ in brute_force(vectors, rows, query, EVERYTHING, 10)]
    assert [hit.row for hit in scan.search(query, EVERYTHING, 10)][:10] == expected[:10]


def test_bytes_keep_the_order_of_dot_products_nearly() -> None:
    vectors = random_vectors(100)
    small = to_bytes(vectors, float(np.abs(vectors).max()))
    assert small.dtype == np.int8
    assert np.abs(small).max() == 127
    assert np.allclose(small / 127 * np.abs(vectors).max(), vectors, atol=0.005)


def test_an_empty_scan_finds_nothing(tmp_path: Path) -> None:
    scan = scan_of(tmp_path / "scan.bin", np.empty((0, DIMENSIONS), np.float32), [])
    assert scan.search(random_vectors(1)[0], EVERYTHING, 5) == []


SPOILED: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "foreign": lambda data: b"x" * len(data),
    "cut short": lambda data: data[: len(data) // 2],
    "cut in the header": lambda data: data[:40],
    "another contract": lambda data: data.replace(b"canonry/scan/1", b"canonry/scan/9"),
    "a header that is no JSON": lambda data: data.replace(b'{"', b'["', 1),
    "a header that is no object": lambda data: data[:13] + b"[]\n" + data[16:],
}


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
def test_a_spoiled_scan_file_is_refused_with_the_way_out(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "scan.bin"
    scan_of(path, random_vectors(100), range(100))
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(DamagedData, match="canonry reindex"):
        Scan.open(path)


def test_a_scan_that_is_open_outlives_its_file(tmp_path: Path) -> None:
    """A reader keeps the generation that it maps."""
    vectors = random_vectors(100)
    scan = scan_of(tmp_path / "scan.bin", vectors, range(100))
    (tmp_path / "scan.bin").unlink()
    assert scan.search(vectors[7], Ranges(((0, 99),)), 1)[0].row == 7
