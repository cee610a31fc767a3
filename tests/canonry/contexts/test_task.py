from __future__ import annotations

import json
from typing import Any

import pytest

from canonry.canonlog.problem import InvalidData
from canonry.contexts.failures import RelevanceRefused
from canonry.contexts.task import parse_task, task_of


def read(**said: Any) -> Any:
    return parse_task(json.dumps({"task": "Write."} | said).encode(), "task")


def test_a_task_is_for_a_player_by_every_search_unless_it_says_otherwise() -> None:
    task = read()
    assert (task.scope.role, task.scope.spoiler_level, task.searches) == (
        "player",
        0,
        ("lexical", "semantic", "hybrid"),
    )
    assert (task.calls, task.tokens, task.budgets.hot, task.budgets.working) == (20, 8000, 1000, 3000)


def test_a_task_is_the_same_when_it_is_read_again() -> None:
    task = read(
        role="npc:mara", spoiler_level=2, forbid_tags=["ending"], story_time=4, as_of="2026-03-01", searches=["lexical"],
        budget={"calls": 3, "tokens": 90, "hot": 0, "working": 7}, required=["a", {"id": "b", "fingerprint": "f"}],
    )  # fmt: skip
    assert task_of(json.loads(json.dumps(task.as_json()))) == task


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"task": ""}, "/task: is no text"),
        ({"role": "Bad Role"}, "/role: is wrong"),
        ({"role": 7}, "/role: is no text"),
        ({"spoiler_level": -1}, "/spoiler_level: is wrong"),
        ({"spoiler_level": True}, "/spoiler_level: is no whole"),
        ({"story_time": "soon"}, "/story_time: is no whole"),
        ({"as_of": "yesterday"}, "/as_of: is wrong"),
        ({"searches": ["rumour"]}, "/searches: is no list of lexical"),
        ({"forbid_tags": "ending"}, "/forbid_tags: is no list of words"),
        ({"budget": {"calls": 0}}, "/budget/calls: is no whole number from 1"),
        ({"budget": {"tokens": 0}}, "/budget/tokens: is no whole number from 1"),
        ({"budget": {"working": -1}}, "/budget/working: is no whole number from 0"),
        ({"budget": {"pages": 1}}, "/budget/pages: is none of"),
        ({"budget": 7}, "/budget: is no object"),
        ({"mood": "grim"}, "/mood: is none of"),
        ({"required": [7]}, "/required/0: is neither"),
    ],
)
def test_a_task_that_cannot_be_carried_out_is_refused_with_its_place(said: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidData, match=problem):
        read(**said)


def test_a_task_says_nothing_of_relevance() -> None:
    with pytest.raises(RelevanceRefused):
        read(relevance_threshold=0.5)
    for wrong in ([], {}):
        with pytest.raises(InvalidData):
            parse_task(json.dumps(wrong).encode(), "task")
