"""Plain text -> its blocks: paragraphs between blank lines, and the lines that are headings by their form.

A heading stands alone between blank lines, or is underlined. In doubt a line is text: a chapter that is missed costs
less than a sentence that is lost in a heading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise

from stages.chunking.blocks import Block
from stages.chunking.lines import Lines
from stages.chunking.marks import carries_mark, has_brace

MAX_HEADING_CHARS = 80
_MARKED_CHARS = 500  # with a mark of secrecy behind it
_CONTENTS = 3  # so many headings of one level without text between them are a table of contents

_NUMBER_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    "eighteen|nineteen|twenty(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?|thirty|forty|fifty|"
    "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|the first|the second|the third|the last"
)
_RUSSIAN_WORDS = "перв|втор|трет|четв[её]рт|пят|шест|седьм|восьм|девят|десят"
_NUMBER = rf"(?:\d{{1,4}}|[ivxlcdm]{{1,9}}|{_NUMBER_WORDS}|(?:{_RUSSIAN_WORDS})\w{{1,3}})"
_NAMED = re.compile(
    r"(?:(?P<one>part|book|act|volume|vol\.|часть|книга|том|teil|partie|parte|livre|libro)|"
    r"chapter|chap\.|scene|canto|letter|stave|глава|kapitel|chapitre|capítulo|capitolo)\s+"
    rf"(?P<number>{_NUMBER})(?P<rest>\.?|\s*[.:)\u2013\u2014-]+\s*\S.*|\s+\S.*)",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"第[0-9０-９零〇一二三四五六七八九十百千两兩]{1,8}(?P<unit>[卷部篇集章回節节幕話话])(?P<rest>[\s:：、·.]+\S.*|)"
)
_CHINESE_LEVELS = {"卷": 1, "部": 1, "篇": 1, "集": 1, "節": 3, "节": 3}
_LONE = re.compile(
    r"(?:prologue|epilogue|preface|foreword|interlude|afterword|introduction|appendix(?: [A-Z\d]{1,3})?|пролог|эпилог|"
    r"楔子|序章|尾声|尾聲|后记|後記)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,3})*)(?P<dot>\.?)[ \t\u3000]+(?P<title>\S.*)")
_UNDERLINE = re.compile(r"[ \t]*(={3,}|-{3,})[ \t]*")
_MARK_GROUP = re.compile(r"\s*[{｛][^{}｛｝]*[}｝]?\s*$")
_SENTENCE_ENDS = tuple(".!?,;:…。！？，；：、")
_LONE_COMMENT = re.compile(r"\s*<!--.*-->\s*")


def text_blocks(lines: Lines, is_marked: Callable[[str], bool] = carries_mark) -> list[Block]:
    """The blocks in order: headings and paragraphs only. A title that `is_marked` is no entry of a list of contents."""
    blocks: list[Block] = []
    numbered: list[int] = []  # indices of headings that are so by their number alone
    underlined: list[int] = []
    line = 0
    while line < len(lines):
        if lines.is_blank(line):
            line += 1
            continue
        line = _read_run(lines, line, blocks, numbered, underlined)
    _drop_lists(blocks, numbered, is_marked)
    _drop_contents(blocks, is_marked)
    return _nested_under_chapters(blocks, numbered, underlined)


def _read_run(lines: Lines, first: int, blocks: list[Block], numbered: list[int], underlined: list[int]) -> int:
    """Adds the blocks that begin at a non-blank line up to the next blank one; returns the line after them."""
    last = first
    while last < len(lines) and not lines.is_blank(last):
        last += 1
    if level := _underlined(lines, first, last):
        underlined.append(len(blocks))
        blocks.append(_heading(lines, first, first + 2, level))
        return first + 2
    if last == first + 1:
        level, by_number = _level_alone(lines[first])
        if level:
            if by_number:
                numbered.append(len(blocks))
            blocks.append(_heading(lines, first, last, level))
            return last
    _add_paragraphs(lines, first, last, blocks)
    return last


def _heading(lines: Lines, first: int, last: int, level: int) -> Block:
    return Block("heading", lines.starts[first], lines.ends[last - 1], level=level, title=lines[first].strip())


def _add_paragraphs(lines: Lines, first: int, last: int, blocks: list[Block]) -> None:
    """A run of lines is one paragraph, but for comments on lines of their own and Chinese chapter lines within it."""
    begin = first
    for line in range(first, last):
        text = lines[line]
        level = _chinese_level(_without_mark(text.strip())) if "第" in text[:20] else 0
        after_sentence = line == first or lines[line - 1].rstrip().endswith(("。", "！", "？", "”", "」", "…"))
        in_contents = line + 1 < last and bool(_chinese_level(lines[line + 1].strip()))
        is_heading = bool(level) and ((after_sentence and not in_contents) or carries_mark(text))
        if not is_heading and not ("<!--" in text and _LONE_COMMENT.fullmatch(text)):
            continue
        if begin < line:
            blocks.append(Block("paragraph", lines.starts[begin], lines.ends[line - 1]))
        blocks.append(_heading(lines, line, line + 1, level) if is_heading else _lone_comment(lines, line))
        begin = line + 1
    if begin < last:
        blocks.append(Block("paragraph", lines.starts[begin], lines.ends[last - 1]))


def _lone_comment(lines: Lines, line: int) -> Block:
    return Block("html", lines.starts[line], lines.ends[line])


def _underlined(lines: Lines, first: int, last: int) -> int:
    """The level of a title over a line of === (1) or --- (2); 0 when it is none."""
    if first + 1 >= last:
        return 0
    match = _UNDERLINE.fullmatch(lines[first + 1])
    if not match or _UNDERLINE.fullmatch(lines[first]) or not _is_short_title(lines[first].strip()):
        return 0
    return 1 if match[1].startswith("=") else 2


def _without_mark(text: str) -> str:
    return _MARK_GROUP.sub("", text) if len(text) <= _MARKED_CHARS and has_brace(text) else text


def _is_short_title(text: str) -> bool:
    bare = _without_mark(text)
    return 0 < len(bare) <= MAX_HEADING_CHARS and not bare.endswith(_SENTENCE_ENDS)


def _level_alone(line: str) -> tuple[int, bool]:
    """The level of a line between blank lines (0 when it is text), and whether its number alone makes it a heading."""
    text = _without_mark(line.strip())
    if len(text) > MAX_HEADING_CHARS:
        return 0, False
    if named := _NAMED.fullmatch(text):
        rest = named["rest"].strip()
        if rest in ("", ".") or (_is_short_title(text) and _opens_title(rest)):
            return (1 if named["one"] else 2), False
        return 0, False
    if level := _chinese_level(text):
        return level, False
    if _LONE.fullmatch(text.removesuffix(".")):
        return 2, False
    match = _NUMBERED.fullmatch(text)
    if match and _is_short_title(text) and not match["title"][0].islower():
        depth = match["number"].count(".") + 1
        if depth > 1 or match["dot"]:
            return depth, True
    return 0, False


def _opens_title(rest: str) -> bool:
    """Whether what follows the number of a chapter is its title and not the rest of a sentence."""
    first = rest.lstrip(".:)\u2013\u2014- \t\"'“‘«*_(")[:1]
    return bool(first) and not first.islower()


def _chinese_level(text: str) -> int:
    match = _CHINESE.fullmatch(text) if len(text) <= MAX_HEADING_CHARS else None
    if not match or (match["rest"] and not _is_short_title(text)):
        return 0
    return _CHINESE_LEVELS.get(match["unit"], 2)


def _drop_lists(blocks: list[Block], numbered: list[int], is_marked: Callable[[str], bool]) -> None:
    """Makes text of numbered lines that follow each other without text between them: those are a list."""
    candidates, group = set(numbered), list[int]()
    for index in [*numbered, len(blocks) + 1]:
        if group and index != group[-1] + 1:
            levels = [blocks[member].level for member in group]
            ends_document = group[-1] == len(blocks) - 1
            is_list = ends_document or any(later <= earlier for earlier, later in pairwise(levels))
            if is_list:
                candidates.difference_update(_as_text(blocks, group, is_marked))
            group = []
        group.append(index)
    numbered[:] = sorted(candidates)


def _as_text(blocks: list[Block], members: Iterable[int], is_marked: Callable[[str], bool]) -> list[int]:
    """Makes text of the headings without a mark: one with a mark would lose its secret. Returns which became text."""
    dropped = [member for member in members if not is_marked(blocks[member].title)]
    for member in dropped:
        blocks[member] = Block("paragraph", blocks[member].start, blocks[member].end)
    return dropped


def _drop_contents(blocks: list[Block], is_marked: Callable[[str], bool]) -> None:
    """Makes text of all but the last of three or more headings of one level that stand next to each other."""
    begin = 0
    for index in range(1, len(blocks) + 1):
        if index < len(blocks) and blocks[index].kind == "heading" and blocks[index].level == blocks[begin].level:
            continue
        if blocks[begin].kind == "heading" and index - begin >= _CONTENTS:
            _as_text(blocks, range(begin, index - 1), is_marked)
        begin = index


def _nested_under_chapters(blocks: list[Block], numbered: list[int], underlined: list[int]) -> list[Block]:
    """Puts headings by number below all others, and underlined ones after the first chapter below the chapters."""
    other = {*numbered, *underlined}
    named = {index: block.level for index, block in enumerate(blocks) if block.kind == "heading" and index not in other}
    base = max(named.values(), default=0)
    for index in underlined if named else ():
        if blocks[index].kind == "heading" and index > min(named):
            blocks[index] = replace(blocks[index], level=blocks[index].level + base)
    deepest = max(
        (block.level for index, block in enumerate(blocks) if block.kind == "heading" and index not in numbered),
        default=0,
    )
    for index in numbered if deepest else ():
        if blocks[index].kind == "heading":
            blocks[index] = replace(blocks[index], level=blocks[index].level + deepest)
    return blocks
