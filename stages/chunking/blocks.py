"""Markdown text -> its top-level blocks, by the block rules of CommonMark and GitHub's tables.

Only the line numbers of markdown-it's tokens are used: it replaces characters, so its text has other offsets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from stages.chunking.lines import Lines
from stages.chunking.marks import has_brace

MAX_NESTING = 16  # deeper quotes and lists are taken as the text of their parent
MAX_HEADING_CHARS = 1000  # longer than this is text, whatever stands before it
MAX_UNDERLINED_CHARS = 200  # a paragraph with a rule straight below it, by mistake

_LONG_LINE = 7000  # characters; only the ends of a longer line are shown to the parser
_HEAD, _TAIL = 6000, 800
_CLOSERS = ("-->", "</script>", "</pre>", "</style>", "</textarea>", "?>", "]]>")
_WORD_START = r"(?:[^\W\d_]|\*{1,2}[^\W\d_]|_[^\W\d_]|[\"'“‘«„(…—])"  # no block but a paragraph begins so
_PLAIN_PARAGRAPH = re.compile(rf"(?:[ ]{{0,3}}{_WORD_START}[^\n]*+(?:\n|\Z))++(?=[ \t]*+(?:\n|\Z))")
_KINDS = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "table_open": "table",
    "blockquote_open": "quote",
    "fence": "code",
    "code_block": "code",
    "html_block": "html",
    "hr": "rule",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A run of whole lines, `text[start:end]`, without blank lines at its ends and without its last line break.

    `kind` is heading, paragraph, list, table, quote, code, html or rule; fragment for what is left of one of them.
    `level` and `title` (as written) are those of a heading. `parts` are the inner borders of a list: the start of each
    item and how deep it lies. `header_end` is where the header rows of a table end.
    """

    kind: str
    start: int
    end: int
    level: int = 0
    title: str = ""
    parts: tuple[tuple[int, int], ...] = ()
    header_end: int = 0


def markdown_blocks(lines: Lines) -> list[Block]:
    """The blocks in order. Lines that no token covers (link definitions) are paragraphs of their own."""
    blocks: list[Block] = []
    done = 0  # the first line that is not in a block yet
    for token, items in _top_level(_parser().parse(_parser_text(lines))):
        assert token.map is not None
        first, last = max(token.map[0], done), min(token.map[1], len(lines))
        _add_uncovered(blocks, lines, done, first)
        done = max(done, last)
        while last > first and lines.is_blank(last - 1):
            last -= 1
        while first < last and lines.is_blank(first):
            first += 1
        if first < last:
            blocks.append(_block(token, items, lines, first, last))
    _add_uncovered(blocks, lines, done, len(lines))
    return blocks


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    parser.options["maxNesting"] = 10_000
    parser.block.ruler.before("table", "too_deep", _too_deep)
    parser.block.ruler.before("too_deep", "plain_paragraph", _plain_paragraph)
    return parser


def _plain_paragraph(state: StateBlock, start: int, _end: int, silent: bool) -> bool:
    """Takes an ordinary paragraph in one step, which halves the time for prose: no other rule could take it."""
    if silent or state.level:
        return False
    match = _PLAIN_PARAGRAPH.match(state.src, state.bMarks[start])
    if not match:
        return False
    text = match[0]
    state.line = start + text.count("\n") + (not text.endswith("\n"))
    state.push("paragraph_open", "p", 0).map = [start, state.line]
    return True


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Takes what is nested too deeply as one piece; markdown-it's own limit would swallow the rest of the document."""
    if silent or state.level < MAX_NESTING:
        return False
    line = start + 1
    while line < end and (state.isEmpty(line) or state.sCount[line] >= state.blkIndent):
        line += 1
    state.line = line
    return True


def _parser_text(lines: Lines) -> str:
    """The text with the same lines and block structure, but form feeds as spaces and no line of great length."""
    text = lines.text
    if any(end - start > _LONG_LINE for start, end in zip(lines.starts, lines.ends, strict=True)):
        text = "\n".join(_shortened(lines[line]) for line in range(len(lines)))
    return text.replace("\f", " ")


def _shortened(line: str) -> str:
    if len(line) <= _LONG_LINE:
        return line
    middle = line[_HEAD:-_TAIL].lower()
    return line[:_HEAD] + "".join(closer for closer in _CLOSERS if closer in middle) + line[-_TAIL:]


def _top_level(tokens: list[Token]) -> Iterator[tuple[Token, list[Token]]]:
    """Each block's opening token with the list items inside it."""
    opening: Token | None = None
    items: list[Token] = []
    for token in tokens:
        if token.level == 0:
            if token.nesting >= 0 and token.map and token.type in _KINDS:
                if opening is not None:
                    yield opening, items
                opening, items = token, []
        elif token.type == "list_item_open":
            items.append(token)
    if opening is not None:
        yield opening, items


def _add_uncovered(blocks: list[Block], lines: Lines, first: int, last: int) -> None:
    line = first
    while line < last:
        if lines.is_blank(line):
            line += 1
            continue
        begin = line
        while line < last and not lines.is_blank(line):
            line += 1
        blocks.append(Block("paragraph", lines.starts[begin], lines.ends[line - 1]))


def _block(token: Token, items: list[Token], lines: Lines, first: int, last: int) -> Block:
    kind = _KINDS[token.type]
    start, end = lines.starts[first], lines.ends[last - 1]
    if kind == "heading":
        return _heading(token, lines, first, last)
    if kind == "list":
        parts = tuple((lines.starts[item.map[0]], (item.level - 1) // 2) for item in items if item.map)
        return Block(kind, start, end, parts=parts)
    if kind == "table":
        return Block(kind, start, end, header_end=lines.ends[min(first + 1, last - 1)])
    return Block(kind, start, end)


def _heading(token: Token, lines: Lines, first: int, last: int) -> Block:
    """A heading, or a paragraph when there is nothing in it or far too much for one (unless it carries a mark)."""
    start, end = lines.starts[first], lines.ends[last - 1]
    underlined = not token.markup.startswith("#")
    if underlined:
        title = " ".join(lines[line].strip() for line in range(first, last - 1))
    else:
        title = lines[first].strip().lstrip("#").strip()
        bare = title.rstrip("#")
        title = bare.rstrip() if not bare or bare[-1] in " \t" else title
    limit = MAX_UNDERLINED_CHARS if underlined else MAX_HEADING_CHARS
    if not title or (len(title) > limit and not has_brace(title)):
        return Block("paragraph", start, end)
    return Block("heading", start, end, level=int(token.tag[1:]), title=title)
