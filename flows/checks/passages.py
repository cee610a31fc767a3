"""The passages of the live index with their text, by who may see them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from canonry import database
from canonry.eligibility import Scope, clauses, eligible_ranges
from canonry.layout import Layout
from canonry.lexical import Ranges
from flows.checks.findings import Examination
from flows.checks.raw import stored


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk with its text. `terms` are those of the index."""

    row: int
    version_id: str
    source_id: str
    first_line: int
    last_line: int
    text: str
    terms: str

    @property
    def place(self) -> str:
        """Where it stands, without a word of it."""
        lines = f"{self.first_line}" if self.first_line == self.last_line else f"{self.first_line}–{self.last_line}"
        return f"{self.source_id} line{'' if self.first_line == self.last_line else 's'} {lines}"


@contextmanager
def opened(at: Layout) -> Iterator[sqlite3.Connection]:
    """The lexical store with the catalog attached as `cat`."""
    db = database.open_reader(at.lexical)
    try:
        database.attach_reader(db, at.catalog, "cat")
        yield db
    finally:
        db.close()


def public_ranges(db: sqlite3.Connection) -> Ranges:
    """The rows that a player at level 0 may see."""
    return eligible_ranges(db, Scope())


def secret_ranges(db: sqlite3.Connection) -> Ranges:
    """The rows of live, enabled sources that are kept from that player: hidden, above level 0, or of other roles."""
    kept = [clause for clause in clauses(Scope()) if clause.is_privilege]
    runs = db.execute(
        "SELECT r.first, r.last FROM run r JOIN cat.knowledge_source_version v USING (version_id) "
        "JOIN cat.knowledge_source s USING (source_id) WHERE s.enabled = 1 AND v.valid_to IS NULL "
        f"AND NOT ({' AND '.join(f'({clause.sql})' for clause in kept)}) ORDER BY r.first",
        [value for clause in kept for value in clause.values],
    ).fetchall()
    return Ranges.merged(runs)


def passages(look: Examination, db: sqlite3.Connection, ranges: Ranges) -> Iterator[Passage]:
    """The passages of some rows, in their order; those of a damaged file are left out."""
    content, data = "", b""
    for first, last in ranges.pairs:
        rows = db.execute(
            "SELECT c.row, c.version_id, d.content_hash, v.source_id, c.start_line, c.end_line, c.start_byte, c.end_byte, t.body "
            "FROM knowledge_chunk c JOIN chunk_terms t USING (row) JOIN document d USING (version_id) "
            "JOIN cat.knowledge_source_version v USING (version_id) WHERE c.row BETWEEN ? AND ? ORDER BY c.row",
            (first, last),
        )
        for row, version, of, source, start_line, end_line, start, end, terms in rows:
            if of != content:
                content, data = of, stored(look, of) or b""
            if data:
                yield Passage(row, version, source, start_line, end_line, data[start:end].decode("utf-8"), terms)
