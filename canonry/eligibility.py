"""Who may see what: the one predicate that every search leg takes, applied before anything is ranked.

Authority (class), relevance (scores) and privilege (role, visibility, spoiler level) are three things; this module
knows the third, with the scope: enabled, live at the time asked for, of a class and type that was asked for.
The defaults are the strict ones: level 0, role player, nothing hidden.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from canonry import perspective
from canonry.errors import UsageError
from canonry.lexical import Ranges
from canonry.records import CLASSES
from canonry.text import fold

NARRATOR = "narrator"
HIGHEST_LEVEL = 1_000_000
_ROLE = re.compile(r"[a-z][a-z0-9_]{0,31}(:[\w.-]{1,64})?\Z")


def is_role(role: str) -> bool:
    return bool(_ROLE.match(role))


@dataclass(frozen=True, slots=True)
class Scope:
    """What a query may see. Empty tuples restrict nothing, `as_of` None means now."""

    role: str = "player"
    spoiler_level: int = 0
    forbid_tags: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    source_types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    as_of: str | None = None  # as canonry.timestamps.parse_instant gives it
    story_time: int | None = None  # how far the story is for the character that asks, in story order
    unreviewed: bool = False  # knowledge entries that wait for a review, or were rejected, too

    def __post_init__(self) -> None:
        if not is_role(self.role):
            raise UsageError(
                f"role {self.role!r} is not usable: take player, narrator, writer, simulation, blind_reader or npc:<id>"
            )
        if not 0 <= self.spoiler_level <= HIGHEST_LEVEL:
            raise UsageError(
                f"spoiler level {self.spoiler_level} must lie between 0, the safe level, and {HIGHEST_LEVEL}; give another"
            )
        if self.story_time is not None and not 0 <= self.story_time <= HIGHEST_LEVEL:
            raise UsageError(f"story time {self.story_time} must lie between 0 and {HIGHEST_LEVEL}; give another")
        for name in self.classes:
            if name not in CLASSES:
                raise UsageError(f"class {name!r} is unknown; choose from {', '.join(CLASSES)}")


def sight_of_all(scope: Scope) -> Scope:
    """What a narrator of the highest level sees at the same time, of the same sources."""
    return Scope(NARRATOR, HIGHEST_LEVEL, sources=scope.sources, as_of=scope.as_of)


@dataclass(frozen=True, slots=True)
class Clause:
    """One condition of the predicate. `is_privilege` marks those that keep a secret; `name` is for `canonry why`."""

    name: str
    sql: str
    values: tuple[object, ...] = ()
    is_privilege: bool = False


_PAST = "v.valid_to IS NOT NULL"
_REVIEWED = "({0}.status IS NULL OR {0}.status = 'approved')"


def _as_it_was(scope: Scope, tags: tuple[str, ...]) -> list[Clause]:
    """A superseded version is never shown more openly than when it was live, whatever its source has become."""
    marks = ", ".join("?" * len(tags))
    tagged = f"EXISTS (SELECT 1 FROM json_each(v.stated_tags) WHERE value IN ({marks}))"
    allowed = "v.stated_roles = '[]' OR EXISTS (SELECT 1 FROM json_each(v.stated_roles) WHERE value = ?)"
    found = [
        Clause("spoiler level", f"NOT ({_PAST} AND v.stated_level > ?)", (scope.spoiler_level,), True),
        Clause("role", f"(NOT {_PAST} OR {allowed})", (fold(scope.role),), True),
    ]
    if scope.role != NARRATOR:
        found.append(Clause("visibility", f"NOT ({_PAST} AND v.stated_hidden = 1)", (), True))
    if tags:
        found.append(Clause("forbidden tags", f"NOT ({_PAST} AND {tagged})", tags, True))
    if perspective.is_character(scope.role):
        known, whose = perspective.condition("v.stated_known", scope.role, scope.story_time)
        found.append(Clause("perspective", f"(NOT {_PAST} OR {known})", whose, True))
    return found


def clauses(scope: Scope) -> list[Clause]:
    """Conditions over `run` r, `knowledge_source` s and `knowledge_source_version` v that all hold for what may be seen."""
    tags = (*map(fold, scope.forbid_tags),)
    marks = ", ".join("?" * len(tags))
    found = [
        Clause("enabled", "s.enabled = 1"),
        *([] if scope.unreviewed else [Clause("review", _REVIEWED.format("s"))]),
        Clause("spoiler level", "max(s.spoiler_level, r.spoiler_level) <= ?", (scope.spoiler_level,), True),
        *_as_it_was(scope, tags),
    ]
    if scope.role != NARRATOR:
        found.append(Clause("visibility", "s.visibility = 'normal' AND r.hidden = 0", (), True))
    if perspective.is_character(scope.role):
        found.append(Clause("perspective", *perspective.condition("s.extra", scope.role, scope.story_time), True))
    found.append(_successor(scope, tags))
    for_role = f"(NOT {_labelled('allowed_role')} OR {_labelled('allowed_role', 1)})"
    found.append(Clause("role", for_role, (fold(scope.role),), True))
    if scope.as_of is None:
        found.append(Clause("time", "v.valid_to IS NULL"))
    else:
        then = "v.valid_from <= ? AND (v.valid_to IS NULL OR v.valid_to > ?)"
        found.append(Clause("time", then, (scope.as_of, scope.as_of)))
    if tags:
        marked = f"EXISTS (SELECT 1 FROM json_each(r.spoiler_tags) WHERE value IN ({marks}))"
        without = f"NOT {_labelled('spoiler_tag', len(tags))} AND NOT {marked}"
        found.append(Clause("forbidden tags", without, tags * 2, True))
    for name, column, wanted in (
        ("class", "s.class", scope.classes),
        ("type", "s.source_type", scope.source_types),
        ("source", "s.source_id", scope.sources),
    ):
        if wanted:
            found.append(Clause(name, f"{column} IN ({', '.join('?' * len(wanted))})", tuple(wanted)))
    for kind, wanted in (("tag", scope.tags), ("entity", scope.entities)):
        if wanted:
            found.append(Clause(kind, _labelled(kind, len(wanted)), tuple(map(fold, wanted))))
    return found


def _successor(scope: Scope, tags: tuple[str, ...]) -> Clause:
    """A source gives way to its successor where the scope may see that: a successor in secret changes nothing in sight."""
    labels = "EXISTS (SELECT 1 FROM cat.source_label l WHERE l.source_id = n.source_id AND l.kind = '{}'{})"
    conditions = ["n.source_id = s.superseded_by", "n.enabled = 1", _REVIEWED.format("n"), "n.spoiler_level <= ?"]
    values: list[object] = [scope.spoiler_level]
    if scope.role != NARRATOR:
        conditions.append("n.visibility = 'normal'")
    conditions.append(
        f"(NOT {labels.format('allowed_role', '')} OR {labels.format('allowed_role', ' AND l.folded = ?')})"
    )
    values.append(fold(scope.role))
    if perspective.is_character(scope.role):
        known, whose = perspective.condition("n.extra", scope.role, scope.story_time)
        conditions.append(known)
        values += whose
    if tags:
        among = f" AND l.folded IN ({', '.join('?' * len(tags))})"
        conditions.append(f"NOT {labels.format('spoiler_tag', among)}")
        values += tags
    if scope.as_of is not None:
        conditions.append("s.superseded_at <= ?")
        values.append(scope.as_of)
    there = f"SELECT 1 FROM cat.knowledge_source n WHERE {' AND '.join(conditions)}"
    return Clause("successor", f"(s.superseded_by IS NULL OR NOT EXISTS ({there}))", tuple(values))


def predicate(scope: Scope) -> tuple[str, list[object]]:
    """The conjunction of the clauses, with its values."""
    conditions = clauses(scope)
    return " AND ".join(clause.sql for clause in conditions), [value for one in conditions for value in one.values]


def failing(db: sqlite3.Connection, row: int, scope: Scope) -> list[Clause]:
    """The clauses that keep a row of the lexical store `db` out of the scope's sight, in their order."""
    return [clause for clause in clauses(scope) if not _holds(db, row, clause)]


