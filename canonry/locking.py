"""One writer a campaign or save: a lock that the system lets go of when its holder dies.

The lock is a file beside what it guards (raw/.<campaign>.lock), and .holder.json beside that says who holds it, for the
message of `Busy`. A second writer waits for `WAIT_S` and is then told so; readers never wait. Whoever takes the lock finds
the campaign as a writer may expect it: what a killed writer left is swept, a catalog of an earlier canonry brought up to date.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from canonry.errors import Busy
from canonry.files import remove, room_for, sweep
from canonry.layout import Layout, passing
from canonry.timestamps import now
from canonry.upgrade import is_older, upgrade

WAIT_S = 10.0


@contextmanager
def writing(at: Layout, *, wait_s: float = WAIT_S) -> Iterator[None]:
    """Hold the campaign's write lock; Busy, with the holder's name, after `wait_s`."""
    with holding(at.lock, f"campaign {at.campaign!r}", wait_s=wait_s):
        for folder in (at.raw, at.chunks, at.index):
            remove(passing(folder, "restored"), passing(folder, "deleted"))
        sweep(
            at.raw,
            at.files,
            at.proposed,
            at.chunks,
            at.chunks / "vectors",
            *(at.chunks / "vectors").glob("*"),
            at.index,
        )
        if is_older(at.catalog):
            upgrade(at.catalog)
        yield


@contextmanager
def undisturbed(at: Layout, *, wait_s: float = WAIT_S) -> Iterator[None]:
    """Keep writers out and change nothing, for who looks at everything. A folder that cannot be written has no writers."""
    if not os.access(at.lock.parent, os.W_OK):
        yield
        return
    if is_older(at.catalog):  # it could not be read otherwise
        with writing(at, wait_s=wait_s):
            pass
    with holding(at.lock, f"campaign {at.campaign!r}", wait_s=wait_s):
        yield


@contextmanager
def holding(path: Path, what: str, *, wait_s: float = WAIT_S) -> Iterator[None]:
    """Hold the lock file `path` of something that has one writer; Busy, with the holder's name, after `wait_s`."""
    from filelock import FileLock, Timeout

    holder = path.with_suffix(".holder.json")
    with room_for(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=wait_s)
        try:
            lock.acquire()
        except Timeout:
            raise Busy(
                f"{what} is being written by {_describe(holder)}; waited {wait_s:g} s, try again when it is done"
            ) from None
        try:
            holder.write_text(
                json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": now(), "command": _command()})
            )
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
