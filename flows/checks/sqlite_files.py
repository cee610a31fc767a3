"""What SQLite itself finds wrong with a file."""

from __future__ import annotations

import re
import sqlite3

from flows.checks.findings import reason

_NULL = re.compile(r"NULL value in (\w+)\.(\w+)\Z")


def damage(db: sqlite3.Connection) -> str:
    """The first complaint of its integrity check, in words; empty where there is none.

    Before 3.41 SQLite takes columns of tables without rowid for NULL that are not, so that this is looked up.
    """
    for (line,) in db.execute("PRAGMA integrity_check"):
        null = _NULL.match(line)
        if null and not db.execute(f'SELECT 1 FROM "{null[1]}" WHERE "{null[2]}" IS NULL LIMIT 1').fetchone():
            continue
        if line != "ok":
            return f"SQLite finds it damaged ({reason(ValueError(line))})"
    return ""
