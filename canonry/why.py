"""Why a chunk was, or was not, in an answer: the step that kept or dropped it, and what would change that.

    unknown → filters and privilege → found by words, meaning or name → relevance floor → copies → limit → kept

A role that may not see a chunk is told what it would be told of a chunk that does not exist. Only a narrator hears of
levels, hidden text, forbidden tags and superseded versions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from canonry import lexical
from canonry.context import read_terms
from canonry.eligibility import Clause, failing
from canonry.errors import NotFound
from canonry.lexical import Hit, Ranges
from canonry.ranking import CANDIDATES, LARGEST_LIMIT, Ranking
from canonry.retrieval import Assembler, Request
from canonry.text import parse_query

if TYPE_CHECKING:
    from canonry.layout import Layout

EVERY_ROW = 1_000_000_000
STEPS = ("time", "filter", "match", "candidates", "floor", "copy", "limit", "kept")


_FACTS = """
SELECT s.source_id, s.class, s.source_type, s.superseded_by,
       max(s.spoiler_level, r.spoiler_level, iif(v.valid_to IS NULL, 0, v.stated_level)), v.version_id, v.valid_from,
       (SELECT group_concat(label, ', ') FROM cat.source_label l WHERE l.source_id = s.source_id AND l.kind = 'allowed_role')
