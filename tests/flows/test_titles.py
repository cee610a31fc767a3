"""A source is found by the title that it has now, whoever gave it that."""

from __future__ import annotations

from contextlib import closing

import pytest

from canonry import retitled
from canonry.catalog import Catalog
from canonry.embedders import register
from canonry.export import export_campaign
from canonry.layout import Layout
from canonry.locking import writing
from flows.acceptance import accept
from flows.pipeline import InProcess, run_plan
from flows.plan import make_plan
from flows.restating import edit_source, index_new_titles
from flows.restore import restore
from flows.verify import verify
from tests.conftest import Workshop
from tests.fakes import WordBag
from tests.flows.importing import edit


@pytest.fixture
def bag() -> WordBag:
    bag = WordBag("for-titles")
    register(bag)
    return bag


@pytest.fixture
def at(workshop: Workshop, bag: WordBag) -> Layout:
    """Two sources that are named by their files alone."""
    at = workshop.create(embedder="for-titles")
    workshop.bring(
        at, workshop.write("zorblax.md", "The gate is iron.\n\nIt is old.\n"), workshop.write("b.md", "A lamp.\n")
    )
    return at


def found(workshop: Workshop, at: Layout, word: str) -> list[str]:
    return [passage.title for passage in workshop.ask(at).retrieve(word, mode="lexical").results]


def update(at: Layout) -> None:
    with writing(at):
        run_plan(at, make_plan(at), InProcess())


def test_a_file_that_was_renamed_is_found_by_its_new_name(workshop: Workshop, at: Layout, bag: WordBag) -> None:
    embedded = len(bag.embedded)
    path = workshop.root / "lore" / "zorblax.md"
    workshop.bring(at, path.rename(path.with_name("quillon.md")))
    assert (found(workshop, at, "quillon"), found(workshop, at, "zorblax")) == (["quillon"], [])
    assert len(bag.embedded) == embedded
    assert make_plan(at).is_empty
    assert verify(at).findings == []


def test_an_edited_title_is_found_at_the_next_query_and_survives_every_rebuild(workshop: Workshop, at: Layout) -> None:
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        edit_source(catalog, catalog.source("zorblax"), {"title": "Vexmoor Gate"})
        index_new_titles(at)
    assert found(workshop, at, "vexmoor") == ["Vexmoor Gate"]
    rows = workshop.ask(at).retrieve("iron", mode="semantic").results
    assert [row.title for row in rows][:1] == ["Vexmoor Gate"]  # its vector is still its own
    with writing(at):
        run_plan(at, make_plan(at, full=True), InProcess())
    assert found(workshop, at, "vexmoor") == ["Vexmoor Gate"]
    export_campaign(at, workshop.root / "vell.zip")
    there = restore(workshop.root / "vell.zip", workshop.root / "there").at
    assert found(workshop, there, "vexmoor") == ["Vexmoor Gate"]
    (workshop.root / "lore" / "zorblax.md").write_text("The gate is rust.\n")
    workshop.bring(at, workshop.root / "lore" / "zorblax.md")
    assert found(workshop, at, "vexmoor") == ["Vexmoor Gate"]
    assert verify(at).findings == []


def test_a_run_that_was_stopped_before_the_index_is_made_good_by_the_next(workshop: Workshop, at: Layout) -> None:
    edit(at, "zorblax.md", title="Vexmoor")
    plan = make_plan(at)
    assert [document.title for document in plan.retitled] == ["Vexmoor"]
    assert plan.reasons[0].startswith("lexical index: 1 source under an earlier title (zorblax")
    workshop.bring(at, workshop.write("c.md", "A rope.\n"))  # a change of another source does not hide it
    assert found(workshop, at, "vexmoor") == ["Vexmoor"]
    assert make_plan(at).is_empty
    edit(at, "zorblax.md", title="Vexmoor")  # the same again is no change
    assert make_plan(at).is_empty


def test_a_title_that_was_proposed_is_found_when_it_is_accepted(workshop: Workshop, at: Layout) -> None:
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        source = catalog.source("zorblax")
        catalog.connection.execute("UPDATE knowledge_source SET locked = 1 WHERE source_id = ?", (source.source_id,))
        waiting = edit_source(catalog, catalog.source("zorblax"), {"title": "Vexmoor"}).waiting
        assert waiting
        assert retitled.waiting(catalog.connection) == set()
    assert found(workshop, at, "vexmoor") == []
    with writing(at):
        accept(at, waiting)
    assert found(workshop, at, "vexmoor") == ["Vexmoor"]


def test_a_source_that_went_is_no_longer_waited_for(workshop: Workshop, at: Layout) -> None:
    edit(at, "b.md", title="Vexmoor")
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        catalog.delete(catalog.source("b.md").source_id)
    update(at)
    assert make_plan(at).is_empty
