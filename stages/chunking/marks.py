"""What a text says of its own secrecy: marks on headings, `<!-- canonry: … -->` comments, and rules by heading.

A mark that cannot be read is refused, never ignored: a secret that was marked wrongly must not become public.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from canonry.eligibility import HIGHEST_LEVEL
from canonry.errors import UsageError
from canonry.records import HeadingRule, Marks

BRACES = re.compile(r"[{｛]([^{}｛｝\r\n]*)([}｝]?)")
ALLOWED = "write spoiler=NUMBER, tags=ONE,TWO or visibility=normal|hidden"
_COMMENT = re.compile(
    r"<!--\s*canonry(?:\s*[:：]|(?=[^\w>][^>]{0,80}?(?:spoiler|tags|visibility|hidden)))", re.IGNORECASE
)
_MARKING = re.compile(
    r"(?<![\w#.-])(?:(?:spoiler|tag|visibility|hidden)[\w-]*\s*[=:]|spoiler(?![\w-])|visibility(?![\w-]))",
    re.IGNORECASE,
)
_HIDDEN = re.compile(r"\s*(?:[#.][\w-]+\s+|[\w-]+=\S+\s+)*hidden(?:\s+[#.][\w-]+|\s+[\w-]+=\S+)*\s*", re.IGNORECASE)
_KEYS = {
    "spoiler": "spoiler", "spoilerlevel": "spoiler", "tag": "tags", "tags": "tags", "spoilertag": "tags", "spoilertags": "tags",
    "visibility": "visibility", "hidden": "hidden",
}  # fmt: skip
_FLAGS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: " "}
_UNSEEN = dict.fromkeys(
    (0x00AD, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
)
_NESTED_HEADING = re.compile(r"(?<![^\r\n])(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])++#{1,6}[ \t][^\r\n]*")
_ITEM = re.compile(r"""([\w-]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"']+)\Z""")
_ITEMS = re.compile(r"""(?:[^\s"'=]+\s*=\s*)?(?:"[^"]*"|'[^']*'|[^\s"']+)|\S+""")
_UNDERLINED = re.compile(r"(?<![^\r\n])[^\r\n]++(?=(?:\r\n?|\n)[ \t>]*+(?:=++|-++)[ \t]*+(?![^\r\n]))")
_TICKS = re.compile(r"(?<![^\r\n])([ \t>]*+(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)*+)(`{3,}|~{3,})|(`+)")
_BREAK = re.compile(r"[\r\n]")
_COMMA = re.compile(r"\s*,\s*")


class MarkError(UsageError, ValueError):
    """A mark of secrecy that cannot be understood. `line` counts from 1 in the file."""

    def __init__(self, line: int, problem: str, allowed: str = ALLOWED) -> None:
        super().__init__(f"line {line}: {problem}: {allowed}")
        self.line = line
        self.problem = problem
        self.allowed = allowed

    def __reduce__(self) -> tuple[type[MarkError], tuple[int, str, str]]:
        return MarkError, (self.line, self.problem, self.allowed)  # it travels between processes


@dataclass(frozen=True, slots=True)
class Comment:
    """A canonry comment, `text[start:end]`, and the marks that it sets."""

    start: int
    end: int
    marks: Marks


def unmasked(text: str) -> str:
    """The text as a keyboard for Latin letters writes it: full-width signs made narrow, unseen characters left out."""
    return text if text.isascii() else text.translate(_WIDE).translate(_UNSEEN)


def says_secrecy(words: str) -> bool:
    """Whether the inside of a brace group on a heading is a statement about secrecy, readable or not."""
    plain = unmasked(words)
    return _MARKING.search(plain) is not None or (len(plain) <= 500 and _HIDDEN.fullmatch(plain) is not None)


def carries_mark(title: str) -> bool:
    """Whether a heading as written carries a mark in braces."""
    return any(says_secrecy(match[1]) for match in _groups(title))


def _groups(title: str) -> Iterator[re.Match[str]]:
    spans = code_spans(title, 0, len(title), True) if "`" in title else []
    return (match for match in BRACES.finditer(title) if not is_within(spans, match.start()))


def code_spans(text: str, start: int, end: int, one_paragraph: bool) -> list[tuple[int, int]]:
    """Where code lies inside a block: between runs of as many backticks, or of ~~~ at the beginning of lines.

    Only in a paragraph may words in backticks go on in the next line: elsewhere another item or cell begins there.
    """
    runs = [
        (match.start(), match.end(), match[2] or match[3], match[1] is None)
        for match in _TICKS.finditer(text, start, end)
    ]
    places: dict[str, list[int]] = defaultdict(list)
    for index, (_, _, run, _) in enumerate(runs):
        places[run].append(index)
    spans: list[tuple[int, int]] = []
    at = 0
    while at < len(runs):
        begin, end_of_run, run, inline = runs[at]
        later = bisect_right(places[run], at)
        if later < len(places[run]):
            closing = places[run][later]
            if one_paragraph or not inline or not _BREAK.search(text, end_of_run, runs[closing][0]):
                spans.append((begin, runs[closing][1]))
                at = closing
        at += 1
    return spans


