from __future__ import annotations

import sqlite3
import threading
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import canonry
from canonry.catalog import Catalog
from canonry.embedders import register
from canonry.errors import DamagedData, IndexMissing, NotFound, UsageError
from canonry.layout import Layout
from canonry.locking import writing
from flows.pipeline import InProcess, run_plan
from flows.plan import make_plan
from flows.removal import delete_source
from tests.conftest import Workshop
from tests.fakes import WordBag


@pytest.fixture
def bag() -> WordBag:
    bag = WordBag()
    register(bag)
    return bag


def one_lamp(workshop: Workshop, embedder: str = "none") -> tuple[Layout, str]:
    """A campaign with one source, and its id."""
    at = workshop.create(embedder=embedder)
    return at, workshop.bring(at, workshop.write("lamp.md", "# Lamp\n\nA brass lamp by the quay.\n")).imported[
        0
    ].source_id


def edit(at: Layout, source_id: str, **changes: object) -> None:
    catalog = Catalog.open(at.catalog, write=True)
    catalog.edit(source_id, replace(catalog.source(source_id).facts, **changes), changes)  # type: ignore[arg-type]
    catalog.close()


# the library


def test_a_library_lists_its_campaigns(workshop: Workshop) -> None:
    assert canonry.open(workshop.data).campaigns() == []
    workshop.create("vell")
    workshop.create("abbey")
    assert canonry.open(workshop.data).campaigns() == ["abbey", "vell"]


def test_a_campaign_that_is_not_there_is_not_found_and_not_made(workshop: Workshop) -> None:
    with pytest.raises(NotFound, match="vell"):
        canonry.open(workshop.data).campaign("vell")
    assert not workshop.data.exists()


