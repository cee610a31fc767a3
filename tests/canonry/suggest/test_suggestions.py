from __future__ import annotations

import json
from contextlib import closing

import pytest

from canonry.catalog import Catalog
from canonry.eligibility import Scope
from canonry.errors import UsageError
from canonry.locking import writing
from canonry.suggest.entries import list_entries
from canonry.suggest.suggestions import Situation, pick_language, suggest
from flows.restating import edit_source
from tests.canonry.suggest.conftest import Story

NARRATOR = Scope("narrator", 9)


def titles(story: Story, scope: Scope = Scope(), situation: Situation = Situation(), top: int = 8) -> list[str]:  # noqa: B008
    return [one.seen.title for one in suggest(story.workshop.ask(story.at), scope, situation, top)]


def test_it_ctx_01_approved_entries_are_suggested(story: Story) -> None:
    story.entry("Kael", "Keeper of the lamp.", type="character", importance=5, source_chapter=3)
    found = suggest(story.workshop.ask(story.at), Scope(), Situation("4", "who keeps the lamp?"))
    assert [one.entry.entry_id for one in found] == [story["Kael"]]
    assert found[0].score.total == 100 + 20 + 15
    told = found[0].as_json("zh")
    assert (told["type_label"], told["reason_labels"]) == ("角色", ["高重要度", "与当前章相关", "匹配章节目标"])
    assert json.dumps(told)


@pytest.mark.parametrize("status", ["pending", "rejected", None])
def test_only_approved_entries_are_suggested(story: Story, status: str | None) -> None:
    story.entry("Kael", status=status)
    assert titles(story, NARRATOR) == []


def test_a_note_of_another_type_or_without_an_entrys_facts_is_no_entry(story: Story) -> None:
    story.entry("Rule", type="rule")
    story.tell("Mara", "A sailor.", type="character")
    story.entry("Kael")
    assert titles(story) == ["Kael"]


def test_a_character_is_suggested_what_it_knows_by_then(story: Story) -> None:
    story.entry("Gate")
    story.entry("Duel", known_by="[perrin]", known_from=4)
    for role, time, known in (
        ("npc:perrin", 4, ["Duel", "Gate"]), ("npc:perrin", 3, ["Gate"]), ("npc:perrin", None, ["Gate"]),
        ("npc:other", 4, ["Gate"]), ("writer", None, ["Duel", "Gate"]),
    ):  # fmt: skip
        assert sorted(titles(story, Scope(role, story_time=time))) == known


def test_what_may_not_be_seen_is_not_suggested(story: Story) -> None:
    story.entry("Open")
    story.entry("Hidden", visibility="hidden")
    story.entry("Late", spoiler_level=2)
    story.entry("Ending", spoiler_tags="[ending]")
    story.entry("Writers", allowed_roles="[writer]")
    story.entry("Off")
    with writing(story.at), closing(Catalog.open(story.at.catalog, write=True)) as catalog:
        catalog.set_enabled(story["Off"], False)
    assert sorted(titles(story)) == ["Ending", "Open"]
    assert sorted(titles(story, Scope("writer", 2, ("Ending",)))) == ["Late", "Open", "Writers"]
    assert sorted(titles(story, NARRATOR)) == ["Ending", "Hidden", "Late", "Open"]


def test_a_hidden_part_of_an_entry_neither_shows_nor_scores(story: Story) -> None:
    story.entry("Kael", "A keeper.\n\n## Secret {visibility=hidden}\n\nHe drowned the bell.\n\n## Home\n\nThe tower.")
    goal = Situation(goal="drowned bell")
    player, narrator = (suggest(story.workshop.ask(story.at), scope, goal)[0] for scope in (Scope(), NARRATOR))
    assert player.seen.text == "A keeper.\n\nHome\n\nThe tower."
    assert (player.score.goal, narrator.score.goal) == (0, 30)
    assert narrator.seen.text == "A keeper.\n\nSecret\n\nHe drowned the bell.\n\nHome\n\nThe tower."


def test_equal_scores_come_by_id_and_the_top_is_cut_within_bounds(story: Story) -> None:
    for number in range(17):
        story.entry(f"Fact {number:02}", f"Note {number}.")
    found = suggest(story.workshop.ask(story.at), Scope(), top=15)
    ids = [one.entry.entry_id for one in found]
    assert ids == sorted(ids)
    assert len(ids) == 15
    assert len(titles(story)) == 8
    assert titles(story, top=3) == [one.seen.title for one in found[:3]]
    for top in (2, 16, 0, -1):
        with pytest.raises(UsageError, match="between 3 and 15"):
            titles(story, top=top)


def test_a_chapter_is_named_by_its_source_where_that_may_be_seen(story: Story) -> None:
    story.tell("The Storm", "Rain.", order=12)
    story.tell("The Drowning", "Water.", order=13, visibility="hidden")
    story.entry("Near", source_chapter="The Storm")
    story.entry("Secretly near", source_chapter="The Drowning")
    scores = {
        one.seen.title: one.score.chapter
        for one in suggest(story.workshop.ask(story.at), Scope(), Situation("The Storm"))
    }
    assert scores == {"Near": 30, "Secretly near": 0}
    told = [one.as_json("en") for one in suggest(story.workshop.ask(story.at), Scope())]
    assert [one["source_chapter"] for one in told if one["source_chapter"]] == ["The Storm"]
    told = suggest(story.workshop.ask(story.at), NARRATOR, Situation("The Drowning"))
    assert {one.seen.title: one.score.chapter for one in told} == {"Near": 20, "Secretly near": 30}
    refused = []
    for name in ("The Drowning", "The Nothing"):
        with pytest.raises(UsageError) as error:
            titles(story, situation=Situation(name))
        refused.append(str(error.value).replace(name, "X"))
    assert refused[0] == refused[1]


def test_a_review_is_in_force_at_once_and_outlives_an_import(story: Story) -> None:
    story.entry("Kael", status="pending", importance=2)
    with writing(story.at), closing(Catalog.open(story.at.catalog, write=True)) as catalog:
        edit_source(catalog, catalog.source(story["Kael"]), {"status": "approved"})
    assert titles(story) == ["Kael"]
    story.entry("Kael", "Another text.", status="pending", importance=5)
    with closing(Catalog.open(story.at.catalog)) as catalog:
        (entry,) = list_entries(catalog)
    assert (entry.status, entry.importance) == ("approved", 5)
    assert titles(story) == ["Kael"]


def test_a_foreshadow_is_buried_until_something_else_is_said(story: Story) -> None:
    story.entry("Lamp", type="foreshadow")
    story.entry("Bell", type="foreshadow", foreshadow_state="resolved")
    assert titles(story) == ["Lamp", "Bell"]


def test_the_language_is_that_of_the_goal_else_of_the_titles() -> None:
    assert pick_language("en", "寻找灯塔", []) == "en"
    assert pick_language("auto", "寻找灯塔", ["Tower"]) == "zh"
    assert pick_language("auto", "find the tower 塔", ["灯塔"]) == "en"
    assert pick_language("auto", " ", ["林晚", "灯塔"]) == "zh"
    assert pick_language("auto", "", ["灯台を探す"]) == "en"
    assert pick_language("auto", "", []) == "en"
