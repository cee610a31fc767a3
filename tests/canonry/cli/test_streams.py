"""A reader that goes early changes neither what a command does nor its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Workshop

ROOT = Path(__file__).parents[3]
Cli = Callable[..., tuple[int, str, str]]


def run_unread(workshop: Workshop, *arguments: str | Path, both: bool = False) -> tuple[int, str]:
    """Exit code and standard error of a process whose standard output, or both, nobody reads any more."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "canonry", *arguments, "--data", workshop.data],
            stdout=write, stderr=write if both else subprocess.PIPE, stdin=subprocess.DEVNULL, check=False,
            cwd=workshop.root, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    finally:
        os.close(write)
    return done.returncode, (done.stderr or b"").decode()


@pytest.mark.parametrize("both", [False, True], ids=["output", "output and errors"])
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_a_failure_stays_a_failure(workshop: Workshop, options: tuple[str, ...], both: bool) -> None:
    workshop.create()
    code, err = run_unread(workshop, "import", "nope.md", *options, both=both)
    assert code == 1
    assert both or options or "nope.md" in err  # the JSON says it otherwise
    assert "Traceback" not in err


def test_wrong_usage_stays_wrong_usage(workshop: Workshop) -> None:
    assert run_unread(workshop, "query", "--limit", "0", "lamp", both=True)[0] in (1, 2)
    assert run_unread(workshop, "nonsense", both=True)[0] == 2


def test_a_command_goes_on_to_its_end(workshop: Workshop, run_cli: Cli) -> None:
    """An import says what it has stored before it makes the index."""
    workshop.create()
    workshop.write("lamp.md", "# Lamp\n\nThe lamp burns whale oil.\n")
    assert run_unread(workshop, "import", workshop.root / "lore", both=True) == (0, "")
    assert len(json.loads(run_cli("query", "lamp", "--json", "--data", workshop.data)[1])["results"]) == 1


def test_an_answer_longer_than_a_pipe_is_done(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "The lamp burns whale oil in the tower.\n\n" * 20_000))
    with subprocess.Popen(
        [sys.executable, "-m", "canonry", "source", "text", "lamp.md", "--data", workshop.data],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT,
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(20) == b"The lamp burns whale"
        process.stdout.close()
        assert (process.stderr.read(), process.wait(60)) == (b"", 0)
