"""Canon that contradicts canon: found by comparing what passages claim, and settled by the user, never by a guess.

Of two passages that contradict each other the one of more authority holds (a correction, the campaign's own canon, a
wider scope, a higher priority); where both have the same, the conflict is open until the user prefers one, corrects
both, or says that it is none. Only what a scope may see is compared for it.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

from canonry import authority, corrections, database
from canonry.campaign import Campaign
from canonry.catalog import Catalog
from canonry.claims import Claim, contradict
from canonry.eligibility import Scope
from canonry.errors import NotFound, UsageError
from canonry.layout import Layout
from canonry.retrieval import Passage
from canonry.text import index_terms
from canonry.timestamps import now

Progress = Callable[[str, int, int], None]  # step, passages read so far, of how many
NO_CONFLICT, PREFERRED, CORRECTED = "no conflict", "prefer", "correction"
_MOST_VALUES = 4  # with more different values, the name is one that many things share


class Decision(NamedTuple):
    """What the user said of a conflict. `holds` is the source that holds, or empty."""

    decision: str
    holds: str
    note: str
    decided_at: str


@dataclass(frozen=True, slots=True)
class Side:
    """One of two statements, and where it stands."""

    passage: Passage
    statement: str

    @property
    def name(self) -> str:
        return " > ".join(dict.fromkeys((self.passage.title, *self.passage.heading_path)))

    def as_json(self) -> dict[str, object]:
        passage = self.passage
        return {
            "source_id": passage.source_id, "chunk_id": passage.chunk_id, "title": passage.title,
            "heading_path": passage.heading_path, "start_line": passage.start_line, "end_line": passage.end_line,
            "spoiler_level": passage.spoiler_level, "visibility": passage.visibility, "scope": passage.scope,
            "priority": passage.priority, "statement": self.statement,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two statements of canon that cannot both hold; by source and place in their order."""

    conflict_id: str
    one: Side
    other: Side
    decision: Decision | None = None

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.one, self.other

    @property
    def holds(self) -> Side | None:
        """The side that holds, or None while that is open."""
        if self.decision is not None:
            return next(
                (side for side in (self.one, self.other) if side.passage.source_id == self.decision.holds), None
            )
        ranks = authority.rank(self.one.passage), authority.rank(self.other.passage)
        return None if ranks[0] == ranks[1] else self.one if ranks[0] > ranks[1] else self.other

    @property
    def loser(self) -> Side | None:
        """The side that does not hold, or None while that is open."""
        holds = self.holds
        return None if holds is None else self.other if holds is self.one else self.one

    @property
    def is_open(self) -> bool:
        return self.decision is None and self.holds is None

    @property
    def status(self) -> str:
        """open, or how it was settled."""
        if self.decision is not None:
            return {
                PREFERRED: "the preferred source holds",
                CORRECTED: "a correction holds",
                NO_CONFLICT: "is no conflict",
            }[self.decision.decision]
        return "open" if self.holds is None else "the source of more authority holds"

    @property
    def warning(self) -> str:
        """An open conflict in a line, for a pack that holds both sides."""
        both = " and ".join(f"{side.statement!r} ({side.name})" for side in self.sides)
        return f"canon contradicts itself: {both}; `canonry conflicts {self.conflict_id}` settles it"

    def as_json(self) -> dict[str, object]:
        holds = self.holds
        return {
            "conflict_id": self.conflict_id, "open": self.is_open, "status": self.status,
            "holds": holds.passage.source_id if holds else None,
            "note": self.decision.note if self.decision else "",
            "sides": [self.one.as_json(), self.other.as_json()],
        }  # fmt: skip


def find_conflicts(
    campaign: Campaign, scope: Scope, progress: Progress = lambda step, done, total: None
) -> list[Conflict]:
    """Every conflict between sources that the scope may see, the open ones first, then by where they stand."""
    canon = replace(scope, classes=("canon",))
    total = campaign.count(canon)

    def counted(passages: Iterator[Passage]) -> Iterator[Passage]:
        for done, passage in enumerate(passages, 1):
            yield passage
            progress("compare canon", done, total)

    def work(passages: Iterator[Passage]) -> list[Conflict]:
        return list(_compare(_claims_of(counted(passages))))

    found = campaign.survey(canon, work)
    found = _decided(campaign.at, found)
    return sorted(
        found,
        key=lambda conflict: (not conflict.is_open, conflict.one.name, conflict.one.statement, conflict.conflict_id),
    )


def find_conflict(campaign: Campaign, scope: Scope, conflict_id: str) -> Conflict:
    """The conflict of that id, or the only one that begins so; NotFound where the scope sees none."""
    found = [one for one in find_conflicts(campaign, scope) if one.conflict_id.startswith(conflict_id)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"conflict {conflict_id!r} could be any of {len(found)}; give the whole id")
    raise NotFound(
        f"conflict {conflict_id!r} is not among what role {scope.role!r} sees at spoiler level {scope.spoiler_level}; "
        "`canonry conflicts --all` lists them"
    )


