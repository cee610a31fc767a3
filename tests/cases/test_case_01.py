"""Case 01: raw user text is words, never full-text query syntax."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import canonry

CASE = Path(__file__).parents[1] / "fixtures" / "cases" / "01-fts-user-punctuation"
QUERIES = [(entry["q"], entry["expect"]) for entry in json.loads((CASE / "queries.json").read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def words_only(campaigns: Callable[..., canonry.Campaign]) -> canonry.Campaign:
    return campaigns("words", "none", ["--class", "canon", CASE / "harbour.md", CASE / "orchard.md"])


@pytest.fixture(scope="module")
def with_vectors(campaigns: Callable[..., canonry.Campaign]) -> canonry.Campaign:
    return campaigns("vectors", "static", ["--class", "canon", CASE / "harbour.md", CASE / "orchard.md"])


def found_by(campaign: canonry.Campaign, query: str, mode: str) -> list[str]:
    return [passage.uri for passage in campaign.retrieve(query, mode=mode).results]


def assert_as_expected(found: list[str], expect: str) -> None:
    if expect == "hit":
        assert "harbour.md" in found
    elif expect == "empty":
        assert found == []


@pytest.mark.parametrize(("query", "expect"), QUERIES, ids=[repr(query)[:40] for query, _ in QUERIES])
@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_any_text_may_be_asked_of_a_campaign_without_an_embedder(
    words_only: canonry.Campaign, query: str, expect: str, mode: str
) -> None:
    assert_as_expected(found_by(words_only, query, mode), expect)


@pytest.mark.parametrize(("query", "expect"), QUERIES, ids=[repr(query)[:40] for query, _ in QUERIES])
def test_any_text_may_be_asked_of_both_legs(with_vectors: canonry.Campaign, query: str, expect: str) -> None:
    assert_as_expected(found_by(with_vectors, query, "hybrid"), expect)


@pytest.mark.parametrize("query", [query for query, expect in QUERIES if expect == "hit"], ids=lambda q: repr(q)[:40])
def test_the_orchard_is_never_dragged_in_by_an_operator(words_only: canonry.Campaign, query: str) -> None:
    """A negation, a column filter or a wildcard would bring the other file in, or throw this one out."""
    assert found_by(words_only, query, "lexical") == ["harbour.md"]


@pytest.mark.parametrize(
    "query", ["ro*", "sal*", "^ro", "lam*", "*"], ids=["rope", "salt", "anchor", "lamp", "star alone"]
)
def test_a_star_is_no_wildcard(words_only: canonry.Campaign, query: str) -> None:
    assert found_by(words_only, query, "lexical") == []


@pytest.mark.parametrize(
    "query",
    ["salt NOT rope", "pears AND salt", "-pears salt", "title: salt", "heading: salt", "body: salt", "salt OR nothing"],
    ids=["not", "and", "minus", "title", "heading", "body", "or"],
)
def test_operators_and_column_names_are_words_like_others(words_only: canonry.Campaign, query: str) -> None:
    assert "harbour.md" in found_by(words_only, query, "lexical")


def test_a_quoted_phrase_must_occur_as_it_stands(words_only: canonry.Campaign) -> None:
    assert found_by(words_only, '"heron blue"', "lexical") == []
    assert found_by(words_only, '"blue heron"', "lexical") == ["harbour.md"]


def test_hybrid_finds_by_meaning_where_no_word_matches(with_vectors: canonry.Campaign) -> None:
    """The lexical leg has nothing to say here; the answer does not fail as a whole."""
    answer = with_vectors.retrieve("fruit orchards", mode="hybrid")
    assert answer.degraded is None
    assert "orchard.md" in [passage.uri for passage in answer.results]
