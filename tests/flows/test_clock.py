"""Versions follow one another in the order in which they were imported, whatever the clock says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from canonry import catalog
from canonry.catalog import Catalog
from canonry.layout import Layout
from canonry.locking import writing
from flows.plan import make_plan
from tests.conftest import Workshop

NOON = "2026-03-01T12:00:00.000000+00:00"
EARLIER = "2026-03-01T09:00:00.000000+00:00"
LATER = "2026-03-02T12:00:00.000000+00:00"


def set_clock(monkeypatch: pytest.MonkeyPatch, *instants: str) -> None:
    """What the catalog takes for the present, one after the other; the last for good."""
    left: Iterator[str] = iter(instants)
    present = [instants[-1]]
    monkeypatch.setattr(catalog, "now", lambda: next(left, present[0]))


def said_at(workshop: Workshop, at: Layout, as_of: str | None) -> list[str]:
    return [passage.exact_text for passage in workshop.ask(at).retrieve("okapi", as_of=as_of).results]


@pytest.mark.parametrize("second", [EARLIER, NOON], ids=["put back", "stands still"])
def test_a_clock_that_goes_backwards_leaves_the_order_of_versions(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, second: str
) -> None:
    at = workshop.create()
    for instant, text in ((NOON, "The first okapi.\n"), (second, "The second okapi.\n"), (LATER, "The third okapi.\n")):
        set_clock(monkeypatch, instant)
        workshop.bring(at, workshop.write("a.md", text))
    opened = Catalog.open(at.catalog)
    (source,) = opened.sources()
    spans = [(valid_from, valid_to) for _, _, _, valid_from, valid_to in opened.versions(source.source_id)]
    assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]
    assert all(start < str(end) for start, end in spans[:-1])
    assert [said_at(workshop, at, start) for start, _ in spans] == [
        ["The first okapi."], ["The second okapi."], ["The third okapi."],
    ]  # fmt: skip
    assert said_at(workshop, at, EARLIER) == []
    assert said_at(workshop, at, None) == ["The third okapi."]
    assert make_plan(at).is_empty


def test_a_clock_that_goes_backwards_between_two_edits_keeps_the_last(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = workshop.create()
    set_clock(monkeypatch, NOON)
    source_id = workshop.bring(at, workshop.write("a.md", "The okapi.\n")).imported[0].source_id
    set_clock(monkeypatch, EARLIER)
    with writing(at):
        opened = Catalog.open(at.catalog, write=True)
        opened.set_enabled(source_id, False)
        opened.close()
    assert said_at(workshop, at, None) == []