FROM run r JOIN cat.knowledge_source_version v USING (version_id) JOIN cat.knowledge_source s USING (source_id)
WHERE r.first = (SELECT max(first) FROM run WHERE first <= ?)
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a chunk. `place` is its place in the answer, or the one it would have with a larger limit."""

    campaign_id: str
    chunk_id: str
    query: str
    step: str  # one of STEPS
    reason: str
    change: str | None = None
    place: int | None = None
    reasons: list[str] = field(default_factory=list)  # why it is where it is, where it has a place

    @property
    def kept(self) -> bool:
        return self.step == "kept"

    def as_json(self) -> dict[str, object]:
        fields = asdict(self)
        return {**{key: fields.pop(key) for key in ("campaign_id", "chunk_id", "query")}, "kept": self.kept, **fields}


@dataclass(frozen=True, slots=True)
class Funnel:
    """One question with all that it found. `cosine` gives a row's cosine and the model's floor, where meaning was asked for."""

    db: sqlite3.Connection
    at: Layout
    request: Request
    ranges: Ranges
    ranking: Ranking
    cosine: Callable[[int], tuple[float, float] | None]

    def verdict(self, chunk_id: str, *, told_all: bool) -> Verdict:
        """The verdict on the chunk, where equal ids stand in several sources on the one that got furthest."""
        verdicts = []
        for (row,) in self.db.execute("SELECT row FROM knowledge_chunk WHERE chunk_id = ? ORDER BY row", (chunk_id,)):
            clauses = failing(self.db, row, self.request.scope)
            if told_all or not any(clause.is_privilege for clause in clauses):
                verdicts.append(self._filtered(row, chunk_id, clauses) if clauses else self._ranked(row, chunk_id))
        if told_all and not verdicts:
            verdicts = self._superseded(chunk_id)
        if not verdicts:
            raise NotFound(
                f"chunk {chunk_id!r} is not among what this question may see; `canonry query --json` shows ids"
            )
        return max(verdicts, key=lambda verdict: (STEPS.index(verdict.step), -(verdict.place or 0)))

    def _verdict(self, chunk_id: str, step: str, reason: str, change: str | None = None) -> Verdict:
        return Verdict(self.at.campaign, chunk_id, self.request.query, step, reason, change)

    def _superseded(self, chunk_id: str) -> list[Verdict]:
        from flows.as_of import find_version

        found = find_version(self.at, chunk_id)
        if found is None:
            return []
        version, valid_from, valid_to = found
        return [
            self._verdict(
                chunk_id, "time", f"belongs to {version}, which was live from {valid_from} to {valid_to or 'now'}: not at the time asked for",
                f"--as-of {valid_from} asks what was live then",
            )
        ]  # fmt: skip

    def _filtered(self, row: int, chunk_id: str, clauses: list[Clause]) -> Verdict:
        told = obstacles(self.db, row, clauses).values()
        step = "time" if clauses[0].name == "time" else "filter"
        return self._verdict(
            chunk_id, step, "; ".join(reason for reason, _ in told), "; ".join(change for _, change in told)
        )

    def _ranked(self, row: int, chunk_id: str) -> Verdict:
        for place, ranked in enumerate(self.ranking.chosen, 1):
            if ranked.row == row:
                found = self.ranking
                shown = Assembler(
                    self.db,
                    self.at,
                    found.legs,
                    self.request.query,
                    explain=False,
                    floor=found.floor,
                    fusion=found.fusion,
                )
                return self._placed(chunk_id, place, shown.ranked(ranked).reasons)
        if row in self.ranking.copy_of:
            (other,) = self.db.execute(
                "SELECT chunk_id FROM knowledge_chunk WHERE row = ?", (self.ranking.copy_of[row],)
            ).fetchone()
            which = "of another source" if other == chunk_id else other
            return self._verdict(
                chunk_id, "copy", f"says the same as the passage {which}, which stands for both", "--copies shows each"
            )
        return self._below(row, chunk_id) if row in self.ranking.below else self._not_found(row, chunk_id)

    def _placed(self, chunk_id: str, place: int, reasons: list[str]) -> Verdict:
        limit = self.request.limit
        step, reason, change = "kept", f"is in the answer, in place {place}", None
        if place > limit:
            step, reason = "limit", f"is in place {place}, beyond the limit of {limit}"
            change = f"--limit {place}" if place <= LARGEST_LIMIT else "ask for less at once"
        return Verdict(self.at.campaign, chunk_id, self.request.query, step, reason, change, place, reasons)

    def _below(self, row: int, chunk_id: str) -> Verdict:
        floor = self.ranking.floor
        assert floor is not None
        covered = floor.coverage(read_terms(self.db, [row])[row])
        return self._verdict(
            chunk_id, "floor",
            f"holds {covered.share:.0%} of the weight of the question's words ({covered.words} of {floor.words}): too little, or "
            "far less than the best passage, to count as relevant",
            "ask with more of the words that it holds",
        )  # fmt: skip

    def _not_found(self, row: int, chunk_id: str) -> Verdict:
        told: list[str] = []
        step, change = "match", "ask with words that it holds"
        names = {leg.name for leg in self.ranking.legs}
        if "lexical" in names:
            hits = lexical.search(self.db, parse_query(self.request.query), self.ranges, EVERY_ROW)
            place = _place(hits, row)
            if place is None:
                told.append("holds none of the words that were searched for")
            else:
                step, change = (
                    "candidates",
                    f"ask more precisely, or of fewer sources; a limit above {CANDIDATES // 2} looks deeper",
                )
                told.append(f"is number {place} by words, and the first {CANDIDATES} are ranked")
        if "semantic" in names:
            near = self.cosine(row)
            if near is None:
                told.append("has no vector")
            elif near[0] < near[1]:
                told.append(f"is not close in meaning (cosine {near[0]:.2f}, below {near[1]:.2f})")
            else:
                step = "candidates"
                told.append(f"is close in meaning (cosine {near[0]:.2f}), but not among the first {CANDIDATES}")
        elif "lexical" in names:
            change += "; --mode hybrid searches by meaning too"
        return self._verdict(
            chunk_id, step, " and ".join(told) or "was not searched for: the question has no words", change
        )


def _place(hits: list[Hit], row: int) -> int | None:
    return next((place for place, hit in enumerate(hits, 1) if hit.row == row), None)


def obstacles(db: sqlite3.Connection, row: int, clauses: Sequence[Clause]) -> dict[str, tuple[str, str]]:
    """Name of each failing clause -> (what keeps the row out, what would let it in); for eyes that may see everything."""
    facts = db.execute(_FACTS, (row,)).fetchone()
    return {name: _obstacle(name, facts) for name in dict.fromkeys(clause.name for clause in clauses)}


def _obstacle(name: str, facts: tuple[object, ...]) -> tuple[str, str]:
    """(what keeps it out, what would let it in) for a clause of the predicate."""
    source, class_, type_, successor, level, version, valid_from, roles = facts
    told = {
        "enabled": (f"its source {source} is disabled", f"`canonry source enable {source}`"),
        "review": (f"its entry {source} is not approved", f"`canonry entry review {source} --approve`"),
        "spoiler level": (f"is of spoiler level {level}", f"--spoiler-level {level}"),
        "successor": (
            f"its source {source} is superseded by {successor}",
            f"`canonry source edit {source} --superseded-by none`",
        ),
        "visibility": ("is hidden: for the narrator alone", "--role narrator"),
        "role": (f"its source is for {roles}", f"--role {str(roles).partition(',')[0]}"),
        "perspective": (
            "is not known to this character at that time",
            "`known_by` and `known_from` in its front matter, or a later --story-time",
        ),
        "time": (f"{version} was not live then", f"--as-of {valid_from}"),
        "forbidden tags": ("carries a forbidden tag", "leave that tag out of --forbid-tags"),
        "class": (f"is {class_}, which was not asked for", f"--class {class_}"),
        "type": (f"is of type {type_ or 'none'}, which was not asked for", "ask without --source-types"),
        "source": (f"is of source {source}, which was not asked for", f"--source {source}"),
        "tag": ("its source has none of the tags asked for", "ask without --tags"),
        "entity": ("its source is about none of the entities asked for", "ask without --entities"),
    }
    return told[name]
