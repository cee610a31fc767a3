"""Rows of a database as lines of JSON, one row a line, and back: {"table": NAME, "row": {COLUMN: VALUE, …}}.

How an export carries a database. None of another machine is ever opened: rows are values, that go into tables which this
canonry's own schema made, under the checks of these tables.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from canonry.errors import CanonryError

MAX_LINE_BYTES = 128 << 20  # one row: a pack of the history, a session's context, the whole text of a proposal
Row = dict[str, Any]


class BadRows(CanonryError):
    """Lines that cannot be the rows of a database; the text says which line and why."""


def tables(db: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """Columns of every table, by name."""
    names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
    return {
        name: tuple(column[1] for column in db.execute(f"PRAGMA table_info({name})")) for (name,) in names.fetchall()
    }


def count_rows(db: sqlite3.Connection) -> dict[str, int]:
    return {table: int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for table in tables(db)}


def dump_rows(db: sqlite3.Connection, path: Path, told: Callable[[str, Row], Row | None]) -> Iterator[bytes]:
    """Every row as `told` gives it (None leaves it out), in the order of tables and keys; each line ends with a line feed.

    `path` is what the database is called in errors: BadRows for a row that is longer than a line may be.
    """
    for table, columns in tables(db).items():
        info = sorted(db.execute(f"PRAGMA table_info({table})"), key=lambda column: column[5])
        keys = [column[1] for column in info if column[5]] or ["rowid"]
        for values in db.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {', '.join(keys)}"):
            row = told(table, dict(zip(columns, values, strict=True)))
            if row is None:
                continue
            line = json.dumps({"table": table, "row": row}, ensure_ascii=False).encode() + b"\n"
            if len(line) > MAX_LINE_BYTES:
                raise BadRows(
                    f"{path}: the row {keys[0]}={values[0]!r} of {table} is larger than {MAX_LINE_BYTES >> 20} "
                    "MiB; remove what it describes, then export again"
                )
            yield line


def load_rows(
    db: sqlite3.Connection,
    lines: Iterable[bytes],
    checked: Callable[[str, Row], Row | None],
    *,
    of: str,
    ignored_twice: tuple[str, ...] = (),
) -> dict[str, int]:
    """Insert the rows that lines hold, as `checked` gives them (None leaves one out), and count the lines of each table.

    `checked` raises ValueError or CanonryError for a row that it refuses; a row of a table `ignored_twice` may come again. BadRows names
    the line that is no row `of` what these tables hold.
    """
    db.execute("PRAGMA defer_foreign_keys = ON")  # rows come by table, before those that they refer to
    known = tables(db)
    inserts = {
        table: f"INSERT {'OR IGNORE ' if table in ignored_twice else ''}INTO {table} VALUES ({', '.join('?' * len(columns))})"
        for table, columns in known.items()
    }
    counts: Counter[str] = Counter(dict.fromkeys(known, 0))
    for number, line in enumerate(lines, 1):
        try:
            table, row = _read(line, known)
            counts[table] += 1
            kept = checked(table, row)
            if kept is not None:
                db.execute(inserts[table], tuple(kept[column] for column in known[table]))
        except (CanonryError, ValueError, TypeError, KeyError, OverflowError, RecursionError, sqlite3.Error) as error:
            raise BadRows(f"line {number} is no row of {of} ({in_words(error)})") from error
    return dict(counts)


def in_words(error: Exception) -> str:
    return str(error)[:200] or type(error).__name__


def _read(line: bytes, known: Mapping[str, tuple[str, ...]]) -> tuple[str, Row]:
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"longer than {MAX_LINE_BYTES >> 20} MiB")
    said = json.loads(line)
    if not isinstance(said, dict) or said.keys() != {"table", "row"}:
        raise ValueError("not a table and a row")
    table, row = said["table"], said["row"]
    if table not in known:
        raise ValueError(f"there is no table {str(table)[:60]!r}")
    if not isinstance(row, dict) or row.keys() != set(known[table]):
        raise ValueError(f"other columns than {table} has")
    return str(table), row
