"""Markdown is read as CommonMark has it, whatever its line endings and however odd it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from canonry.config import ChunkSettings
from stages.chunking import chunk_document
from stages.chunking.blocks import markdown_blocks
from stages.chunking.headings import clean_heading
from stages.chunking.lines import Lines

CASE = Path(__file__).parents[2] / "fixtures/cases/04-fences-and-skipped-levels"


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in markdown_blocks(Lines.of(text))]


def test_case_04_finds_exactly_the_right_headings() -> None:
    """No comment in code opens a section, and an unclosed fence loses nothing."""
    data = (CASE / "fences.md").read_bytes()
    headings = [[block.level, block.title] for block in markdown_blocks(Lines.of(data.decode())) if block.level]
    expected = json.loads((CASE / "expect.json").read_text())
    assert headings == expected["fences.md"]
    chunks = chunk_document(data, "markdown", ChunkSettings())
    text = " ".join(data[chunk.start_byte : chunk.end_byte].decode() for chunk in chunks)
    assert all(
        word in text for word in ("ring once", "coil the rope", "inner example", "inside the quote", "so this is code")
    )


def test_case_04_files_each_text_under_its_path() -> None:
    """By level, so that a skipped level adopts nothing."""
    data = (CASE / "levels.md").read_bytes()
    chunks = chunk_document(data, "markdown", ChunkSettings())
    paths = {data[chunk.start_byte : chunk.end_byte].decode(): list(chunk.heading_path) for chunk in chunks}
    assert paths == json.loads((CASE / "expect.json").read_text())["levels.md paths"]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_agree_with_the_parser(ending: str) -> None:
    """NUL, form feed and exotic separators do not shift anything."""
    text = ending.join(
        ["a\0b\u2028c", "", "\x0b", "\f# Page", "", "x\x85y", "===", "- i", "", "  j", "", "| a |", "|---|", "| b |"]
    )
    assert [kind for kind, _ in kinds(text)] == ["paragraph", "heading", "heading", "list", "table"]
    assert kinds(text)[-1][1] == ending.join(["| a |", "|---|", "| b |"])


def test_link_definitions_are_kept() -> None:
    """The parser gives no token for them."""
    assert ("paragraph", "[a]: /x\n[b]: /y") in kinds("# H\n\n[a]: /x\n[b]: /y\n\ntext\n")


def test_a_long_paragraph_over_a_rule_is_no_heading() -> None:
    """A rule straight below a paragraph, by mistake, does not swallow it."""
    assert [kind for kind, _ in kinds("word " * 100 + "\n---\n")] == ["paragraph"]
    assert [kind for kind, _ in kinds("Short\n---\n")] == ["heading"]


@pytest.mark.parametrize(
    "text", [">" * 10_000 + " x", "- " * 10_000 + "x", "".join("  " * level + "- a\n" for level in range(300))]
)
def test_deep_nesting_does_not_swallow_what_follows(text: str) -> None:
    """The next heading is still one."""
    assert kinds(text + "\n\n# After\n")[-1] == ("heading", "# After")


def test_a_long_line_keeps_its_structure() -> None:
    """A comment that closes in the middle of it is closed, and a long heading is text."""
    long = "x" * 30_000
    assert [kind for kind, _ in kinds(f"<!-- {long} --> {long}\n\n# After\n")] == ["html", "heading"]
    assert [kind for kind, _ in kinds(f"# {long}\n")] == ["paragraph"]


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("The **Bell** _Tower_ of *Ash*", "The Bell Tower of Ash"),
        ("`spell_name` and snake_case_word", "spell_name and snake_case_word"),
        ("[Ravel](/people/ravel.md) and ![crest](c.png)", "Ravel and crest"),
        ("[[People/Ravel|Ravel]] met [[Oda]]", "Ravel met Oda"),
        ("<a id='x'></a>Gate &amp; Key", "Gate & Key"),
        (r"1\. Not a \*list\*", "1. Not a *list*"),
        ("  many\t spaces  ", "many spaces"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("`**kept**`", "**kept**"),
        ("Cellar {#cellar}", "Cellar"),
    ],
)
def test_headings_are_cleaned_of_markup(raw: str, clean: str) -> None:
    """What a reader sees is what the path says."""
    assert clean_heading(raw) == clean
