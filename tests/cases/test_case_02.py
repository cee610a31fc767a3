"""Case 02: words of one or two characters are found in scripts without spaces, and short Latin words still are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import canonry

CASE = Path(__file__).parents[1] / "fixtures" / "cases" / "02-short-words-in-unspaced-scripts"
QUERIES = [(entry["q"], entry["expect"]) for entry in json.loads((CASE / "queries.json").read_text(encoding="utf-8"))]
NAMED = [(query, expect) for query, expect in QUERIES if expect.endswith(".md")]


@pytest.fixture(scope="module")
def notes(campaigns: Callable[..., canonry.Campaign]) -> canonry.Campaign:
    return campaigns("notes", "none", [CASE / f"{name}.md" for name in ("en", "ja", "ko", "th", "zh")])


def found_by(campaign: canonry.Campaign, query: str) -> list[str]:
    return [passage.uri for passage in campaign.retrieve(query, mode="lexical").results]


@pytest.mark.parametrize(("query", "expect"), NAMED, ids=[query for query, _ in NAMED])
def test_a_short_word_finds_its_file_first(notes: canonry.Campaign, query: str, expect: str) -> None:
    assert found_by(notes, query)[0] == expect


@pytest.mark.parametrize("query", [query for query, expect in QUERIES if expect == "empty"])
def test_a_word_that_no_file_holds_finds_nothing(notes: canonry.Campaign, query: str) -> None:
    assert found_by(notes, query) == []


def test_an_underscore_is_no_wildcard(notes: canonry.Campaign) -> None:
    assert found_by(notes, "城_") == found_by(notes, "城") == ["zh.md"]
    assert found_by(notes, "_门") == found_by(notes, "门")
    assert found_by(notes, "_") == []


@pytest.mark.parametrize(("query", "expect"), NAMED, ids=[query for query, _ in NAMED])
def test_the_passage_and_its_offsets_hold_the_characters_asked_for(
    notes: canonry.Campaign, query: str, expect: str
) -> None:
    passage = notes.retrieve(query, mode="lexical").results[0]
    data = (CASE / expect).read_bytes()
    assert data[passage.start_byte : passage.end_byte].decode("utf-8") == passage.exact_text
    assert query in passage.exact_text or any(query in heading for heading in passage.heading_path)