def failing_of(db: sqlite3.Connection, rows: Collection[int], scope: Scope) -> dict[int, list[Clause]]:
    """Row -> the clauses that keep it out, as `failing` has them, for many rows by one query a clause; others are absent."""
    found: dict[int, list[Clause]] = {}
    for clause in clauses(scope):
        held = _ranges(db, clause.sql, clause.values)
        for row in rows:
            if row not in held:
                found.setdefault(row, []).append(clause)
    return found


def _holds(db: sqlite3.Connection, row: int, clause: Clause) -> bool:
    return bool(
        db.execute(
            "SELECT EXISTS (SELECT 1 FROM run r JOIN cat.knowledge_source_version v USING (version_id) "
            f"JOIN cat.knowledge_source s USING (source_id) WHERE ? BETWEEN r.first AND r.last AND {clause.sql})",
            (row, *clause.values),
        ).fetchone()[0]
    )


def _labelled(kind: str, values: int = 0) -> str:
    """EXISTS over the labels of s of that kind; of any value, or of one of that many parameters."""
    among = f" AND l.folded IN ({', '.join('?' * values)})" if values else ""
    return f"EXISTS (SELECT 1 FROM cat.source_label l WHERE l.source_id = s.source_id AND l.kind = '{kind}'{among})"


def eligible_ranges(db: sqlite3.Connection, scope: Scope) -> Ranges:
    """The rows of the lexical store `db` (the catalog attached as `cat`) that the scope may see."""
    return _ranges(db, *predicate(scope))


def _ranges(db: sqlite3.Connection, where: str, values: Sequence[object]) -> Ranges:
    runs = db.execute(
        "SELECT r.first, r.last FROM run r JOIN cat.knowledge_source_version v USING (version_id) "
        f"JOIN cat.knowledge_source s USING (source_id) WHERE {where} ORDER BY r.first",
        tuple(values),
    ).fetchall()
    return Ranges.merged(runs)


def eligible_sources(db: sqlite3.Connection, scope: Scope) -> set[str]:
    """Ids of the sources with a row that the scope may see."""
    where, values = predicate(scope)
    rows = db.execute(
        "SELECT DISTINCT s.source_id FROM run r JOIN cat.knowledge_source_version v USING (version_id) "
        f"JOIN cat.knowledge_source s USING (source_id) WHERE {where}",
        values,
    )
    return {source_id for (source_id,) in rows}
