"""Sessions as they may be looked at: by whom they were made for, or who sees no less.

Asked as a role, one finds the sessions of that role and of player, made at that spoiler level and story time or below,
that were kept from every tag that is forbidden. Of any other session it is as if it never was.
"""

from __future__ import annotations

import json

from canonry import readership
from canonry.contexts.journal import Journal, Opened
from canonry.eligibility import Scope
from canonry.errors import NotFound
from canonry.text import fold


def list_sessions(journal: Journal, scope: Scope, limit: int) -> list[Opened]:
    """The latest first."""
    return [one for one in _visible(journal, scope, "1", [], -1) if _is_open_to(one, scope)][:limit]


def find_session(journal: Journal, session_id: str, scope: Scope) -> Opened:
    """One of them; NotFound alike for one that never was and for one that may not be looked at."""
    found = [one for one in _visible(journal, scope, "session_id = ?", [session_id], 1) if _is_open_to(one, scope)]
    if not found:
        raise NotFound(
            f"session {session_id!r} is not among those of role {scope.role!r} at spoiler level {scope.spoiler_level}; "
            "`canonry session list` shows what is, --role and --spoiler-level name others"
        )
    return found[0]


def assembled(journal: Journal, session_id: str) -> dict[str, object] | None:
    """The context that a session was stopped with, as it was put together then; None while it is open."""
    stops = [event for event in journal.events(session_id) if event.kind == "stop"]
    if not stops:
        return None
    said: dict[str, object] = json.loads(journal.artifact(stops[-1].body["artifact"]))
    return said


def _visible(journal: Journal, scope: Scope, which: str, parameters: list[object], limit: int) -> list[Opened]:
    readable, values = readership.condition(scope)
    return journal.sessions(f"{readable} AND {which}", [*values, *parameters], limit)


def _is_open_to(session: Opened, scope: Scope) -> bool:
    return {*map(fold, scope.forbid_tags)} <= {*map(fold, session.forbid_tags)}
