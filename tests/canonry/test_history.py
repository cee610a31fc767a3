"""Past packs are kept as they were supplied, and read by those alone who may."""

from __future__ import annotations

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
