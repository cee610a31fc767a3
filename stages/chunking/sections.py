"""Blocks -> stretches: what stands under one heading, with one secrecy, and may be cut into chunks freely.

Headings, canonry comments and embedded binary data are the borders that no chunk crosses.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from canonry.records import HeadingRule, Marks
from stages.chunking.blocks import Block
from stages.chunking.headings import clean_heading
from stages.chunking.lines import Lines
from stages.chunking.marks import Comment, find_comments, has_brace, nested_heading_marks, rule_marks, split_heading

_MARKUP_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring blocks under one heading path and one secrecy, without a border among them."""

    path: tuple[str, ...]
    marks: Marks
    blocks: list[Block] = field(default_factory=list)


@dataclass(slots=True)
class _Section:
    level: int
    title: str
    marks: Marks
    heading: Block | None = None  # None once the heading has text under it, and for the document itself


@dataclass(slots=True)
class _Builder:
    """Walks through the blocks with the open sections on a stack."""

    lines: Lines
    first_line: int
    rules: Sequence[HeadingRule]
    payloads: list[tuple[int, int]]
    open: list[_Section]
    may_be_marked: bool  # whether any comment or brace is in the text; most texts have none
    stretches: list[Stretch] = field(default_factory=list)
    carried: int | None = None  # where a scrap of punctuation before the next block begins
    fresh: bool = True  # whether nothing but comments came since the heading

    def line_of(self, offset: int) -> int:
        return self.first_line + self.lines.at(offset)

    def begin_stretch(self) -> None:
        path = tuple(section.title for section in self.open if section.level)
        self.stretches.append(Stretch(path, self.open[-1].marks))

    def add_heading(self, block: Block) -> None:
        self.close_empty(block.level)
        while self.open[-1].level >= block.level:
            self.open.pop()
        title, marks = split_heading(block.title, self.line_of(block.start))
        marks |= _comment_marks(find_comments(self.lines.text, block.start, block.end, self.line_of(block.start)))
        cleaned = clean_heading(title) or "Untitled"
        marks |= self.open[-1].marks | rule_marks(cleaned, self.rules)
        self.open.append(_Section(block.level, cleaned, marks, block))
        self.fresh, self.carried = True, None
        self.begin_stretch()

    def close_empty(self, next_level: int) -> None:
        """A heading with no text under it, and no subheading either, is a passage of its own lines."""
        section, blocks = self.open[-1], self.stretches[-1].blocks
        if section.heading is None or next_level > section.level:
            return
        end = blocks[-1].end if blocks else section.heading.end
        blocks[:] = [Block("fragment", section.heading.start, end)]

    def add_block(self, block: Block) -> None:
        section = self.open[-1]
        comments, marks = self.marks_in(block)
        is_comment = _is_only_comments(block, comments, self.lines.text)
        if marks != section.marks:
            section.marks = marks
            if is_comment and self.fresh and not self.carried:
                self.stretches[-1] = replace(self.stretches[-1], marks=marks)
            else:
                self.begin_stretch()
                self.carried = None
        if not _says_nothing(block, self.lines.text):
            section.heading, self.fresh = None, False
        self.add_readable(block)

    def marks_in(self, block: Block) -> tuple[list[Comment], Marks]:
        marks = self.open[-1].marks
        if block.kind == "code" or not self.may_be_marked:
            return [], marks
        text, line = self.lines.text, self.line_of(block.start)
        comments = find_comments(text, block.start, block.end, line)
        marks |= _comment_marks(comments)
        if block.kind in ("quote", "list"):
            marks |= nested_heading_marks(text, block.start, block.end, line)
        return comments, marks

    def add_readable(self, block: Block) -> None:
        """Adds a block without the payloads in it, each of which ends a stretch."""
        text = self.lines.text
        index = bisect_left(self.payloads, (block.start, 0))
        begin, part = block.start, block
        kind = "paragraph" if block.kind == "paragraph" else "fragment"
        while index < len(self.payloads) and self.payloads[index][0] < block.end:
            payload_start, payload_end = self.payloads[index]
            self.append(Block(kind, begin, payload_start))
            self.begin_stretch()
            begin = min(block.end, _skip_blank_rest(text, payload_end))
            part = Block(kind, begin, block.end)
            index += 1
        if part is not block and not _WORD.search(text, begin, block.end):
            self.carried = begin if begin < block.end else None
            return
        self.append(part)

    def append(self, block: Block) -> None:
        if self.carried is not None:
            block = replace(block, start=self.carried)
            self.carried = None
        self.stretches[-1].blocks.append(block)


def divide(
    lines: Lines, blocks: list[Block], payloads: list[tuple[int, int]], rules: Sequence[HeadingRule], first_line: int
) -> list[Stretch]:
    """The stretches of a document in order, none of them empty. Raises MarkError for a mark that cannot be read."""
    may_be_marked = "<!--" in lines.text or has_brace(lines.text)
    marks = _document_marks(lines, blocks, first_line) if may_be_marked else Marks()
    builder = _Builder(lines, first_line, rules, payloads, [_Section(0, "", marks)], may_be_marked)
    builder.begin_stretch()
    for block in blocks:
        if block.kind == "heading":
            builder.add_heading(block)
        else:
            builder.add_block(block)
    builder.close_empty(0)
    return [stretch for stretch in builder.stretches if stretch.blocks]


def _document_marks(lines: Lines, blocks: list[Block], first_line: int) -> Marks:
    """The marks of the comments before the first heading, which hold for the whole document."""
    marks = Marks()
    for block in blocks:
        if block.kind == "heading":
            break
        if block.kind != "code":
            line = first_line + lines.at(block.start)
            marks |= _comment_marks(find_comments(lines.text, block.start, block.end, line))
    return marks


def _comment_marks(comments: list[Comment]) -> Marks:
    marks = Marks()
    for comment in comments:
        marks |= comment.marks
    return marks


def _is_only_comments(block: Block, comments: list[Comment], text: str) -> bool:
    if not comments:
        return False
    rest = text[block.start : comments[0].start] + text[comments[-1].end : block.end]
    return not rest.strip()


def _says_nothing(block: Block, text: str) -> bool:
    """Whether a block holds no word outside comments: a rule, a comment, a scrap of punctuation."""
    if block.kind == "rule":
        return True
    if _WORD.match(text, block.start):
        return False
    head = text[block.start : block.start + 4].lstrip()
    if head.startswith("<!"):
        return not _WORD.search(_MARKUP_COMMENT.sub("", text[block.start : block.end]))
    return not _WORD.search(text, block.start, block.end)


def _skip_blank_rest(text: str, offset: int) -> int:
    """The offset itself, or the start of the next line that is not blank when nothing follows on this one."""
    end = offset
    while end < len(text) and text[end].isspace():
        end += 1
    between = text[offset:end]
    last_break = max(between.rfind("\n"), between.rfind("\r"))
    return offset + last_break + 1 if last_break >= 0 else offset
