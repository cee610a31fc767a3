"""From one embedder to another: the old vectors are asked until the new ones are complete, and nothing is lost."""

from __future__ import annotations

from itertools import count

import pytest

from canonry import embedders
from canonry.embedders import register
from canonry.errors import EmbedderError, NotFound, UsageError
from canonry.layout import Layout
from canonry.locking import writing
from canonry.timestamps import now
from flows import pipeline
from flows.pipeline import InProcess, loaded, run_plan
from flows.plan import make_plan
from flows.progress import Report
from flows.vector_sets import VectorSet, find_removable, list_sets, remove
from tests.conftest import Workshop
from tests.fakes import WordBag

_numbers = count()


class Flaky(WordBag):
    """Answers a number of times, then is away until it is told to come back."""

    def __init__(self, spec: str, answers: int) -> None:
        super().__init__(spec, dimensions=32)
        self.answers = answers

    def embed_documents(self, texts):  # type: ignore[no-untyped-def]
        if self.answers <= 0:
            raise EmbedderError("the word bag went away; wait for it")
        self.answers -= 1
        return super().embed_documents(texts)


@pytest.fixture
def old() -> WordBag:
    bag = WordBag(f"old{next(_numbers)}")
    register(bag)
    return bag


@pytest.fixture
def new() -> Flaky:
    bag = Flaky(f"new{next(_numbers)}", answers=1)
    register(bag)
    return bag


