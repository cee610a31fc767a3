from __future__ import annotations

import pytest

from canonry.retrieval import Passage
from eval.judge import Place
from eval.metrics import Result, by_source, leaks, names, per_question
from tests.conftest import Workshop


@pytest.fixture
def passages(workshop: Workshop) -> list[Passage]:
    """Four passages of one source, of 20 bytes and more each, in the order of the text."""
    at = workshop.create(chunk_target="8", chunk_min="1", chunk_max="16", chunk_overlap="0")
    text = "\n\n".join(f"Lamp number {word} burns in the harbour." for word in ("one", "two", "three", "four"))
    workshop.bring(at, workshop.write("lamp.txt", text))
    found = sorted(workshop.ask(at).retrieve("lamp", limit=9).results, key=lambda passage: passage.start_byte)
    assert len(found) == 4
    return found


def place_of(passage: Passage, relevance: int = 1, until: int | None = None) -> Place:
    end = passage.end_byte if until is None else until
    return Place(f"p{passage.start_byte}-{end}", passage.source_id, passage.start_byte, end, relevance)


def test_recall_counts_places_and_success_any_of_them(passages: list[Passage]) -> None:
    places = {"q": [place_of(passages[0]), place_of(passages[2])]}
    values = per_question([Result("q", [passages[0], passages[1], passages[2]], 1.0)], places, (1, 3))["q"]
    assert (values["Recall@1"], values["Recall@3"]) == (0.5, 1.0)
    assert (values["Success@1"], values["RR@10"]) == (1.0, 1.0)
    assert list(values) == names((1, 3))


def test_a_place_that_two_passages_cover_counts_once(passages: list[Passage]) -> None:
    """An overlap lets two passages hold one place; recall never passes 1, and the second passage takes no second rank."""
    places = {"q": [place_of(passages[0]), place_of(passages[3])]}
    values = per_question([Result("q", [passages[0], passages[0], passages[3]], 1.0)], places, (1, 2, 3))["q"]
    assert [values[f"Recall@{k}"] for k in (1, 2, 3)] == [0.5, 0.5, 1.0]
    assert values["nDCG@10"] == pytest.approx(1.0)


def test_one_passage_may_cover_two_places_within_its_one_k(passages: list[Passage]) -> None:
    first = passages[0]
    middle = (first.start_byte + first.end_byte) // 2
    halves = [place_of(first, until=middle), Place("rest", first.source_id, middle, first.end_byte, 1)]
    values = per_question([Result("q", [first], 1.0)], {"q": halves}, (1,))["q"]
    assert values["Recall@1"] == 1.0


def test_a_question_that_gets_nothing_counts_as_nothing_and_one_without_a_place_not_at_all(
    passages: list[Passage],
) -> None:
    places = {"empty": [place_of(passages[0])], "hidden": [place_of(passages[1], -1)]}
    values = per_question(
        [Result("empty", [], 1.0), Result("hidden", passages, 1.0), Result("unjudged", passages, 1.0)], places
    )
    assert list(values) == ["empty"]
    assert set(values["empty"].values()) == {0.0}


def test_a_leak_is_a_passage_that_covers_a_forbidden_place(passages: list[Passage]) -> None:
    assert leaks(passages, [place_of(passages[1], -1), place_of(passages[0], 2)]) == [passages[1]]
    assert leaks(passages, []) == []


def test_nothing_asked_is_nothing_measured() -> None:
    assert per_question([], {}) == {}
    assert by_source({}, {}, (1,)) == {}
