"""Questions to a campaign: modes, notices, and what an answer says that it lacks."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest
from numpy.typing import NDArray

from canonry.catalog import Catalog
from canonry.embedders import register
from canonry.errors import IndexMissing, UsageError
from canonry.layout import Layout
from canonry.locking import writing
from flows.pipeline import InProcess, run_plan
from flows.plan import make_plan
from tests.canonry.conftest import one_lamp
from tests.conftest import Workshop
from tests.fakes import WordBag


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


def test_one_campaign_s_words_do_not_shift_another_s_ranking(workshop: Workshop) -> None:
    at, _ = one_lamp(workshop)
    before = workshop.ask(at).retrieve("brass lamp")
    other = workshop.create("other")
    workshop.bring(other, *(workshop.write(f"o{n}.md", f"brass {n}\n") for n in range(20)))
    assert workshop.ask(at).retrieve("brass lamp") == before


def test_the_same_question_again_is_embedded_once(workshop: Workshop) -> None:
    """An answer and a pack ask the same; another question, and another model, are embedded anew."""

    class Counting(WordBag):
        asked = 0

        def embed_query(self, text: str) -> NDArray[np.float32]:
            Counting.asked += 1
            return super().embed_query(text)

    register(Counting("counting-questions"))
    at = workshop.create(embedder="counting-questions")
    workshop.bring(at, workshop.write("lamp.md", "A brass lamp.\n"))
    campaign = workshop.ask(at)
    first = campaign.retrieve("brass lamp", mode="hybrid")
    assert campaign.retrieve("brass lamp", mode="hybrid").as_json() == first.as_json()
    assert Counting.asked == 1
    campaign.retrieve("lamp", mode="hybrid")
    assert Counting.asked == 2
