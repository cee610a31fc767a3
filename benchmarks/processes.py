"""Whole commands, timed from outside: wall seconds and the peak memory of the largest process of each.

A child counts the memory of the process that started it as its own peak until it has become another program, so
commands are started by a launcher that is small itself.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

HINDRANCES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONDONTWRITEBYTECODE")  # set here, they would spoil a timing
_LAUNCHER = """
import os, resource, subprocess, sys, time
started = time.perf_counter()
code = subprocess.call(sys.argv[2:])
seconds = time.perf_counter() - started
used = resource.getrusage(resource.RUSAGE_CHILDREN)
os.write(int(sys.argv[1]), f"{code} {seconds} {used.ru_utime + used.ru_stime} {used.ru_maxrss * 1024}".encode())
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """One finished process. `peak_bytes` is that of the largest process among it and its children."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    output: bytes

    def json(self) -> dict[str, object]:
        """The JSON document that the command printed."""
        value = json.loads(self.output)
        assert isinstance(value, dict)
        return value


def run(arguments: Sequence[str]) -> Ran:
    """Run a command to its end; an exit code other than 0, 1 (a file refused) and 3 (degraded) is an error."""
    environment = {name: value for name, value in os.environ.items() if name not in HINDRANCES}
    reading, writing = os.pipe()
    launch = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(writing), *arguments]
    finished = subprocess.run(launch, capture_output=True, env=environment, pass_fds=[writing], check=True)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        code, seconds, cpu_seconds, peak_bytes = pipe.read().split()
    if int(code) not in (0, 1, 3):
        raise SystemExit(f"{' '.join(arguments)}: exit code {code}\n{finished.stderr.decode()}")
    return Ran(float(seconds), float(cpu_seconds), int(peak_bytes), finished.stdout)


def canonry(*arguments: str) -> Ran:
    """Run one canonry command."""
    return run([sys.executable, "-m", "canonry", *arguments])


def python(code: str) -> Ran:
    """Run a line of Python, as the floor under every command."""
    return run([sys.executable, "-c", code])


def median(runs: Sequence[Ran]) -> float:
    """Median wall seconds."""
    return statistics.median(ran.seconds for ran in runs)
