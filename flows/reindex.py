"""The reindex flow: the DAG of `flows.pipeline`, each step a Prefect task over a batch.

python -m flows.reindex DATA CAMPAIGN        or, on a schedule, the deployment in prefect.yaml
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar

from flows import server_errors  # its package sets Prefect's environment before it is imported

Path(os.environ.get("PREFECT_HOME") or Path.home() / ".prefect").mkdir(parents=True, exist_ok=True)

from prefect import flow, task
from prefect.artifacts import create_table_artifact
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from canonry.layout import Layout
from canonry.locking import writing
from flows.endpoint import plan_of
from flows.pipeline import run_plan
from flows.plan import Plan
from flows.progress import Progress, Report, silent
from flows.workers import FEWEST_CALLS, IN_PROCESSES, WORKERS, worker_pool

T = TypeVar("T")
_THREADS: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=WORKERS)
RETRY_DELAYS_S = [1.0, 5.0]


class PrefectRunner:
    """Makes a task of each call; retries only where a step asks for it.

    Tasks wait in threads, and the steps that are Python alone do their work in a pool of plain processes: a worker
    that imports no Prefect starts in a tenth of the time of one of ProcessPoolTaskRunner, which imports all of it.
    """

    def __init__(self, pool: ProcessPoolExecutor | None) -> None:
        self._pool = pool

    def each(
        self, step: str, function: Callable[..., T], calls: Sequence[tuple[object, ...]], *, retries: int = 0
    ) -> Iterable[T]:
        work = (
            _elsewhere(self._pool, function)
            if self._pool and step in IN_PROCESSES and len(calls) >= FEWEST_CALLS
            else function
        )
        run: Any = task(
            name=step, retries=retries, retry_delay_seconds=RETRY_DELAYS_S[:retries] or None, persist_result=False
        )(work)
        futures = [run.submit(*call) for call in calls]
        return (future.result() for future in futures)


def _elsewhere(pool: ProcessPoolExecutor, function: Callable[..., T]) -> Callable[..., T]:
    """The function, carried out by a process of the pool."""

    @wraps(function)
    def submit(*arguments: object) -> T:
        return pool.submit(partial(function, *arguments)).result()

    return submit


@flow(name="canonry-reindex", flow_run_name="reindex {campaign}", task_runner=_THREADS)
def reindex(
    data: str, campaign: str, full: bool = False, embedder: str | None = None, runner: str = "process"
) -> dict[str, object]:
    """Bring the index of one campaign up to its catalog; returns the counts."""
    at = Layout(Path(data), campaign)
    with writing(at):
        return carry_out(at, plan_of(at, full=full, embedder=embedder)[0], runner).as_json()


def carry_out(at: Layout, plan: Plan, runner: str, progress: Progress = silent) -> Report:
    """Run a plan inside a flow and publish its counts as an artifact."""
    if runner == "process":
        with worker_pool() as pool:
            report = run_plan(at, plan, PrefectRunner(pool), progress)
    else:
        report = run_plan(at, plan, PrefectRunner(None), progress)
    counts = [
        {"what": name, "count": value} for name, value in report.as_json().items() if isinstance(value, int | str)
    ]
    create_table_artifact(
        key=f"canonry-{at.campaign.replace('_', '-')}", table=counts, description=f"Reindex of campaign {at.campaign}"
    )
    return report


def run(at: Layout, plan: Plan, runner: str, progress: Progress = silent) -> Report:
    """Carry out a plan as a flow; the caller holds the campaign's lock. `runner` is process or thread."""
    carried: list[Report] = []

    @flow(
        name="canonry-reindex",
        flow_run_name=f"reindex {at.campaign}",
        task_runner=_THREADS,
    )
    def body() -> None:
        carried.append(carry_out(at, plan, runner, progress))

    with server_errors():
        body()
    return carried[0]


if __name__ == "__main__":
    print(reindex(sys.argv[1], sys.argv[2]))
