"""The lexical store: FTS5 over every chunk, and the rows that say which chunks exist.

Rows are clustered by (hidden, spoiler level, source, position) when the store is built, and `run` names each stretch
of consecutive rows of one version and one set of marks, so that what a query may see is a handful of row ranges.
New rows go to the tail. Row numbers are never used twice within one `build` of the store.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from canonry.text import FUNCTION_WORDS, Query, is_unspaced

CONTRACT = "canonry/lexical/1"
APPLICATION_ID = 0x636C6578  # "clex"
COLUMN_WEIGHTS = (1.0, 2.0, 1.0)  # title, heading, body in bm25()
RANKED_ROWS = 10_000  # rows of a query's rarer words that are ranked; its other words only add to their scores
POSTINGS_BUDGET = 160_000  # rows that the words of one query may touch before its most common words are left out
TIES_EXPECTED = 50  # rows asked for beyond the limit, among which its ties nearly always end
MOST_TERMS = 64  # of one query; the rarest are kept
MOST_RANGES_APART = 8  # above this, one ranked pass over all of them is cheaper than a query a range

SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE document (
    version_id TEXT PRIMARY KEY, document_key TEXT NOT NULL, content_hash TEXT NOT NULL, extension TEXT NOT NULL,
    chunks INTEGER NOT NULL
) STRICT;
CREATE TABLE run (
    first INTEGER PRIMARY KEY, last INTEGER NOT NULL CHECK (last >= first), version_id TEXT NOT NULL,
    spoiler_level INTEGER NOT NULL, spoiler_tags TEXT NOT NULL CHECK (json_valid(spoiler_tags)),
    hidden INTEGER NOT NULL CHECK (hidden IN (0, 1))
) STRICT;
CREATE INDEX run_by_version ON run (version_id);
CREATE TABLE knowledge_chunk (
    row INTEGER PRIMARY KEY, chunk_id TEXT NOT NULL, version_id TEXT NOT NULL, chunk_index INTEGER NOT NULL,
    start_byte INTEGER NOT NULL, end_byte INTEGER NOT NULL CHECK (end_byte > start_byte),
    start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
    heading_path TEXT NOT NULL CHECK (json_valid(heading_path)), page INTEGER, token_count INTEGER NOT NULL,
    text_hash TEXT NOT NULL, body_hash TEXT NOT NULL
) STRICT;
CREATE INDEX chunk_by_id ON knowledge_chunk (chunk_id);
CREATE INDEX chunk_by_version ON knowledge_chunk (version_id, chunk_index);
CREATE TABLE chunk_terms (row INTEGER PRIMARY KEY, title TEXT NOT NULL, heading TEXT NOT NULL, body TEXT NOT NULL) STRICT;
CREATE VIRTUAL TABLE chunk_fts USING fts5(
    title, heading, body, content = 'chunk_terms', content_rowid = 'row', tokenize = 'ascii'
);
CREATE TABLE common_term (term TEXT PRIMARY KEY, rows INTEGER NOT NULL) STRICT;
"""


@dataclass(frozen=True, slots=True)
class Ranges:
    """Row ranges that a query may see: sorted, disjoint, both ends included. Empty means nothing."""

    pairs: tuple[tuple[int, int], ...]

    def __contains__(self, row: int) -> bool:
        at = bisect_right(self.pairs, (row, 1 << 62)) - 1
        return at >= 0 and self.pairs[at][0] <= row <= self.pairs[at][1]

    def __len__(self) -> int:
        """How many rows they span."""
        return sum(last - first + 1 for first, last in self.pairs)

    def __bool__(self) -> bool:
        return bool(self.pairs)

    @classmethod
    def merged(cls, runs: Sequence[tuple[int, int]]) -> Ranges:
        """Ranges from runs sorted by their first row; neighbours are joined."""
        merged: list[tuple[int, int]] = []
        for first, last in runs:
            if merged and merged[-1][1] + 1 == first:
                merged[-1] = (merged[-1][0], last)
            else:
                merged.append((first, last))
        return cls(tuple(merged))


@dataclass(frozen=True, slots=True)
class Hit:
    """A row that a leg found; a higher score is better."""

    row: int
    score: float


def meta(db: sqlite3.Connection, key: str) -> str:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return str(row[0]) if row else ""


@dataclass(frozen=True, slots=True)
class Match:
    """An FTS5 expression, and how often it counts each word of the query (which scales the scores and nothing else)."""

    expression: str
    counted: int = 1


