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
    sql, values = always_query(scope)
    return [row for (row,) in db.execute(sql, values)]


def always_query(scope: Scope) -> tuple[str, list[object]]:
    """The query for them, from the few sources to their chunks: SQLite would go through all chunks of the campaign first."""
    where, values = predicate(scope)
    sql = f"""
        SELECT c.row FROM cat.knowledge_source s CROSS JOIN cat.knowledge_source_version v ON v.source_id = s.source_id
        CROSS JOIN run r ON r.version_id = v.version_id CROSS JOIN knowledge_chunk c ON c.row BETWEEN r.first AND r.last
        WHERE s.always_include = 1 AND s.class = 'canon' AND {where}
        ORDER BY CASE s.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END,
                 s.reading_order IS NULL, s.reading_order, s.source_id, c.chunk_index
        """
    return sql, values


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


def corrections(
    db: sqlite3.Connection, ranges: Ranges, keys: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], list[int]]:
    """(version id, chunk id) -> rows of the passages that correct it, inside the ranges, the latest correction first.

    Corrections of corrections count too. Passages that nothing corrects are absent.
    """
    found: dict[tuple[str, str], list[int]] = {}
    if db.execute("SELECT EXISTS (SELECT 1 FROM cat.correction)").fetchone()[0]:
        for version_id, chunk_id in keys:
            rows = [row for (row,) in db.execute(_CORRECTIONS, (version_id, chunk_id)) if row in ranges]
            if rows:
                found[version_id, chunk_id] = rows
    return found


_CORRECTIONS = """
WITH RECURSIVE held (source_id, body_hash, made_at) AS (
    SELECT v.source_id, c.body_hash, '' FROM knowledge_chunk c JOIN cat.knowledge_source_version v USING (version_id)
    WHERE c.version_id = ? AND c.chunk_id = ?
    UNION
    SELECT k.source_id, k.body_hash, k.made_at FROM held h
    JOIN cat.correction k ON k.of_source_id = h.source_id AND k.of_body_hash = h.body_hash
)
SELECT c.row FROM held h JOIN cat.knowledge_source_version v USING (source_id)
JOIN knowledge_chunk c ON c.version_id = v.version_id AND c.body_hash = h.body_hash
WHERE h.made_at <> '' ORDER BY h.made_at DESC, c.row
"""
