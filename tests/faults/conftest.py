"""What the fault tests share: one process that forks commands, and a bench for each scenario."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.faults.harness import Bench, Scenario, Zygote

BenchOf = Callable[[Scenario], Bench]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test of this folder is slow, and needs a system that can fork."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)
            if not hasattr(os, "fork"):
                item.add_marker(
                    pytest.mark.skip(reason="this system cannot fork, and so has no quick way to start a command")
                )


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    """A process that forks commands, in a folder that any user can reach; in memory where there is such a place.

    A process that is killed loses nothing that it has handed to the system, so the disk itself is not what is tested.
    """
    memory = Path("/dev/shm")
    with TemporaryDirectory(prefix="faults-", dir=memory if os.access(memory, os.W_OK) else None) as folder:
        root = Path(folder)
        root.chmod(0o755)
        zygote = Zygote(root)
        yield zygote
        zygote.close()


@pytest.fixture(scope="module")
def bench_of(zygote: Zygote) -> BenchOf:
    """A prepared bench for each scenario, made when it is first asked for."""
    known: dict[str, Bench] = {}

    def bench(scenario: Scenario) -> Bench:
        if scenario.name not in known:
            known[scenario.name] = Bench(scenario, zygote).prepare()
        return known[scenario.name]

    return bench
