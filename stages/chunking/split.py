"""Cuts one block into the pieces that chunks are packed from: whole where it fits, else at its best inner borders."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from canonry.config import ChunkSettings
from stages.chunking.blocks import Block
from stages.chunking.lines import Lines
from stages.chunking.sentences import grapheme_cuts, sentence_cuts, word_cuts

_LIST_DEPTH = 4
_NEVER = 10**12
_KEPT_SPACE = 4  # characters of white space after a word that is larger than a chunk; more is in no chunk


@dataclass(frozen=True, slots=True)
class Piece:
    """`text[start:end]`, never cut again. `tokens` counts it with the gap before it, so that counts may be added.

    `repeats` says what an overlap may take of it: the whole piece, its last sentences or items, or nothing.
    `header` is the span of the header rows of the table that this is a later part of.
    """

    start: int
    end: int
    tokens: int
    repeats: str = "whole"  # whole | sentences | items | nothing
    parts: tuple[tuple[int, int], ...] = ()
    header: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class _Rung:
    """One way to cut: where, above how many tokens a result is cut further, and whether whole lines are meant."""

    cuts: Callable[[int, int], list[int]]
    limit: int
    repeats: str
    by_lines: bool = False


class Splitter:
    """Cuts the blocks of one text under given settings."""

    def __init__(self, lines: Lines, settings: ChunkSettings, count: Callable[[str], int]) -> None:
        self._lines = lines
        self._text = lines.text
        self._settings = settings
        self._count = count

    def pieces(self, block: Block, before: int, *, whole: bool = True) -> list[Piece]:
        """The pieces of a block in order; `before` is where the piece before it ends.

        With `whole` off the block is cut even if it would fit into one chunk.
        """
        tokens = self._count(self._text[before : block.end])
        if whole and tokens <= self._settings.max_tokens:
            repeats = {"paragraph": "sentences", "list": "items"}.get(block.kind, "whole")
            return [Piece(block.start, block.end, tokens, repeats, block.parts)]
        pieces = self._cut(block.start, block.end, before, tokens, self._ladder(block))
        if block.header_end:
            header = (block.start, block.header_end)
            pieces = [replace(piece, header=header) if piece.start >= block.header_end else piece for piece in pieces]
        return pieces

    def _cut(self, start: int, end: int, before: int, tokens: int, ladder: tuple[_Rung, ...]) -> list[Piece]:
        rung_index, cuts = 0, list[int]()
        while rung_index < len(ladder) and not cuts:
            cuts = ladder[rung_index].cuts(start, end)
            rung_index += 1
        if not cuts or rung_index >= len(ladder) - 1:
            solid = start + len(self._text[start:end].rstrip())
            if end > solid + _KEPT_SPACE:
                end = solid + _KEPT_SPACE
                tokens = self._count(self._text[before:end])
        if not cuts:
            return [Piece(start, end, tokens, "nothing")]
        rung, below = ladder[rung_index - 1], ladder[rung_index:]
        pieces: list[Piece] = []
        for piece_start, piece_end in pairwise([start, *cuts, end]):
            if rung.by_lines or self._ends_blank(piece_start, piece_end):
                piece_end = self._lines.trimmed_end(piece_start, piece_end)
            size = self._count(self._text[before:piece_end])
            if size > rung.limit:
                pieces += self._cut(piece_start, piece_end, before, size, below)
            else:
                pieces.append(Piece(piece_start, piece_end, size, rung.repeats))
            before = piece_end
        return pieces

    def _ends_blank(self, start: int, end: int) -> bool:
        """Whether a blank line stands at the end, as it can where blocks were joined around binary data."""
        if not self._text[end - 1].isspace():
            return False
        space = self._text[start + len(self._text[start:end].rstrip()) : end]
        return space.count("\n") + space.count("\r") - space.count("\r\n") > 1

    def _ladder(self, block: Block) -> tuple[_Rung, ...]:
        """The ways to cut a block, the best first."""
        largest = self._settings.max_tokens
        lines = _Rung(self._line_cuts, largest, "nothing", by_lines=True)
        sentences = _Rung(self._sentence_cuts, largest, "whole")
        if block.kind == "paragraph":
            hard_lines = _Rung(self._line_cuts, largest, "nothing")
            return (sentences, hard_lines, *self._finest())
        if block.kind == "table":
            rows = _Rung(lambda start, end: self._row_cuts(block, start, end), largest, "nothing", by_lines=True)
            return (rows, lines, *self._finest())
        if block.kind == "list":
            items = [self._item_rung(block, depth) for depth in range(_LIST_DEPTH)]
            return (*items, lines, sentences, *self._finest())
        return (lines, sentences, *self._finest())

    def _finest(self) -> tuple[_Rung, ...]:
        text, target, largest = self._text, self._settings.target_tokens, self._settings.max_tokens
        words, graphemes = max(1, target // 16), max(1, min(64, target // 4))
        return (
            _Rung(lambda start, end: word_cuts(text, start, end, words), target, "nothing"),
            _Rung(lambda start, end: word_cuts(text, start, end, 1), largest, "nothing"),
            _Rung(lambda start, end: grapheme_cuts(text, start, end, graphemes), target, "nothing"),
            _Rung(lambda start, end: grapheme_cuts(text, start, end, 1), _NEVER, "nothing"),
        )

    def _sentence_cuts(self, start: int, end: int) -> list[int]:
        return sentence_cuts(self._text, start, end)

    def _line_cuts(self, start: int, end: int) -> list[int]:
        lines = self._lines
        numbers = range(bisect_right(lines.starts, start), bisect_left(lines.starts, end))
        return [lines.starts[number] for number in numbers if not lines.is_blank(number)]

    def _row_cuts(self, block: Block, start: int, end: int) -> list[int]:
        """Borders between rows, the first row staying with the header."""
        rows = [cut for cut in self._line_cuts(start, end) if cut > block.header_end]
        return rows[1:] if start == block.start else rows

    def _item_rung(self, block: Block, depth: int) -> _Rung:
        parts = block.parts

        def cuts(start: int, end: int) -> list[int]:
            inside = parts[bisect_right(parts, (start, _NEVER)) : bisect_left(parts, (end, -1))]
            return sorted({offset for offset, level in inside if level == depth})

        return _Rung(cuts, self._settings.max_tokens, "whole", by_lines=True)
