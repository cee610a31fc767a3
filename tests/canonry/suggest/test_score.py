from __future__ import annotations

import pytest

from canonry.suggest.entries import Entry
from canonry.suggest.score import (
    CHAPTER_RELEVANT,
    FORESHADOW_BURIED,
    GOAL_MATCH,
    HIGH_IMPORTANCE,
    Score,
    score_entry,
)
from canonry.suggest.words import Overlap


def entry(**facts: object) -> Entry:
    stated: dict[str, object] = {
        "entry_id": "e", "title": "E", "type": "fact", "importance": 3, "status": "approved", "foreshadow_state": None,
        "source_chapter": None, "last_mention_chapter": None, "enabled": True,
    }  # fmt: skip
    return Entry(**{**stated, **facts})  # type: ignore[arg-type]


def score(current: int | None = None, shared: int = 0, asked: int = 0, **facts: object) -> Score:
    return score_entry(entry(**facts), current, {"The Storm": 40}, Overlap(shared, asked))


def test_ut_ctx_01_importance_nearness_and_goal_together_come_first() -> None:
    best = score(12, 3, 4, importance=5, source_chapter="12")
    others = [
        score(12, 3, 4, importance=5, source_chapter="99"),
        score(12, 0, 4, importance=5, source_chapter="12"),
        score(12, 3, 4, importance=4, source_chapter="12"),
        score(12, 0, 4, importance=5, type="foreshadow", foreshadow_state="buried"),
    ]
    assert best.total == 100 + 30 + 0 + 23
    assert all(best.total > other.total for other in others)
    assert best.reasons == (HIGH_IMPORTANCE, CHAPTER_RELEVANT, GOAL_MATCH)


def test_ut_ctx_04_a_resolved_foreshadow_is_below_a_buried_one_of_the_same_importance() -> None:
    buried, partial, resolved = (
        score(type="foreshadow", foreshadow_state=state).total for state in ("buried", "partial", "resolved")
    )
    assert (buried, partial, resolved) == (85, 75, 60)


@pytest.mark.parametrize(
    ("facts", "points", "distance"),
    [
        ({}, 0, None),
        ({"source_chapter": "20"}, 30, 0),
        ({"source_chapter": "19"}, 20, 1),
        ({"source_chapter": "23"}, 20, 3),
        ({"source_chapter": "24"}, 10, 4),
        ({"source_chapter": "10"}, 10, 10),
        ({"source_chapter": "31"}, 0, 11),
        ({"source_chapter": "1", "last_mention_chapter": "18"}, 20, 2),
        ({"source_chapter": "18", "last_mention_chapter": "1"}, 20, 2),
        ({"last_mention_chapter": "The Storm"}, 0, 20),
        ({"last_mention_chapter": "A Calm"}, 0, None),
        ({"source_chapter": "9" * 5000}, 0, None),
    ],
)
def test_the_nearer_of_both_chapters_counts(facts: dict[str, object], points: int, distance: int | None) -> None:
    scored = score(20, **facts)
    assert (scored.chapter, scored.distance) == (points, distance)
    assert (CHAPTER_RELEVANT in scored.reasons) == (points > 0)


def test_without_a_chapter_nothing_is_near() -> None:
    assert score(None, source_chapter="20").chapter == 0


def test_a_chapter_is_known_by_name() -> None:
    assert score(40, source_chapter="The Storm").chapter == 30


@pytest.mark.parametrize(
    ("shared", "asked", "points", "is_reason"),
    [(0, 0, 0, False), (0, 7, 0, False), (1, 5, 6, False), (2, 9, 7, True), (1, 4, 8, True), (7, 7, 30, True)],
)
def test_the_goal_gives_up_to_30_and_a_reason_above_a_fifth(
    shared: int, asked: int, points: int, is_reason: bool
) -> None:
    scored = score(shared=shared, asked=asked)
    assert (scored.goal, GOAL_MATCH in scored.reasons) == (points, is_reason)


@pytest.mark.parametrize("importance", range(1, 6))
def test_importance_counts_twenty_each_and_is_high_from_four_on(importance: int) -> None:
    scored = score(importance=importance)
    assert scored.total == importance * 20
    assert (HIGH_IMPORTANCE in scored.reasons) == (importance >= 4)


def test_a_state_counts_for_a_foreshadow_alone() -> None:
    assert score(type="fact", foreshadow_state="buried").foreshadow == 0
    assert score(type="foreshadow", foreshadow_state="partial").reasons == ()
    assert score(type="foreshadow", foreshadow_state="buried").reasons == (FORESHADOW_BURIED,)


def test_json_has_every_component() -> None:
    told = score(20, 1, 3, importance=4, source_chapter="21").as_json()
    assert told == {
        "score": 110, "components": {"importance": 80, "chapter": 20, "foreshadow": 0, "goal": 10},
        "chapter_distance": 1, "goal_overlap": 0.3333, "reasons": [HIGH_IMPORTANCE, CHAPTER_RELEVANT, GOAL_MATCH],
    }  # fmt: skip
