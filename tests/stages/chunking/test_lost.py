"""A mark where it would hold for nothing refuses the file, or is told of where it may be ordinary text."""

from __future__ import annotations

import time

import pytest

from canonry.config import ChunkSettings
from stages.chunking import MarkError, chunk_document, find_lost_marks


def refusal(text: str, kind: str = "markdown") -> str:
    with pytest.raises(MarkError) as caught:
        chunk_document(text.encode(), kind, ChunkSettings())
    return str(caught.value)


def untouched(text: str, kind: str = "markdown") -> bool:
    chunks = chunk_document(text.encode(), kind, ChunkSettings())
    assert not any(chunk.marks.spoiler_level or chunk.marks.hidden for chunk in chunks)
    return not find_lost_marks(text.encode(), kind)


@pytest.mark.parametrize(
    "text",
    [
        "##The End {spoiler=3}",
        "**The End** {spoiler=3}",
        "**The End** {hidden}",
        "{spoiler=3}",
        "{hidden}",
        "｛spoiler=3｝",
        "{spoiler: 3}",
        "The End {visibility=hidden}",
        "The End {tags=ending}",
        "The End {spoiler=3",
        "The End {: spoiler=3 }",
        "<h2>The End {spoiler=3}</h2>",
        "> The End {spoiler=3}",
        "- The End {spoiler=3}",
        "| a {spoiler=3} |\n|---|\n| b |",
        "    # The End {spoiler=3}",
        "```\n# The End {spoiler=3}",
        "```\n<!-- canonry: spoiler=3 -->",
        "```\n# The End {spoiler=3}\n> ```",
        "- it` {spoiler=3}\n- it`",
    ],
)
def test_a_mark_outside_a_heading_refuses_the_file(text: str) -> None:
    """With its line, and where it may stand."""
    message = refusal(f"# A\n\n{text}\n")
    assert message.startswith(f"line {4 if text.startswith('```') else 3}: this ")
    assert "# heading" in message


def test_a_mark_on_the_line_below_a_heading_refuses_the_file() -> None:
    assert "line 2: this mark stands on no heading: '{spoiler=3}'" in refusal("# The End\n{spoiler=3}\n\ntext\n")


@pytest.mark.parametrize(
    "text", ["The secret ending {spoiler=3}\n\ntext", "# The End {spoiler=3}\n\ntext", "CHAPTER I {spoiler=3}\ntext"]
)
def test_a_mark_on_a_line_that_is_no_heading_of_plain_text_refuses_the_file(text: str) -> None:
    assert "chapter line" in refusal(text, "text")


@pytest.mark.parametrize(
    "text",
    [
        "<!-- spoiler=3 visibility=hidden -->",
        "<!-- visibility=hidden -->",
        "<!-- hidden=true -->",
        "<!-- canon: spoiler=3 -->",
        "    <!-- canonry: spoiler=3 -->",
        "\t<!-- canonry: hidden -->",
        "[//]: # (canonry: spoiler=3)",
        "%% canonry: visibility=hidden %%",
    ],
)
def test_a_comment_that_would_be_passed_over_refuses_the_file(text: str) -> None:
    refusal(f"# A\n\n{text}\n\ntext\n")
    refusal(f"# A <!-- spoiler=3 -->\n\n{text}\n")


@pytest.mark.parametrize(
    "text",
    [
        "The {hidden} door.",
        "a {visibility: hidden} b",
        "The {tags=x} of it.",
        "{{spoiler|he dies}} and {{spoiler}}",
        "<!-- spoiler: 3 -->",
        "<!-- hidden -->",
        "Write spoiler=3 there.",
    ],
)
def test_what_may_be_ordinary_text_is_told_of_with_its_line(text: str) -> None:
    document = f"---\ntitle: x\n---\n# A\n\n{text}\n".encode()
    chunk_document(document, "markdown", ChunkSettings())
    warnings = find_lost_marks(document, "markdown")
    assert warnings and all(warning.startswith("line 6: ") for warning in warnings)


@pytest.mark.parametrize(
    "text",
    [
        "{#anchor} {.class} {name} {{name}} {x|y} {.hidden} {#spoiler}",
        '{"visibility": "hidden", "spoiler": 3} {{visibility}} {{#if hidden}}',
        "$\\hidden{x}$ \\tag{hidden} ${hidden} f(x) = {visibility}",
        "`{spoiler=3}` and ``{hidden} ` {spoiler=3}``",
        "`a\n{spoiler=3}`",
        "```\n{spoiler=3}\n<!-- spoiler=3 -->\n```",
        "- x\n\n  ~~~\n  # A {spoiler=3}\n  ~~~",
        "> ```\n> {spoiler=3}\n> ```",
        "<style>\na {visibility: hidden}\n</style>",
        "The hidden gate has poor visibility. <!-- spoilers below, hidden well -->",
        '<!-- <div hidden="x"> -->',
    ],
)
def test_code_and_ordinary_braces_are_left_alone(text: str) -> None:
    document = f"Words.\n\n{text}\n"
    if "  # A" in text:  # a heading in a fence inside a list marks the list, in doubt
        assert not find_lost_marks(document.encode(), "markdown")
    else:
        assert untouched(document)


def test_many_warnings_of_a_file_are_cut_short() -> None:
    warnings = find_lost_marks(("The {hidden} door.\n\n" * 9).encode(), "text")
    assert len(warnings) == 6 and warnings[-1] == "4 more such places"


@pytest.mark.parametrize(
    "piece", ["{hidden} ", "` {spoiler", "<!-- ", "canonry: ", "{ {spoiler: ", "> {hidden}\n", "``` ~~~ {hidden}\n"]
)
def test_looking_takes_linear_time(piece: str) -> None:
    started = time.process_time()
    find_lost_marks(("visibility " + piece * (1_000_000 // len(piece))).encode(), "markdown")
    assert time.process_time() - started < 10
