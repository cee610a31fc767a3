"""Cuts texts for models whose tokenizer is not at hand: tokens are estimated, rather too many than too few."""

from __future__ import annotations

import re

from canonry.embedders.windows import Tokens, cut_windows, join_prefix, plain
from canonry.tokens import count_tokens

SPECIAL_TOKENS = 4  # around a text, whatever the model puts there
_SLACK = 0.9  # of a window is used; what the estimate still misses is refused by the server and cut smaller
LEAST_ROOM = 8  # tokens; a window that is refused at this size has no vector
_UNIT = re.compile(r"\w+|\n+|[^\w\s]")
_CONTROL = {code: " " for code in range(32) if code not in (9, 10, 13)}


def room_of(max_tokens: int, document_prefix: str, times: int = 0) -> int:
    """Tokens that the text itself may have in a window, halved so many times."""
    room = int((max_tokens - SPECIAL_TOKENS) * _SLACK) - count_tokens(document_prefix)
    return max(LEAST_ROOM, room) >> times


def cut(body: str, prefix: str, room: int) -> list[str]:
    """The windows of a text after its heading path, each of at most `room` estimated tokens."""
    body, prefix = clean(body) if body.strip() else "", clean(prefix)
    if body and 2 * len(prefix) < room and 2 * count_tokens(join_prefix(prefix, body)) < room:
        return [join_prefix(prefix, body)]  # far from the border, where words need not be counted one by one
    return cut_windows(body, prefix, room, estimate)


def clean(text: str) -> str:
    """The text without control characters, at which C libraries stop, character for character."""
    return plain(text).translate(_CONTROL)


def estimate(text: str) -> Tokens:
    """Where tokens may lie: each word in as many equal pieces as it is estimated to cost, at least one."""
    spans: list[tuple[int, int]] = []
    borders: list[int] = []
    for found in _UNIT.finditer(text):
        start, length = found.start(), len(found[0])
        count = max(1, count_tokens(found[0]))
        for piece in range(count):
            spans.append((start + piece * length // count, max(start + 1, start + (piece + 1) * length // count)))
            borders.append(0)
        borders[-count] = 2 if text[start - 1 : start].isspace() else 1
    return Tokens(spans, borders)
