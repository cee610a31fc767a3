"""The semantic leg: an exact cosine search over the scan file.

The scan file is derived from the DuckDB vector store of the same generation, because a fresh process reads a mapped
matrix several times faster than it opens a database. Layout: the magic line, one line of JSON (contract, generation,
build, fingerprint, counts, offsets), then the arrays, each aligned to 64 bytes:
rows (int64, ascending; a row with several windows stands several times), f32 (n × d, unit length) and, for large
matrices, i8 (n × d, the same scaled to bytes).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from canonry.errors import DamagedData
from canonry.lexical import Hit, Ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

CONTRACT = "canonry/scan/1"
MAGIC = b"canonry scan\n"
ALIGNMENT = 64
INT8_FROM_ROWS = 40_000  # below this a float32 pass is as quick
RESCORED_PER_HIT = 4  # int8 candidates that are scored again in float32, for each hit wanted


@dataclass(frozen=True, slots=True)
class Scan:
    """One generation of vectors, mapped. `vectors` is (n, dimensions) float32 of unit length, `rows` (n,) ascending."""

    generation: str
    build: str
    spec: str
    fingerprint: str
    rows: NDArray[np.int64]
    vectors: NDArray[np.float32]
    bytes_: NDArray[np.int8] | None
    single: bool  # no row has more than one window

    @classmethod
    def open(cls, path: Path) -> Scan:
        """Map a scan file; a file that is not one, or is cut short, is refused."""
        try:
            with path.open("rb") as file:
                magic, header_line = file.read(len(MAGIC)), file.readline(65_536)
            header = json.loads(header_line) if magic == MAGIC else {}
            found = header.get("contract") if isinstance(header, dict) else None
            if found != CONTRACT:
                raise ValueError(f"contract {found}, expected {CONTRACT}")
            count, dimensions, at = header["count"], header["dimensions"], header["offsets"]
            return cls(
                header["generation"], header["build"], header["spec"], header["fingerprint"],
                _mapped(path, np.int64, at["rows"], (count,)),
                _mapped(path, np.float32, at["f32"], (count, dimensions)),
                _mapped(path, np.int8, at["i8"], (count, dimensions)) if at["i8"] is not None else None,
                header["single"],
            )  # fmt: skip
        except FileNotFoundError:
            raise
        except (OSError, ValueError, KeyError) as error:
            raise DamagedData(f"{path}: {error}; `canonry reindex` writes it anew") from error

    def search(self, query: NDArray[np.float32], ranges: Ranges, limit: int) -> list[Hit]:
        """The best `limit` rows inside the ranges by cosine (−1 to 1, best first, ties by row); ties at the end are all kept.

        The last digits are computed in float64 and rounded, so that equal vectors score equal wherever they stand.
        """
        places = self._candidates(query, ranges, limit)
        scores = np.round(self.vectors[places].astype(np.float64) @ query.astype(np.float64), 7)
        scores, rows, _ = _by_row(scores, self.rows[places], self.single)
        if len(scores) > limit:
            kept = np.flatnonzero(scores >= _largest(scores, limit))
            scores, rows = scores[kept], rows[kept]
        order = np.lexsort((rows, -scores))
        return [Hit(int(rows[at]), float(scores[at])) for at in order]

    def _candidates(self, query: NDArray[np.float32], ranges: Ranges, limit: int) -> NDArray[np.int64]:
        """Positions of the windows that may be among the best rows, ascending: by bytes in a large scope, else by float32."""
        slices = self._slices(ranges)
        places: NDArray[np.int64] = _joined([np.arange(start, stop) for start, stop in slices], np.int64)
        if len(places) <= limit:
            return places
        if self.bytes_ is not None and len(places) >= INT8_FROM_ROWS:
            scores, wanted, slack = self._byte_scores(query, slices), limit * RESCORED_PER_HIT, 0.0
        else:
            scores, wanted, slack = _joined([self.vectors[a:b] @ query for a, b in slices], np.float32), limit, 1e-5
        best, _, of_row = _by_row(scores, self.rows[places], self.single)
        if len(best) <= wanted:
            return places
        near: NDArray[np.int64] = places[(best >= _largest(best, wanted) - slack)[of_row]]
        return near

    def _byte_scores(self, query: NDArray[np.float32], slices: list[tuple[int, int]]) -> NDArray[np.float32]:
        """Dot products of the scaled bytes: in the order of the cosines, nearly."""
        import simsimd

        assert self.bytes_ is not None
        small = to_bytes(query[None, :], float(np.abs(query).max()))
        dots = [np.asarray(simsimd.cdist(small, self.bytes_[a:b], metric="dot"), np.float32)[0] for a, b in slices]
        joined: NDArray[np.float32] = _joined(dots, np.float32)
        return joined

    def _slices(self, ranges: Ranges) -> list[tuple[int, int]]:
        """Positions in the matrix of the rows in the ranges, as [start, stop) pairs without the empty ones."""
        firsts = np.searchsorted(self.rows, [first for first, _ in ranges.pairs], side="left")
        lasts = np.searchsorted(self.rows, [last for _, last in ranges.pairs], side="right")
        return [(int(start), int(stop)) for start, stop in zip(firsts, lasts, strict=True) if stop > start]


def to_bytes(vectors: NDArray[np.float32], largest: float) -> NDArray[np.int8]:
    """Vectors as int8, all scaled by the same `largest` component, so that dot products keep their order nearly."""
    bytes_: NDArray[np.int8] = np.rint(vectors * (127.0 / max(largest, 1e-12))).clip(-127, 127).astype(np.int8)
    return bytes_


def _by_row(
    scores: NDArray[Any], rows: NDArray[np.int64], single: bool
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64] | slice]:
    """(best score of each row, the rows, for each window the number of its row); `rows` ascending.

    With a `single` window a row everything stays as it is.
    """
    if single or not len(rows):
        return scores, rows, slice(None)
    first = np.r_[True, rows[1:] != rows[:-1]]
    starts = np.flatnonzero(first)
    return np.maximum.reduceat(scores, starts), rows[starts], np.cumsum(first) - 1


def _largest(scores: NDArray[Any], count: int) -> float:
    """The score of the place `count`, best first."""
    return float(np.partition(scores, len(scores) - count)[len(scores) - count])


def _joined(parts: list[Any], kind: type[np.generic]) -> Any:
    return np.concatenate(parts) if len(parts) > 1 else (parts[0] if parts else np.empty(0, kind))


def _mapped(path: Path, kind: type[np.generic], offset: int, shape: tuple[int, ...]) -> Any:
    if 0 in shape:
        return np.empty(shape, kind)
    return np.asarray(np.memmap(path, dtype=kind, mode="r", offset=offset, shape=shape))