def is_within(spans: Sequence[tuple[int, int]], offset: int) -> bool:
    index = bisect_left(spans, (offset + 1, 0)) - 1
    return index >= 0 and offset < spans[index][1]


def parse_marks(words: str, line: int) -> Marks:
    """The marks of `spoiler=3 tags=ending,ravel visibility=hidden`; attributes such as `#id` are passed over."""
    marks, found = Marks(), False
    for item in _ITEMS.findall(_COMMA.sub(",", " ".join(unmasked(words).split()))):
        if item[0] in "#." and "=" not in item:
            continue
        match = _ITEM.match("hidden=true" if item.lower() == "hidden" else item)
        if not match:
            raise MarkError(line, f"cannot read {quoted(item)} in a secrecy mark")
        marks |= _one_mark(match[1], match[2].strip("\"'"), line)
        found = True
    if not found:
        raise MarkError(line, "a secrecy mark that says nothing")
    return marks


def _one_mark(key: str, value: str, line: int) -> Marks:
    meant = _KEYS.get(re.sub("[-_]", "", key.lower()))
    if meant == "spoiler":
        if not (value.isascii() and value.isdigit() and len(value) <= 10 and int(value) <= HIGHEST_LEVEL):
            raise MarkError(line, f"spoiler={quoted(value)} is not a whole number from 0 to {HIGHEST_LEVEL}")
        return Marks(spoiler_level=int(value))
    if meant == "tags":
        tags = {tag.strip() for tag in value.split(",")} - {""}
        if not tags:
            raise MarkError(line, "tags= names no tag")
        return Marks(spoiler_tags=tuple(sorted(tags)))
    if meant == "hidden":
        if value.lower() not in _FLAGS:
            raise MarkError(line, f"hidden={quoted(value)} is neither true nor false")
        return Marks(hidden=_FLAGS[value.lower()])
    if meant == "visibility":
        if value.lower() not in ("normal", "hidden"):
            raise MarkError(line, f"visibility={quoted(value)} is neither normal nor hidden")
        return Marks(hidden=value.lower() == "hidden")
    raise MarkError(line, f"unknown key {quoted(key)} in a secrecy mark")


def quoted(value: str) -> str:
    return repr(value if len(value) <= 40 else value[:39] + "…")


def split_heading(title: str, line: int) -> tuple[str, Marks]:
    """A heading without its marks, and the marks. Brace groups that say nothing of secrecy stay in the heading."""
    marks, kept, done = Marks(), [], 0
    for match in _groups(title):
        if not says_secrecy(match[1]):
            continue
        if not match[2]:
            raise MarkError(line, f"the mark {quoted(match[0])} is not closed by a brace")
        marks |= parse_marks(match[1], line)
        kept.append(title[done : match.start()])
        done = match.end()
    if not done:
        return title, marks
    return "".join([*kept, title[done:]]).strip().rstrip("#").rstrip(), marks


def find_comments(text: str, start: int, end: int, line: int) -> list[Comment]:
    """The canonry comments of one block; `line` is the number of its first line."""
    found = []
    spans: list[tuple[int, int]] | None = None
    for match in _COMMENT.finditer(text, start, end):
        if text[match.start() - 1 : match.start()] == "`":
            spans = code_spans(text, start, end, True) if spans is None else spans
            if is_within(spans, match.start()):
                continue
        at = line + _line_breaks(text, start, match.start())
        close = text.find("-->", match.end(), end)
        if close < 0:
            raise MarkError(at, "a canonry comment is not closed by -->")
        found.append(Comment(match.start(), close + 3, parse_marks(text[match.end() : close], at)))
    return found


def nested_heading_marks(text: str, start: int, end: int, line: int) -> Marks:
    """The marks on headings inside a quote or list, which open no section of their own."""
    marks, piece = Marks(), text[start:end]
    if has_brace(piece):
        for pattern in (_NESTED_HEADING, _UNDERLINED):
            for match in pattern.finditer(piece):
                marks |= split_heading(match[0], line + _line_breaks(text, start, start + match.start()))[1]
    return marks


def is_nested_heading(text: str, start: int) -> bool:
    """Whether the line from `start` on, inside a quote or list, is a heading there."""
    return _NESTED_HEADING.match(text, start) is not None or _UNDERLINED.match(text, start) is not None


def has_brace(text: str) -> bool:
    return "{" in text or "｛" in text


def is_canonry_comment(text: str, start: int) -> bool:
    return _COMMENT.match(text, start) is not None


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
