"""What was not approved is given to nobody, whatever it asks with."""

from __future__ import annotations

from contextlib import closing

import pytest

from canonry.catalog import Catalog
from canonry.contexts.inventory import Inventory
from canonry.eligibility import Scope
from canonry.locking import writing
from canonry.pack import build_pack
from flows.restating import edit_source
from tests.canonry.suggest.conftest import Story

NARRATOR = Scope("narrator", 9)


def review(story: Story, title: str, status: str) -> None:
    with writing(story.at), closing(Catalog.open(story.at.catalog, write=True)) as catalog:
        edit_source(catalog, catalog.source(story[title]), {"status": status})


def given(story: Story, scope: Scope) -> list[bool]:
    """Whether a question, a pack and the inventory hold the entry about the lighthouse."""
    campaign = story.workshop.ask(story.at)
    found = campaign.retrieve("lighthouse", role=scope.role, spoiler_level=scope.spoiler_level).results
    packed = build_pack(campaign, "lighthouse", scope=scope)
    items = Inventory(campaign, scope).items()
    return [bool(found), "burnt down" in packed.text, any("burnt down" in item.text for item in items)]


@pytest.mark.parametrize("status", ["pending", "rejected"])
@pytest.mark.parametrize("always", ["true", None])
def test_an_entry_that_is_not_approved_reaches_no_prompt(story: Story, status: str, always: str | None) -> None:
    story.entry("Kael", "The lighthouse burnt down.", class_="canon", status=status, always_include=always)
    story.tell("Note", "A quay of stone.")
    for scope in (Scope(), NARRATOR, Scope("writer"), Scope("npc:kael")):
        assert given(story, scope) == [False, False, False]
    review(story, "Kael", "approved")  # in force at the next question
    for scope in (Scope(), NARRATOR, Scope("writer"), Scope("npc:kael")):
        assert given(story, scope) == [True, True, True]
    review(story, "Kael", "rejected")
    assert given(story, NARRATOR) == [False, False, False]


def test_why_names_the_review(story: Story) -> None:
    story.entry("Kael", "The lighthouse burnt down.")
    campaign = story.workshop.ask(story.at)
    chunk_id = campaign.retrieve("lighthouse").results[0].chunk_id
    review(story, "Kael", "pending")
    verdict = campaign.why(chunk_id, "lighthouse", role="narrator")
    assert (verdict.step, verdict.change) == ("filter", f"`canonry entry review {story['Kael']} --approve`")


def test_an_entry_that_waits_does_not_take_the_place_of_what_it_is_to_supersede(story: Story) -> None:
    story.entry("Kael", "The lighthouse burnt down.")
    story.entry("New", "A tower of light stands.", status="pending")
    with writing(story.at), closing(Catalog.open(story.at.catalog, write=True)) as catalog:
        catalog.supersede(story["Kael"], story["New"])
    assert given(story, Scope())[0]
    review(story, "New", "approved")
    assert not given(story, Scope())[0]
