"""From legs to one ranked list: fusion, the relevance floor, the authority-aware order, one passage for each text.

The head of the list (what a fixed number of candidates of each leg gives) is reranked; what a large limit digs up
beyond it follows in the order of fusion. So a smaller limit is always the beginning of a larger one.
"""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from canonry import lexical
from canonry.context import Name, Surroundings, read_terms
from canonry.errors import UsageError
from canonry.floor import Floor
from canonry.fuse import DEFAULT_FUSION, ENTITY, LEXICAL, SEMANTIC, Fusion
from canonry.lexical import Hit, Ranges
from canonry.rerank import Boosts, Candidate, boosts
from canonry.text import Query

if TYPE_CHECKING:
    from canonry.semantic import Scan

CANDIDATES = 100  # of each leg; fixed, so that a smaller limit is the beginning of a larger one
LARGEST_LIMIT = 1_000
SURE_ABOVE_MINIMUM = 0.03  # cosine, of the best passage; on the demo set and two collections it cost no answer


@dataclass(frozen=True, slots=True)
class Leg:
    """One ranked list: rows with their scores, best first, ties by chunk id.

    Where its best score is below `sure`, it counts only beside words that answer the question.
    """

    name: str
    hits: tuple[Hit, ...]
    sure: float = 0.0


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row in its place. `passed` counts the passages that match better by words and meaning and come after it."""

    row: int
    fused: float
    boosts: Boosts | None = None
    copies: int = 0
    passed: int = 0

    @property
    def score(self) -> float:
        """What the order follows."""
        return self.fused * (1 + (self.boosts.total if self.boosts else 0.0))


@dataclass(frozen=True, slots=True)
class Ranking:
    """What the legs found, in order, and what became of the rest: `below` the floor, `copies` of a row that stands."""

    legs: tuple[Leg, ...] = ()
    fusion: Fusion = DEFAULT_FUSION
    chosen: Sequence[Ranked] = ()
    floor: Floor | None = None
    below: frozenset[int] = frozenset()
    copy_of: Mapping[int, int] = field(default_factory=dict)


def check_limit(limit: int) -> int:
    if not 1 <= limit <= LARGEST_LIMIT:
        raise UsageError(f"limit {limit} must lie between 1 and {LARGEST_LIMIT}")
    return limit


def depth(limit: int) -> int:
    """Candidates of each leg: the fixed number, and for a limit that it may not fill, enough for the largest limit."""
    return CANDIDATES if 2 * limit <= CANDIDATES else 2 * LARGEST_LIMIT


def lexical_leg(db: sqlite3.Connection, query: Query, ranges: Ranges, candidates: int) -> Leg:
    """BM25 over the eligible rows."""
    return _leg(db, LEXICAL, lexical.search(db, query, ranges, candidates), candidates)


def semantic_leg(
    db: sqlite3.Connection, scan: Scan, vector: object, ranges: Ranges, candidates: int, minimum: float
) -> Leg:
    """Cosine over the eligible rows that have vectors; what lies under the model's floor is noise and left out."""
    hits = [hit for hit in scan.search(vector, ranges, candidates) if hit.score >= minimum]  # type: ignore[arg-type]
    leg = _leg(db, SEMANTIC, hits, candidates)
    return Leg(leg.name, leg.hits, minimum + SURE_ABOVE_MINIMUM)


def entity_leg(db: sqlite3.Connection, names: Sequence[Name], ranges: Ranges, candidates: int) -> Leg:
    """The eligible rows that hold a mentioned name as it stands, by BM25 of the best of the names."""
    best: dict[int, float] = {}
    for name in names:
        for hit in lexical.search(db, Query((name.terms,)), ranges, candidates):
            best[hit.row] = max(hit.score, best.get(hit.row, 0.0))
    return _leg(db, ENTITY, [Hit(row, score) for row, score in best.items()], candidates)


def _leg(db: sqlite3.Connection, name: str, hits: Sequence[Hit], candidates: int) -> Leg:
    keys = {row: key for row, *key in _select(db, "row, chunk_id, version_id", [hit.row for hit in hits])}
    known = [hit for hit in hits if hit.row in keys]
    known.sort(key=lambda hit: (-hit.score, keys[hit.row]))
    return Leg(name, tuple(known[:candidates]))


def _select(db: sqlite3.Connection, columns: str, rows: Sequence[int], joined: str = "") -> Iterator[tuple]:  # type: ignore[type-arg]
    for at in range(0, len(rows), 500):
        some = rows[at : at + 500]
        marks = ",".join("?" * len(some))
        yield from db.execute(f"SELECT {columns} FROM knowledge_chunk c {joined} WHERE c.row IN ({marks})", some)


def read_candidates(db: sqlite3.Connection, rows: Sequence[int], *, compared: bool) -> dict[int, Candidate]:
    """What the order needs to know of each row; terms and labels only where they will be `compared` with something."""
    facts = list(
        _select(
            db,
            "c.row, c.chunk_id, c.version_id, c.body_hash, s.class, s.priority, c.start_byte, c.end_byte, v.source_id",
            rows,
            "JOIN cat.knowledge_source_version v USING (version_id) JOIN cat.knowledge_source s USING (source_id)",
        )
    )
    labels = _labels(db, {fact[-1] for fact in facts}) if compared else {}
    terms = read_terms(db, rows) if compared else {}
    none: frozenset[str] = frozenset()
    return {
        row: Candidate(
            row, chunk_id, version_id, body_hash, class_, priority, start, end, terms.get(row, ""),
            labels.get((source, "entity"), none), labels.get((source, "tag"), none),
        )
        for row, chunk_id, version_id, body_hash, class_, priority, start, end, source in facts
    }  # fmt: skip


