"""A command that is killed at any instant leaves the campaign as it was or as it would have become, and can be run again.

CANONRY_FAULTS sets how many steps of each command are tried (all: every one), and a third as many instants at random;
CANONRY_FAULTS_SEED where those lie: `CANONRY_FAULTS=all python -m pytest -m slow tests/faults/test_killed.py`
"""

from __future__ import annotations

import os
import random

import pytest

from tests.faults.checks import check_after
from tests.faults.conftest import BenchOf
from tests.faults.harness import Fault, Scenario
from tests.faults.scenarios import SCENARIOS

ASKED_FOR = os.environ.get("CANONRY_FAULTS", "13")
STEPS = 1_000 if ASKED_FOR == "all" else int(ASKED_FOR)
INSTANTS = max(1, min(STEPS, 150) // 3)
SEED = int(os.environ.get("CANONRY_FAULTS_SEED", "4"))
KILLED = -9

of_each_command = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


@of_each_command
@pytest.mark.parametrize("point", range(STEPS))
def test_killed_before_a_step(bench_of: BenchOf, scenario: Scenario, point: int) -> None:
    """Points spread evenly over the steps of an undisturbed run, the first and the last of them included."""
    bench = bench_of(scenario)
    step = point if bench.steps <= STEPS else round(point * (bench.steps - 1) / max(1, STEPS - 1))
    if step >= bench.steps:
        pytest.skip(f"the command takes {bench.steps} steps")
    done = bench.disturb(Fault(kill_at_step=step))
    assert done.code == KILLED, done
    check_after(bench)


@of_each_command
@pytest.mark.parametrize("point", range(INSTANTS))
def test_killed_at_an_instant(bench_of: BenchOf, scenario: Scenario, point: int) -> None:
    """Also within what happens outside of Python: SQLite's, DuckDB's and Arrow's own writing."""
    bench = bench_of(scenario)
    instant = random.Random(f"{SEED} {scenario.name} {point}").uniform(0, bench.seconds)
    bench.disturb(Fault(kill_after_s=instant))
    check_after(bench)
