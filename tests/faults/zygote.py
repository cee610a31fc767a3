"""A process that has everything loaded and forks a `canonry` for each request, to be killed at a chosen or a random point.

It reads one request a line as JSON (`Run` in harness.py) and answers with one line: the exit code (negative: the signal)
and how many steps the command took. A step is one thing that changes what others see: a file opened, renamed, linked or
removed, a folder made, an SQLite connection, or the beginning of an SQLite statement unlike the one before, each of them
within the folder of the run.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import sys
import time
import traceback
from typing import Any

import duckdb
import filelock
import pyarrow.compute

import flows.as_of
import flows.import_batch
import flows.import_files
import flows.refresh
import flows.removal
import flows.restore
import stages.classify
from canonry.cli import asking, campaigns, indexing, main, packing, sources
from canonry.embedders import register
from tests.fakes import WordBag

"a zip's names".encode("cp437")  # a command that may read nothing any more has no other chance to load it

LOADED = (duckdb, filelock, pyarrow.compute, stages.classify, flows.as_of, flows.removal)
LOADED_COMMANDS = (asking, campaigns, indexing, packing, sources)
EVENTS = {
    "open", "os.rename", "os.remove", "os.link", "os.symlink", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod",
    "shutil.rmtree", "shutil.copyfile", "shutil.move", "sqlite3.connect",
}  # fmt: skip
ANYBODY = 65534
ESCAPED = 70  # the exit code of a command that let an exception through


class Steps:
    """Counts the steps of this process, and ends it before the one that was chosen."""

    def __init__(self, root: str, last: int | None) -> None:
        self.taken = 0
        self._root = root
        self._last = last
        self._statement = ""

    def install(self) -> None:
        sys.addaudithook(self._audit)
        connect = sqlite3.connect

        def traced(*arguments: Any, **named: Any) -> sqlite3.Connection:
            connection = connect(*arguments, **named)
            connection.set_trace_callback(self._trace)
            return connection

        sqlite3.connect = traced  # type: ignore[assignment]

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in EVENTS and self._root in str(arguments[0]):
            self._step()

    def _trace(self, statement: str) -> None:
        if statement[:20] != self._statement:
            self._statement = statement[:20]
            self._step()

    def _step(self) -> None:
        if self._last is not None and self.taken >= self._last:
            os.kill(os.getpid(), signal.SIGKILL)
        self.taken += 1


def carry_out(request: dict[str, Any]) -> None:
    """In the child: become the command, and report its steps when it gets to its end."""
    for name, number in (("out", 1), ("err", 2)):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, mode, encoding="utf-8") for n, mode in enumerate("rww"))
    os.environ.update(request["environment"])
    if request["largest_file"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["largest_file"],) * 2)
    if request["as_anybody"] and os.geteuid() == 0:
        os.setegid(ANYBODY)
        os.seteuid(ANYBODY)
    sys.argv = ["canonry", *request["arguments"]]
    steps = Steps(request["root"], request["kill_at_step"])
    steps.install()
    try:
        code = main(request["arguments"])
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException:  # no command may let one through
        traceback.print_exc()
        code = ESCAPED
    taken = steps.taken
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(request["report"], str(taken).encode())
    os._exit(code)


def run(request: dict[str, Any]) -> dict[str, int | None]:
    """Fork, wait or kill, and say what became of it."""
    read, write = os.pipe()
    request["report"] = write
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            carry_out(request)
        finally:
            os._exit(ESCAPED)
    os.close(write)
    if request["kill_after_s"] is not None:
        time.sleep(request["kill_after_s"])
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with os.fdopen(read, "rb") as report:
        steps = report.read()
    return {"code": os.waitstatus_to_exitcode(status), "steps": int(steps) if steps else None}


if __name__ == "__main__":
    register(WordBag())
    register(WordBag("bagofwords"))
    flows.import_batch.BATCH_FILES = 3  # a few files are several batches, as a few thousand are
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
