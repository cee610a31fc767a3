"""A full disk, a file that may not grow and a folder that may not be written end a command in one line, and harm nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.checks import check_after
from tests.faults.conftest import BenchOf
from tests.faults.harness import Bench, Fault, Outcome, Scenario
from tests.faults.scenarios import SCENARIOS
from tests.faults.state import rows_of

of_each_command = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


def check_end(done: Outcome, scenario: Scenario) -> None:
    """Done as ever, or one line that says what to do; done without its vectors or its record is said on a line, too."""
    assert "Traceback" not in done.err
    if done.code not in scenario.codes:
        assert done.code in (1, 3), done
        assert "free some space" in done.err, done
    if done.code == 1:
        assert len(done.err.splitlines()) - done.err.count("stale: ") == 1, done


@of_each_command
@pytest.mark.parametrize("largest", [10_000, 60_000])
def test_a_file_that_may_not_grow(bench_of: BenchOf, scenario: Scenario, largest: int) -> None:
    bench = bench_of(scenario)
    check_end(bench.disturb(Fault(largest_file=largest)), scenario)
    check_after(bench)


@contextmanager
def small_disk(bench: Bench, room: int) -> Iterator[None]:
    """The bench's fresh data on a disk that has so many bytes of room, until the block ends; then more."""
    bench.fresh()
    data, kept = bench.root / "data", bench.root / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    data.rename(kept)
    data.mkdir()
    used = sum(-(-path.stat().st_size // 4096) * 4096 + 4096 for path in kept.rglob("*"))
    mount(data, f"size={max(used + room, 4096)}")  # 0 would be no limit
    try:
        shutil.copytree(kept, data, dirs_exist_ok=True)
        yield
    finally:
        mount(data, "remount,size=64m")


def mount(folder: Path, options: str) -> None:
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.decode().strip()}")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="tmpfs is of Linux")
@of_each_command
@pytest.mark.parametrize("room", [0, 40_000, 200_000])
def test_a_full_disk(bench_of: BenchOf, scenario: Scenario, room: int) -> None:
    bench = bench_of(scenario)
    try:
        with small_disk(bench, room):
            check_end(bench.run(scenario.command), scenario)
        check_after(bench)
    finally:
        subprocess.run(["umount", "--lazy", bench.root / "data"], capture_output=True, check=False)


@of_each_command
def test_a_folder_that_may_not_be_written(bench_of: BenchOf, scenario: Scenario) -> None:
    """As a user without rights where the tests run as one who has them all."""
    bench = bench_of(scenario)
    bench.fresh()
    data = bench.root / "data"
    before = rows_of(bench.at) if scenario.first else {}
    entries = sorted(data.rglob("*"))
    for path in (data, *entries):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        done = bench.run(scenario.command, Fault(as_anybody=True))
        assert sorted(data.rglob("*")) == entries
    finally:
        for path in (data, *data.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert "Traceback" not in done.err
    assert "writable" in done.err, done
    if done.code:
        assert done.code == 1
        assert len(done.err.splitlines()) == 1, done
    assert not scenario.first or rows_of(bench.at) == before
    assert os.access(data, os.W_OK)
