"""Worker processes for the steps that are Python alone."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

WORKERS = min(4, os.cpu_count() or 1)
IN_PROCESSES = {"chunk"}  # the other steps let go of the interpreter, or must have one owner
IN_THREADS = {"ask for vectors"}  # steps that wait for a server
ASKED_AT_ONCE = 4
FEWEST_CALLS = 4  # below this a pool costs more than it gives


def spread(pool: ProcessPoolExecutor, function: Callable[..., T], calls: Sequence[tuple[object, ...]]) -> list[T]:
    """The function's results in order, by the pool; here where processes cannot be started (a script without a main guard)."""
    try:
        return list(pool.map(function, *zip(*calls, strict=True)))
    except BrokenProcessPool:
        return [function(*call) for call in calls]


def wait_for(function: Callable[..., T], calls: Sequence[tuple[object, ...]]) -> Iterator[T]:
    """The function's results in order, some calls at once; after an error those that run end, the others never begin."""
    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        futures = [pool.submit(function, *call) for call in calls]
        try:
            for future in futures:
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def worker_pool() -> Iterator[ProcessPoolExecutor]:
    """Plain processes, started when first used; they import the stages and nothing of the command."""
    with ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool
