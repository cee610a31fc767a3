"""Readers beside a writer that works and is killed: no error, no empty answer, no mixture of two states."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.faults.harness import CAMPAIGN, ROOT, Bench, Fault, Scenario, Zygote
from tests.faults.lore import write_lore
from tests.faults.scenarios import FULL, IMPORT, REINDEX
from tests.faults.state import FILES, Answers, answers_of, said

READERS = 3
ROUNDS = 5
READY = Scenario("reading", ("status",), FULL)
RECUT = ("campaign", "settings", CAMPAIGN, "--set")


@pytest.fixture
def bench(zygote: Zygote) -> Bench:
    bench = Bench(READY, zygote).prepare()
    bench.fresh()
    return bench


@contextmanager
def readers(bench: Bench, states: Sequence[Answers], names: Sequence[str]) -> Iterator[None]:
    """Processes that ask while the block runs; each of their answers must be that of one of the states."""
    known = {name: [said(state[name]) for state in states] for name in names}
    paths = bench.root / "known.json", bench.root / "stop"
    paths[0].write_text(json.dumps(known))
    paths[1].unlink(missing_ok=True)
    command = [sys.executable, str(Path(__file__).with_name("reader.py")), str(bench.at.root), *map(str, paths)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    asking = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(READERS)]
    try:
        assert all(process.stdout.readline() == "reading\n" for process in asking if process.stdout)
        yield
    finally:
        paths[1].touch()
        reports: list[dict[str, Any]] = [json.loads(process.communicate(timeout=120)[0]) for process in asking]
    for report in reports:
        assert report["wrong"] == []
        assert report["asked"] > len(names)


def undisturbed(bench: Bench, round_: int) -> Fault | None:
    return None


def killed(bench: Bench, round_: int) -> Fault | None:
    """Every other command is killed at a random instant of the time that it takes."""
    return Fault(kill_after_s=random.Random(round_).uniform(0.0, 0.6)) if round_ % 2 else None


@pytest.mark.parametrize("fault", [undisturbed, killed])
def test_a_reindex_in_a_loop_changes_no_answer(bench: Bench, fault: Callable[[Bench, int], Fault | None]) -> None:
    """In full, again and again: words, meaning and both, from campaigns that are kept open and from fresh ones."""
    with readers(bench, [bench.before], list(bench.before)):
        for round_ in range(ROUNDS):
            bench.run((*REINDEX, "--full"), fault(bench, round_))
            assert len(list(bench.at.index.glob("scan-*.bin"))) <= 2 + round_ % 2
    assert bench.run((*REINDEX, "--full")).code == 0
    assert len(list(bench.at.index.glob("scan-*.bin"))) == 1
    assert len(list(bench.at.index.glob("vectors-*.duckdb*"))) == 1
    assert answers_of(bench.at) == bench.before


@pytest.mark.parametrize("fault", [undisturbed, killed])
def test_passages_cut_otherwise_are_all_old_or_all_new(
    bench: Bench, fault: Callable[[Bench, int], Fault | None]
) -> None:
    bench.run((*RECUT, "chunk.target=10"))
    assert bench.run(REINDEX).code == 0
    other = answers_of(bench.at)
    names = ["all by words", "player by words", *FILES]
    assert any(said(other[name]) != said(bench.before[name]) for name in names)
    with readers(bench, [bench.before, other], names):
        for round_ in range(ROUNDS):
            bench.run((*RECUT, f"chunk.target={480 if round_ % 2 else 10}"))
            bench.run(REINDEX, fault(bench, round_))


@pytest.mark.parametrize("fault", [undisturbed, killed])
def test_a_file_is_its_old_or_its_new_version(bench: Bench, fault: Callable[[Bench, int], Fault | None]) -> None:
    write_lore(bench.root / "lore", "second")
    assert bench.run(IMPORT).code == 0
    second = answers_of(bench.at)
    names = [name for name in FILES if said(bench.before[name])]
    with readers(bench, [bench.before, second], names):
        for round_ in range(ROUNDS):
            write_lore(bench.root / "lore", "second" if round_ % 2 else "first")
            bench.run(IMPORT, fault(bench, round_))
