"""Sources whose title has changed while their text stays: noted in the catalog until the index holds the new one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from canonry import database

_KEY = "retitled"


def waiting(db: sqlite3.Connection) -> set[str]:
    """Ids of the sources that are still indexed under an earlier title."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    return set(json.loads(row[0])) if row else set()


def note(db: sqlite3.Connection, source_id: str, title: str) -> None:
    """Note the source if that is not its title, inside the transaction that gives it to it."""
    if db.execute("SELECT 1 FROM knowledge_source WHERE source_id = ? AND title <> ?", (source_id, title)).fetchone():
        _write(db, waiting(db) | {source_id})


def settle(db: sqlite3.Connection, source_ids: Iterable[str]) -> None:
    """These sources are indexed under their titles."""
    with database.transaction(db):
        _write(db, waiting(db) - set(source_ids))


def _write(db: sqlite3.Connection, source_ids: set[str]) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_KEY, json.dumps(sorted(source_ids))))
