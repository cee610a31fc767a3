"""Worker processes for the steps that are Python alone."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

WORKERS = min(4, os.cpu_count() or 1)
IN_PROCESSES = {"chunk"}  # the other steps let go of the interpreter, or must have one owner
FEWEST_CALLS = 4  # below this a pool costs more than it gives


@contextmanager
def worker_pool() -> Iterator[ProcessPoolExecutor]:
    """Plain processes, started when first used; they import the stages and nothing of the command."""
    with ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool
