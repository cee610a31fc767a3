"""The tokenizer of multilingual-e5: the most probable way to write a text as pieces of its vocabulary (SentencePiece's
unigram model), with the place of each piece in the text.

The library `tokenizers` gives the same ids, but needs 0.6 s and 270 MB for a quarter of a million pieces, and here every
question of a fresh process would wait for it; a dictionary takes a fifth of both. Tests compare the two.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

START, END, UNKNOWN = 0, 2, 3
_SPECIAL = frozenset({"<s>", "<pad>", "</s>", "<unk>", "<mask>"})  # in a text they are ordinary characters
_SPACE = "\u2581"  # stands before each word
_UNKNOWN_PENALTY = 10.0  # below the least probable piece, for each character that no piece holds
_CACHED_WORDS = 20_000
_LONGEST_CACHED = 32  # characters; texts without spaces have words of a hundred
_WORD = re.compile(r"\S+")
_CLUSTER = regex.compile(r"\X")


@dataclass(frozen=True, slots=True)
class Encoding:
    """Token ids of a text, without special ones, and the [start, end) characters of the text that each stands for."""

    ids: list[int]
    spans: list[tuple[int, int]]


class Unigram:
    """Cuts texts into pieces. Scores are log probabilities; `replacements` maps code points as `str.translate` does."""

    def __init__(self, pieces: Sequence[str], scores: Sequence[float], replacements: Mapping[int, str]) -> None:
        self._ids = {piece: number for number, piece in enumerate(pieces) if piece not in _SPECIAL}
        self._scores = scores
        self._unknown = min(scores) - _UNKNOWN_PENALTY
        self._longest = max(map(len, self._ids))
        self._replacements = replacements
        self._uneven = frozenset(chr(point) for point, new in replacements.items() if len(new) != 1)
        self._cached = lru_cache(_CACHED_WORDS)(self._cut)

    def encode(self, text: str) -> Encoding:
        """The pieces of a text, in order."""
        normal, origins = self._normalise(text)
        encoding = Encoding([], [])
        for match in _WORD.finditer(normal):
            word, at = _SPACE + match[0], match.start() - 1
            cut = self._cached if len(word) <= _LONGEST_CACHED else self._cut
            start = at + 1
            for piece, end in cut(word):
                encoding.ids.append(piece)
                encoding.spans.append((origins[start], origins[at + end]) if origins else (start, at + end))
                start = at + end
        return encoding

    def _normalise(self, text: str) -> tuple[str, list[int] | None]:
        """(the text as the model knows it, where each of its characters comes from); None for the same places."""
        normal = text.translate(self._replacements)
        if self._uneven.isdisjoint(text) and (normal.isascii() or unicodedata.is_normalized("NFC", normal)):
            return normal, None
        parts: list[str] = []
        origins: list[int] = []
        for cluster in _CLUSTER.finditer(text):
            part = unicodedata.normalize("NFC", cluster[0].translate(self._replacements))
            parts.append(part)
            origins += [cluster.start()] * len(part)
        return "".join(parts), [*origins, len(text)]

    def _cut(self, word: str) -> list[tuple[int, int]]:
        """(token id, where it ends in the word) of the most probable pieces; neighbours that are unknown become one."""
        size = len(word)
        best = [0.0] + [float("-inf")] * size  # by where a piece ends
        last = [(UNKNOWN, 0)] * (size + 1)  # the piece that ends there, and where it starts
        for start in range(size):
            before = best[start]
            for end in range(start + 1, min(size, start + self._longest) + 1):
                piece = self._ids.get(word[start:end])
                if piece is not None and before + self._scores[piece] > best[end]:
                    best[end], last[end] = before + self._scores[piece], (piece, start)
            if before + self._unknown > best[start + 1]:
                best[start + 1], last[start + 1] = before + self._unknown, (UNKNOWN, start)
        found: list[tuple[int, int]] = []
        end = size
        while end:
            piece, start = last[end]
            if not (found and piece == UNKNOWN == found[-1][0]):
                found.append((piece, end))
            end = start
        return found[::-1]
