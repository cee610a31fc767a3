"""One writer a campaign: a lock that the system lets go of when its holder dies."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from canonry.catalog import now
from canonry.errors import Busy
from canonry.files import room_for, sweep
from canonry.layout import Layout

WAIT_S = 10.0


@contextmanager
def writing(at: Layout, *, wait_s: float = WAIT_S) -> Iterator[None]:
    """Hold the campaign's write lock; Busy, with the holder's name, after `wait_s`. Sweeps what a dead writer left."""
    from filelock import FileLock, Timeout

    holder = at.lock.with_suffix(".holder.json")
    with room_for(at.lock):
        at.lock.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(at.lock, timeout=wait_s)
        try:
            lock.acquire()
        except Timeout:
            raise Busy(
                f"campaign {at.campaign!r} is being written by {_describe(holder)}; waited {wait_s:g} s, try again when it is done"
            ) from None
        try:
            holder.write_text(
                json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": now(), "command": _command()})
            )
            sweep(at.raw, at.files, at.chunks, at.chunks / "vectors", *(at.chunks / "vectors").glob("*"), at.index)
            yield
        finally:
            holder.unlink(missing_ok=True)
            lock.release()


def _command() -> str:
    return " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]]) if sys.argv else "python"


def _describe(holder: Path) -> str:
    try:
        known = json.loads(holder.read_text())
        return f"`{known['command']}` (process {known['pid']} on {known['host']}, since {known['since'][:19]} UTC)"
    except (OSError, ValueError, KeyError):
        return "another process"
