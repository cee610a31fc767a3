"""A campaign that is open sees every change at its next question, and each answer is of one moment."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import replace

import pytest

import canonry
from canonry.catalog import Catalog
from canonry.errors import DamagedData, IndexMissing
from canonry.layout import Layout
from canonry.locking import writing
from flows.pipeline import InProcess, run_plan
from flows.plan import make_plan
from flows.removal import delete_source
from tests.canonry.conftest import one_lamp
from tests.conftest import Workshop
from tests.fakes import WordBag


def edit(at: Layout, source_id: str, **changes: object) -> None:
    catalog = Catalog.open(at.catalog, write=True)
    catalog.edit(source_id, replace(catalog.source(source_id).facts, **changes), changes)  # type: ignore[arg-type]
    catalog.close()


def test_a_disabled_source_is_gone_at_the_next_question_and_back_when_enabled(workshop: Workshop) -> None:
    at, source = one_lamp(workshop)
    campaign = workshop.ask(at)
    for enabled in (True, False, True):
        catalog = Catalog.open(at.catalog, write=True)
        catalog.set_enabled(source, enabled)
        catalog.close()
        assert bool(campaign.retrieve("lamp").results) is enabled


def test_an_edit_is_in_force_at_the_next_question(workshop: Workshop) -> None:
    at, source = one_lamp(workshop)
    campaign = workshop.ask(at)
    campaign.retrieve("lamp")
    edit(at, source, class_="canon", title="The brass lamp", tags=("light",), entities=("Mara",), spoiler_tags=("x",))
    (passage,) = campaign.retrieve("lamp").results
    assert (passage.class_, passage.title, passage.tags, passage.entities) == (
        "canon",
        "The brass lamp",
        ["light"],
        ["Mara"],
    )
    assert passage.spoiler_tags == ["x"]
    edit(at, source, spoiler_level=2)
    assert campaign.retrieve("lamp").results == []
    assert campaign.retrieve("lamp", spoiler_level=2).results[0].spoiler_level == 2
    edit(at, source, visibility="hidden")
    assert campaign.retrieve("lamp", spoiler_level=2).results == []


def test_a_new_a_changed_and_a_deleted_source_are_seen_at_the_next_question(workshop: Workshop) -> None:
    at, source = one_lamp(workshop)
    campaign = workshop.ask(at)
    assert len(campaign.retrieve("lamp").results) == 1
    workshop.bring(at, workshop.write("two.md", "A second lamp.\n"))
    assert len(campaign.retrieve("lamp").results) == 2
    workshop.bring(at, workshop.write("two.md", "A second gate.\n"))
    assert len(campaign.retrieve("lamp").results) == 1
    with writing(at):
        delete_source(at, source)
    assert campaign.retrieve("lamp").results == []
    assert len(campaign.retrieve("gate").results) == 1


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_rebuild_is_seen_at_the_next_question(workshop: Workshop, bag: WordBag, mode: str) -> None:
    at, _ = one_lamp(workshop, "wordbag")
    campaign = workshop.ask(at)
    before = campaign.retrieve("brass lamp", mode=mode)
    with writing(at):
        run_plan(at, make_plan(at, full=True), InProcess())
    assert campaign.retrieve("brass lamp", mode=mode) == before


def test_a_store_that_was_replaced_is_opened_again(workshop: Workshop) -> None:
    at, _ = one_lamp(workshop)
    campaign = workshop.ask(at)
    assert campaign.retrieve("lamp").results
    for path in at.index.iterdir():
        path.unlink()
    with pytest.raises(IndexMissing, match="canonry reindex"):
        campaign.retrieve("lamp")
    with writing(at):
        run_plan(at, make_plan(at), InProcess())
    assert campaign.retrieve("lamp").results


def test_deleting_everything_derived_and_reindexing_gives_the_same_answers(workshop: Workshop, bag: WordBag) -> None:
    import shutil

    at = workshop.create(embedder="wordbag")
    for number in range(3):
        workshop.bring(
            at,
            *(workshop.write(f"{number}-{n}.md", f"# {n}\n\nThe brass lamp {'oil ' * n}{number}.\n") for n in range(8)),
        )
    questions = [("lamp", "lexical"), ("brass oil", "semantic"), ("lamp oil", "hybrid")]
    before = [workshop.ask(at).retrieve(query, mode=mode, limit=24) for query, mode in questions]
    shutil.rmtree(at.chunks)
    shutil.rmtree(at.index)
    with writing(at):
        run_plan(at, make_plan(at), InProcess())
    assert [workshop.ask(at).retrieve(query, mode=mode, limit=24) for query, mode in questions] == before


def test_an_index_of_another_contract_names_the_way_out(workshop: Workshop) -> None:
    at, _ = one_lamp(workshop)
    with sqlite3.connect(at.lexical) as db:
        db.execute("UPDATE meta SET value = 'canonry/lexical/0' WHERE key = 'contract'")
    with pytest.raises(IndexMissing, match="canonry reindex"):
        workshop.ask(at).retrieve("lamp")


def test_a_damaged_index_names_the_way_out(workshop: Workshop) -> None:
    at, _ = one_lamp(workshop)
    for path in at.index.glob("lexical.sqlite*"):
        path.unlink()
    at.lexical.write_bytes(b"no database" * 100)
    with pytest.raises(DamagedData, match="canonry reindex"):
        workshop.ask(at).retrieve("lamp")


def test_readers_never_see_an_error_an_empty_index_or_a_mixture_while_a_writer_works(
    workshop: Workshop, bag: WordBag
) -> None:
    """The lamp is in every state of the campaign; each answer must hold exactly one, whole and of one version."""
    at, _ = one_lamp(workshop, "wordbag")
    failures: list[object] = []
    done = threading.Event()

    def read(mode: str) -> None:
        with canonry.open(at.root).campaign(at.campaign) as campaign:
            while not done.is_set():
                try:
                    answer = campaign.retrieve("brass lamp quay", mode=mode)
                    texts = [passage.exact_text for passage in answer.results if "lamp" in passage.exact_text]
                    if len(texts) != 1 or not texts[0].startswith("A brass lamp by the quay"):
                        failures.append((texts, answer.degraded))
                except Exception as error:
                    failures.append(error)

    readers = [threading.Thread(target=read, args=(mode,)) for mode in ("lexical", "hybrid")]
    for reader in readers:
        reader.start()
    try:
        for turn in range(2):
            workshop.bring(
                at,
                workshop.write("lamp.md", f"# Lamp\n\nA brass lamp by the quay{'!' * turn}\n"),
                workshop.write(f"g{turn}.md", f"Gate {turn}.\n"),
            )
            with writing(at):
                run_plan(at, make_plan(at, full=True), InProcess())
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert failures == []
