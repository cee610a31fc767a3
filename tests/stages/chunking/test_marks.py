"""Marks of secrecy hold where they should, add up to the stricter, and are refused when they cannot be read."""

from __future__ import annotations

import pickle

import pytest

from canonry.config import ChunkSettings
from canonry.errors import UsageError
from canonry.records import Chunk, HeadingRule, Marks
from stages.chunking import MarkError, chunk_document
from stages.chunking.marks import split_heading


def cut(text: str, kind: str = "markdown", rules: tuple[HeadingRule, ...] = ()) -> list[tuple[str, Chunk]]:
    data = text.encode()
    chunks = chunk_document(data, kind, ChunkSettings(), rules)
    return [(data[c.start_byte : c.end_byte].decode(), c) for c in chunks]


def marks_of(text: str, word: str, kind: str = "markdown", rules: tuple[HeadingRule, ...] = ()) -> Marks:
    found = [chunk.marks for piece, chunk in cut(text, kind, rules) if word in piece]
    assert len(found) == 1
    return found[0]


def test_a_mark_on_a_heading_holds_for_its_section_and_those_below() -> None:
    """The mark is not part of the heading, and ends with the section."""
    text = "# A {spoiler=3 tags=ravel,ending visibility=hidden}\n\nmine\n\n## B {spoiler=1}\n\nchild\n\n# C\n\nfree\n"
    assert marks_of(text, "mine") == Marks(3, ("ending", "ravel"), True)
    assert marks_of(text, "child") == Marks(3, ("ending", "ravel"), True)
    assert marks_of(text, "free") == Marks()
    assert [chunk.heading_path for _, chunk in cut(text)] == [("A",), ("A", "B"), ("C",)]


def test_a_comment_after_a_heading_holds_for_the_whole_section() -> None:
    """It is the next block that is not blank, and no border of its own."""
    text = "# A\n\n<!-- canonry: spoiler=2 tags=x -->\n\ntext\n\n## B\n\nchild\n"
    assert marks_of(text, "text") == Marks(2, ("x",))
    assert marks_of(text, "child") == Marks(2, ("x",))
    assert len(cut(text)) == 2


def test_a_comment_later_in_a_section_holds_from_there_to_its_end() -> None:
    """What stands before it is free; what comes after is not, subsections included."""
    text = "# A\n\nbefore\n\n<!-- canonry: spoiler=2 -->\n\nafter\n\n## B\n\nchild\n\n# C\n\nfree\n"
    assert [marks_of(text, word).spoiler_level for word in ("before", "after", "child", "free")] == [0, 2, 2, 0]


def test_a_comment_before_any_heading_holds_for_the_document() -> None:
    """Even for the text before the comment."""
    text = "first\n\n<!-- canonry: visibility=hidden -->\n\n# A\n\nlast\n"
    assert marks_of(text, "first").hidden and marks_of(text, "last").hidden


def test_comments_hold_in_plain_text() -> None:
    """Alone on a line, also between lines of one paragraph."""
    text = "CHAPTER I\n\nopen\n<!-- canonry: spoiler=4 -->\nsecret\n\nCHAPTER II\n\nfree\n"
    assert [marks_of(text, word, "text").spoiler_level for word in ("open", "secret", "free")] == [0, 4, 0]


def test_a_comment_within_a_paragraph_or_a_list_hides_the_whole_block() -> None:
    """In doubt the stricter reading."""
    assert marks_of("# A\n\nopen\n\na king <!-- canonry: spoiler=1 --> dies\n", "king").spoiler_level == 1
    assert marks_of("# A\n\nopen\n\n- one\n- <!-- canonry: spoiler=1 --> two\n", "one").spoiler_level == 1
    assert marks_of("# A\n\nopen\n\n> # Deep {spoiler=1}\n> quoted\n", "quoted").spoiler_level == 1


def test_comments_in_code_are_examples() -> None:
    """Documentation of the marks does not hide itself."""
    assert marks_of("# A\n\n```\n<!-- canonry: spoiler=oops -->\n```\n", "oops") == Marks()
    assert marks_of("# A\n\nWrite `<!-- canonry: spoiler=N -->` there.\n", "Write") == Marks()


