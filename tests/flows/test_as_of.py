"""Indexes of earlier times: made by whoever asks first, alone, and gone when something is deleted."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from canonry.eligibility import Scope
from canonry.errors import IndexMissing
from canonry.layout import Layout
from canonry.retrieval import Passage
from canonry.timestamps import now, parse_instant
from flows.as_of import forget_past, index_as_of
from tests.conftest import Workshop


@pytest.fixture
def then(workshop: Workshop) -> tuple[Layout, str]:
    """A campaign, and an instant whose version has been superseded since."""
    at = workshop.create()
    workshop.bring(at, workshop.write("a.md", "The okapi did it.\n"))
    instant = now()
    time.sleep(0.01)
    workshop.bring(at, workshop.write("a.md", "Nothing is known.\n"))
    return at, instant


def test_what_a_killed_process_was_making_goes_when_the_next_one_makes_it(then: tuple[Layout, str]) -> None:
    at, instant = then
    left = at.index / "as-of" / ".tmp-0123456789abcdef" / "lexical.sqlite"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half an index")
    past = index_as_of(at, instant)
    assert [folder.name for folder in past.index.parent.iterdir()] == [past.past]


def test_several_questions_at_once_all_get_the_same_index(then: tuple[Layout, str]) -> None:
    at, instant = then
    got: list[Layout] = []
    threads = [threading.Thread(target=lambda: got.append(index_as_of(at, instant))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 4
    (past,) = set(got)
    assert [folder.name for folder in past.index.parent.iterdir()] == [past.past]


def test_what_is_forgotten_is_made_again(then: tuple[Layout, str], workshop: Workshop) -> None:
    at, instant = then
    for _ in range(2):
        (passage,) = workshop.ask(at).retrieve("okapi", as_of=instant).results
        assert passage.exact_text == "The okapi did it."
        forget_past(at)
        assert not (at.index / "as-of").exists()


def test_an_index_that_a_deletion_takes_away_while_it_is_read_is_made_anew(
    then: tuple[Layout, str], workshop: Workshop
) -> None:
    at, instant = then
    workshop.bring(at, workshop.write("b.md", "A lamp.\n"))
    scope = Scope(as_of=parse_instant(instant))
    read = []

    def work(passages: Iterator[Passage]) -> list[str]:
        read.append(index_as_of(at, instant).lexical)
        if len(read) == 1:
            forget_past(at)
            raise FileNotFoundError(2, "gone", str(read[0]))
        return [passage.exact_text for passage in passages]

    with workshop.ask(at) as campaign:
        assert campaign.survey(scope, work) == ["The okapi did it."]
        assert len(read) == 2
        for path in (at.catalog, at.lexical):
            assert path.exists()


def test_a_live_index_that_is_gone_is_not_waited_for(then: tuple[Layout, str], workshop: Workshop) -> None:
    at, _ = then
    with workshop.ask(at) as campaign:
        at.lexical.unlink()
        with pytest.raises(IndexMissing, match="has no index yet"):
            campaign.retrieve("okapi")
