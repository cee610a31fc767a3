"""Plain text has paragraphs and, where a line can be nothing else, headings."""

from __future__ import annotations

import time

import pytest

from canonry.config import ChunkSettings
from canonry.records import HeadingRule, Marks
from stages.chunking import chunk_document
from stages.chunking.lines import Lines
from stages.chunking.plain import text_blocks


def headings(text: str) -> list[tuple[int, str]]:
    return [(block.level, block.title) for block in text_blocks(Lines.of(text)) if block.kind == "heading"]


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("CHAPTER IV", 2),
        ("Chapter 4. The Gate", 2),
        ("CHAPTER I.", 2),
        ("PART TWO", 1),
        ("BOOK I", 1),
        ("ACT II", 1),
        ("Глава 3", 2),
        ("ЧАСТЬ ПЕРВАЯ", 1),
        ("第三章 城门", 2),
        ("第十二回 胡地甲诬良害己", 2),
        ("PROLOGUE", 2),
        ("1. The Road", 1),
        ("2.3 Magic", 2),
        ("The Road\n========", 1),
        ("The Road\n--------", 2),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_chapter_lines_are_headings(line: str, level: int, ending: str) -> None:
    """Alone between blank lines, or underlined."""
    text = f"Some words.\n\n{line}\n\nIt was late.\n".replace("\n", ending)
    assert headings(text) == [(level, line.split("\n")[0])]


@pytest.mark.parametrize(
    "text",
    [
        "THE BELL RINGS AND NOBODY COMES\n\nWords.",
        "Words.\n\nChapter 4 of the book was never found.\n\nWords.",
        "Words.\n\nPart of the wall fell\n\nWords.",
        "Words.\n\nBook I read last night\n\nWords.",
        "1. Take rope\n\n2. Climb down\n\n3. Run\n\nWords.",
        "1. Take rope\n2. Climb down\n",
        "Words.\n\n12 monkeys\n\nWords.",
        "Words.\n\n1. A sentence that ends.\n\nWords.",
        "Words.\n\n1914 was a year\n\nWords.",
        "CHAPTER I\n\nCHAPTER II\n\nCHAPTER III\n",
        "第一章 甲\n第二章 乙\n第三章 丙\n",
    ],
)
def test_shouting_lists_and_contents_are_text(text: str) -> None:
    """At most the last entry of a table of contents is taken for a heading."""
    assert len(headings(text)) <= text.count("CHAPTER III") + text.count("第三章")


def test_wrapped_lines_are_one_paragraph() -> None:
    """Only a blank line ends a paragraph."""
    text = "The ferry\nleft at noon.\n\nIt never\ncame back.\n"
    assert [text[b.start : b.end] for b in text_blocks(Lines.of(text))] == [
        "The ferry\nleft at noon.",
        "It never\ncame back.",
    ]


def test_numbered_titles_lie_below_chapters() -> None:
    """A section by number does not close the chapter that it stands in."""
    text = "CHAPTER I\n\nWords.\n\n1. The Road\n\nMore.\n\n1.1 The Ford\n\nEven more.\n"
    chunks = chunk_document(text.encode(), "text", ChunkSettings())
    assert chunks[-1].heading_path == ("CHAPTER I", "1. The Road", "1.1 The Ford")


def test_many_lines_without_a_blank_one_are_cut_in_linear_time() -> None:
    """Near the target, at lines or sentences."""
    data = ("2024-01-02 the gate was opened at dawn\n" * 20_000).encode()
    started = time.process_time()
    chunks = chunk_document(data, "text", ChunkSettings(overlap_tokens=0))
    assert time.process_time() - started < 10
    assert all(240 < chunk.token_count <= 800 for chunk in chunks[:-1])
    assert all(data[chunk.start_byte : chunk.start_byte + 4] == b"2024" for chunk in chunks)


def test_underlined_titles_nest_below_chapters_but_a_title_above_them_does_not():
    text = "The Rules\n=========\n\nCHAPTER I. MONEY\n\nPawning\n-------\n\nBring a ticket.\n\nCHAPTER II. TRAVEL\n\nBoats\n-----\n\nBring a coin.\n"
    chunks = chunk_document(text.encode(), "text", ChunkSettings())
    assert [chunk.heading_path for chunk in chunks] == [
        ("The Rules", "CHAPTER I. MONEY", "Pawning"),
        ("The Rules", "CHAPTER II. TRAVEL", "Boats"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "CHAPTER 1 {spoiler=1}\n\nCHAPTER 2 The zebra murderer {spoiler=2}\n\nCHAPTER 3 {spoiler=3}\n\ntext\n",
        "1. One {spoiler=1}\n\n2. Two {spoiler=2}\n\n3. Three {spoiler=3}\n",
        "第一章 {spoiler=1}\n第二章 灯 {spoiler=2}\n第三章 {spoiler=3}\n正文\n",
    ],
    ids=["chapters", "numbers", "Chinese"],
)
def test_a_heading_with_a_mark_is_no_entry_of_a_list(text: str) -> None:
    chunks = chunk_document(text.encode(), "text", ChunkSettings())
    assert [chunk.marks.spoiler_level for chunk in chunks] == [1, 2, 3]


def test_a_heading_that_a_rule_names_is_no_entry_of_a_list() -> None:
    text = "CHAPTER 1\n\nCHAPTER 2 The murderer\n\nCHAPTER 3\n\ntext\n"
    rules = (HeadingRule("*murderer*", Marks(2)),)
    chunks = chunk_document(text.encode(), "text", ChunkSettings(), rules)
    assert [
        chunk.marks.spoiler_level for chunk in chunks if b"murderer" in text.encode()[chunk.start_byte : chunk.end_byte]
    ] == [2]
