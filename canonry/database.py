"""SQLite connections as canonry opens them: explicit transactions, write-ahead log, errors in plain words."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from canonry.errors import Busy, DamagedData, NoSpace

BUSY_TIMEOUT_S = 30


def open_writer(path: Path, *, synchronous: str = "FULL", wait_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """A connection that may write; creates the file. The caller holds the campaign's lock.

    `wait_s` is for programs that know of no such lock.
    """
    connection = sqlite3.connect(path, timeout=wait_s, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")  # what is deleted leaves no trace in free pages
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot write. On a read-only folder the file is taken as it is, without its log."""
    name = f"file:{quote(str(path.resolve()))}?mode=ro"
    if not os.access(path.parent, os.W_OK) and not path.with_name(path.name + "-wal").exists():
        name += "&immutable=1"
    return sqlite3.connect(name, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)


def attach_reader(connection: sqlite3.Connection, path: Path, schema: str) -> None:
    """Make a second database readable under `schema` on a reader's connection."""
    name = f"file:{quote(str(path.resolve()))}?mode=ro"
    if not os.access(path.parent, os.W_OK) and not path.with_name(path.name + "-wal").exists():
        name += "&immutable=1"
    connection.execute(f"ATTACH DATABASE ? AS {schema}", (name,))


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """One write transaction: all of it, or none of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def empty_log(connection: sqlite3.Connection) -> None:
    """Bring the write-ahead log into the file, as far as no reader is in the way: none is waited for, the next writer does it."""
    connection.execute("PRAGMA busy_timeout = 0")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_S * 1000}")


@contextmanager
def plain_errors(path: Path, repair: str, *, wait_s: float = BUSY_TIMEOUT_S) -> Iterator[None]:
    """Turn SQLite's errors about `path` into one line that ends with what to do. `wait_s`: how long a lock was waited for."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            raise Busy(f"{path}: another process kept it locked for {wait_s:g} s; try again") from error
        if "full" in text or "readonly" in text or "disk I/O" in text:
            raise NoSpace(f"{path}: {text}; free some space or make the folder writable, then try again") from error
        raise DamagedData(f"{path}: {text}; {repair}") from error
    except sqlite3.DatabaseError as error:
        raise DamagedData(f"{path}: {error}; {repair}") from error
