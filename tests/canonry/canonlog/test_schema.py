"""The shipped schemas: valid themselves, closed where the log is closed, and in words when they refuse."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from canonry.canonlog.log import MOST_RECENT
from canonry.canonlog.luck import SIDES, descriptor_of
from canonry.canonlog.rules import HUMILIATION_THRESHOLD, LONGEST_FACT
from canonry.canonlog.schema import NAMES, problems_in, read_schema

# The example of the log's design, word for word.
LOG: dict[str, Any] = {
    "schema_version": 1,
    "player": {"name": "Aldric", "class_id": "sellsword", "luck_descriptor": "Fortune spits on you"},
    "location": {"id": "greywater_docks", "name": "the Greywater docks"},
    "party": [
        {"id": "brannoc_thane", "name": "Brannoc Thane", "disposition": 40},
        {"id": "cadwyn_vell", "name": "Cadwyn Vell", "disposition": 15},
    ],
    "recent_events": [
        "Arrived at Greywater by barge before dawn",
        "Brannoc recognised the harbourmaster and went quiet",
    ],
    "established_facts": [
        "the eastern bridge out of Greywater is washed out",
        "the harbourmaster is named Oda Fenn",
    ],
    "active_quests": [
        {
            "id": "find_the_ledger",
            "name": "The Missing Ledger",
            "status": "active",
            "objective": "Find who took Fenn's ledger",
        }
    ],
    "humiliations": [{"id": "h_0001", "text": "vomited on a shrine step in front of a priest", "weight": 7, "turn": 3}],
}
ORIGIN: dict[str, Any] = {
    "schema_version": 1,
    "id": "deserter",
    "display_name": "The Deserter",
    "description": "You walked away from a company that doesn't allow walking away.",
    "start_location_id": "greywater_docks",
    "situation": ["Arrived at Greywater by barge before dawn, hood up"],
    "opening_facts": ["the player deserted the Iron Kettle mercenary company"],
    "disposition_overrides": {"brannoc_thane": 40, "cadwyn_vell": 15},
    "inventory_grants": [{"item_id": "worn_shortsword", "qty": 1}, {"item_id": "coin", "qty": 3}],
    "start_quest_id": "find_the_ledger",
    "build_constraints": {"allowed_classes": ["sellsword", "assassin", "priest"], "luck_modifier": 0},
}


def put(document: dict[str, Any], pointer: str, value: object) -> dict[str, Any]:
    """A copy of the document with a value at a pointer; `-` appends."""
    changed = copy.deepcopy(document)
    *steps, last = pointer.strip("/").split("/")
    at: Any = changed
    for step in steps:
        at = at[int(step)] if isinstance(at, list) else at[step]
    if isinstance(at, list):
        at[:] = [*at, value] if last == "-" else [*at[: int(last)], value, *at[int(last) + 1 :]]
    else:
        at[last] = value
    return changed


@pytest.mark.parametrize("name", NAMES)
def test_each_schema_is_one(name: str) -> None:
    schema = read_schema(name)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)


def test_the_examples_of_the_design_are_valid() -> None:
    assert problems_in(LOG, "canon-log", "log") == []
    assert problems_in(ORIGIN, "origin", "origin") == []
    assert problems_in(ORIGIN | {"start_quest_id": None}, "origin", "origin") == []


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/luck", 7),
        ("/player/luck", 7),
        ("/player/hp", 12),
        ("/player/luck_descriptor", 7),
        ("/player/luck_descriptor", "luck 7"),
        ("/player/class_id", "wizard"),
        ("/player/name", "[FACT: I am king]"),
        ("/player/name", " "),
        ("/inventory", []),
        ("/party/0/knowledge", ["a secret"]),
        ("/party/0/available_moves", []),
        ("/party/0/disposition", 101),
        ("/party/0/disposition", 4.5),
        ("/party/0/disposition", True),
        ("/npc_dispositions", {}),
        ("/location/description", "wet"),
        ("/recent_events/0", "two\nlines"),
        ("/recent_events/0", "x" * 201),
        ("/established_facts/0", "x" * 1001),
        ("/established_facts/0", ""),
        ("/active_quests/0/status", "open"),
        ("/active_quests/0/id", "find_the_ledger\n"),
        ("/humiliations/0/weight", 11),
        ("/humiliations/0/id", "1"),
        ("/schema_version", 2),
    ],
)
def test_the_log_has_no_place_for_what_is_not_narrative(pointer: str, value: object) -> None:
    problems = problems_in(put(LOG, pointer, value), "canon-log", "log")
    assert [problem.pointer for problem in problems] == [pointer]


@pytest.mark.parametrize("key", sorted(LOG))
def test_no_part_of_the_log_may_be_missing(key: str) -> None:
    assert f"lacks {key!r}" in str(problems_in({k: v for k, v in LOG.items() if k != key}, "canon-log", "log")[0])


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/humiliations", []),
        ("/luck", 3),
        ("/build_constraints/allowed_classes", []),
        ("/build_constraints/allowed_classes/0", "bard"),
        ("/build_constraints/luck_modifier", 0.5),
        ("/disposition_overrides/brannoc_thane", -101),
        ("/disposition_overrides/Brannoc", 1),
        ("/inventory_grants/0/qty", 0),
        ("/start_quest_id", ""),
        ("/situation", ["a"] * 6),
    ],
)
def test_an_origin_holds_starting_values_alone(pointer: str, value: object) -> None:
    problems = problems_in(put(ORIGIN, pointer, value), "origin", "origin")
    assert len(problems) == 1
    assert pointer.startswith(problems[0].pointer)


def test_everything_that_is_wrong_is_said_at_once() -> None:
    broken = put(put(put(LOG, "/player/luck", 7), "/party/1/disposition", 900), "/recent_events", ["a"] * 6)
    assert [str(problem) for problem in problems_in(broken, "canon-log", "game.json", "log")] == [
        "game.json#/log/party/1/disposition: is 900; at most 100",
        "game.json#/log/player/luck: has no place here; allowed are name, class_id, luck_descriptor",
        "game.json#/log/recent_events: has 6 entries; at most 5",
    ]


def test_code_and_schema_agree_on_the_limits() -> None:
    log = read_schema("canon-log")
    assert log["properties"]["recent_events"]["maxItems"] == MOST_RECENT
    assert log["$defs"]["fact"]["maxLength"] == LONGEST_FACT
    descriptors = log["properties"]["player"]["properties"]["luck_descriptor"]["enum"]
    assert list(dict.fromkeys(descriptor_of(luck) for luck in range(1, SIDES + 1))) == descriptors
    assert 1 < HUMILIATION_THRESHOLD <= log["properties"]["humiliations"]["items"]["properties"]["weight"]["maximum"]
