"""Tags in what a model says: `[FACT: …]` and `[ADJUST_DISPOSITION: ±n]`, requests that code may grant.

A tag ends at its own closing bracket: brackets inside it are counted, those between quotation marks are text, and a
blank line ends every tag that is open. A tag inside a fact is a request of its own and reads as its words in the outer
one. Names may be in any case and the colon full-width. Time grows with the length of the text alone.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

FACT = "FACT"
ADJUST_DISPOSITION = "ADJUST_DISPOSITION"
DEEPEST = 16  # brackets in each other

_TAG = rf"\[\s{{0,9}}(?P<name>{FACT}|{ADJUST_DISPOSITION})\s{{0,9}}[:：]"
_OUTSIDE = re.compile(_TAG, re.IGNORECASE)
_INSIDE = re.compile(
    rf'{_TAG}|(?P<quoted>(?<!\w)"(?=\S)[^"\n]{{0,300}}"(?!\w)|“[^”\n]{{0,300}}”|«[^»\n]{{0,300}}»|「[^」\n]{{0,300}}」)'
    r"|(?P<opening>\[)|(?P<closing>\])|(?P<blank>\n[^\S\n]{0,300}\n)",
    re.IGNORECASE,
)
_CONTROL = re.compile("[\u0000-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f]")


@dataclass(frozen=True, slots=True)
class Tag:
    """A closed tag: its name in capitals, what it says on one line, and where it opens in the text."""

    name: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class _Open:
    name: str  # empty for a plain bracket
    at: int
    start: int  # of what it says
    first_piece: int  # of the pieces that were collected so far


class BrokenTags(ValueError):
    """A tag that never closes, or brackets too deep in each other; the text names the tag, its line and its column."""


def read_tags(text: str) -> list[Tag]:
    """The tags of a text in the order in which they open; BrokenTags where one never closes."""
    tags: list[Tag] = []
    stack: list[_Open] = []
    pieces: list[str] = []  # the text of what is open, without the marks of tags inside it
    at = 0
    while match := (_INSIDE if stack else _OUTSIDE).search(text, at):
        if stack:
            pieces.append(text[at : match.start()])
        at = match.end()
        kind = match.lastgroup
        if kind == "name":
            stack.append(_Open(match["name"].upper(), match.start(), at, len(pieces)))
        elif kind == "closing":
            opened = stack.pop()
            if opened.name:
                tags.append(Tag(opened.name, on_one_line("".join(pieces[opened.first_piece :])), opened.at))
            else:
                pieces.append("]")
        elif kind == "opening":
            pieces.append("[")
            stack.append(_Open("", match.start(), at, len(pieces)))
        elif kind == "quoted":
            pieces.append(match["quoted"])
        else:
            break
        if not stack:
            pieces.clear()
        if len(stack) > DEEPEST:
            raise BrokenTags(f"{_describe(text, stack[0])} holds brackets more than {DEEPEST} deep")
    if stack:
        raise BrokenTags(f"{_describe(text, stack[0])} never closes")
    return sorted(tags, key=lambda tag: tag.at)


def asks_anything(text: str) -> bool:
    """Whether a tag opens in the text, closed or not."""
    return _OUTSIDE.search(text) is not None


def on_one_line(text: str) -> str:
    """The text as it is recorded: NFC, white space and line breaks single blanks, no control characters."""
    return " ".join(_CONTROL.sub("", unicodedata.normalize("NFC", text)).split())


def fact_key(fact: str) -> str:
    """What two facts share that say the same: letters folded, typography and the full stop at the end aside."""
    folded = unicodedata.normalize("NFKC", fact).casefold().translate(_TYPOGRAPHY)
    return " ".join(folded.split()).rstrip(" .!。") or folded


_TYPOGRAPHY = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00ad": None, "\u200b": None}
)


def _describe(text: str, opened: _Open) -> str:
    line = text.count("\n", 0, opened.at) + 1
    column = opened.at - (text.rfind("\n", 0, opened.at) + 1) + 1
    beginning = on_one_line(text[opened.at : opened.at + 40])
    return f"the tag at line {line}, column {column} ({beginning}…)"
