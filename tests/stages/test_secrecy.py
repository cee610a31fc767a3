"""What a file says of its own secrecy holds in every spelling, or the file is refused: never an open source without a word."""

from __future__ import annotations

from contextlib import suppress

import pytest

from canonry.errors import RejectedFile
from canonry.records import SourceFacts
from stages.chunking.front_matter import FrontMatter, read_front_matter
from stages.classify import classify
from stages.folder_rules import FolderRules

BAD_SECRETS = [
    {"spoiler_level": "high"}, {"spoiler_level": -1}, {"spoiler_level": 1.5}, {"spoiler_level": True}, {"spoiler_level": [1]},
    {"spoiler_level": 10**9}, {"spoiler_level": "２"}, {"spoiler": "very"}, {"spoiler": {"level": 2}},
    {"visibility": "secret"}, {"visibility": ["hidden"]},
    {"visibility": True}, {"spoiler_tags": {"a": 1}}, {"spoiler_tags": [["a"]]}, {"spoiler_tags": 5}, {"allowed_roles": {"a": 1}},
]  # fmt: skip


@pytest.mark.parametrize("front", BAD_SECRETS, ids=str)
def test_a_secret_that_cannot_be_read_refuses_the_file(front: dict[str, object]) -> None:
    with pytest.raises(RejectedFile, match=next(iter(front))) as caught:
        classify("a.md", FolderRules(), FrontMatter(front), {})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spelling", ["Visibility", "VISIBILITY", "spoiler-level", "Spoiler_Level", "spoiler level"])
def test_a_key_that_looks_like_secrecy_is_not_passed_over_in_silence(spelling: str) -> None:
    """`Visibility: hidden` in capitals must not make an open source without a word."""
    value: object = "hidden" if spelling.lower() == "visibility" else 3
    try:
        facts, _, warnings = classify("a.md", FolderRules(), FrontMatter({spelling: value}), {})
    except RejectedFile:
        return
    assert facts.visibility == "hidden" or facts.spoiler_level == 3 or warnings


@pytest.mark.parametrize("spelling", ["HIDDEN", "Hidden", " hidden "])
def test_hidden_in_other_letters_is_hidden_or_refused(spelling: str) -> None:
    with suppress(RejectedFile):
        assert classify("a.md", FolderRules(), FrontMatter({"visibility": spelling}), {})[0].visibility == "hidden"


@pytest.mark.parametrize(
    "text",
    [
        "---\nvisibility: hidden\n# Body\n",
        "---\nspoiler: [\n---\nBody\n",
        "---\ntitle: *x\nspoiler_level: 3\n---\nBody\n",
        "---\nspoiler_level: 2\n\nmore\n",
    ],
    ids=["not closed", "no YAML", "an alias", "not closed, with a blank line"],
)
def test_a_broken_block_that_names_a_secret_refuses_the_file(text: str) -> None:
    with pytest.raises(RejectedFile, match="secret"):
        classify("a.md", FolderRules(), read_front_matter(text.encode()), {}, text.encode())


def test_a_secret_after_a_blank_line_of_a_broken_block_refuses_the_file_too() -> None:
    text = b"---\ntitle: [broken\n\nvisibility: hidden\n---\nBody\n"
    with pytest.raises(RejectedFile):
        classify("a.md", FolderRules(), read_front_matter(text), {}, text)


def test_a_broken_block_without_a_secret_is_body_with_a_warning() -> None:
    text = b"---\ntitle: Lost\n# Camp\n"
    facts, _, (warning,) = classify("a.md", FolderRules(), read_front_matter(text), {}, text)
    assert facts.title == "a"
    assert "not closed" in warning


def of_text(text: str) -> tuple[SourceFacts, list[str]]:
    data = text.encode()
    facts, _, warnings = classify("a.md", FolderRules(), read_front_matter(data), {}, data)
    return facts, warnings


