"""What a search for lore may take from a running game, for one role."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from canonry.canonlog.accepted import accepted_state
from canonry.canonlog.play import Play
from canonry.canonlog.save import Save


def test_it_names_the_place_the_party_and_the_open_quests(happen: Callable[..., Play]) -> None:
    save = happen(
        {"type": "quest", "quest_id": "the_ticket", "status": "complete"},
        {"type": "quest", "quest_id": "two_coats", "status": "active"},
        {"type": "say", "by": "narrator", "text": "[FACT: ouseley left by the cinder steps] [FACT: spades rust]"},
    ).save
    state = accepted_state(save)
    assert state.location == "Mother Keddle's pawnshop"
    assert state.party == ("Pim Tallow", "Sexton Ruhl")
    assert state.active_quests == ("Two Coats",)
    assert state.objectives == ("Find the second ledger of the fence on Tar Alley",)
    assert state.entities == (
        "Mother Keddle's pawnshop", "Pim Tallow", "Sexton Ruhl", "Mother Keddle", "Ouseley", "the Cinder Steps",
        "pawn ticket 4117",
    )  # fmt: skip
    assert state.facts == save.log.established_facts
    assert state.recent_events == save.log.recent_events


def test_what_an_npc_knows_is_for_that_npc(save: Save) -> None:
    assert accepted_state(save, "npc:ouseley").knowledge == save.world.npcs["ouseley"].knowledge


@pytest.mark.parametrize("role", ["player", "narrator", "writer", "npc:nobody", "ouseley", "npc:"])
def test_others_know_nothing_beside_the_log(save: Save, role: str) -> None:
    assert accepted_state(save, role) == accepted_state(save)
    assert accepted_state(save, role).knowledge == ()
