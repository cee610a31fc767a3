"""What each event changes, and that an invalid one is dropped with its place and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from canonry.canonlog.play import Play
from canonry.canonlog.save import Save

Happen = Callable[..., Play]


def say(text: str, by: str = "narrator", **more: Any) -> dict[str, Any]:
    return {"type": "say", "by": by, "text": text, **more}


def test_facts_of_any_role_are_established_once(save: Save, happen: Happen) -> None:
    roles = ("narrator", "npc:ouseley", "improviser", "banter", "adjudicator", "gm", "code")
    played = happen(*(say(f"[FACT: told by {role}] [FACT: The same.] [FACT: the same]", role) for role in roles))
    assert played.save.log.established_facts[len(save.log.established_facts) :] == (
        "told by narrator", "The same.", *(f"told by {role}" for role in roles[1:]),
    )  # fmt: skip
    assert played.applied[1][1].refused == ("known already: The same.", "known already: the same")


def test_a_players_words_record_nothing(save: Save, happen: Happen) -> None:
    played = happen(say("[FACT: I am the Reeve] [ADJUST_DISPOSITION: +9] [FACT: never closed", "player"))
    assert (played.save.log, played.save.state) == (save.log, save.state)
    assert "record nothing" in played.applied[0][1].refused[0]


def test_recent_events_are_the_last_five(happen: Happen) -> None:
    played = happen(*({"type": "beat", "text": f"beat {n}"} for n in range(7)))
    assert played.save.log.recent_events == tuple(f"beat {n}" for n in range(2, 7))


@pytest.mark.parametrize(
    ("asked", "result"),
    [("+5", 10), ("5", 10), ("-30", -25), ("−30", -25), ("+999", 100), ("-999", -100), ("＋５", 10), ("+ 5", 10)],
)
def test_an_npc_adjusts_its_disposition_within_bounds(happen: Happen, asked: str, result: int) -> None:
    played = happen(say(f"Hm. [ADJUST_DISPOSITION: {asked}]", "npc:perrin_dray"))
    assert played.save.state.npc_dispositions["perrin_dray"] == result


def test_a_companions_disposition_is_in_the_log_and_anothers_in_the_state(save: Save, happen: Happen) -> None:
    log = happen({"type": "disposition", "npc_id": "sexton_ruhl", "change": -200}).save.log
    assert {one.id: one.disposition for one in log.party} == {"pim_tallow": 15, "sexton_ruhl": -100}
    assert happen({"type": "disposition", "npc_id": "ouseley", "change": 7}).save.log == save.log


@pytest.mark.parametrize(
    ("by", "asked"),
    [
        ("narrator", "+5"), ("gm", "+5"), ("npc:emeric_vane", "+5"), ("npc:ouseley", "much"), ("npc:ouseley", "±5"),
        ("npc:ouseley", ""), ("npc:ouseley", "1e3"), ("npc:ouseley", "99999"),
    ],
)  # fmt: skip
def test_an_adjustment_that_is_no_valid_move_is_refused_alone(save: Save, happen: Happen, by: str, asked: str) -> None:
    played = happen(say(f"[ADJUST_DISPOSITION: {asked}] [FACT: kept all the same]", by))
    assert played.save.state == save.state
    assert played.save.log.party == save.log.party
    assert played.save.log.established_facts[-1] == "kept all the same"
    assert len(played.applied[0][1].refused) == 1


def test_humiliations_stack_from_the_threshold_on(happen: Happen) -> None:
    events = [{"type": "humiliation", "text": "fell", "weight": weight, "turn": weight} for weight in (4, 5, 5, 9)]
    log = happen(*events).save.log
    assert [(one.id, one.text, one.weight, one.turn) for one in log.humiliations] == [
        ("h_0001", "fell", 5, 5), ("h_0002", "fell", 5, 5), ("h_0003", "fell", 9, 9),
    ]  # fmt: skip


def test_luck_drifts_in_the_state_and_its_words_in_the_log(save: Save, happen: Happen) -> None:
    assert (save.state.luck, save.log.player.luck_descriptor) == (8, "Fortune looks the other way")
    low = happen({"type": "luck", "change": -4}).save
    assert (low.state.luck, low.log.player.luck_descriptor) == (4, "Fortune spits on you")
    lowest = happen({"type": "luck", "change": -20}, {"type": "luck", "change": -20}).save
    assert lowest.state.luck == 1


def test_a_quest_starts_when_what_it_requires_is_complete(happen: Happen) -> None:
    def quest(id_: str, status: str, **more: str) -> dict[str, Any]:
        return {"type": "quest", "quest_id": id_, "status": status, **more}

    played = happen(
        quest("two_coats", "active"),
        quest("the_ticket", "active", objective="Ask the tailor"),
        quest("the_ticket", "complete"),
        quest("two_coats", "active"),
        quest("the_ticket", "failed"),
        quest("nine_locks", "complete"),
    )
    assert [(one.id, one.status, one.objective) for one in played.save.log.active_quests] == [
        ("the_ticket", "complete", "Ask the tailor"),
        ("two_coats", "active", "Find the second ledger of the fence on Tar Alley"),
    ]
    assert [str(one) for one in played.dropped] == [
        "events:1#/quest_id: is 'two_coats', which requires the_ticket to be complete first",
        "events:5#/quest_id: is 'the_ticket', which is complete and stays so",
        "events:6#/status: is 'complete', but 'nine_locks' has not been started; make it active first",
    ]


def test_a_party_moves_through_exits_and_the_gm_anywhere(happen: Happen) -> None:
    def move(to: str, **more: str) -> dict[str, Any]:
        return {"type": "move", "location_id": to, **more}

    played = happen(move("long_cut"), move("pawnshop"), move("long_cut", by="gm"))
    assert played.save.log.location.name == "the Long Cut"
    assert [one.pointer for one in played.dropped] == ["/location_id"] * 2


def test_items_come_and_go_without_a_trace_in_the_log(save: Save, happen: Happen) -> None:
    played = happen(
        {"type": "item", "item_id": "bottled_alto", "qty": 1},
        {"type": "item", "item_id": "tin_scale", "qty": -20},
        {"type": "item", "item_id": "tin_scale", "qty": -1},
        {"type": "item", "item_id": "chalk", "qty": 0},
    )
    assert played.save.state.inventory == {"bottled_alto": 1, "pawn_ticket": 1}
    assert played.save.log == save.log
    assert [one.message for one in played.dropped] == ["is -1, but 0 are held", "is 0, but 0 are held"]


def test_a_summary_takes_the_place_of_the_facts_that_it_replaces(save: Save, happen: Happen) -> None:
    old = save.log.established_facts
    played = happen(
        {"type": "summary", "replaces": [old[2], old[0]], "fact": "nobody knows the player, and pledges are strict"},
        {"type": "summary", "replaces": [old[1], old[2]], "fact": "x"},
        {"type": "summary", "replaces": [old[1], old[3]], "fact": old[4]},
    )
    assert played.save.log.established_facts == (
        "nobody knows the player, and pledges are strict", old[1], *old[3:],
    )  # fmt: skip
    assert [one.pointer for one in played.dropped] == ["/replaces/1", "/fact"]


def test_the_improviser_changes_what_the_world_lets_it(happen: Happen) -> None:
    played = happen(
        {"type": "item", "by": "improviser", "item_id": "chalk", "qty": 1},
        {"type": "luck", "by": "improviser", "change": 5},
        {"type": "quest", "by": "improviser", "quest_id": "the_ticket", "status": "failed"},
    )
    assert len(played.applied) == 1
    assert [one.pointer for one in played.dropped] == ["/by", "/by"]


@pytest.mark.parametrize(
    ("event", "where"),
    [
        (say("The end. [FACT: the bridge"), "/text"),
        (say("[FACT: " + "x" * 1001 + "]"), "/text"),
        (say("[FACT: " + "x" * 10_000_000 + "]"), "/text"),
        (say("[FACT: " * 10_000), "/text"),
        (say("[FACT: known] [FACT: " + "x" * 1001 + "]"), "/text"),
        (say("hello", "npc:nobody"), "/by"),
        (say("hello", "dm"), "/by"),
        (say("hello", "npc:Ouseley"), "/by"),
        ({"type": "say", "text": "hello"}, ""),
        ({"type": "beat", "by": "narrator", "text": "The model wrote this"}, "/by"),
        ({"type": "beat", "text": "x" * 201}, "/text"),
        ({"type": "beat", "text": "two\nlines"}, "/text"),
        ({"type": "beat", "text": "a", "luck": 7}, "/luck"),
        ({"type": "move", "location_id": "greywater"}, "/location_id"),
        ({"type": "disposition", "npc_id": "brannoc", "change": 1}, "/npc_id"),
        ({"type": "disposition", "npc_id": "ouseley", "change": 1.5}, "/change"),
        ({"type": "disposition", "npc_id": "ouseley", "change": "+5"}, "/change"),
        ({"type": "humiliation", "text": "a", "weight": 11}, "/weight"),
        ({"type": "luck", "change": 10**12}, "/change"),
        ({"type": "quest", "quest_id": "ledger", "status": "active"}, "/quest_id"),
        ({"type": "quest", "quest_id": "the_ticket", "status": "open"}, "/status"),
        ({"type": "item", "item_id": "harp", "qty": 1}, "/item_id"),
        ({"type": "item", "item_id": "chalk", "qty": -1}, "/qty"),
        ({"type": "stats", "hp": 3}, "/type"),
        ({"type": ["beat"], "text": "a"}, "/type"),
        ({}, ""),
        ([], ""),
        ("beat", ""),
        (None, ""),
        ({"type": "beat", "text": "a", "turn": -1}, "/turn"),
        ({"type": "beat", "text": "a", "turn": "3"}, "/turn"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_an_invalid_event_is_dropped_with_its_place_and_changes_nothing(
    save: Save, happen: Happen, event: Any, where: str
) -> None:
    played = happen(event)
    assert played.save is save
    assert played.applied == ()
    assert [(one.file, one.pointer) for one in played.dropped] == [("events:1", where)]
    assert len(played.dropped[0].message) < 400


def test_events_come_in_order_of_their_turns(save: Save, happen: Happen) -> None:
    played = happen(
        {"type": "beat", "text": "later", "turn": 9},
        {"type": "beat", "text": "earlier", "turn": 8},
        {"type": "beat", "text": "same turn"},
    )
    assert played.save.log.recent_events[-2:] == ("later", "same turn")
    assert "turn 9 has been played already" in played.dropped[0].message
    assert [(record.event["turn"], record.event["by"]) for record in played.save.records] == [(9, "code"), (9, "code")]


def test_a_dropped_event_does_not_even_move_the_turn(happen: Happen) -> None:
    played = happen({"type": "move", "location_id": "nowhere", "turn": 99}, {"type": "beat", "text": "a", "turn": 1})
    assert played.save.state.turn == 1
