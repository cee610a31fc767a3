"""Who may read what was once made for somebody: packs, contexts, sessions.

Whom it was made for, or who sees no less: asked as a role, up to a spoiler level and a story time, one reads what was made
for that role and for player, at that level or below, at that time or before.
"""

from __future__ import annotations

from canonry.eligibility import Scope

BEFORE_ALL = -1


def told_until(scope: Scope) -> int:
    """The scope's story time; -1 where none was said, which is before all."""
    return BEFORE_ALL if scope.story_time is None else scope.story_time


def condition(
    scope: Scope, *, level: str = "spoiler_level", story_time: str = "story_time"
) -> tuple[str, list[object]]:
    """The rule as SQL over a row's `role`, with its values; `level` and `story_time` are what the row says of the others."""
    sql = f"lower(role) IN (lower(?), 'player') AND {level} <= ? AND ifnull({story_time}, {BEFORE_ALL}) <= ?"
    return sql, [scope.role, scope.spoiler_level, told_until(scope)]
