"""Where the lines of a text begin and end, and which byte each character stands at.

A line ends at LF, CR LF or CR, as CommonMark has it; U+2028, form feeds and the like are ordinary characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

_BREAK = re.compile(r"\r\n?|\n")


@dataclass(frozen=True, slots=True)
class Lines:
    """A text with its lines: line i is `text[starts[i]:ends[i]]`, without its line break."""

    text: str
    starts: list[int]
    ends: list[int]

    @classmethod
    def of(cls, text: str) -> Lines:
        starts, ends = [0], []
        for match in _BREAK.finditer(text):
            ends.append(match.start())
            starts.append(match.end())
        if starts[-1] == len(text):
            starts.pop()  # nothing follows the last line break
        else:
            ends.append(len(text))
        return cls(text, starts, ends)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, line: int) -> str:
        return self.text[self.starts[line] : self.ends[line]]

    def is_blank(self, line: int) -> bool:
        """Whether the line holds nothing but white space, in any script's sense."""
        start, end = self.starts[line], self.ends[line]
        return start == end or self.text[start:end].isspace()

    def at(self, offset: int) -> int:
        """The line that the character at `offset` stands in."""
        return bisect_right(self.starts, offset) - 1

    def trimmed_end(self, start: int, end: int) -> int:
        """The end of the last non-blank line of `text[start:end]`; `start` when all of it is blank."""
        solid = start + len(self.text[start:end].rstrip())
        if solid == start:
            return start
        if solid == end:
            return end
        return min(end, self.ends[self.at(solid - 1)])


def byte_offsets(text: str, offsets: Iterable[int]) -> dict[int, int]:
    """The UTF-8 byte offset of each character offset, in one pass over the text."""
    if text.isascii():
        return {offset: offset for offset in offsets}
    found: dict[int, int] = {}
    char = byte = 0
    for offset in sorted(set(offsets)):
        byte += len(text[char:offset].encode())
        char = offset
        found[offset] = byte
    return found