def match_expression(db: sqlite3.Connection, query: Query) -> Match:
    """The expression of a query: every word quoted, nothing of the text read as syntax. Empty without words.

    In a large index a row must hold one of the rarer words to be ranked, and is then ranked by all of them: ranking
    costs far more than matching. The rarer words stand on both sides of the AND, so the others are named twice too:
    BM25 sums over the words as they are named, and so every word keeps its weight.
    """
    needed, others = _by_rarity(db, query.terms)
    kept = {*needed, *others}
    wanted = [f'"{term}"' for term in needed]
    wanted += [f'"{" ".join(compound)}"' for compound in query.compounds if kept.intersection(compound)][:MOST_TERMS]
    wanted += [f'"{prefix}"*' for prefix in query.prefixes]
    optional = [f'"{term}"' for term in others]
    phrases = [f'"{" ".join(phrase)}"{"*" if is_unspaced(phrase[-1]) else ""}' for phrase in query.phrases]
    if phrases:
        return Match(f"({' AND '.join(phrases)}) AND ({' OR '.join(phrases + wanted + optional)})")
    if optional:
        return Match(f"({' OR '.join(wanted)}) AND ({' OR '.join(wanted + optional + optional)})", 2)
    return Match(" OR ".join(wanted))


def _by_rarity(db: sqlite3.Connection, terms: Sequence[str]) -> tuple[list[str], list[str]]:
    """(terms of which a row must hold one, terms that only rank), each rarest first; what both budgets exclude is left out.

    Function words are left out where anything else is asked for.
    """
    rows_of = dict.fromkeys([term for term in terms if term not in FUNCTION_WORDS] or terms, 0)
    ordered = list(rows_of)
    for at in range(0, len(ordered), 500):
        some = ordered[at : at + 500]
        marks = ",".join("?" * len(some))
        rows_of.update(db.execute(f"SELECT term, rows FROM common_term WHERE term IN ({marks})", some))
    needed: list[str] = []
    others: list[str] = []
    spent = 0
    for term in sorted(ordered, key=rows_of.__getitem__)[:MOST_TERMS]:
        spent += rows_of[term]
        if not needed or spent <= RANKED_ROWS:
            needed.append(term)
        elif spent <= POSTINGS_BUDGET:
            others.append(term)
    return needed, others


def search(db: sqlite3.Connection, query: Query, ranges: Ranges, limit: int) -> list[Hit]:
    """The best `limit` rows inside the ranges by BM25 (higher is better, ties by row); ties at the end are all kept.

    The ranges bound the search itself: what lies outside takes no place among the best.
    """
    match = match_expression(db, query)
    if not match.expression or not ranges:
        return []
    if len(ranges.pairs) > MOST_RANGES_APART:
        found = _search_hull(db, match, ranges, limit)
    else:
        found = [hit for first, last in ranges.pairs for hit in _search_range(db, match, first, last, limit)]
    found.sort(key=lambda hit: (-hit.score, hit.row))
    if len(found) > limit:
        found = [hit for hit in found if hit.score >= found[limit - 1].score]
    return found


_SCORE = f"bm25(chunk_fts, {', '.join(map(str, COLUMN_WEIGHTS))})"
_RANKED = f"SELECT rowid, {_SCORE} FROM chunk_fts WHERE chunk_fts MATCH ? AND rowid BETWEEN ? AND ? ORDER BY {_SCORE}"


def _search_range(db: sqlite3.Connection, match: Match, first: int, last: int, limit: int) -> list[Hit]:
    """The best of one range, with every row that ties with the last of them."""
    rows = db.execute(f"{_RANKED} LIMIT ?", (match.expression, first, last, limit + TIES_EXPECTED)).fetchall()
    if len(rows) == limit + TIES_EXPECTED and rows[-1][1] == rows[limit - 1][1]:
        return _search_hull(db, match, Ranges(((first, last),)), limit)
    return [
        Hit(row, -score / match.counted) for row, score in rows if len(rows) <= limit or score <= rows[limit - 1][1]
    ]


def _search_hull(db: sqlite3.Connection, match: Match, ranges: Ranges, limit: int) -> list[Hit]:
    """One ranked pass from the first range to the last, keeping what lies inside a range."""
    found: list[Hit] = []
    for row, score in db.execute(_RANKED, (match.expression, ranges.pairs[0][0], ranges.pairs[-1][1])):
        if len(found) >= limit and -score / match.counted < found[-1].score:
            break
        if row in ranges:
            found.append(Hit(row, -score / match.counted))
    return found