def _labels(db: sqlite3.Connection, sources: set[str]) -> dict[tuple[str, str], set[str]]:
    labels: dict[tuple[str, str], set[str]] = {}
    for source, kind, folded in db.execute(
        "SELECT source_id, kind, folded FROM cat.source_label "
        "WHERE source_id IN (SELECT value FROM json_each(?)) AND kind IN ('entity', 'tag')",
        (json.dumps(sorted(sources)),),
    ):
        labels.setdefault((source, kind), set()).add(folded)
    return labels


@dataclass(frozen=True, slots=True)
class Pool:
    """All that the legs of one question found, before fusion: any fusion makes its ranking of it, without asking again."""

    legs: tuple[Leg, ...]
    candidates: Mapping[int, Candidate]
    kept: frozenset[int]  # the rows above the floor
    floor: Floor
    coverage: float  # share of the question's weight in the best passage by words, 0 to 1
    boosts: Mapping[int, Boosts] | None  # of the rows above the floor that a head may hold; None without rerank
    copies: bool

    def ranked(self, fusion: Fusion) -> Ranking:
        """One list of all that is relevant enough, best first."""
        fusion = fusion.weighed(self.coverage)
        head = _fused(fusion, self.legs, self.candidates, CANDIDATES)
        tail = _fused(fusion, self.legs, self.candidates, None) if len(self.candidates) > len(head) else []
        first = dict(head)
        lifted = self.boosts or {}
        ordered = [Ranked(row, score, lifted.get(row)) for row, score in head if row in self.kept]
        if self.boosts is not None:
            ordered.sort(key=lambda one: (-one.score, *_key(self.candidates[one.row])))
        ordered += [Ranked(row, score) for row, score in tail if row in self.kept and row not in first]
        chosen, copy_of = (ordered, {}) if self.copies else _drop_copies(ordered, self.candidates)
        below = frozenset(self.candidates) - self.kept
        return Ranking(self.legs, fusion, _count_passed(chosen), self.floor, below, copy_of)


def pool(
    db: sqlite3.Connection, legs: Sequence[Leg], words: Query, around: Surroundings, *, rerank: bool, copies: bool
) -> Pool:
    """What the legs found, with all that its order depends on besides the fusion."""
    rows = sorted({hit.row for leg in legs for hit in leg.hits})
    candidates = read_candidates(db, rows, compared=rerank and not around.is_empty)
    floor = Floor(db, words)
    kept = frozenset(_above_floor(floor, legs))
    heads = {hit.row for leg in legs for hit in leg.hits[:CANDIDATES]} & kept
    lifted = {row: boosts(candidates[row], around) for row in heads} if rerank else None
    return Pool(tuple(legs), candidates, kept, floor, _coverage(floor, db, legs), lifted, copies)


def _coverage(floor: Floor, db: sqlite3.Connection, legs: Sequence[Leg]) -> float:
    """The share of the question's weight that the best passage by words holds; 0 without one."""
    best = next((leg.hits[0].row for leg in legs if leg.name == LEXICAL and leg.hits), None)
    return 0.0 if best is None or len(legs) == 1 else floor.coverage(read_terms(db, [best])[best]).share


def _above_floor(floor: Floor, legs: Sequence[Leg]) -> set[int]:
    """The rows that are relevant enough, by words, by meaning or by a name that was mentioned."""
    kept = {row for leg in legs if leg.name == LEXICAL for row in floor.kept(leg.hits)}
    worded = bool(kept)
    for leg in legs:
        if leg.name == LEXICAL or not leg.hits:
            continue
        if worded or leg.hits[0].score >= leg.sure or floor.is_reached([hit.row for hit in leg.hits]):
            kept |= {hit.row for hit in leg.hits}
    return kept


def _fused(
    fusion: Fusion, legs: Sequence[Leg], candidates: Mapping[int, Candidate], most: int | None
) -> list[tuple[int, float]]:
    """(row, fused score), best first, ties by chunk id. One leg alone keeps its own scores."""
    if len(legs) == 1:
        return [(hit.row, hit.score) for hit in legs[0].hits[:most]]
    keys = {row: (*_key(candidate), row) for row, candidate in candidates.items()}
    ranked = fusion.fuse({leg.name: [(keys[hit.row], hit.score) for hit in leg.hits[:most]] for leg in legs})
    return [(key[2], score) for key, score in ranked]


def _key(candidate: Candidate) -> tuple[str, str]:
    """What orders equal scores."""
    return candidate.chunk_id, candidate.version_id


def _drop_copies(ordered: Sequence[Ranked], candidates: Mapping[int, Candidate]) -> tuple[list[Ranked], dict[int, int]]:
    """Each text once, at its best place, with how many others of the list say the same; and which row each copy is of."""
    kept: dict[str, Ranked] = {}
    copy_of: dict[int, int] = {}
    for ranked in ordered:
        standing = kept.setdefault(candidates[ranked.row].body_hash, ranked)
        if standing is not ranked:
            copy_of[ranked.row] = standing.row
    counts: dict[int, int] = {}
    for row in copy_of.values():
        counts[row] = counts.get(row, 0) + 1
    return [Ranked(one.row, one.fused, one.boosts, counts.get(one.row, 0)) for one in kept.values()], copy_of


def _count_passed(chosen: Sequence[Ranked]) -> list[Ranked]:
    """The list, each with the number of passages after it that have a better fused score."""
    counted: list[Ranked] = []
    later: list[float] = []
    for one in reversed(chosen):
        if one.boosts is None:
            counted.append(one)
            continue
        passed = len(later) - bisect_right(later, one.fused)
        insort(later, one.fused)
        counted.append(Ranked(one.row, one.fused, one.boosts, one.copies, passed) if passed else one)
    return counted[::-1]
