"""Runs commands that are killed, and compares what they leave with what an undisturbed run leaves.

A `Scenario` is a line of the table in scenarios.py. A `Bench` prepares its data directory once, runs its command
undisturbed once, and then as often as a test wants on a fresh copy, each time with a fault.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from canonry.layout import Layout
from canonry.timestamps import now
from tests.faults.lore import write_lore
from tests.faults.state import Answers, Rows, answers_of, leavings, rows_of

ROOT = Path(__file__).parents[2]
CAMPAIGN = "vell"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A command to disturb. In its words {data}, {lore} and {out} stand for folders of the run, {lasting} for one that is not emptied.

    `first` are commands that make the data directory, from the first state of the lore; ("lore", "second") goes over to
    the second, and {then} is an instant just before. `lore` is the state that the command finds.
    `codes` are the exit codes of an undisturbed run, `again` those of the same command after it was killed (one that was
    done already may say so), `then` a command that finishes what that one leaves to others.
    `in_batches` means that readers may see some files as before and others as after. `unlike` names tables to which a
    second run adds rows, so that they are not compared. With `index_later` a campaign may be there and say that it has
    no index yet. `fixture` is a data directory of tests/fixtures to start from.
    """

    name: str
    command: tuple[str, ...]
    first: tuple[tuple[str, ...], ...]
    lore: str = "first"
    codes: frozenset[int] = frozenset({0})
    again: frozenset[int] = frozenset({0})
    then: tuple[str, ...] = ()
    in_batches: bool = False
    unlike: frozenset[str] = frozenset()
    fixture: str = ""
    index_later: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong: death before a step or after some seconds, a largest file size, a user without rights."""

    kill_at_step: int | None = None
    kill_after_s: float | None = None
    largest_file: int | None = None
    as_anybody: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended: exit code (−9: killed), steps taken (None when killed), what it printed."""

    code: int
    steps: int | None
    out: str
    err: str


class Zygote:
    """The process that forks commands."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("zygote.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**_environment()},
        )  # fmt: skip

    def run(self, arguments: Sequence[str], fault: Fault | None = None) -> Outcome:
        out, err = self.root / "stdout", self.root / "stderr"
        for path in (out, err):
            path.touch()
            path.chmod(0o666)
        request = {
            "arguments": list(arguments), "root": str(self.root), "out": str(out), "err": str(err), "environment": {}, **asdict(fault or Fault()),
        }  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return Outcome(answer["code"], answer["steps"], out.read_text(), err.read_text())

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("CANONRY_")}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


@dataclass
class Bench:
    """One scenario, ready to be disturbed."""

    scenario: Scenario
    zygote: Zygote
    steps: int = 0
    seconds: float = 0.0
    then: str = ""
    before: Answers = field(default_factory=dict)
    after: Answers = field(default_factory=dict)
    rows: Rows = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.zygote.root

    @property
    def at(self) -> Layout:
        return Layout(self.root / "data", CAMPAIGN)

    @property
    def _prepared(self) -> Path:
        return self.root / "prepared" / self.scenario.name

    def prepare(self) -> Bench:
        """Make the data directory, keep a copy, run the command undisturbed and note what it leaves."""
        self._clear()
        write_lore(self.root / "lore", "first")
        if self.scenario.fixture:
            shutil.copytree(ROOT / "tests" / "fixtures" / self.scenario.fixture, self.root / "data")
        (self.root / "data").mkdir(exist_ok=True)
        for command in self.scenario.first:
            if command[0] == "lore":
                self.then = now()
                write_lore(self.root / "lore", command[1])
            else:
                done = self.run(command)
                assert done.code == 0, (command, done)
        shutil.rmtree(self._prepared, ignore_errors=True)
        shutil.copytree(self.root / "data", self._prepared)
        self.before = answers_of(self.at)
        self.fresh()
        started = time.perf_counter()
        done = self.run(self.scenario.command)
        self.seconds = time.perf_counter() - started
        assert done.code in self.scenario.codes, done
        assert done.steps
        self.steps = done.steps
        self.after = answers_of(self.at)
        if self.scenario.then:
            assert self.run(self.scenario.then).code == 0
        assert leavings(self.root) == []
        self.rows = rows_of(self.at, apart_from=self.scenario.unlike)
        return self

    def fresh(self) -> None:
        """The data directory, the lore and the folder for exports as the command finds them."""
        self._clear()
        shutil.copytree(self._prepared, self.root / "data")
        write_lore(self.root / "lore", self.scenario.lore)

    def _clear(self) -> None:
        for name in ("data", "lore", "out"):
            shutil.rmtree(self.root / name, ignore_errors=True)
        (self.root / "out").mkdir()
        (self.root / "lasting").mkdir(exist_ok=True)

    def run(self, command: Sequence[str], fault: Fault | None = None) -> Outcome:
        """Run a command of the table; its --data is filled in."""
        words = {name: str(self.root / name) for name in ("data", "lore", "out", "lasting")} | {"then": self.then}
        return self.zygote.run(["--data", words["data"], *(word.format(**words) for word in command)], fault)

    def disturb(self, fault: Fault) -> Outcome:
        """The scenario's command on fresh data, with a fault."""
        self.fresh()
        return self.run(self.scenario.command, fault)

    def recover(self) -> None:
        """Run the command again, undisturbed, and what the scenario says comes then."""
        done = self.run(self.scenario.command)
        assert done.code in self.scenario.again, done
        assert "Traceback" not in done.err
        if self.scenario.then:
            done = self.run(self.scenario.then)
            assert done.code == 0, done