@pytest.mark.parametrize(
    "line",
    [
        "Visibility: hidden",
        "spoiler-level: 3",
        '"visibility": hidden',
        "spoilerLevel: 3",
        "'Spoiler Tags': x",
        "hidden: true",
        "  visibility: hidden",
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_broken_block_that_names_a_secret_in_any_spelling_refuses_the_file(line: str, ending: str) -> None:
    for text in (f"---\ntitle: [x\n{line}\n---\nBody\n", f"---\ntitle: x\n\n{line}\n# Body\n"):
        with pytest.raises(RejectedFile, match="secret"):
            of_text(text.replace("\n", ending))


@pytest.mark.parametrize(
    ("block", "hidden", "level"),
    [
        ("spoilerLevel: 3", False, 3),
        ("hidden: true", True, 0),
        ("hidden: yes", True, 0),
        ("Hidden: false", False, 0),
        ("canonry: {visibility: hidden, spoiler: 2}", True, 2),
        ("canonry:\n  - visibility: hidden", True, 0),
        ("canonry.visibility: hidden", True, 0),
        ("\u200bvisibility: hidden", True, 0),
        ("visibility: normal\nVISIBILITY: normal\nVisibility: hidden", True, 0),
        ("Visibility: hidden\nVISIBILITY: normal", True, 0),
    ],
)
def test_a_secret_holds_in_every_known_spelling(block: str, hidden: bool, level: int) -> None:
    facts, warnings = of_text(f"---\n{block}\n---\nBody\n")
    assert (facts.visibility == "hidden", facts.spoiler_level, warnings) == (hidden, level, [])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("---\nvisibility:\n---\n", "normal or hidden"),
        ("---\nspoiler_level: ''\n---\n", "whole number"),
        ("---\nspoilerLevel:\n---\n", "whole number"),
        ("---\nhidden:\n---\n", "true or false"),
        ("---\nhidden: the gate\n---\n", "true"),
        ("---\ncanonry: {visibility: }\n---\n", "normal or hidden"),
        ("---\ncanonry: hidden\n---\n", "lines of their own"),
        ("---\nvisibility: hidden\nvisibility: normal\n---\n", "more than once"),
        ("---\n- visibility: hidden\n---\n", "line 2"),
        ("---\nvisibility=hidden\n---\n", "line 2"),
        ("----\nvisibility: hidden\n----\n", "line 2"),
        ("\u200b---\nvisibility: hidden\n---\n", "line 2"),
        ("+++\ntitle = 'x'\nvisibility = 'hidden'\n+++\n", "line 3"),
    ],
)
def test_a_statement_of_secrecy_without_meaning_refuses_the_file(text: str, word: str) -> None:
    with pytest.raises(RejectedFile, match=word):
        of_text(text + "Body\n")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("\n---\nvisibility: hidden\n---\nBody\n", "line 3"),
        ("visibility: hidden\n\n# Body\n", "line 1"),
        ("---\nmeta: {visibility: hidden}\n---\nBody\n", "inside meta"),
        ("---\nvisiblity: hidden\n---\nBody\n", "write visibility"),
        ("---\nspoilers: 3\n---\nBody\n", "write spoiler"),
        ("# A\n\nThe {hidden} door.\n", "line 3"),
    ],
)
def test_what_may_be_meant_as_secrecy_and_hides_nothing_is_told_of(text: str, word: str) -> None:
    facts, (warning,) = of_text(text)
    assert facts.visibility == "normal"
    assert word in warning and "if it is meant" in warning


@pytest.mark.parametrize(
    "text",
    [
        "---\nsidebar: {hidden: true}\n---\nBody\n",
        "# A\n\nVisibility: 3 miles\n",
        "---\n- a\n---\n",
        "The hidden: gate\n",
        "---\n\nwords\n",
    ],
)
def test_ordinary_beginnings_are_no_statements(text: str) -> None:
    assert of_text(text) == (SourceFacts(title="a", extra=of_text(text)[0].extra), [])
