from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.conftest import Workshop

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(workshop: Workshop, run_cli: Run) -> Run:
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "# Lamp\n\nThe lamp burns whale oil.\n"))

    def run(*arguments: str) -> tuple[int, str, str]:
        return run_cli(*arguments, "--data", workshop.data)

    return run


def test_a_note_is_added_listed_inspected_and_withdrawn(run: Run, workshop: Workshop) -> None:
    lamp = json.loads(run("query", "lamp", "--json")[1])["results"][0]["chunk_id"]
    assert run("memory", "list")[0] == 0
    code, out, _ = run("memory", "add", "NOTEWORD", "--of", lamp, "--role", "writer")
    assert (code, "memory:1" in out) == (0, True)
    assert "NOTEWORD" not in run("memory", "list")[1]
    code, out, err = run("memory", "list", "--role", "writer")
    assert ("NOTEWORD" in out, "holds" in out, "None is canon" in err) == (True, True, True)
    assert "memory:1" in run("context", "inspect", "--role", "writer")[1]
    assert run("memory", "withdraw", "memory:1")[0] == 1
    assert run("memory", "withdraw", "seven")[0] == 2
    assert run("memory", "withdraw", "1", "--why", "was wrong", "--role", "writer")[0] == 0
    assert json.loads(run("memory", "list", "--role", "writer", "--json")[1])[0]["invalidated"] == "was wrong"
    assert "memory:1" not in run("context", "inspect", "--role", "writer")[1]


def test_a_note_of_nothing_is_refused(run: Run) -> None:
    assert run("memory", "add", "x", "--of", "nowhere")[0] == 1
    assert run("memory", "add", "x")[0] == 2
    assert run("memory", "add", "x", "--of", ",")[0] == 2
