"""Which page of a printed source a passage stands on."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

_COMMENT = re.compile(
    r"(?<![^\r\n])[ \t\f]*+<!--[ \t]*page[ \t]*:[ \t]*([0-9]{1,9})[ \t]*-->[ \t]*+(?=[\r\n]|\Z)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Pages:
    """The offsets at which a page begins, with the number of each; before the first of them it is `first`."""

    starts: list[int]
    numbers: list[int]
    first: int | None

    @classmethod
    def of(cls, text: str) -> Pages:
        """The pages of a text: by its `<!-- page: N -->` lines where it has any, else by its form feeds."""
        marks = list(_COMMENT.finditer(text)) if "<!--" in text else []
        if marks:
            return cls([mark.start() for mark in marks], [int(mark[1]) for mark in marks], None)
        feeds = [index for index, char in enumerate(text) if char == "\f"] if "\f" in text else []
        return cls(feeds, list(range(2, len(feeds) + 2)), 1 if feeds else None)

    def at(self, offset: int) -> int | None:
        """The page at an offset; None when the text does not say."""
        index = bisect_right(self.starts, offset) - 1
        return self.numbers[index] if index >= 0 else self.first
