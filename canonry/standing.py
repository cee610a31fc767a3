"""Rows that a pack takes without ranking them: canon that is always included, and passages that are named.

Both stand inside the same scope as a search: what may not be seen is not here either.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from canonry.eligibility import Scope, predicate
from canonry.lexical import Ranges


def always_rows(db: sqlite3.Connection, scope: Scope) -> list[int]:
    """Every chunk of canon with `always_include` that the scope may see.

    By priority (high first), reading order, source id and position: the same in every process and after every rebuild.
    """
    where, values = predicate(scope)
    rows = db.execute(
        f"""
        SELECT c.row FROM run r JOIN cat.knowledge_source_version v USING (version_id)
        JOIN cat.knowledge_source s USING (source_id) JOIN knowledge_chunk c ON c.row BETWEEN r.first AND r.last
        WHERE {where} AND s.always_include = 1 AND s.class = 'canon'
        ORDER BY CASE s.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END,
                 s.reading_order IS NULL, s.reading_order, s.source_id, c.chunk_index
        """,
        values,
    )
    return [row[0] for row in rows]


def named_rows(db: sqlite3.Connection, ranges: Ranges, chunk_ids: Sequence[str]) -> dict[str, int]:
    """Chunk id -> its first row inside the ranges; without the ids that are not there."""
    found: dict[str, int] = {}
    for chunk_id in chunk_ids:
        if chunk_id.isascii():
            rows = db.execute(
                "SELECT row FROM knowledge_chunk WHERE chunk_id = ? ORDER BY version_id, row", (chunk_id,)
            ).fetchall()
            inside = [row for (row,) in rows if row in ranges]
            if inside:
                found[chunk_id] = inside[0]
    return found