@pytest.fixture
def at(workshop: Workshop, old: WordBag, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """Six sources with the vectors of the old embedder; texts are embedded two at a time."""
    monkeypatch.setattr(pipeline, "BATCH_TEXTS", 2)
    at = workshop.create(embedder=old.spec)
    for name in ("gate", "lamp", "well", "mill", "pier", "wall"):
        workshop.write(f"{name}.md", f"# The {name}\n\nAn old {name} stands by the harbour.\n")
    workshop.bring(at, workshop.root / "lore")
    return at


def switch(at: Layout, spec: str) -> None:
    from canonry.cli.indexing import set_embedder

    set_embedder(at, spec)


def reindex(at: Layout, *, full: bool = False) -> Report:
    with writing(at):
        return run_plan(at, make_plan(at, full=full), InProcess())


def sets(at: Layout) -> dict[str, VectorSet]:
    return {one.spec: one for one in list_sets(at)}


def test_before_the_first_new_vector_questions_are_asked_of_the_old_ones_and_told_so(
    workshop: Workshop, at: Layout, old: WordBag, new: Flaky
) -> None:
    switch(at, new.spec)
    answer = workshop.ask(at).retrieve("old lamp", mode="semantic")
    assert answer.results[0].semantic_score is not None
    assert f"searched with the vectors of {old.spec}; `canonry reindex` makes those of {new.spec}" in str(
        answer.degraded
    )


@pytest.mark.parametrize("full", [False, True], ids=["as it is", "index written anew"])
def test_half_of_the_new_vectors_leave_the_old_ones_in_use(
    workshop: Workshop, at: Layout, old: WordBag, new: Flaky, full: bool
) -> None:
    before = [p.chunk_id for p in workshop.ask(at).retrieve("old lamp", mode="semantic").results]
    switch(at, new.spec)
    report = reindex(at, full=full)
    assert f"questions are asked of the vectors of {old.spec} until those of {new.spec} are complete" in str(
        report.degraded
    )
    assert sets(at)[old.spec].live
    assert (sets(at)[new.spec].vectors, sets(at)[new.spec].missing, sets(at)[new.spec].live) == (2, 4, False)
    answer = workshop.ask(at).retrieve("old lamp", mode="semantic")
    assert [p.chunk_id for p in answer.results] == before
    assert old.spec in str(answer.degraded)


def test_a_run_that_was_stopped_goes_on_with_what_is_missing_and_then_switches(
    workshop: Workshop, at: Layout, old: WordBag, new: Flaky
) -> None:
    switch(at, new.spec)
    reindex(at)
    new.answers = 100
    first = len(new.embedded)
    report = reindex(at)
    assert (report.degraded, first, len(new.embedded)) == (None, 2, 6)
    assert sets(at)[new.spec].live
    assert sets(at)[old.spec].complete
    answer = workshop.ask(at).retrieve("old lamp", mode="semantic")
    assert (answer.degraded, len(answer.results)) == (None, 6)
    assert make_plan(at).is_empty


def test_going_back_embeds_nothing_again(at: Layout, old: WordBag, new: Flaky) -> None:
    new.answers = 100
    switch(at, new.spec)
    reindex(at)
    switch(at, old.spec)
    seen = len(old.embedded)
    assert reindex(at).vectors == 6
    assert len(old.embedded) == seen
    assert sets(at)[old.spec].live


def test_old_vectors_whose_model_is_gone_leave_words_alone_and_the_answer_says_so(
    workshop: Workshop, at: Layout, old: WordBag, new: Flaky
) -> None:
    switch(at, new.spec)
    reindex(at)
    del embedders._registered[old.spec]
    answer = workshop.ask(at).retrieve("old lamp", mode="hybrid")
    assert [p.semantic_score for p in answer.results] == [None] * 6
    assert f"the vectors were made by {old.spec}, which cannot be asked" in str(answer.degraded)
    assert "searched by words alone" in str(answer.degraded)


def test_without_old_vectors_a_part_of_the_new_ones_is_better_than_none(
    workshop: Workshop, new: Flaky, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "BATCH_TEXTS", 1)
    at = workshop.create(embedder=new.spec)
    workshop.bring(at, *(workshop.write(f"{name}.md", f"An old {name}.\n") for name in ("lamp", "gate")))
    assert sets(at)[new.spec].live
    assert len(workshop.ask(at).retrieve("old", mode="semantic").results) == 1


def test_an_earlier_time_is_asked_of_the_vectors_that_today_is_asked_of(
    workshop: Workshop, at: Layout, old: WordBag, new: Flaky
) -> None:
    then = now()
    workshop.bring(at, workshop.write("lamp.md", "# The lamp\n\nA new lamp stands by the harbour.\n"))

    def asked() -> tuple[int, str]:
        answer = workshop.ask(at).retrieve("old lamp", mode="semantic", as_of=then)
        return len(answer.results), str(answer.degraded)

    before = asked()[0]
    switch(at, new.spec)
    reindex(at)
    assert asked()[0] == before
    assert f"vectors of {old.spec}" in asked()[1]
    new.answers = 100
    reindex(at)
    assert asked()[0] >= before - 1  # the old version of one source has no new vector
    assert f"vectors of {old.spec}" not in asked()[1]


# removal


def test_vectors_that_are_in_use_or_in_the_making_are_not_removed(at: Layout, old: WordBag, new: Flaky) -> None:
    switch(at, new.spec)
    reindex(at)
    for spec in (old.spec, new.spec):
        with pytest.raises(UsageError, match="in use"):
            find_removable(at, spec)
    with pytest.raises(NotFound, match=f"no vectors of 'other'.*{new.spec}, {old.spec}"):
        find_removable(at, "other")


def test_what_is_removed_is_gone_and_the_rest_is_as_it_was(
    workshop: Workshop, at: Layout, old: WordBag, new: Flaky
) -> None:
    new.answers = 100
    switch(at, new.spec)
    reindex(at)
    (doomed,) = find_removable(at, old.fingerprint)
    remove(at, doomed)
    assert not at.embeddings(old.fingerprint).exists()
    assert list(sets(at)) == [new.spec]
    assert make_plan(at).is_empty
    assert len(workshop.ask(at).retrieve("old lamp", mode="semantic").results) == 6


def test_a_campaign_without_an_embedder_can_be_rid_of_every_vector(
    workshop: Workshop, at: Layout, old: WordBag
) -> None:
    switch(at, "none")
    for doomed in find_removable(at, old.spec):
        remove(at, doomed)
    assert list_sets(at) == []
    assert not [*at.index.glob("vectors-*"), *at.index.glob("scan-*"), *at.chunks.glob("vectors/*")]
    assert make_plan(at).is_empty
    assert len(workshop.ask(at).retrieve("old lamp").results) == 6
    switch(at, old.spec)
    assert reindex(at).vectors == 6


@pytest.fixture(autouse=True)
def _forget_loaded() -> None:
    loaded.cache_clear()
