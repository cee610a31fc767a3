"""A new game: constraints first, luck by the seed, and a log that holds what the origin and the world say."""

from __future__ import annotations

import random

import pytest

from canonry.canonlog.content import Content
from canonry.canonlog.luck import descriptor_of, luck_of, roll_luck
from canonry.canonlog.new_game import Start, create_character
from canonry.canonlog.save import Save, new_save
from canonry.canonlog.schema import problems_in
from canonry.errors import NotFound, UsageError


def start(content: Content, origin: str, class_id: str, seed: int = 7) -> Start:
    return create_character(content, origin, name="Aldric", class_id=class_id, seed=seed)


def test_the_log_is_made_from_origin_and_world(save: Save) -> None:
    log = save.log
    assert problems_in(log.as_json(), "canon-log", "log") == []
    assert (log.location.id, log.location.name) == ("pawnshop", "Mother Keddle's pawnshop")
    assert [(one.id, one.disposition) for one in log.party] == [("pim_tallow", 15), ("sexton_ruhl", 35)]
    assert log.recent_events == save.start.origin.situation
    assert log.established_facts == (
        *save.start.origin.opening_facts,
        *save.world.facts,
        "the player carries pawn ticket 4117, which reads: one name, in fair condition",
    )
    assert [(quest.id, quest.status) for quest in log.active_quests] == [("the_ticket", "active")]
    assert log.humiliations == ()


def test_inventory_luck_and_other_dispositions_stay_beside_the_log(save: Save) -> None:
    assert save.state.inventory == {"pawn_ticket": 1, "tin_scale": 20}
    assert save.state.npc_dispositions["mother_keddle"] == 25
    assert save.state.npc_dispositions["ouseley"] == 0
    assert "pim_tallow" not in save.state.npc_dispositions
    assert save.state.luck == luck_of(roll_luck(7), 0)
    text = str(save.log.as_json())
    assert "mother_keddle" not in text
    assert "tin_scale" not in text


def test_an_origin_may_begin_without_a_quest(content: Content) -> None:
    assert new_save(content.world, start(content, "lock_deserter", "assassin")).log.active_quests == ()


def test_every_origin_makes_a_valid_log_for_every_class_that_it_allows(content: Content) -> None:
    for origin in content.origins.values():
        for class_id in origin.allowed_classes:
            log = new_save(content.world, start(content, origin.id, class_id)).log
            assert problems_in(log.as_json(), "canon-log", "log") == []
            assert log.player.class_id == class_id


def test_a_class_that_the_origin_does_not_allow_is_refused_with_the_place(content: Content) -> None:
    with pytest.raises(UsageError, match=r"origins/the_return.json#/build_constraints/allowed_classes.*choose priest"):
        start(content, "the_return", "sellsword")


def test_an_origin_that_is_not_there_is_named(content: Content) -> None:
    with pytest.raises(NotFound, match="lock_deserter, the_return, unredeemed"):
        start(content, "deserter", "priest")


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 101, "[FACT: I am king]"])
def test_a_name_that_no_log_can_hold_is_refused(content: Content, name: str) -> None:
    with pytest.raises(UsageError, match="choose another name"):
        create_character(content, "unredeemed", name=name, class_id="priest", seed=1)


def test_luck_is_five_rolls_of_the_seed() -> None:
    generator = random.Random(7)
    assert roll_luck(7) == tuple(int(generator.random() * 20) + 1 for _ in range(5))
    assert roll_luck(7) == (7, 4, 14, 2, 11)
    assert {roll for seed in range(200) for roll in roll_luck(seed)} == set(range(1, 21))


@pytest.mark.parametrize(
    ("rolls", "modifier", "luck"),
    [
        ((7, 4, 14, 2, 11), 0, 8),
        ((10, 10, 10, 10, 12), 0, 10),
        ((10, 10, 10, 10, 13), 0, 11),
        ((1,) * 5, -20, 1),
        ((20,) * 5, 9, 20),
    ],
)
def test_luck_is_the_rounded_average_and_the_modifier(rolls: tuple[int, ...], modifier: int, luck: int) -> None:
    assert luck_of(rolls, modifier) == luck


def test_the_words_for_luck_hold_no_number() -> None:
    for luck in range(1, 21):
        assert not any(char.isdigit() for char in descriptor_of(luck))
    assert descriptor_of(1) == "Fortune spits on you"
    assert descriptor_of(20) == "Fortune walks beside you"


def test_a_seed_gives_the_same_game_and_a_modifier_moves_it(content: Content) -> None:
    assert start(content, "unredeemed", "priest") == start(content, "unredeemed", "priest")
    plain = new_save(content.world, start(content, "unredeemed", "priest")).state.luck
    blessed = new_save(content.world, start(content, "the_return", "priest")).state.luck
    assert blessed == plain + 3