def test_rules_match_cleaned_headings_without_regard_to_case() -> None:
    """A rule adds to the marks that the text carries."""
    rules = (HeadingRule("*SECRET*", Marks(2)), HeadingRule("gm *", Marks(hidden=True)))
    text = "# GM **secrets** {spoiler=1 tags=t}\n\nmine\n\n## Child\n\nchild\n\n# Open\n\nfree\n"
    assert marks_of(text, "mine", rules=rules) == marks_of(text, "child", rules=rules) == Marks(2, ("t",), True)
    assert marks_of(text, "free", rules=rules) == Marks()


@pytest.mark.parametrize(
    "text",
    [
        "# A {spoiler=high}",
        "# A {spoiler=-1}",
        "# A {spoiler=3 colour=red}",
        "# A {spoiler=3",
        "# A {spoiler: 3}",
        "# A {tags=}",
        "Title {visibility=secret}\n===",
        "<!-- canonry: visibility=secret -->",
        "<!-- canonry: who=me -->",
        "<!-- canonry: -->",
        "<!-- canonry: spoiler=1",
        "<!-- canonry spoiler 1 -->",
        "- <!-- canonry: spoiler=99999999999 -->",
        "# A {spoiler=1000001}",
        "# A {hidden=perhaps}",
        "# A {spoilers=3}",
    ],
)
def test_a_mark_that_cannot_be_read_is_refused(text: str) -> None:
    """With its line in the file and what is allowed."""
    with pytest.raises(MarkError, match=r"line 5.*spoiler=NUMBER") as caught:
        cut("---\na: b\n---\n\n" + text + "\n")
    assert caught.value.line == 5
    assert isinstance(caught.value, UsageError) and isinstance(caught.value, ValueError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_other_brace_groups_are_no_marks() -> None:
    """They stay in the heading, but for anchors and classes."""
    text = "# Use {curly} braces\n\na\n\n# Cellar {#cellar .big}\n\nb\n\n# Vault {#vault spoiler=2}\n\nc\n"
    assert [chunk.heading_path for _, chunk in cut(text)] == [("Use {curly} braces",), ("Cellar",), ("Vault",)]
    assert [chunk.marks.spoiler_level for _, chunk in cut(text)] == [0, 0, 2]


def test_overlap_does_not_reach_across_a_mark() -> None:
    """Not a word of a secret stands in a chunk of another level."""
    secret, free = "The heir is Ravel. " * 60, "The road is long. " * 60
    text = f"# A\n\n{free}\n\n<!-- canonry: spoiler=3 -->\n\n{secret}\n\n# B\n\n{free}\n"
    for piece, chunk in cut(text):
        assert ("Ravel" in piece) == (chunk.marks.spoiler_level == 3)
        assert not ("Ravel" in piece and "road" in piece)


@pytest.mark.parametrize(
    ("mark", "meant"),
    [
        ("{spoiler-level=3}", Marks(3)),
        ("{spoiler_level=3}", Marks(3)),
        ("{spoilerLevel=3}", Marks(3)),
        ("{SPOILER=3}", Marks(3)),
        ("{spoiler=1000000}", Marks(1_000_000)),
        ("{hidden}", Marks(hidden=True)),
        ("{Hidden .gm}", Marks(hidden=True)),
        ("{hidden=true}", Marks(hidden=True)),
        ("{hidden=no}", Marks()),
        ("{hidden spoiler=2}", Marks(2, hidden=True)),
        ("{tag=x}", Marks(0, ("x",))),
        ("{spoiler-tags=x,y}", Marks(0, ("x", "y"))),
        ("｛spoiler=3｝", Marks(3)),
        ("｛spoiler＝３　tags＝x，y｝", Marks(3, ("x", "y"))),
        ("{spoi\u200bler=3}", Marks(3)),
    ],
)
def test_a_mark_holds_in_every_known_spelling(mark: str, meant: Marks) -> None:
    assert split_heading(f"The End {mark}", 1) == ("The End", meant)


def test_a_mark_on_a_nested_heading_of_either_form_hides_the_quote_or_list() -> None:
    assert marks_of("> The End {spoiler=3}\n> ===\n> quoted\n", "quoted").spoiler_level == 3
    assert marks_of("- The End {spoiler=3}\n  ---\n  listed\n", "listed").spoiler_level == 3


def test_a_mark_behind_code_holds_and_one_inside_it_is_an_example() -> None:
    assert split_heading("The `look`{spoiler=3}", 1) == ("The `look`", Marks(3))
    assert split_heading("The `{spoiler=3}` mark", 1) == ("The `{spoiler=3}` mark", Marks())
    assert marks_of("# A\n\n`look`<!-- canonry: spoiler=3 --> there\n", "look") == Marks(3)
