"""Sessions and notes in an export: they come back as they were, and nothing that is made up gets in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from canonry.canonlog.save import Save, write_save
from canonry.contexts.journal import Journal, open_journal
from canonry.contexts.memory import remember, remembered
from canonry.contexts.session import begin, resume
from canonry.contexts.task import Task
from canonry.eligibility import Scope
from canonry.errors import RefusedArchive
from canonry.export import export_campaign
from canonry.layout import Layout
from flows.restore import restore
from tests.archives import Members, change_rows, read_members, rewrite
from tests.canonry.contexts.conftest import BLOCKS, Stock
from tests.conftest import Workshop

MEMBER = "sessions.jsonl"


@pytest.fixture
def sessions(workshop: Workshop, at: Layout, stock: Stock, game: Save) -> tuple[str, str]:
    """A stopped session that was begun with a game and blocks, an open one with a selection, and a note; their ids."""
    save = workshop.root / "hero.json"
    write_save(save, game)
    with open_journal(at, make=True) as journal:
        campaign = workshop.ask(at)
        task = Task("Write the scene at the gate.", Scope("writer"), searches=("lexical",), calls=50)
        stopped = begin(journal, campaign, task, save=save, blocks=json.dumps(BLOCKS))
        gate = stopped.call("search", {"query": "gatekeeper"})["candidates"][0]  # type: ignore[index]
        assert stopped.call("select", {"items": [gate["id"]]})["ok"]
        assert stopped.call("stop", {"reason": "enough"})["ok"]
        opened = begin(journal, campaign, task)
        assert opened.call("select", {"items": [gate["id"]]})["ok"]
        assert not opened.call("dance", {})["ok"]
        opened.grant(3, 0)
        opened.take_up()
        remember(journal, stock("writer"), "He is never awake by day.", [gate["id"]], author="me", readers=["npc:mara"])
    return stopped.session_id, opened.session_id


def everything(journal: Journal) -> dict[str, Any]:
    """All rows of the journal, without the place of the saved game."""
    rows = {
        table: journal.connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
        for table in ("session", "event", "artifact", "note")
    }
    for at, (*key, body) in enumerate(rows["event"]):
        said = json.loads(body)
        if key[3] == "opened":
            said = {name: value for name, value in said.items() if name not in ("save", "had_save")}
        rows["event"][at] = (*key, json.dumps(said))
    return rows


def test_sessions_and_notes_are_restored_and_gone_on_with(
    workshop: Workshop, at: Layout, sessions: tuple[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "vell.zip"
    export_campaign(at, file)
    held = read_members(file)
    assert str(workshop.root).encode() not in held[MEMBER]
    there = restore(file, tmp_path / "other", campaign="copy").at
    with open_journal(at) as before, open_journal(there, write=True) as after:
        assert everything(after) == everything(before)
        assert [item.text for item in remembered(workshop.ask(there), Scope("writer"))] == ["He is never awake by day."]
        campaign = workshop.ask(there)
        stopped, warnings = resume(after, campaign, sessions[0])
        assert warnings == ["the game that it was begun with did not come with the export; go on without its state"]
        opened, warnings = resume(after, campaign, sessions[1])
        assert (stopped.state.stopped, opened.state.stopped, warnings) == (True, False, [])
        assert [verdict.failure for verdict in opened.verify()] == [None]
        assert "gatekeeper sleeps" in opened.call("stop", {})["assembly"]["text"]  # type: ignore[index]
    export_campaign(there, tmp_path / "again.zip")
    assert resume_warnings(restore(tmp_path / "again.zip", tmp_path / "third").at, workshop, sessions[0])


def resume_warnings(at: Layout, workshop: Workshop, session_id: str) -> list[str]:
    with open_journal(at) as journal:
        return resume(journal, workshop.ask(at), session_id)[1]


def test_a_campaign_without_sessions_has_none_after_a_restore(workshop: Workshop, at: Layout, tmp_path: Path) -> None:
    file = tmp_path / "vell.zip"
    export_campaign(at, file)
    assert MEMBER not in read_members(file)
    assert not restore(file, tmp_path / "other").at.sessions.exists()


def test_an_export_of_before_sessions_travelled_is_restored(workshop: Workshop, at: Layout, tmp_path: Path) -> None:
    export_campaign(at, tmp_path / "vell.zip")

    def older(manifest: dict[str, Any]) -> None:
        del manifest["sessions_version"], manifest["session_rows"]

    file = rewrite(tmp_path / "vell.zip", tmp_path / "old.zip", manifest=older)
    assert restore(file, tmp_path / "other").at.catalog.exists()


def event_bodies(kind: str, **values: object) -> Callable[[Members], None]:
    """Set values in the body of every event of a kind; an ellipsis takes a key out."""

    def change(members: Members) -> None:
        lines = []
        for line in members[MEMBER].splitlines():
            said = json.loads(line)
            if said["table"] == "event" and said["row"]["kind"] == kind:
                body = json.loads(said["row"]["body"]) | values
                said["row"]["body"] = json.dumps({key: value for key, value in body.items() if value is not Ellipsis})
            lines.append(json.dumps(said).encode())
        members[MEMBER] = b"".join(line + b"\n" for line in lines)

    return change


def rows(table: str, **values: object) -> Callable[[Members], None]:
    return lambda members: change_rows(members, table, of=MEMBER, **values)


def without(table: str) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        lines = members[MEMBER].splitlines(keepends=True)
        members[MEMBER] = b"".join(line for line in lines if not line.startswith(b'{"table": "%s"' % table.encode()))

    return change


REFUSED = [
    pytest.param(change, reason, id=name)
    for name, change, reason in (
        ("no JSON", lambda members: members.update({MEMBER: b"{\n"}), "is no row of a session or a note"),
        ("another table", lambda members: members.update({MEMBER: b'{"table": "meta", "row": {}}\n'}), "no table 'meta'"),
        ("gone", lambda members: members.pop(MEMBER), "holds no sessions.jsonl"),
        ("a file of this machine", event_bodies("opened", save="/etc/passwd"), "kind opened holds something else"),
        ("no task", event_bodies("opened", task={"task": ""}), "is no text"),
        ("another role", event_bodies("opened", task={"task": "x", "role": "God Emperor"}), "role"),
        ("unknown kind", rows("event", kind="spell"), "no event of kind 'spell'"),
        ("a cost of words", event_bodies("select", calls="many"), "costs are no numbers"),
        ("a negative cost", event_bodies("select", calls=-5), "costs are no numbers"),
        ("no selection", event_bodies("select", selected=[{"id": 7}]), "kind select holds something else"),
        ("relevance", event_bodies("select", selected=[{"id": "a", "score": "1"}]), "kind select holds something else"),
        ("half a state", event_bodies("checkpoint", state={}), "kind checkpoint holds something else"),
        ("a state of more", event_bodies("checkpoint", state={"selected": [], "stopped": False, "x": 1}), "cannot be gone on"),
        ("another failure", event_bodies("resumed", stale=[{"id": "a", "error": "Obey"}]), "kind resumed holds something else"),
        ("no id of a failure", event_bodies("resumed", stale=[{"error": ["x"]}]), "kind resumed holds something else"),
        ("no context", event_bodies("stop", artifact="0" * 64), "that it refers to is not there"),
        ("missing key", event_bodies("stop", artifact=...), "kind stop holds something else"),
        ("other texts", rows("artifact", content="canon says: obey"), "other text than its name says"),
        ("no texts", without("artifact"), "that it refers to is not there"),
        ("no sessions", without("session"), "belongs to a row of session that is not there"),
        ("no events", without("event"), "events are not all there"),
        ("a gap", rows("event", number=1), "is no row of a session or a note"),
        ("a role", rows("session", role="; DROP TABLE"), "role"),
        ("a level", rows("note", spoiler_level=-1), "spoiler level -1"),
        ("tags", rows("session", forbid_tags="{}"), "no list of words"),
        ("readers", rows("note", readers='["; x"]'), "readers holds something else"),
        ("refs", rows("note", refs='["a"]'), "refs holds something else"),
    )
]  # fmt: skip


@pytest.mark.parametrize(("change", "reason"), REFUSED)
def test_what_was_made_up_is_refused_before_anything_is_written(
    at: Layout, sessions: tuple[str, str], tmp_path: Path, change: Callable[[Members], object], reason: str
) -> None:
    export_campaign(at, tmp_path / "vell.zip")
    file = rewrite(tmp_path / "vell.zip", tmp_path / "bad.zip", change)
    with pytest.raises(RefusedArchive, match=reason):
        restore(file, tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(("name", "value"), [("sessions_version", 99), ("sessions_version", 0), ("session_rows", {})])
def test_a_manifest_that_says_otherwise_is_refused(
    at: Layout, sessions: tuple[str, str], tmp_path: Path, name: str, value: object
) -> None:
    export_campaign(at, tmp_path / "vell.zip")
    file = rewrite(
        tmp_path / "vell.zip", tmp_path / "bad.zip", manifest=lambda manifest: manifest.update({name: value})
    )
    with pytest.raises(RefusedArchive):
        restore(file, tmp_path / "other")
    assert not (tmp_path / "other").exists()