def among(at: Layout, passages: Sequence[Passage]) -> list[Conflict]:
    """The conflicts between these passages that no decision has settled."""
    found = list(_compare(_claims_of(passages)))
    return [one for one in _decided(at, found) if one.decision is None] if found else []


def contradicted_by(campaign: Campaign, scope: Scope, text: str, about: str = "") -> list[Side]:
    """The statements of canon that a text contradicts."""
    from canonry.claims import claims

    said = claims(text, about)
    if not said:
        return []
    keys = {(claim.subject, claim.attribute) for claim in said}

    def work(passages: Iterator[Passage]) -> list[Side]:
        return [
            Side(passage, claim.statement)
            for claim, passage in _claims_of(passages)
            if (claim.subject, claim.attribute) in keys and any(contradict(claim, other) for other in said)
        ]

    return campaign.survey(replace(scope, classes=("canon",)), work)


def decide(at: Layout, conflict: Conflict, decision: str, *, holds: Side | None = None, note: str = "") -> None:
    """Settle a conflict, for the holder of the campaign's lock; what was decided before is forgotten.

    With a side that holds, its passage stands beside the other's in every pack from now on.
    """
    loser = conflict.other if holds is conflict.one else conflict.one
    hashes = corrections.body_hashes(at, [conflict.one.passage, conflict.other.passage])
    with closing(Catalog.open(at.catalog, write=True)) as catalog, database.transaction(catalog.connection) as db:
        _forget(db, conflict, hashes)
        db.execute(
            "INSERT INTO conflict_decision VALUES (?, ?, ?, ?, ?)",
            (conflict.conflict_id, decision, holds.passage.source_id if holds else "", note, now()),
        )
        if holds is not None:
            corrections.link(db, [holds.passage], [loser.passage], hashes)


def reopen(at: Layout, conflict: Conflict) -> None:
    """Forget what was decided, for the holder of the campaign's lock."""
    hashes = corrections.body_hashes(at, [conflict.one.passage, conflict.other.passage])
    with closing(Catalog.open(at.catalog, write=True)) as catalog, database.transaction(catalog.connection) as db:
        _forget(db, conflict, hashes)


def _forget(db: sqlite3.Connection, conflict: Conflict, hashes: corrections.Hashes) -> None:
    db.execute("DELETE FROM conflict_decision WHERE conflict_id = ?", (conflict.conflict_id,))
    corrections.unlink(db, conflict.one.passage, conflict.other.passage, hashes)


def _claims_of(passages: Iterable[Passage]) -> Iterator[tuple[Claim, Passage]]:
    for passage in passages:
        for claim in authority.stated(passage):
            yield claim, passage


def _compare(stated: Iterable[tuple[Claim, Passage]]) -> Iterator[Conflict]:
    """Conflicts between claims of different sources, each pair of statements once."""
    of_one: dict[tuple[str, str, bool], dict[tuple[str, str], tuple[Claim, Passage]]] = {}
    for claim, passage in stated:
        key = claim.subject, claim.attribute, claim.past
        of_one.setdefault(key, {}).setdefault(_stated(Side(passage, claim.statement)), (claim, passage))
    seen: set[str] = set()
    for same in of_one.values():
        if (
            len(same) < 2
            or len({(index_terms(claim.value), claim.negated) for claim, _ in same.values()}) > _MOST_VALUES
        ):
            continue
        for (one, its), (other, others) in combinations(same.values(), 2):
            if its.source_id == others.source_id or not contradict(one, other):
                continue
            first, second = sorted((Side(its, one.statement), Side(others, other.statement)), key=_place)
            conflict = Conflict(_conflict_id((first, second)), first, second)
            if conflict.conflict_id not in seen:
                seen.add(conflict.conflict_id)
                yield conflict


def _place(side: Side) -> tuple[str, int, str]:
    return side.passage.source_id, side.passage.start_byte, side.statement


def _conflict_id(sides: Sequence[Side]) -> str:
    stated = sorted(f"{side.passage.source_id}\0{index_terms(side.statement)}" for side in sides)
    return hashlib.sha256("\n".join(stated).encode()).hexdigest()[:10]


def _decided(at: Layout, found: Sequence[Conflict]) -> list[Conflict]:
    with closing(Catalog.open(at.catalog)) as catalog:
        rows = catalog.connection.execute(
            "SELECT conflict_id, decision, holds, note, decided_at FROM conflict_decision"
        )
        decisions = {row[0]: Decision(*row[1:]) for row in rows}
    return _corrected([replace(one, decision=decisions.get(one.conflict_id)) for one in found])


def _corrected(found: Sequence[Conflict]) -> list[Conflict]:
    """The conflicts, those settled of which a correction contradicts both sides."""
    wrong = {_stated(loser) for one in found if (loser := one.loser) and _is_correction(one.holds)}
    return [
        replace(one, decision=Decision(CORRECTED, "", "", ""))
        if one.is_open and all(_stated(side) in wrong for side in one.sides)
        else one
        for one in found
    ]


def _is_correction(side: Side | None) -> bool:
    return side is not None and side.passage.source_type == authority.CORRECTION_TYPE


def _stated(side: Side) -> tuple[str, str]:
    return side.passage.source_id, index_terms(side.statement)
