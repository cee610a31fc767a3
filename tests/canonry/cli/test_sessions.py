from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from canonry import open as open_data
from canonry.contexts.journal import open_journal
from canonry.contexts.session import resume
from tests.conftest import Workshop

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def task(workshop: Workshop) -> Path:
    """A task for a writer over a campaign of two sources."""
    at = workshop.create()
    workshop.write("lamp.md", "---\nclass: canon\n---\n# Lamp\n\nThe lamp burns whale oil.\n")
    workshop.write("gate.md", "---\nclass: canon\n---\n# Gate\n\nThe gatekeeper sleeps at noon.\n")
    workshop.write("cellar.md", "---\nvisibility: hidden\n---\n# Cellar\n\nCELLARWORD lies there.\n")
    workshop.bring(at, workshop.root / "lore")
    path = workshop.root / "task.json"
    path.write_text(json.dumps({"task": "Write.", "role": "writer", "budget": {"calls": 9}}))
    return path


@pytest.fixture
def drive(workshop: Workshop, run_cli: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`canonry context select` with these lines: (exit code, answers, standard error)."""

    def drive(*arguments: str | Path, lines: list[Any]) -> tuple[int, list[Any], str]:
        data = b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in lines)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        code, out, err = run_cli("context", "select", *arguments, "--data", workshop.data)
        return code, [json.loads(line) for line in out.splitlines()], err

    return drive


def id_of(run_cli: Run, workshop: Workshop, word: str) -> str:
    found = json.loads(run_cli("query", word, "--json", "--data", workshop.data)[1])
    return str(found["results"][0]["chunk_id"])


def test_lines_in_lines_out_until_it_is_stopped(drive: Any, task: Path, run_cli: Run, workshop: Workshop) -> None:
    lamp = id_of(run_cli, workshop, "whale")
    lines = [
        {"call": "search", "query": "lamp"},
        {"call": "select", "items": [lamp]},
        {"call": "stop"},
        {"call": "never read"},
    ]
    code, answers, _ = drive("--task", task, lines=lines)
    assert (code, [one["ok"] for one in answers]) == (0, [True] * 4)
    assert "whale oil" in answers[-1]["assembly"]["text"]
    session = answers[0]["session"]
    code, out, _ = run_cli("session", "show", session, "--role", "writer", "--text", "--data", workshop.data)
    assert (code, out) == (0, answers[-1]["assembly"]["text"])


def test_what_cannot_be_read_is_answered_and_the_session_goes_on(drive: Any, task: Path) -> None:
    lines = [
        b"\xff\xfe", b"[" * 2000, b"{}", b"7", b'{"call": "fetch", "call": "stop"}', b"", b'{"call":"search","query":"' + b"x" * (1 << 20) + b'"}',
        {"call": "fetch", "ids": ["nope"]},
    ]  # fmt: skip
    code, answers, err = drive("--task", task, lines=lines)
    assert [one.get("error") for one in answers] == [None, *["MalformedCall"] * 6, "MissingEvidence"]
    assert (code, answers[-1]["left"]["calls"], "is open;" in err) == (3, 2, True)


def test_sessions_are_shown_to_whom_they_were_for(drive: Any, task: Path, run_cli: Run, workshop: Workshop) -> None:
    session = drive("--task", task, lines=[{"call": "search", "query": "SEARCHED"}])[1][0]["session"]

    def ask(*arguments: str) -> tuple[int, str, str]:
        return run_cli("session", *arguments, "--data", workshop.data)

    assert json.loads(ask("list", "--json")[1]) == []
    assert json.loads(ask("list", "--role", "writer", "--json")[1])[0]["session"] == session
    assert session in ask("list", "--role", "writer")[1]
    words = {ask("show", one)[2].replace(one, "?") for one in (session, "f" * 12)}
    assert len(words) == 1
    assert ask("resume", session)[0] == 1
    assert ask("show", session, "--role", "writer", "--forbid-tags", "ending")[0] == 1
    assert "SEARCHED" in ask("show", session, "--role", "writer")[1]
    assert [one["kind"] for one in json.loads(ask("show", session, "--role", "writer", "--json")[1])["events"]] == [
        "opened", "search",
    ]  # fmt: skip
    assert ask("show", session, "--role", "writer", "--text")[0] == 1


def test_a_campaign_without_sessions_has_none_to_list(task: Path, run_cli: Run, workshop: Workshop) -> None:
    assert run_cli("session", "list", "--data", workshop.data)[0] == 0
    assert run_cli("session", "show", "x", "--data", workshop.data)[0] == 1
    assert not workshop.create("empty").sessions.exists()
    assert run_cli("session", "list", "-c", "nowhere", "--data", workshop.data)[0] == 1


def test_wrong_options_are_wrong_usage(drive: Any, task: Path, run_cli: Run, workshop: Workshop) -> None:
    assert drive(lines=[])[0] == 2
    assert drive("--task", task, "--more-calls", "-1", lines=[])[0] == 2
    assert drive("--session", "x", "--save", task, lines=[])[0] == 2
    assert drive("--session", "x", lines=[])[0] == 1
    task.write_text('{"task": "x", "budget": {"calls": 0}}')
    code, _, err = drive("--task", task, lines=[])
    assert (code, "/budget/calls" in err) == (1, True)
    assert not (workshop.data / "raw" / "vell" / "sessions.sqlite").exists()


def test_the_first_line_of_a_session_that_goes_on_says_what_became_stale(
    drive: Any, task: Path, run_cli: Run, workshop: Workshop
) -> None:
    lamp, gate = id_of(run_cli, workshop, "whale"), id_of(run_cli, workshop, "gatekeeper")
    opening, *_ = drive("--task", task, lines=[{"call": "select", "items": [lamp, gate]}])[1]
    assert opening["stale"] == []
    workshop.write("lamp.md", "---\nclass: canon\nvisibility: hidden\n---\n# Lamp\n\nSECRETWORD is its oil.\n")
    assert run_cli("import", workshop.root / "lore", "--data", workshop.data)[0] == 0
    code, answers, err = drive("--session", opening["session"], lines=[])
    assert (code, answers[0]["selected"]) == (3, [gate])
    assert [(one["id"], one["error"]) for one in answers[0]["stale"]] == [(lamp, "MissingEvidence")]
    assert answers[0]["stale"][0]["message"] in err
    assert "SECRETWORD" not in json.dumps(answers) + err
    assert "hidden" not in json.dumps(answers[0]["stale"])


def test_who_is_overtaken_is_told_a_command_that_goes_on(
    drive: Any, task: Path, run_cli: Run, workshop: Workshop
) -> None:
    """For a session of any role: whoever drives one need not know its role and limits."""
    task.write_text(json.dumps({"task": "Write.", "role": "writer", "spoiler_level": 2}))
    session = drive("--task", task, lines=[])[1][0]["session"]
    at = open_data(workshop.data).campaign("vell").at
    with open_journal(at, write=True) as journal, open_data(workshop.data).campaign("vell") as campaign:
        one, _ = resume(journal, campaign, session)
        other, _ = resume(journal, campaign, session)
        assert one.call("search", {"query": "lamp"})["ok"]
        told = other.call("search", {"query": "lamp"})
    assert told["error"] == "SessionClosed"
    command = str(told["message"]).split("`")[1].split()
    assert command == ["canonry", "context", "select", "--session", session]
    code, answers, _ = drive(*command[3:], lines=[{"call": "stop"}])
    assert (code, [answer["ok"] for answer in answers]) == (0, [True, True])
    assert run_cli("session", "resume", session, "--data", workshop.data)[0] == 1
    mine = ("--role", "writer", "--spoiler-level", "2", "--data", workshop.data)
    assert run_cli("session", "resume", session, *mine)[0] == 0


def test_a_killed_session_is_resumed_with_what_it_had(task: Path, run_cli: Run, workshop: Workshop) -> None:
    """A real process, killed without warning after its third answer; then a source changes."""
    lamp, gate = id_of(run_cli, workshop, "whale"), id_of(run_cli, workshop, "gatekeeper")
    process = subprocess.Popen(
        [sys.executable, "-m", "canonry", "context", "select", "--task", task, "--data", workshop.data],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ},
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    session = json.loads(process.stdout.readline())["session"]
    for call in ({"call": "search", "query": "lamp"}, {"call": "select", "items": [lamp, gate]}):
        process.stdin.write(json.dumps(call) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["ok"]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL

    workshop.write("lamp.md", "---\nclass: canon\n---\n# Lamp\n\nThe lamp burns tallow.\n")
    assert run_cli("import", workshop.root / "lore", "--data", workshop.data)[0] == 0
    code, out, err = run_cli("session", "resume", session, "--role", "writer", "--data", workshop.data)
    assert code == 3
    assert out.splitlines()[0] == f"current: {gate}"
    assert "StaleReference" in out
    assert lamp in out
    assert "7 calls" in err
    resumed = json.loads(
        run_cli("session", "resume", session, "--role", "writer", "--json", "--data", workshop.data)[1]
    )
    assert ([one["id"] for one in resumed["items"]], resumed["left"]["calls"]) == ([gate], 7)
