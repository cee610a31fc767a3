"""Marks of secrecy that stand where they hold for nothing: in a paragraph, below a heading, in a comment without `canonry:`.

What can hardly be anything but a mark refuses the file; what may be ordinary text is told of. Code is left alone: fences,
and words in backticks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stages.chunking.blocks import Block
from stages.chunking.lines import Lines
from stages.chunking.marks import (
    BRACES,
    MarkError,
    code_spans,
    is_canonry_comment,
    is_nested_heading,
    is_within,
    quoted,
    unmasked,
)

_HINT = re.compile(r"spoiler|visib|hidden|tags?\s*=|canonry", re.IGNORECASE)
_HITS = re.compile(
    rf"(?P<brace>{BRACES.pattern})|<!--(?P<comment>.{{0,400}}?)-->|(?P<opening><!--)"
    r"|(?<![\w-])(?P<bare>canonry\s*[:：][^\r\n<>]{0,80}?(?:spoiler|tags|visibility|hidden)[\w-]*\s*[=＝]"
    r"|spoiler[_-]?(?:level)?\s*[=＝]\s*\d)",
    re.IGNORECASE | re.DOTALL,
)
_KEY = r"(?<![\w#.-])(?:spoilers?(?:[_-]?(?:level|tags?))?|visibility|hidden)"
_STATED = re.compile(rf"{_KEY}\s*=(?!=)", re.IGNORECASE)
_SPOILER = re.compile(r"(?<![\w#.-])spoiler[\w-]*\s*=(?!=)", re.IGNORECASE)
_COLON = re.compile(
    r"(?<![\w#.-])(?:spoiler(?:[_-]?level)?\s*:\s*\d|visibility\s*:\s*(?:hidden|normal)|hidden\s*:\s*(?:true|yes))",
    re.IGNORECASE,
)
_TAGS = re.compile(r"\s*(?:[#.][\w-]+\s+)*tags?\s*=\s*\S+(?:\s+[\w-]+=\S+)*\s*", re.IGNORECASE)
_WORDS = re.compile(r"\s*(?:spoilers?|hidden|visibility)(?:[\s:=]+(?:\d+|hidden|normal|true|yes))?\s*", re.IGNORECASE)
_NOTE = re.compile(r"\s*(?:\w+\s*:\s*)?(?:spoilers?|hidden|visibility)(?:[\s:=]+[\w,.-]+)?\s*", re.IGNORECASE)
_ITEMS = re.compile(r"\s*(?:[\w-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'|\S+)\s*)+")
_TAG = re.compile(r"<[^<>]*>")
_HEADING_LIKE = re.compile(r"[ \t>]*(?:#|\*\*|__|<h\d|[-=~*_\s]*\Z)", re.IGNORECASE)
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")
_STYLE = re.compile(r"\s*<(?:style|script)\b", re.IGNORECASE)
_PLACES = {
    "markdown": "put it at the end of a `# heading` line, or write <!-- canonry: spoiler=NUMBER --> on a line of its own; "
    "an example goes in `backticks`",
    "text": "put it behind a chapter line or a title underlined with ===, or write <!-- canonry: spoiler=NUMBER --> on a "
    "line of its own; an example goes in `backticks`",
}
_LINE = re.compile(r"[^\r\n]*")
_NEAR = 300  # characters of a line that are looked at around a mark
_MOST = 5  # warnings of one file


@dataclass(frozen=True, slots=True)
class Lost:
    """Something that reads like a mark and holds for nothing. `certain` where it can hardly be ordinary text."""

    line: int
    problem: str
    certain: bool


def refuse_lost(lines: Lines, blocks: Sequence[Block], first_line: int, kind: str) -> None:
    """Raises MarkError for the first mark that would be dropped."""
    for lost in find_lost(lines, blocks, first_line):
        if lost.certain:
            raise MarkError(lost.line, lost.problem, _PLACES[kind])


def lost_warnings(lines: Lines, blocks: Sequence[Block], first_line: int, kind: str) -> list[str]:
    """What may be a mark that was meant, and may be ordinary text."""
    found = [lost for lost in find_lost(lines, blocks, first_line) if not lost.certain]
    said = [f"line {lost.line}: {lost.problem}, so it hides nothing; if it is meant, {_PLACES[kind]}" for lost in found]
    more = [f"{len(said) - _MOST} more such places"] if len(said) > _MOST else []
    return said[:_MOST] + more


def may_hold_lost(text: str) -> bool:
    """Whether there is anything to look for; most texts say nothing of secrecy."""
    return (
        _HINT.search(text) is not None
        or "｛" in text
        or (not text.isascii() and "{" in text and _HINT.search(unmasked(text)) is not None)
    )


def find_lost(lines: Lines, blocks: Sequence[Block], first_line: int) -> Iterator[Lost]:
    """All of them in order; `first_line` is the number of the text's first line."""
    text = lines.text
    if not may_hold_lost(text):
        return
    starts = [block.start for block in blocks]
    code: dict[int, list[tuple[int, int]]] = {}
    for match in _HITS.finditer(text):
        said = _reading(text, match)
        if said is None:
            continue
        index = bisect_right(starts, match.start()) - 1
        if index < 0 or match.start() >= blocks[index].end:
            continue
        block, line = blocks[index], lines.at(match.start())
        where = _place(lines, block, line, match)
        if where is None:
            continue
        if index not in code:
            code[index] = (
                [] if block.kind == "code" else code_spans(text, block.start, block.end, block.kind == "paragraph")
            )
        if not is_within(code[index], match.start()):
            certain, what = said
            yield Lost(first_line + line, f"{what} {where}: {quoted(' '.join(match[0].split()))}", certain)


