"""Which passages hold where others say otherwise: the links that the user makes by correcting and by preferring.

A passage is known by its source and the hash of its text, so that a link outlives every rebuild, and a new version of
the source as long as that text is in it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing

from canonry import database
from canonry.errors import NotFound
from canonry.layout import Layout
from canonry.retrieval import Passage
from canonry.timestamps import now

Hashes = Mapping[tuple[str, str], str]  # (version id, chunk id) -> hash of the text


def body_hashes(at: Layout, passages: Sequence[Passage]) -> dict[tuple[str, str], str]:
    """The hash of each passage's text, from the live index."""
    with closing(database.open_reader(at.lexical)) as db:
        found = {}
        for passage in passages:
            key = passage.source_version_id, passage.chunk_id
            row = db.execute(
                "SELECT body_hash FROM knowledge_chunk WHERE version_id = ? AND chunk_id = ?", key
            ).fetchone()
            if row is None:
                raise NotFound(f"chunk {passage.chunk_id!r} has changed meanwhile; ask again")
            found[key] = str(row[0])
    return found


def link(db: sqlite3.Connection, holding: Sequence[Passage], corrected: Sequence[Passage], hashes: Hashes) -> None:
    """Let each passage of `holding` stand beside each of `corrected` wherever that is supplied."""
    db.executemany(
        "INSERT OR IGNORE INTO correction VALUES (?, ?, ?, ?, ?)",
        [(*_named(one, hashes), *_named(other, hashes), now()) for one in holding for other in corrected],
    )


def unlink(db: sqlite3.Connection, one: Passage, other: Passage, hashes: Hashes) -> None:
    """Undo `link` between two passages, whichever held."""
    for holding, corrected in ((one, other), (other, one)):
        db.execute(
            "DELETE FROM correction WHERE (source_id, body_hash, of_source_id, of_body_hash) = (?, ?, ?, ?)",
            (*_named(holding, hashes), *_named(corrected, hashes)),
        )


def _named(passage: Passage, hashes: Hashes) -> tuple[str, str]:
    return passage.source_id, hashes[passage.source_version_id, passage.chunk_id]
