"""Who may see what: the one predicate that every search leg takes, applied before anything is ranked.

Authority (class), relevance (scores) and privilege (role, visibility, spoiler level) are three things; this module
knows the third, with the scope: enabled, live at the time asked for, of a class and type that was asked for.
The defaults are the strict ones: level 0, role player, nothing hidden.
"""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass

from canonry.errors import UsageError
from canonry.lexical import Ranges
from canonry.records import CLASSES
from canonry.text import fold

NARRATOR = "narrator"
HIGHEST_LEVEL = 1_000_000
_ROLE = re.compile(r"[a-z][a-z0-9_]{0,31}(:[\w.-]{1,64})?\Z")


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
    as_of: str | None = None  # as canonry.catalog.parse_instant gives it

    def __post_init__(self) -> None:
        if not _ROLE.match(self.role):
            raise UsageError(
                f"role {self.role!r} is not usable: take player, narrator, writer, simulation, blind_reader or npc:<id>"
            )
        if not 0 <= self.spoiler_level <= HIGHEST_LEVEL:
            raise UsageError(
                f"spoiler level {self.spoiler_level} must lie between 0, the safe level, and {HIGHEST_LEVEL}; give another"
            )
        for name in self.classes:
            if name not in CLASSES:
                raise UsageError(f"class {name!r} is unknown; choose from {', '.join(CLASSES)}")


def predicate(scope: Scope) -> tuple[str, list[object]]:
    """SQL over `run` r, `knowledge_source` s and `knowledge_source_version` v that is true for what may be seen."""
    clauses = ["s.enabled = 1", "max(s.spoiler_level, r.spoiler_level) <= ?"]
    values: list[object] = [scope.spoiler_level]
    if scope.role != NARRATOR:
        clauses += ["s.visibility = 'normal'", "r.hidden = 0"]
    clauses.append(f"(NOT {_labelled('allowed_role')} OR {_labelled('allowed_role', 1)})")
    values.append(fold(scope.role))
    if scope.as_of is None:
        clauses.append("v.valid_to IS NULL")
    else:
        clauses += ["v.valid_from <= ?", "(v.valid_to IS NULL OR v.valid_to > ?)"]
        values += [scope.as_of, scope.as_of]
    if scope.forbid_tags:
        marks = ", ".join("?" * len(scope.forbid_tags))
        clauses.append(f"NOT {_labelled('spoiler_tag', len(scope.forbid_tags))}")
        clauses.append(f"NOT EXISTS (SELECT 1 FROM json_each(r.spoiler_tags) WHERE value IN ({marks}))")
        values += [*map(fold, scope.forbid_tags), *map(fold, scope.forbid_tags)]
    for column, wanted in (
        ("s.class", scope.classes),
        ("s.source_type", scope.source_types),
        ("s.source_id", scope.sources),
    ):
        if wanted:
            clauses.append(f"{column} IN ({', '.join('?' * len(wanted))})")
            values += wanted
    for kind, wanted in (("tag", scope.tags), ("entity", scope.entities)):
        if wanted:
            clauses.append(_labelled(kind, len(wanted)))
            values += map(fold, wanted)
    return " AND ".join(clauses), values


def _labelled(kind: str, values: int = 0) -> str:
    """EXISTS over the labels of s of that kind; of any value, or of one of that many parameters."""
    among = f" AND l.folded IN ({', '.join('?' * values)})" if values else ""
    return f"EXISTS (SELECT 1 FROM cat.source_label l WHERE l.source_id = s.source_id AND l.kind = '{kind}'{among})"


def eligible_ranges(db: sqlite3.Connection, scope: Scope) -> Ranges:
    """The rows of the lexical store `db` (the catalog attached as `cat`) that the scope may see."""
    where, values = predicate(scope)
    runs = db.execute(
        "SELECT r.first, r.last FROM run r JOIN cat.knowledge_source_version v USING (version_id) "
        f"JOIN cat.knowledge_source s USING (source_id) WHERE {where} ORDER BY r.first",
        values,
    ).fetchall()
    return Ranges.merged(runs)
