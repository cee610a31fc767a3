"""What a search for lore may take from a running game, for one role."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from canonry.canonlog.accepted import accepted_state, named_in
from canonry.canonlog.play import Play
from canonry.canonlog.save import Save
from canonry.canonlog.world import Item


def test_it_names_the_place_the_party_and_the_open_quests(happen: Callable[..., Play]) -> None:
    save = happen(
        {"type": "quest", "quest_id": "the_ticket", "status": "complete"},
        {"type": "quest", "quest_id": "two_coats", "status": "active"},
        {"type": "say", "by": "narrator", "text": "[FACT: ouseley left by the cinder steps] [FACT: spadework tires]"},
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


NAMED = {
    "a word": ("Ouseley", "then OUSELEY left", True),
    "with an article": ("the Cinder Steps", "left by the cinder steps", True),
    "without the article": ("the Cinder Steps", "Cinder Steps, at night", True),
    "part of a word": ("Lan", "a plan of the land", False),
    "part of a word with an accent": ("Lan", "with élan", False),
    "an accent that the text leaves out": ("Zoë", "Zoe left", True),
    "an accent that the name leaves out": ("Zoe", "Zoë left", True),
    "part of an accented word": ("Zo", "Zoë left", False),
    "a plural": ("spade", "spades rust", True),
    "possessive": ("Mother Keddle", "Mother Keddle’s pawnshop", True),
    "Cyrillic": ("Анна", "Потом Анна ушла.", True),
    "Cyrillic, in another case": ("Анна", "Ключ у Анны.", True),
    "Cyrillic, part of a word": ("Ан", "Потом Анна ушла.", False),
    "Cyrillic, part of a quoted word": ("Ан", "Вывеска «Анна», (Анна)", False),
    "Cyrillic, a longer name": ("Иван", "Потом Иванна ушла.", False),
    "Cyrillic, a short name": ("Ан", "Потом Ан ушёл к Анне.", True),
    "Chinese in an unspaced text": ("玛拉", "然后玛拉离开了", True),
    "three Chinese characters": ("听潮阁", "他走进听潮阁里", True),
    "Chinese at the end": ("听潮阁", "他走进听潮阁", True),
    "Chinese, others between": ("听潮阁", "听潮的阁", False),
    "one Chinese character": ("龙", "巨龙来了", True),
    "Latin in Chinese": ("Mara", "然后Mara离开了", True),
    "no letters": ("!!!", "!!!", False),
}


@pytest.mark.parametrize(("name", "text", "found"), NAMED.values(), ids=NAMED)
def test_a_name_is_found_as_words_in_any_script(name: str, text: str, found: bool) -> None:
    assert named_in([name, "Nobody"], ["It rains.", text]) == [name] * found


def test_a_name_never_spans_two_texts() -> None:
    assert named_in(["Cinder Steps"], ["All is cinder", "Steps lead up"]) == []


def test_names_of_another_script_are_among_the_entities(save: Save) -> None:
    world = replace(save.world, items={"a": Item("a", "Ан"), "b": Item("b", "听潮阁")})
    log = replace(save.log, established_facts=("Потом Анна ушла.", "他走进听潮阁里"))
    entities = accepted_state(replace(save, world=world, log=log)).entities
    assert "听潮阁" in entities
    assert "Ан" not in entities
