from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from canonry.canonlog.save import Save, write_save
from canonry.contexts.assembly import Ref
from canonry.contexts.failures import MalformedCall, SessionClosed
from canonry.contexts.item import Item
from canonry.contexts.journal import open_journal
from canonry.contexts.session import CHECKPOINT_EVERY, Session, begin, fold, resume
from canonry.contexts.task import Task
from canonry.eligibility import Scope
from canonry.errors import DamagedData, NotFound
from canonry.layout import Layout
from tests.canonry.contexts.conftest import BLOCKS, Stock, id_of
from tests.conftest import Workshop

TASK = Task("Write the scene at the gate.", Scope("writer"), searches=("lexical",), calls=50)
Begin = Callable[..., Any]


@pytest.fixture
def start(workshop: Workshop, at: Layout) -> Begin:
    """A session over the blocks of every kind; keywords replace fields of its task."""

    @contextmanager
    def start(save: Path | None = None, **changes: Any) -> Iterator[Session]:
        with open_journal(at, make=True) as journal:
            yield begin(journal, workshop.ask(at), replace(TASK, **changes), save=save, blocks=json.dumps(BLOCKS))

    return start


@contextmanager
def resumed(workshop: Workshop, at: Layout, session_id: str) -> Iterator[Session]:
    with open_journal(at, write=True) as journal:
        yield resume(journal, workshop.ask(at), session_id)[0]


def test_the_opening_says_what_is_to_be_done_and_with_what(start: Begin) -> None:
    with start() as session:
        said = session.opening()
    assert (said["task"], said["role"]) == ("Write the scene at the gate.", "writer")
    assert [call["name"] for call in said["calls"]] == ["search", "fetch", "select", "stop"]
    assert [item["id"] for item in said["pinned"]] == ["block:style"]
    assert {item["id"] for item in said["candidates"]} == {"block:plan", "block:trace"}
    assert "GOLDWORD" not in json.dumps(said)


def test_a_search_gives_candidates_with_their_scores_as_evidence(start: Begin) -> None:
    with start() as session:
        answer = session.call("search", {"query": "who sleeps at the gate", "limit": 1})
        (one,) = answer["candidates"]
        assert one["evidence"]["lexical_score"] > 0
        assert one["evidence"]["semantic_score"] is None
        assert answer["left"]["calls"] == 49
        assert not {key for key in one if "relevan" in key}


def test_what_is_read_selected_and_stopped_becomes_a_checked_text(start: Begin) -> None:
    with start() as session:
        gate = session.call("search", {"query": "gatekeeper"})["candidates"][0]
        (whole,) = session.call("fetch", {"ids": [gate["id"]]})["items"]
        assert whole["text"].endswith("The gatekeeper sleeps at noon.")
        session.call("select", {"items": ["block:plan", {"id": gate["id"], "fingerprint": gate["fingerprint"]}]})
        session.call("select", {"items": [gate["id"]]})
        answer = session.call("stop", {"reason": "enough"})
        assert [item["id"] for item in answer["assembly"]["working"]] == [gate["id"]]
        assert "gatekeeper sleeps" in answer["assembly"]["text"]
        assert session.call("search", {"query": "more"})["error"] == "SessionClosed"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("dance", {}, "is no call here"),
        (None, {}, "is no call here"),
        (["search"], {}, "is no call here"),
        ("search", {}, "lacks query"),
        ("search", {"query": 7}, "/query is no"),
        ("search", {"query": ""}, "/query breaks"),
        ("search", {"query": "x", "mode": "hybrid"}, "/mode is none of"),
        ("search", {"query": "x", "role": "narrator"}, "has no argument 'role'"),
        ("search", {"query": "x", "limit": 10**6}, "/limit breaks"),
        ("search", [], "are no object"),
        ("fetch", {"ids": []}, "/ids breaks"),
        ("select", {"items": [{"id": "a", "score": 1}]}, "neither an id nor an object"),
        ("stop", {"now": True}, "has no argument 'now'"),
        ("answer", {}, "is no call here"),
    ],
)
def test_nonsense_is_a_malformed_call_and_costs_one(start: Begin, name: Any, arguments: Any, said: str) -> None:
    with start() as session:
        answer = session.call(name, arguments)
        assert (answer["ok"], answer["error"]) == (False, "MalformedCall")
        assert said in answer["message"]
        assert answer["left"]["calls"] == (50 if name == "stop" else 49)


@pytest.mark.parametrize("call", ["fetch", "select"])
def test_what_is_forbidden_and_what_never_was_are_answered_alike(start: Begin, stock: Stock, call: str) -> None:
    cellar = id_of(stock("narrator"), "CELLARWORD")
    with start() as session:
        told = []
        for id_ in ("block:gold", "block:sim", "block:veiled", cellar, "block:none"):
            answer = session.call(call, {"ids" if call == "fetch" else "items": [id_]})
            assert (answer["error"], answer["ids"]) == ("MissingEvidence", [id_])
            told.append(answer["message"].replace(id_, "?"))
        assert len({*told}) == 1