def _place(lines: Lines, block: Block, line: int, match: re.Match[str]) -> str | None:
    """Why a mark holds for nothing in this block; None where it holds, or is an example in code."""
    text = lines.text
    canonry_comment = match["comment"] is not None and is_canonry_comment(text, match.start())
    if block.kind == "code":
        fence = _FENCE.match(text, block.start)
        if fence is None:
            return "is indented by four spaces or more, which makes it code"
        last = _FENCE.match(text, lines.starts[lines.at(block.end - 1)])
        closed = last is not None and last.start() > block.start and last[1].startswith(fence[1])
        return None if closed else "stands in a code fence that is never closed"
    if canonry_comment or (match["brace"] is not None and block.kind == "heading"):
        return None
    if block.kind == "html" and _STYLE.match(text, block.start):
        return None
    if match["comment"] is not None:
        return "begins without `canonry:`"
    if block.kind in ("quote", "list") and match["brace"] is not None and is_nested_heading(text, lines.starts[line]):
        return None
    return "stands on no heading"


def _reading(text: str, match: re.Match[str]) -> tuple[bool, str] | None:
    """(whether it is surely a mark, what it is) of a hit; None for ordinary text."""
    if match["brace"] is not None:
        certain = _brace(text, match)
        return None if certain is None else (certain, "this mark")
    if match["comment"] is not None:
        if is_canonry_comment(text, match.start()):
            return True, "this comment"  # lost only in code
        certain = _comment(match["comment"])
        return None if certain is None else (certain, "this comment")
    if match["bare"] is not None:
        return match["bare"].lower().startswith("canonry"), "this mark"
    return None


def _brace(text: str, match: re.Match[str]) -> bool | None:
    brace = match["brace"]
    inner = unmasked(brace[1:].rstrip("}｝"))
    before = text[max(0, match.start() - 1) : match.start()]
    doubled = before in ("{", "｛")
    if _STATED.search(inner):
        return not doubled or _ITEMS.fullmatch(inner) is not None
    if before and (before.isalnum() or before in "\\$=(_#%"):
        return None  # a template, a command of LaTeX, a value in code
    if _COLON.search(inner):
        if doubled or inner.count(":") > 1 or ";" in inner or '"' in inner:
            return None if "spoiler" not in inner.lower() else False
        return "spoiler" in inner.lower()
    if _TAGS.fullmatch(inner):
        return False if doubled else _ends_line(text, match)
    if len(inner) <= 60 and inner.strip().lower() != "visibility" and _WORDS.fullmatch(inner):
        if doubled:
            return False if "spoiler" in inner.lower() else None
        return _ends_line(text, match) and _looks_like_heading(text, match.start())
    return None


def _comment(content: str) -> bool | None:
    plain = unmasked(content)
    bare = _TAG.sub(" ", plain)
    if _SPOILER.search(bare) or (_STATED.search(bare) and _ITEMS.fullmatch(bare)):
        return True
    return False if len(plain) <= 80 and _NOTE.fullmatch(plain) else None


def _ends_line(text: str, match: re.Match[str]) -> bool:
    rest = _LINE.match(text, match.end(), match.end() + _NEAR)
    return rest is not None and not rest[0].strip(" \t#*_|")


def _looks_like_heading(text: str, start: int) -> bool:
    """Whether the line up to there begins as a heading would, or is empty; a long line is a paragraph."""
    piece = text[max(0, start - _NEAR) : start]
    begin = max(piece.rfind("\n"), piece.rfind("\r")) + 1
    return (begin > 0 or start <= _NEAR) and _HEADING_LIKE.match(piece[begin:]) is not None