def test_the_old_signature_returns_dictionaries(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    one_lamp(workshop)
    monkeypatch.setenv("CANONRY_DATA", str(workshop.data))
    (passage,) = canonry.retrieve("vell", "lamp", 0, source_types=None, as_of=None, limit=1)
    assert passage["exact_text"] == "A brass lamp by the quay."
    assert canonry.retrieve("vell", "lamp", 0, ["walkthrough"]) == []


def test_what_the_package_offers_is_there() -> None:
    assert all(hasattr(canonry, name) for name in canonry.__all__)


# modes, notices, what is degraded


@pytest.mark.parametrize("query", ["", "   ", "?", "zeppelin", "🗝️"])
@pytest.mark.parametrize("mode", ["lexical", "hybrid", "semantic"])
def test_where_nothing_matches_the_answer_is_empty(workshop: Workshop, bag: WordBag, query: str, mode: str) -> None:
    at, _ = one_lamp(workshop, "wordbag")
    answer = workshop.ask(at).retrieve(query, mode=mode)
    assert (answer.results, answer.degraded, answer.query, answer.mode) == ([], None, query, mode)


def test_a_campaign_without_sources_answers_nothing_or_says_there_is_no_index(workshop: Workshop) -> None:
    with pytest.raises(IndexMissing, match="import"):
        workshop.ask(workshop.create()).retrieve("lamp")


@pytest.mark.parametrize("mode", ["fuzzy", "", "LEXICAL"])
def test_an_unknown_mode_is_wrong_usage(workshop: Workshop, mode: str) -> None:
    with pytest.raises(UsageError, match="mode"):
        workshop.ask(one_lamp(workshop)[0]).retrieve("lamp", mode=mode)


@pytest.mark.parametrize(("mode", "found"), [("hybrid", 1), ("semantic", 0)])
def test_without_an_embedder_the_answer_says_what_it_lacks(workshop: Workshop, mode: str, found: int) -> None:
    answer = workshop.ask(one_lamp(workshop)[0]).retrieve("lamp", mode=mode)
    assert len(answer.results) == found
    assert answer.degraded is not None
    assert "no embedder" in answer.degraded


def test_an_embedder_whose_vectors_are_not_made_yet_is_degraded(workshop: Workshop, bag: WordBag) -> None:
    at, _ = one_lamp(workshop)
    set_embedder(at, "wordbag")
    answer = workshop.ask(at).retrieve("lamp", mode="hybrid")
    assert len(answer.results) == 1
    assert "canonry reindex" in str(answer.degraded)


def set_embedder(at: Layout, spec: str) -> None:
    catalog = Catalog.open(at.catalog, write=True)
    catalog.set_settings({"embedder": spec})
    catalog.close()


def test_another_embedder_uses_the_old_vectors_until_the_new_are_made(workshop: Workshop, bag: WordBag) -> None:
    at, _ = one_lamp(workshop, "wordbag")
    register(WordBag("second"))
    set_embedder(at, "second")
    assert workshop.ask(at).retrieve("lamp brass", mode="semantic").results
    with writing(at):
        run_plan(at, make_plan(at), InProcess())
    answer = workshop.ask(at).retrieve("lamp brass", mode="semantic")
    assert (len(answer.results), answer.degraded) == (1, None)


def test_vectors_of_another_model_are_not_compared(workshop: Workshop, bag: WordBag) -> None:
    at, _ = one_lamp(workshop, "wordbag")
    changed = WordBag()
    changed.fingerprint = "wordbag-of-tomorrow"
    register(changed)
    answer = workshop.ask(at).retrieve("lamp", mode="hybrid")
    assert "wordbag-of-tomorrow" in str(answer.degraded)
    assert answer.results[0].semantic_score is None


def test_a_question_in_a_script_that_the_model_does_not_know_is_answered_by_words(
    workshop: Workshop, bag: WordBag
) -> None:
    at = workshop.create(embedder="wordbag")
    workshop.bring(at, workshop.write("gate.md", "守将每夜关闭城门。\n"))
    answer = workshop.ask(at).retrieve("城门", mode="hybrid")
    assert len(answer.results) == 1
    assert "script" in str(answer.degraded)


def test_passages_without_a_vector_yet_are_told(workshop: Workshop, bag: WordBag) -> None:
    at, _ = one_lamp(workshop, "wordbag")
    set_embedder(at, "none")
    workshop.bring(at, workshop.write("gate.md", "A gate of zinc.\n"))
    set_embedder(at, "wordbag")
    answer = workshop.ask(at).retrieve("gate zinc", mode="hybrid")
    assert answer.results[0].uri == "gate.md"
    assert answer.results[0].semantic_score is None
    assert "not every passage has its vector yet" in str(answer.degraded)


def test_a_source_that_is_not_indexed_yet_is_told(workshop: Workshop) -> None:
    """As after a restore, or where an import was stopped between its last two steps."""
    at, _ = one_lamp(workshop)
    with sqlite3.connect(at.lexical) as db:
        for table in ("document", "run"):
            db.execute(f"DELETE FROM {table}")
        db.execute("UPDATE meta SET value = 0 WHERE key = 'catalog_sequence'")
    answer = workshop.ask(at).retrieve("lamp")
    assert answer.results == []
    assert answer.degraded is not None
    assert answer.degraded.startswith("not everything is indexed yet")


def test_a_campaign_with_vectors_searches_by_words_and_says_what_else_there_is(
    workshop: Workshop, bag: WordBag
) -> None:
    at, _ = one_lamp(workshop, "wordbag")
    answer = workshop.ask(at).retrieve("lamp")
    assert (answer.mode, answer.degraded) == ("lexical", None)
    assert any("--mode hybrid" in notice for notice in answer.notices)
    assert workshop.ask(at).retrieve("lamp", mode="lexical").notices == []


def test_the_campaign_s_own_mode_is_the_default(workshop: Workshop, bag: WordBag) -> None:
    at = workshop.create(embedder="wordbag", mode="semantic")
    workshop.bring(at, workshop.write("lamp.md", "A brass lamp.\n"))
    answer = workshop.ask(at).retrieve("brass lamp")
    assert answer.mode == "semantic"
    assert answer.results[0].lexical_score is None


# a campaign that is open sees every change at its next question


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


def test_one_campaign_s_words_do_not_shift_another_s_ranking(workshop: Workshop) -> None:
    at, _ = one_lamp(workshop)
    before = workshop.ask(at).retrieve("brass lamp")
    other = workshop.create("other")
    workshop.bring(other, *(workshop.write(f"o{n}.md", f"brass {n}\n") for n in range(20)))
    assert workshop.ask(at).retrieve("brass lamp") == before


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


def test_the_same_question_again_is_embedded_once(workshop: Workshop) -> None:
    """An answer and a pack ask the same; another question, and another model, are embedded anew."""

    class Counting(WordBag):
        asked = 0

        def embed_query(self, text: str) -> NDArray[np.float32]:
            Counting.asked += 1
            return super().embed_query(text)

    register(Counting("counting"))
    at = workshop.create(embedder="counting")
    workshop.bring(at, workshop.write("lamp.md", "A brass lamp.\n"))
    campaign = workshop.ask(at)
    first = campaign.retrieve("brass lamp", mode="hybrid")
    assert campaign.retrieve("brass lamp", mode="hybrid").as_json() == first.as_json()
    assert Counting.asked == 1
    campaign.retrieve("lamp", mode="hybrid")
    assert Counting.asked == 2
