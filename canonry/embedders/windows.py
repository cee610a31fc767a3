"""Cuts a text into windows that fit a model, at the borders of its own tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

PREFIX_SHARE = 4  # the prefix gets at most a quarter of a window
OVERLAP_SHARE = 10  # neighbours share about a tenth of a window

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Where the tokens of a text lie: `spans` are their [start, end) characters, in order.

    `borders` says what a cut before each would part: 2 after white space, 1 between words, 0 inside a word.
    """

    spans: Sequence[tuple[int, int]]
    borders: Sequence[int]


Tokenize = Callable[[str], Tokens]


def plain(text: str) -> str:
    """The text with lone surrogates (from undecodable arguments) replaced, character for character."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def join_prefix(prefix: str, body: str) -> str:
    """The body after its prefix, on a line of its own."""
    prefix = prefix.strip()
    return f"{prefix}\n{body}" if prefix else body


def cut_windows(body: str, prefix: str, room: int, tokenize: Tokenize) -> list[str]:
    """Texts of at most `room` tokens: the end of the prefix before each piece of the body.

    Every character of the body is in a piece, and pieces overlap. A body without tokens gives the prefix alone, and
    neither gives nothing.
    """
    body, prefix = plain(body), plain(prefix)
    head = _shorten(prefix, room // PREFIX_SHARE, tokenize)
    pieces = _pieces(body, room - len(tokenize(join_prefix(head, "")).spans), tokenize)
    if not pieces:
        return [head] if head else []
    return [join_prefix(head, piece) for piece in pieces]


def _shorten(prefix: str, most: int, tokenize: Tokenize) -> str:
    """The end of the prefix, which names what is nearest to the body, in at most `most` tokens."""
    tokens = tokenize(prefix)
    first = len(tokens.spans) - most
    if first <= 0:
        return prefix.strip() if tokens.spans else ""
    first = max(range(first, len(tokens.spans)), key=lambda at: (tokens.borders[at], -at))
    return prefix[tokens.spans[first][0] :].strip()


def _pieces(body: str, room: int, tokenize: Tokenize) -> list[str]:
    """The body in pieces of at most `room` tokens, cut between words where there are any."""
    tokens = tokenize(body)
    count = len(tokens.spans)
    if not count:
        return []
    pieces, first, last, start = [], 0, 0, 0
    while first + room < count:
        last = _cut(tokens, first, last, room)
        pieces.append(body[start : tokens.spans[last][0]])
        first = _overlap(tokens, first, last, room)
        start = tokens.spans[first][0]
    return [*pieces, body[start:]]


def _cut(tokens: Tokens, first: int, last: int, room: int) -> int:
    """Where the window from `first` ends: the best border of its second half, else of all that is new in it."""
    high = first + room
    for low in (max(first + room // 2, last + 1), max(first, last) + 1):
        best = max(range(low, high + 1), key=lambda at: (tokens.borders[at], at))
        if tokens.borders[best]:
            return best
    whole = (at for at in range(high, low, -1) if tokens.spans[at][0] >= tokens.spans[at - 1][1])
    return next(whole, high)  # no border at all: at least no character is cut


def _overlap(tokens: Tokens, first: int, last: int, room: int) -> int:
    """Where the next window starts: the first of the best borders in the last tenth of this one, else its end."""
    low = max(first + 1, last - room // OVERLAP_SHARE)
    best = max(range(low, last + 1), key=lambda at: (tokens.borders[at], -at))
    return best if tokens.borders[best] else last
