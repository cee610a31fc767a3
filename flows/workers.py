"""Worker processes for the steps that are Python alone."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

WORKERS = min(4, os.cpu_count() or 1)
IN_PROCESSES = {"chunk"}  # the other steps let go of the interpreter, or must have one owner
FEWEST_CALLS = 4  # below this a pool costs more than it gives


def spread(pool: ProcessPoolExecutor, function: Callable[..., T], calls: Sequence[tuple[object, ...]]) -> list[T]:
    """The function's results in order, by the pool; here where processes cannot be started (a script without a main guard)."""
    try:
        return list(pool.map(function, *zip(*calls, strict=True)))
    except BrokenProcessPool:
        return [function(*call) for call in calls]


@contextmanager
def worker_pool() -> Iterator[ProcessPoolExecutor]:
    """Plain processes, started when first used; they import the stages and nothing of the command."""
    with ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool
