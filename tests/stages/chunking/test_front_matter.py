"""Front matter is a closed block at byte 0 that holds a mapping; all else is body."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from canonry.config import ChunkSettings
from stages.chunking import chunk_document, read_front_matter

CASE = Path(__file__).parents[2] / "fixtures/cases/05-rule-or-front-matter"


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("closing", ["---", "..."])
def test_a_closed_block_is_read_with_any_line_ending(ending: str, mark: str, closing: str) -> None:
    """The body begins on the line after the closing one."""
    data = (mark + ending.join(["---", "title: Ferry", "tags: [river]", closing, "Body"])).encode()
    front = read_front_matter(data)
    assert front.fields == {"title": "Ferry", "tags": ["river"]}
    assert data[front.body_start :] == b"Body"
    assert front.warning is None


def test_values_can_be_written_as_json() -> None:
    """Dates, sets, bytes, odd keys and huge numbers become plain values; words stay words."""
    data = (
        b"---\nd: 2024-01-02\ns: !!set {b, a}\n1: x\nb: !!binary YQ==\nn: .inf\ntitle: No\nat: 12:30\norder: 3\n---\n"
    )
    fields = read_front_matter(data).fields
    assert fields == {
        "d": "2024-01-02", "s": ["a", "b"], "1": "x", "b": "a", "n": "inf", "title": "No", "at": "12:30", "order": 3,
    }  # fmt: skip
    json.dumps(fields, allow_nan=False)


@pytest.mark.parametrize(
    ("block", "word"),
    [
        ("---\ntitle: Lost\n# Camp\n", "not closed"),
        ("---\na: [\n---\n", "YAML"),
        ("---\na: 2024-13-45\n---\n", "YAML"),
        ("---\na: &x 1\nb: *x\n---\n", "anchors"),
        ("---\na: " + "[" * 20_000 + "\n---\n", "nest"),
        ("---\na: " + "[" * 50 + "]" * 50 + "\n---\n", "nest"),
        ("---\na: " + "x" * 70_000 + "\n---\n", "64 KiB"),
        ("---\na: !!python/object:os.system x\n---\n", "YAML"),
    ],
)
def test_what_was_meant_as_front_matter_but_cannot_be_read_is_body_with_a_warning(block: str, word: str) -> None:
    """Nothing is lost, and the warning says why."""
    front = read_front_matter(block.encode())
    assert front.fields == {} and front.body_start == 0
    assert front.warning is not None and word in front.warning


@pytest.mark.parametrize(
    "text",
    [
        "---\n---\nx",
        "---\n- a\n---\n",
        "---\nwords\n---\n",
        "---\n\nwords",
        "----\na: b\n----\n",
        "\n---\na: b\n---\n",
        "",
    ],
)
def test_rules_lists_and_plain_text_are_body_without_a_warning(text: str) -> None:
    """They are ordinary Markdown."""
    assert read_front_matter(text.encode()).fields == {}
    assert read_front_matter(text.encode()).body_start == 0
    assert read_front_matter(text.encode()).warning is None


def test_bytes_that_are_not_utf_8_are_body() -> None:
    """Reading front matter never raises."""
    assert read_front_matter(b"---\na: \xff\n---\n").fields == {}


def test_case_05_has_its_metadata_and_loses_no_text() -> None:
    """Rules are not metadata, and every phrase is in a chunk or in a heading above one."""
    expected = json.loads((CASE / "expect.json").read_text())
    for name, fields in expected["metadata"].items():
        assert read_front_matter((CASE / name).read_bytes()).fields == fields
    for name, phrases in expected["must_be_found"].items():
        data = (CASE / name).read_bytes()
        chunks = chunk_document(data, "markdown", ChunkSettings())
        found = " ".join(data[c.start_byte : c.end_byte].decode() + " ".join(c.heading_path) for c in chunks)
        assert all(phrase in found for phrase in phrases), name
    only = (CASE / "only-front-matter.md").read_bytes()
    assert read_front_matter(only).fields == {"title": "Nothing Else"}
    assert chunk_document(only, "markdown", ChunkSettings()) == []
    assert "not closed" in str(read_front_matter((CASE / "unclosed.md").read_bytes()).warning)


@pytest.mark.parametrize(
    ("block", "keys"),
    [
        ("visibility: hidden\nvisibility: normal", ("visibility",)),
        ("<<: {visibility: hidden}\nvisibility: normal", ("visibility",)),
        ("canonry: {a: 1, a: 2}", ("a",)),
        ("a: 1\nb: {a: 2}", ()),
    ],
)
def test_keys_that_stand_twice_are_named(block: str, keys: tuple[str, ...]) -> None:
    assert read_front_matter(f"---\n{block}\n---\n".encode()).repeated == keys
