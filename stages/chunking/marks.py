"""What a text says of its own secrecy: marks on headings, `<!-- canonry: … -->` comments, and rules by heading.

A mark that cannot be read is refused, never ignored: a secret that was marked wrongly must not become public.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from canonry.errors import UsageError
from canonry.records import HeadingRule, Marks

MAX_LEVEL = 2**31 - 1

_ALLOWED = "write spoiler=NUMBER, tags=ONE,TWO or visibility=normal|hidden"
_COMMENT = re.compile(
    r"(?<!`)<!--\s*canonry(?:\s*:|(?=[^\w>][^>]{0,80}?(?:spoiler|tags|visibility|hidden)))", re.IGNORECASE
)
_BRACES = re.compile(r"(?<!`)\{([^{}\r\n]*)(\}?)")
_MARKING = re.compile(
    r"(?<![\w#.-])(?:(?:spoiler|tags|visibility)\w*\s*[=:]|spoiler(?![\w-])|visibility(?![\w-]))", re.IGNORECASE
)
_NESTED_HEADING = re.compile(r"(?<![^\r\n])(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])++#{1,6}[ \t][^\r\n]*")
_ITEM = re.compile(r"""([\w-]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"']+)\Z""")
_ITEMS = re.compile(r"""(?:[^\s"'=]+\s*=\s*)?(?:"[^"]*"|'[^']*'|[^\s"']+)|\S+""")
_COMMA = re.compile(r"\s*[,，]\s*")


class MarkError(UsageError, ValueError):
    """A mark of secrecy that cannot be understood. `line` counts from 1 in the file."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}: {_ALLOWED}")
        self.line = line
        self.problem = problem

    def __reduce__(self) -> tuple[type[MarkError], tuple[int, str]]:
        return MarkError, (self.line, self.problem)  # it travels between processes


@dataclass(frozen=True, slots=True)
class Comment:
    """A canonry comment, `text[start:end]`, and the marks that it sets."""

    start: int
    end: int
    marks: Marks


def parse_marks(words: str, line: int) -> Marks:
    """The marks of `spoiler=3 tags=ending,ravel visibility=hidden`; attributes such as `#id` are passed over."""
    marks, found = Marks(), False
    for item in _ITEMS.findall(_COMMA.sub(",", " ".join(words.split()))):
        if item[0] in "#." and "=" not in item:
            continue
        match = _ITEM.match(item)
        if not match:
            raise MarkError(line, f"cannot read {_quoted(item)} in a secrecy mark")
        marks |= _one_mark(match[1].lower(), match[2].strip("\"'"), line)
        found = True
    if not found:
        raise MarkError(line, "a secrecy mark that says nothing")
    return marks


def _one_mark(key: str, value: str, line: int) -> Marks:
    if key in ("spoiler", "spoiler_level"):
        if not (value.isascii() and value.isdigit() and len(value) <= 10 and int(value) <= MAX_LEVEL):
            raise MarkError(line, f"spoiler={_quoted(value)} is not a whole number from 0 to {MAX_LEVEL}")
        return Marks(spoiler_level=int(value))
    if key in ("tags", "spoiler_tags"):
        tags = {tag.strip() for tag in value.split(",")} - {""}
        if not tags:
            raise MarkError(line, "tags= names no tag")
        return Marks(spoiler_tags=tuple(sorted(tags)))
    if key == "visibility":
        if value.lower() not in ("normal", "hidden"):
            raise MarkError(line, f"visibility={_quoted(value)} is neither normal nor hidden")
        return Marks(hidden=value.lower() == "hidden")
    raise MarkError(line, f"unknown key {_quoted(key)} in a secrecy mark")


def _quoted(value: str) -> str:
    return repr(value if len(value) <= 40 else value[:39] + "…")


def split_heading(title: str, line: int) -> tuple[str, Marks]:
    """A heading without its marks, and the marks. Brace groups that say nothing of secrecy stay in the heading."""
    marks, kept, done = Marks(), [], 0
    for match in _BRACES.finditer(title):
        if not _MARKING.search(match[1]):
            continue
        if not match[2]:
            raise MarkError(line, f"the mark {_quoted(match[0])} is not closed by a brace")
        marks |= parse_marks(match[1], line)
        kept.append(title[done : match.start()])
        done = match.end()
    if not done:
        return title, marks
    return "".join([*kept, title[done:]]).strip().rstrip("#").rstrip(), marks


def find_comments(text: str, start: int, end: int, line: int) -> list[Comment]:
    """The canonry comments of one block; `line` is the number of its first line."""
    found = []
    for match in _COMMENT.finditer(text, start, end):
        at = line + _line_breaks(text, start, match.start())
        close = text.find("-->", match.end(), end)
        if close < 0:
            raise MarkError(at, "a canonry comment is not closed by -->")
        found.append(Comment(match.start(), close + 3, parse_marks(text[match.end() : close], at)))
    return found


def nested_heading_marks(text: str, start: int, end: int, line: int) -> Marks:
    """The marks on headings inside a quote or list, which open no section of their own."""
    marks = Marks()
    if "{" in text[start:end]:
        for match in _NESTED_HEADING.finditer(text[start:end]):
            marks |= split_heading(match[0], line + _line_breaks(text, start, start + match.start()))[1]
    return marks


def _line_breaks(text: str, start: int, end: int) -> int:
    piece = text[start:end]
    return piece.count("\n") + piece.count("\r") - piece.count("\r\n")


def rule_marks(heading: str, rules: Sequence[HeadingRule]) -> Marks:
    """What the rules say of a cleaned heading, all that match together."""
    marks = Marks()
    for rule in rules:
        if fnmatchcase(heading.casefold(), rule.pattern.casefold()):
            marks |= rule.marks
    return marks