@pytest.mark.parametrize("call", ["fetch", "select"])
def test_an_item_of_another_campaign_is_not_there_and_the_session_goes_on(
    start: Begin, workshop: Workshop, at: Layout, foreign: Item, call: str
) -> None:
    refs: list[Any] = ["nowhere", foreign.id]
    if call == "select":
        refs.append({"id": foreign.id, "fingerprint": foreign.fingerprint, "source_id": foreign.source_id})
    with start() as session:
        assert session.call("select", {"items": ["block:plan"]})["ok"]
        told = []
        for ref in refs:
            answer = session.call(call, {"ids" if call == "fetch" else "items": ["block:plan", ref]})
            id_ = ref if isinstance(ref, str) else ref["id"]
            assert (answer["ok"], answer["error"], answer["ids"]) == (False, "MissingEvidence", [id_])
            told.append(answer["message"].replace(id_, "?"))
        assert len({*told}) == 1
        hidden = ("FOREIGNWORD", "uildhall", "othercampaign", foreign.source_id)
        assert not [word for word in hidden if word in str(told)]
    with resumed(workshop, at, session.session_id) as again:
        again.take_up()
        assert [ref.id for ref in again.state.selected] == ["block:plan"]
        assert again.call("stop", {})["ok"]


def test_a_task_that_allows_no_search_has_none(start: Begin) -> None:
    with start(searches=()) as session:
        assert session.call("search", {"query": "gate"})["error"] == "MalformedCall"
        assert session.call("fetch", {"ids": ["block:plan"]})["ok"]


def test_calls_end_and_stopping_costs_none(start: Begin) -> None:
    with start(calls=2) as session:
        for _ in range(2):
            assert session.call("fetch", {"ids": ["block:plan"]})["ok"]
        last = session.state.last
        for _ in range(100):
            assert session.call("fetch", {"ids": ["block:plan"]})["error"] == "BudgetSpent"
            assert session.refuse(MalformedCall("x"))["error"] == "MalformedCall"
        assert session.state.last == last, "a model that loops fills no disk"
        session.grant(1, 0)
        assert session.call("select", {"items": ["block:plan"]})["ok"]
        assert session.call("stop", {})["ok"]


def test_an_answer_beyond_the_tokens_that_are_left_is_not_given(start: Begin) -> None:
    with start(tokens=10) as session:
        answer = session.call("fetch", {"ids": ["block:plan"]})
        assert (answer["error"], answer["ids"]) == ("BudgetSpent", ["block:plan"])
        assert "PLANWORD" not in json.dumps(answer)
        assert answer["left"] == {"calls": 49, "tokens": 10}


def test_a_stop_that_fails_leaves_the_session_open(start: Begin) -> None:
    with start(required=(Ref("block:trace"),)) as session:
        assert session.call("stop", {})["error"] == "MissingEvidence"
        session.call("select", {"items": ["block:trace"]})
        assert session.call("stop", {})["ok"]


def test_every_call_is_on_the_disk_before_it_is_answered(start: Begin, at: Layout) -> None:
    with start() as session:
        session.call("select", {"items": ["block:plan"]})
        with open_journal(at) as other:
            assert fold(other.events(session.session_id)) == session.state


def test_events_are_never_changed_and_never_deleted(start: Begin, at: Layout) -> None:
    with start() as session:
        session.call("select", {"items": ["block:plan"]})
    with closing(sqlite3.connect(at.sessions)) as db:
        for statement in ("UPDATE event SET kind = 'x'", "DELETE FROM event"):
            with pytest.raises(sqlite3.IntegrityError, match="events are never"):
                db.execute(statement)


def test_a_checkpoint_comes_to_the_same_as_all_events(start: Begin, at: Layout) -> None:
    with start() as session:
        for number in range(CHECKPOINT_EVERY + 5):
            session.call("select", {"items": ["block:plan"] if number % 2 else ["block:trace"]})
        events = session.journal.events(session.session_id)
        since = session.journal.last_checkpoint(session.session_id)
        assert since > 1
        assert fold(events[since - 1 :]) == fold(
            [one for one in events if one.kind != "checkpoint" or one.number >= since]
        )
        without = replace(fold([one for one in events if one.kind != "checkpoint"]), last=0)
        assert replace(fold(events), last=0) == without


