"""Past packs are kept as they were supplied, and read by those alone who may."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import pytest

from canonry.eligibility import Scope
from canonry.errors import NotFound
from canonry.history import list_records, record_pack, show_record
from canonry.layout import Layout
from canonry.locking import writing
from canonry.pack import Pack, build_pack
from tests.conftest import Workshop


@pytest.fixture
def packs(workshop: Workshop) -> dict[str, Pack]:
    """A pack for each of three scopes, recorded in this order."""
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "A lamp.\n"))
    campaign = workshop.ask(at)
    scopes = {"player": Scope(), "late": Scope(spoiler_level=3), "narrator": Scope("narrator")}
    return {name: record_pack(at, build_pack(campaign, "lamp", scope=scope)) for name, scope in scopes.items()}


def test_a_record_is_the_pack(workshop: Workshop, packs: dict[str, Pack]) -> None:
    at = Layout(workshop.data, "vell")
    record = show_record(at, 1, Scope())
    assert record.supplied["text"] == packs["player"].text
    assert record.as_json()["pack_id"] == packs["player"].pack_id == 1


def test_records_follow_role_and_level(workshop: Workshop, packs: dict[str, Pack]) -> None:
    at = Layout(workshop.data, "vell")
    ids = {
        scope: [record.record_id for record in list_records(at, scope, 10)]
        for scope in (Scope(), Scope(spoiler_level=2), Scope(spoiler_level=3), Scope("narrator"), Scope("npc:mara"))
    }
    assert list(ids.values()) == [[1], [1], [2, 1], [3, 1], [1]]
    for record_id in (2, 3, 99):
        with pytest.raises(NotFound, match="is not in the history"):
            show_record(at, record_id, Scope())


def test_a_pack_is_given_even_where_it_cannot_be_recorded(workshop: Workshop, packs: dict[str, Pack]) -> None:
    at = Layout(workshop.data, "vell")
    with writing(at):
        again = record_pack(at, packs["player"])
    assert again.text == packs["player"].text
    assert "not in the history" in again.warnings[-1]
    assert len(list_records(at, Scope(), 10)) == 1


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
@pytest.mark.parametrize("before", ["the first pack", "a later pack"])
def test_a_pack_does_not_wait_for_another_program_that_holds_the_catalog(
    workshop: Workshop, before: str, journal: str
) -> None:
    """Another program knows of no lock of ours: it took half a minute, to be noted in a history."""
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "A lamp.\n"))
    campaign = workshop.ask(at)
    if before == "a later pack":
        record_pack(at, build_pack(campaign, "lamp"))
    kept = len(list_records(at, Scope(), 10))
    campaign.close()
    with closing(sqlite3.connect(at.catalog, isolation_level=None)) as other:
        other.execute(f"PRAGMA journal_mode = {journal}")
        other.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        made = record_pack(at, build_pack(workshop.ask(at), "lamp"))
        assert time.monotonic() - started < 8  # two waits of a second, on a busy machine
        other.execute("ROLLBACK")
    assert "A lamp." in made.text
    assert "this pack is not in the history: " in made.warnings[-1]
    assert "another process kept it locked for 1 s; try again" in made.warnings[-1]
    assert len(list_records(at, Scope(), 10)) == kept
    assert record_pack(at, build_pack(workshop.ask(at), "lamp")).pack_id == kept + 1


def test_a_pack_with_a_forbidden_tag_is_not_shown(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("end.md", "The lamp goes out.\n"), spoiler_tags=["Ending"])
    record_pack(at, build_pack(workshop.ask(at), "lamp"))
    record_pack(at, build_pack(workshop.ask(at), "whale"))
    strict = Scope(forbid_tags=("other", "ending"))
    assert [record.record_id for record in list_records(at, strict, 10)] == [2]
    assert [record.record_id for record in list_records(at, Scope(forbid_tags=("other",)), 10)] == [2, 1]
    with pytest.raises(NotFound):
        show_record(at, 1, strict)
