from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from canonry.catalog import Catalog
from canonry.contexts.assembly import Ref, assemble
from canonry.contexts.failures import InvalidatedItem, MissingEvidence
from canonry.contexts.inventory import Inventory
from canonry.contexts.item import Item
from canonry.contexts.journal import open_journal
from canonry.contexts.memory import Note, remember, remembered, withdraw
from canonry.eligibility import Scope
from canonry.errors import NotFound, UsageError
from canonry.layout import Layout
from canonry.locking import writing
from canonry.pack import build_pack
from tests.canonry.contexts.conftest import Stock, id_of
from tests.conftest import Workshop


def keep(inventory: Inventory, *ids: str, text: str = "NOTEWORD", **more: Any) -> Note:
    with open_journal(inventory.campaign.at, make=True) as journal:
        return remember(journal, inventory, text, ids, author="tester", **more)


def notes(workshop: Workshop, at: Layout, role: str = "writer", **scope: Any) -> list[Item]:
    return remembered(workshop.ask(at), Scope(role, **scope))


@pytest.fixture
def lamp(stock: Stock) -> str:
    return id_of(stock("writer"), "whale oil")


def test_a_note_is_a_derived_item_bound_to_its_sources(stock: Stock, workshop: Workshop, at: Layout, lamp: str) -> None:
    note = keep(stock("writer"), lamp, lamp)
    (item,) = notes(workshop, at)
    assert (item.id, item.kind, item.authority, item.derived, item.invalidated) == (note.id, "note", "none", True, "")
    made = assemble(Inventory(workshop.ask(at), Scope("writer"), notes=remembered), [Ref(lamp), Ref(note.id)])
    assert made.text.index("NOTES: derived from the lore") > made.text.index("whale oil")


def test_a_note_is_no_canon_and_no_query_finds_it(stock: Stock, workshop: Workshop, at: Layout, lamp: str) -> None:
    keep(stock("writer"), lamp, text="The lamp burns NOTEWORD.")
    campaign = workshop.ask(at)
    assert not campaign.retrieve("NOTEWORD", role="writer").results
    assert "NOTEWORD" not in build_pack(campaign, "lamp NOTEWORD", scope=Scope("writer")).text


def test_a_note_whose_source_changed_is_invalid_and_kept_and_holds_again_with_the_very_text(
    stock: Stock, workshop: Workshop, at: Layout, lamp: str
) -> None:
    note = keep(stock("writer"), lamp)
    before = (workshop.root / "lore" / "town.md").read_text()
    workshop.bring(at, workshop.write("town.md", "---\nclass: canon\n---\n# Lamp\n\nThe lamp burns tallow.\n"))
    (item,) = notes(workshop, at)
    assert (item.text, item.invalidated) == ("NOTEWORD", "a source of it has changed")
    inventory = Inventory(workshop.ask(at), Scope("writer"), notes=remembered)
    assert not inventory.find([note.id])
    with pytest.raises(InvalidatedItem) as refused:
        assemble(inventory, [Ref(note.id)])
    assert refused.value.ids == (note.id,)
    workshop.bring(at, workshop.write("town.md", before))
    assert notes(workshop, at)[0].invalidated == ""


def test_a_note_of_a_deleted_source_is_invalid(stock: Stock, workshop: Workshop, at: Layout, lamp: str) -> None:
    keep(stock("writer"), lamp)
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        catalog.delete(catalog.source("town.md").source_id)
    assert [item.invalidated for item in notes(workshop, at)] == ["a source of it has changed"]


@pytest.mark.parametrize(
    ("maker", "reader", "is_read"),
    [
        (Scope("writer"), Scope("writer"), True),
        (Scope("writer"), Scope("player"), False),
        (Scope("writer"), Scope("narrator"), False),
        (Scope("player"), Scope("writer"), True),
        (Scope("player"), Scope("blind_reader"), False),
        (Scope("writer", 2), Scope("writer", 1), False),
        (Scope("writer", 2), Scope("writer", 3), True),
        (Scope("writer"), Scope("writer", forbid_tags=("ending",)), False),
        (Scope("writer", forbid_tags=("Ending",)), Scope("writer", forbid_tags=("ending",)), True),
        (Scope("npc:mara", story_time=5), Scope("npc:mara", story_time=4), False),
        (Scope("npc:mara", story_time=5), Scope("npc:mara", story_time=5), True),
        (Scope("npc:mara"), Scope("npc:perrin"), False),
    ],
    ids=str,
)
def test_a_note_is_for_whom_its_author_could_tell_it(
    workshop: Workshop, at: Layout, lamp: str, maker: Scope, reader: Scope, is_read: bool
) -> None:
    keep(Inventory(workshop.ask(at), maker), lamp)
    assert bool(remembered(workshop.ask(at), reader)) == is_read


def test_another_reader_still_needs_to_see_every_passage(
    stock: Stock, workshop: Workshop, at: Layout, lamp: str
) -> None:
    narrator = stock("narrator")
    keep(narrator, lamp, readers=["writer"])
    keep(narrator, id_of(narrator, "CELLARWORD"), lamp, readers=["writer"])
    assert [item.id for item in notes(workshop, at)] == ["memory:1"]
    assert [item.id for item in notes(workshop, at, "narrator")] == ["memory:1", "memory:2"]
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        catalog.connection.execute("UPDATE knowledge_source SET visibility = 'hidden'")
    assert notes(workshop, at) == []


def test_a_note_needs_a_text_and_passages_that_its_author_sees(stock: Stock, lamp: str) -> None:
    writer, cellar = stock("writer"), id_of(stock("narrator"), "CELLARWORD")
    told = []
    for id_ in (cellar, "nowhere", "block:plan", "block:gold"):
        with pytest.raises(MissingEvidence) as refused:
            keep(writer, id_)
        told.append(str(refused.value).replace(id_, "?"))
    assert len({*told}) == 1
    for text, ids, readers in (
        (" ", [lamp], ()),
        ("x" * 20_001, [lamp], ()),
        ("x", [], ()),
        ("x", [lamp], ["Bad Role"]),
    ):
        with pytest.raises(UsageError):
            keep(writer, *ids, text=text, readers=readers)


def test_a_withdrawn_note_is_kept_and_holds_no_more(stock: Stock, workshop: Workshop, at: Layout, lamp: str) -> None:
    note = keep(stock("writer"), lamp)
    with open_journal(at, write=True) as journal:
        for scope in (Scope("player"), Scope("writer", forbid_tags=("ending",))):
            with pytest.raises(NotFound):
                withdraw(journal, scope, note.note_id, "")
        with pytest.raises(NotFound):
            withdraw(journal, Scope("writer"), 99, "")
        withdraw(journal, Scope("writer"), note.note_id, "was wrong")
        assert withdraw(journal, Scope("writer"), note.note_id, "again").withdrawn_why == "was wrong"
    assert [item.invalidated for item in notes(workshop, at)] == ["was wrong"]


def test_a_campaign_without_a_bank_has_no_notes_and_gets_none_by_looking(workshop: Workshop, at: Layout) -> None:
    assert notes(workshop, at) == []
    assert not at.sessions.exists()
