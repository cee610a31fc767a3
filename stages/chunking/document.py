"""One document -> its chunks: front matter off, blocks, sections with their marks, passages, byte offsets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from canonry.config import ChunkSettings
from canonry.errors import UsageError
from canonry.records import Chunk, HeadingRule, Marks
from canonry.tokens import count_tokens
from stages.chunking.blocks import Block, markdown_blocks
from stages.chunking.front_matter import read_front_matter
from stages.chunking.headings import clean_heading
from stages.chunking.lines import Lines, byte_offsets
from stages.chunking.lost import lost_warnings, may_hold_lost, refuse_lost
from stages.chunking.marks import carries_mark, rule_marks
from stages.chunking.opaque import find_payloads
from stages.chunking.pack import Packer
from stages.chunking.pages import Pages
from stages.chunking.plain import text_blocks
from stages.chunking.sections import divide
from stages.chunking.split import Splitter

VERSION = "2"

_KINDS = ("markdown", "text")


def chunk_document(
    data: bytes,
    kind: str,
    settings: ChunkSettings,
    rules: Sequence[HeadingRule] = (),
    count: Callable[[str], int] = count_tokens,
) -> list[Chunk]:
    """The chunks of a UTF-8 document in its order; none when nothing but front matter and blank lines is in it.

    `kind` is "markdown" or "text". Every chunk is `data[start_byte:end_byte]`. Raises MarkError when the text marks a
    secret in a way that cannot be read.
    """
    if kind not in _KINDS:
        raise UsageError(f"documents of kind {kind!r} cannot be cut: use one of {', '.join(_KINDS)}")
    body_start = read_front_matter(data).body_start
    lines = Lines.of(data[body_start:].decode("utf-8"))
    first_line = _first_line(data[:body_start])
    pages = Pages.of(lines.text)
    packer = Packer(lines.text, Splitter(lines, settings, count), settings, count, pages)
    blocks = _blocks(lines, kind, rules)
    refuse_lost(lines, blocks, first_line, kind)
    stretches = divide(lines, blocks, find_payloads(lines.text), rules, first_line)
    passages = [(stretch, passage) for stretch in stretches for passage in packer.passages(stretch)]
    leads = {
        passage.header: _lead(lines.text, passage.header, settings, count) for _, passage in passages if passage.header
    }
    offsets = byte_offsets(lines.text, [at for _, passage in passages for at in (passage.start, passage.end)])
    return [
        Chunk(
            index=index,
            start_byte=body_start + offsets[passage.start],
            end_byte=body_start + offsets[passage.end],
            start_line=first_line + lines.at(passage.start),
            end_line=first_line + lines.at(passage.end - 1),
            heading_path=stretch.path,
            token_count=passage.tokens,
            page=pages.at(passage.start),
            marks=stretch.marks,
            lead=leads[passage.header] if passage.header else "",
        )
        for index, (stretch, passage) in enumerate(passages)
    ]


def find_lost_marks(data: bytes, kind: str) -> list[str]:
    """Warnings for a UTF-8 document: places that may be meant as marks of secrecy and hide nothing."""
    body_start = read_front_matter(data).body_start
    text = data[body_start:].decode("utf-8")
    if not may_hold_lost(text):
        return []
    lines = Lines.of(text)
    return lost_warnings(lines, _blocks(lines, kind, ()), _first_line(data[:body_start]), kind)


def _blocks(lines: Lines, kind: str, rules: Sequence[HeadingRule]) -> list[Block]:
    if kind == "markdown":
        return markdown_blocks(lines)
    return text_blocks(lines, lambda title: carries_mark(title) or rule_marks(clean_heading(title), rules) != Marks())


def _first_line(head: bytes) -> int:
    """The number of the line that the body begins in; `head` is a byte order mark and front matter, or nothing."""
    return 1 + head.count(b"\n") + head.count(b"\r") - head.count(b"\r\n")


def _lead(text: str, header: tuple[int, int], settings: ChunkSettings, count: Callable[[str], int]) -> str:
    """The header rows of a table, unless they would outweigh the rows that they lead."""
    rows = text[header[0] : header[1]]
    return rows if count(rows) <= settings.target_tokens else ""