def test_a_session_is_rebuilt_from_its_events_and_held_against_today(
    start: Begin, stock: Stock, workshop: Workshop, at: Layout
) -> None:
    inventory = stock("writer")
    lamp, capital = id_of(inventory, "whale oil"), id_of(inventory, "Karth")
    with start() as session:
        assert session.call("select", {"items": [lamp, capital, "block:plan"]})["ok"]
    workshop.bring(at, workshop.write("town.md", "---\nclass: canon\n---\n# Lamp\n\nThe lamp burns tallow.\n"))
    with resumed(workshop, at, session.session_id) as again:
        verdicts = {one.ref.id: one.failure and type(one.failure).__name__ for one in again.take_up()}
        assert verdicts == {lamp: "StaleReference", capital: None, "block:plan": None}
        assert [ref.id for ref in again.state.selected] == [capital, "block:plan"]
        assert again.left["calls"] == 49
        assert again.call("stop", {})["ok"]


def test_whoever_drives_on_is_told_what_became_stale_until_it_selects_anew(
    start: Begin, stock: Stock, workshop: Workshop, at: Layout
) -> None:
    inventory = stock("writer")
    lamp, capital = id_of(inventory, "whale oil"), id_of(inventory, "Karth")
    with start() as session:
        assert session.opening()["stale"] == []
        assert session.call("select", {"items": [lamp, capital]})["ok"]
    workshop.bring(at, workshop.write("town.md", "---\nclass: canon\n---\n# Lamp\n\nThe lamp burns tallow.\n"))
    with resumed(workshop, at, session.session_id) as again:
        again.take_up()
        told = again.opening()["stale"]
    assert [(one["id"], one["error"]) for one in told] == [(lamp, "StaleReference")]
    assert "changed since selected" in told[0]["message"]
    workshop.bring(
        at, workshop.write("capital.md", "---\nvisibility: hidden\n---\n# Vell\n\nThe capital of Vell is Karth.\n")
    )
    with resumed(workshop, at, session.session_id) as again:
        again.take_up()
        both = again.opening()["stale"]
        assert {**both[0], "message": ""} == {**told[0], "message": ""}, "who drives now may not be who was told before"
        assert [(one["id"], one["error"]) for one in both[1:]] == [(capital, "MissingEvidence")]
        assert "hidden" not in json.dumps(both)
        assert again.call("select", {"items": []})["ok"]
        assert again.opening()["stale"] == []
    with resumed(workshop, at, session.session_id) as again:
        again.take_up()
        assert again.opening()["stale"] == []


def test_two_drivers_of_one_session_do_not_both_go_on(start: Begin, workshop: Workshop, at: Layout) -> None:
    with start() as session, resumed(workshop, at, session.session_id) as other:
        assert other.call("fetch", {"ids": ["block:plan"]})["ok"]
        answer = session.call("fetch", {"ids": ["block:plan"]})
        assert (answer["error"], "another process" in answer["message"]) == ("SessionClosed", True)


def test_a_game_is_read_again_and_may_be_gone(
    start: Begin, game: Save, workshop: Workshop, at: Layout, tmp_path: Path
) -> None:
    write_save(tmp_path / "game.json", game)
    with start(save=tmp_path / "game.json") as session:
        assert session.call("select", {"items": ["log:location"]})["ok"]
    moved = replace(game, log=replace(game.log, location=replace(game.log.location, name="the Quay")))
    write_save(tmp_path / "game.json", moved)
    with resumed(workshop, at, session.session_id) as again:
        assert [type(one.failure).__name__ for one in again.verify()] == ["StaleReference"]
    (tmp_path / "game.json").unlink()
    with open_journal(at, write=True) as journal:
        again, warnings = resume(journal, workshop.ask(at), session.session_id)
        assert "not there any more" in warnings[0]
        assert [type(one.failure).__name__ for one in again.verify()] == ["MissingEvidence"]


def test_a_file_that_holds_no_sessions_is_named(start: Begin, workshop: Workshop, at: Layout) -> None:
    with pytest.raises(NotFound), open_journal(at):
        pass
    at.sessions.write_bytes(b"x" * 5000)
    with pytest.raises(DamagedData, match="the knowledge is not"), open_journal(at, make=True):
        pass
    at.sessions.unlink()
    with closing(sqlite3.connect(at.sessions)) as db:
        db.execute("PRAGMA user_version = 3")
    with pytest.raises(DamagedData, match="is no file of sessions"), open_journal(at, make=True):
        pass


def test_a_session_that_never_began_is_not_found(start: Begin, workshop: Workshop, at: Layout) -> None:
    with start(), pytest.raises(NotFound, match="never began"), resumed(workshop, at, "nope"):
        pass


def test_closed_is_a_failure_of_its_own() -> None:
    assert SessionClosed("x").as_json() == {"error": "SessionClosed", "ids": [], "message": "x"}
