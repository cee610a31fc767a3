"""Stored files on their way in or out: announced in the catalog before they are written, and as they are given up.

What a stopped run left is known by that, and only that is ever removed as litter: a catalog that does not know the files
beside it, because it is an older copy or another campaign's, takes none of them away.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from canonry import database

_KEY = "passing_files"


def announced(db: sqlite3.Connection) -> set[str]:
    """SHA-256 of every content that a file may be there of without a version or a proposal that holds it."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    return set(json.loads(row[0])) if row else set()


def announce(db: sqlite3.Connection, hashes: Iterable[str]) -> None:
    """Announce contents, inside a transaction."""
    _write(db, announced(db) | set(hashes))


def announce_now(db: sqlite3.Connection, hashes: Iterable[str]) -> None:
    """Announce contents that are about to be stored."""
    with database.transaction(db):
        announce(db, hashes)


def settle(db: sqlite3.Connection, hashes: Iterable[str] | None = None) -> None:
    """These contents, or all, are held now or gone from the disk."""
    left = set() if hashes is None else announced(db) - set(hashes)
    if left != announced(db):
        with database.transaction(db):
            _write(db, left)


def _write(db: sqlite3.Connection, hashes: set[str]) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_KEY, json.dumps(sorted(hashes))))
