"""Pieces of a stretch -> the passages made from them: near the target, never above the maximum, with their overlap."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from canonry.config import ChunkSettings
from stages.chunking.blocks import Block
from stages.chunking.pages import Pages
from stages.chunking.sections import Stretch
from stages.chunking.sentences import sentence_cuts
from stages.chunking.split import Piece, Splitter

_SHORT_CHARS = 300  # a longer paragraph is no label of what follows
_CHARS_PER_TOKEN = 5  # a stretch that may well fit into one chunk is counted at once
_CLOSING = " \t*_"
_QUESTION = re.compile(
    r"[ \t]*(?:\*\*|__)?(?:Q(?:uestion)?(?:[ \t]*\d{1,4})?[ \t]*[.:：)]|[问問][ \t]*[:：])", re.IGNORECASE
)
_BOLD_LINE = re.compile(r"[ \t]*(\*\*|__)(?=\S)(?:(?!\1)[^\r\n])+\1[ \t]*[:：]?[ \t]*")
_DEFINITION = re.compile(r"[ \t]{0,3}[:~][ \t]")


@dataclass(frozen=True, slots=True)
class Passage:
    """`text[start:end]` with its token count; `header` is the span of a table's header that it belongs to."""

    start: int
    end: int
    tokens: int
    header: tuple[int, int] | None


class Packer:
    """Packs the stretches of one text."""

    def __init__(
        self, text: str, splitter: Splitter, settings: ChunkSettings, count: Callable[[str], int], pages: Pages
    ) -> None:
        self._text = text
        self._splitter = splitter
        self._settings = settings
        self._count = count
        self._pages = pages

    def passages(self, stretch: Stretch) -> list[Passage]:
        """The passages of a stretch in order."""
        start, end = stretch.blocks[0].start, stretch.blocks[-1].end
        if end - start <= self._settings.target_tokens * _CHARS_PER_TOKEN and not self._pages.starts:
            tokens = self._count(self._text[start:end])
            if tokens <= self._settings.target_tokens:
                return [Passage(start, end, tokens, None)]
        passages: list[Passage] = []
        before: list[Piece] | None = None
        for pieces in self._packed(self._groups(stretch.blocks)):
            passages += self._finished(pieces, before)
            before = pieces
        return passages

    def _groups(self, blocks: list[Block]) -> list[list[Piece]]:
        """The pieces of all blocks, in groups that belong together and fit into one chunk."""
        groups: list[list[Piece]] = []
        largest = self._settings.max_tokens
        for index, block in enumerate(blocks):
            before = blocks[index - 1].end if index else block.start
            pieces = self._splitter.pieces(block, before)
            if index and _belongs_to_next(blocks[index - 1], block, self._text):
                room = largest - _tokens(groups[-1])
                if pieces[0].tokens > room and block.kind in ("list", "table"):
                    pieces = self._splitter.pieces(block, before, whole=False)
                if pieces[0].tokens <= room:
                    groups[-1].append(pieces[0])
                    del pieces[0]
            groups += [[piece] for piece in pieces]
        return groups

    def _packed(self, groups: list[list[Piece]]) -> list[list[Piece]]:
        """Joins groups up to the target, and small ones up to the maximum."""
        packed: list[list[Piece]] = []
        current: list[Piece] = []
        size = 0
        for group in groups:
            grown = size + _tokens(group)
            if current and not self._may_grow(size, grown, current[-1], group[0]):
                self._close(packed, current, size)
                current, size, grown = [], 0, _tokens(group)
            current.extend(group)
            size = grown
        if current:
            self._close(packed, current, size)
        return packed

    def _may_grow(self, size: int, grown: int, last: Piece, following: Piece) -> bool:
        settings = self._settings
        if size < settings.min_tokens:
            return grown <= settings.max_tokens
        if grown > settings.target_tokens:
            return False
        return not self._pages.starts or self._pages.at(last.start) == self._pages.at(following.start)

    def _close(self, packed: list[list[Piece]], pieces: list[Piece], size: int) -> None:
        """Adds a chunk, or joins it to the one before if it is too small for one."""
        if size < self._settings.min_tokens and packed and _tokens(packed[-1]) + size <= self._settings.max_tokens:
            packed[-1].extend(pieces)
        else:
            packed.append(pieces)

    def _finished(self, pieces: list[Piece], before: list[Piece] | None) -> list[Passage]:
        """The passage of one chunk; `before` is the chunk before it, None for the first of a stretch."""
        start, end, header = pieces[0].start, pieces[-1].end, pieces[0].header
        if not self._text[start:end].strip():
            return []
        if before and self._settings.overlap_tokens:
            earlier = self._overlap_start(before)
            if earlier is not None:
                tokens = self._count(self._text[earlier:end])
                if tokens <= self._settings.max_tokens:
                    return [Passage(earlier, end, tokens, None if earlier < start else header)]
        exact = len(pieces) == 1 and before is None
        tokens = pieces[0].tokens if exact else self._count(self._text[start:end])
        if tokens > self._settings.max_tokens and len(pieces) > 1:  # counts do not add up exactly
            half = len(pieces) // 2
            return self._finished(pieces[:half], []) + self._finished(pieces[half:], [])
        return [Passage(start, end, tokens, header)]

    def _overlap_start(self, pieces: list[Piece]) -> int | None:
        """Where the last whole pieces, or sentences, of the chunk before begin that fit into the overlap."""
        start: int | None = None
        room = self._settings.overlap_tokens
        for piece in reversed(pieces[1:]):
            if piece.repeats == "nothing" or piece.tokens > room:
                break
            start, room = piece.start, room - piece.tokens
        return start if start is not None else self._overlap_inside(pieces[-1])

    def _overlap_inside(self, piece: Piece) -> int | None:
        if piece.repeats == "sentences":
            cuts = sentence_cuts(self._text, piece.start, piece.end)
        elif piece.repeats == "items":
            cuts = sorted({offset for offset, depth in piece.parts if depth == 0 and piece.start < offset < piece.end})
        else:
            return None
        start, end, room = None, piece.end, self._settings.overlap_tokens
        for cut in reversed(cuts):
            room -= self._count(self._text[cut:end])
            if room < 0:
                break
            start = end = cut
        return start


def _tokens(pieces: list[Piece]) -> int:
    return sum(piece.tokens for piece in pieces)


def _belongs_to_next(block: Block, following: Block, text: str) -> bool:
    """Whether a block says little without the one after it: a question, an introduction, a label, a term."""
    if block.kind != "paragraph" or following.kind == "rule":
        return False
    tail = text[max(block.start, block.end - 8) : block.end].rstrip(_CLOSING)
    if tail.endswith((":", "：")) and following.kind in ("list", "table", "quote", "code"):
        return True
    if _QUESTION.match(text, block.start, block.end):
        return not _QUESTION.match(text, following.start, following.end)
    if tail.endswith(("?", "？")):
        return not _is_question(following, text)
    if following.kind == "paragraph" and _DEFINITION.match(text, following.start):
        return True
    return block.end - block.start <= _SHORT_CHARS and bool(_BOLD_LINE.fullmatch(text, block.start, block.end))


def _is_question(block: Block, text: str) -> bool:
    return text[max(block.start, block.end - 8) : block.end].rstrip(_CLOSING).endswith(("?", "？"))
