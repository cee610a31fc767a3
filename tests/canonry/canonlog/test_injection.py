"""Each role is given the log and its own extras, nothing of another's, and never a number of luck."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from canonry.canonlog.injection import inject, reference_frequency
from canonry.canonlog.log import Humiliation
from canonry.canonlog.play import Play
from canonry.canonlog.save import Save
from canonry.errors import NotFound, UsageError
from canonry.tokens import count_tokens

Happen = Callable[..., Play]
ROLES = ("narrator", "npc:mother_keddle", "improviser", "banter", "adjudicator")


@pytest.mark.parametrize(
    ("role", "keys"),
    [
        ("narrator", ["log"]),
        ("npc:mother_keddle", ["log", "npc"]),
        ("improviser", ["log", "event_changes"]),
        ("banter", ["humiliations_first", "log"]),
        ("adjudicator", ["log", "legal_actions"]),
    ],
)
def test_a_role_is_given_the_log_and_its_extras(save: Save, role: str, keys: list[str]) -> None:
    said = json.loads(inject(save, role).text)
    assert list(said) == keys
    assert said["log"] == save.log.as_json()


def test_an_npc_is_given_its_own_page(save: Save) -> None:
    npc = save.world.npcs["mother_keddle"]
    assert json.loads(inject(save, "npc:mother_keddle").text)["npc"] == {
        "id": "mother_keddle", "name": "Mother Keddle", "persona": npc.persona, "disposition": 25,
        "knowledge": list(npc.knowledge), "available_moves": list(npc.available_moves),
    }  # fmt: skip


@pytest.mark.parametrize("role", ROLES)
def test_nobody_is_given_what_another_npc_knows_nor_the_state(save: Save, role: str) -> None:
    text = inject(save, role).text
    hidden = [fact for npc in save.world.npcs.values() if role != f"npc:{npc.id}" for fact in npc.knowledge]
    assert hidden
    assert [fact for fact in hidden if fact in text] == []
    assert '"luck"' not in text
    assert "luck_rolls" not in text
    assert "tin_scale" not in text
    assert "npc_dispositions" not in text


def test_banter_is_given_humiliations_by_weight_and_age(happen: Happen) -> None:
    save = happen(
        {"type": "humiliation", "text": "fell", "weight": 9, "turn": 0},
        {"type": "humiliation", "text": "sang", "weight": 6, "turn": 20},
    ).save
    assert json.loads(inject(save, "banter").text)["humiliations_first"] == [
        {"id": "h_0002", "text": "sang", "frequency": 0.6},
        {"id": "h_0001", "text": "fell", "frequency": 0.45},
    ]


def test_a_humiliation_is_brought_up_less_and_less(happen: Happen) -> None:
    rates = [reference_frequency(Humiliation("h_0001", "fell", 10, 5), turn) for turn in (0, 5, 25, 45, 10**9)]
    assert rates == [1.0, 1.0, 0.5, 0.25, 0.0]


def test_legal_actions_follow_the_place_and_what_is_held(happen: Happen) -> None:
    def actions(*events: dict[str, object]) -> list[str]:
        found: list[str] = json.loads(inject(happen(*events).save, "adjudicator").text)["legal_actions"]
        return found

    assert actions() == [
        "go:cinder_steps", "go:keddles_kitchen", "talk:mother_keddle", "talk:pim_tallow", "talk:sexton_ruhl",
        "do:read_ticket", "do:ask_day_book",
    ]  # fmt: skip
    assert "do:read_ticket" not in actions({"type": "item", "item_id": "pawn_ticket", "qty": -1})
    assert "talk:ouseley" in actions({"type": "move", "location_id": "cinder_steps"})


def test_nothing_is_ever_cut_and_the_dearest_parts_are_named_first(save: Save, happen: Happen) -> None:
    facts = [f"the stair of house {n} has {n + 3} steps" for n in range(300)]
    made = inject(
        happen(*({"type": "say", "by": "narrator", "text": f"[FACT: {fact}]"} for fact in facts)).save, "narrator"
    )
    assert all(fact in made.text for fact in facts)
    assert made.tokens == count_tokens(made.text)
    assert (made.parts[0].name, made.parts[0].entries) == (
        "log.established_facts", 300 + len(save.log.established_facts),
    )  # fmt: skip
    assert [part.tokens for part in made.parts] == sorted((part.tokens for part in made.parts), reverse=True)


def test_unknown_roles_and_people_are_refused(save: Save) -> None:
    for role in ("player", "", "Narrator", "dm:ouseley"):
        with pytest.raises(UsageError, match="is not one of"):
            inject(save, role)
    for npc in ("nobody", "", "Ouseley"):
        with pytest.raises(NotFound, match=f"no NPC '{npc}'"):
            inject(save, f"npc:{npc}")
