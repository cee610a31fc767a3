"""Who may see what of a campaign, worked out twice: by the eligibility that every search takes, and by each passage's marks.

A passage is allowed to an asker only where both agree, so that a mistake in the predicate is found too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from canonry.campaign import Campaign
from canonry.catalog import Catalog
from canonry.eligibility import HIGHEST_LEVEL, NARRATOR, Scope
from canonry.errors import UsageError
from canonry.retrieval import Passage
from canonry.text import fold

Key = tuple[str, str]  # version id, chunk id
ROLES = ("player", NARRATOR)


@dataclass(frozen=True, slots=True)
class Sight:
    """What one asker may see, and what is kept from him, in the order of the index."""

    scope: Scope
    allowed: Mapping[Key, Passage]
    forbidden: Mapping[Key, Passage]

    @property
    def asker(self) -> str:
        return f"{self.scope.role} at level {self.scope.spoiler_level}"


def key(passage: Passage) -> Key:
    """What tells a passage from every other: equal chunk ids may stand in several sources."""
    return passage.source_version_id, passage.chunk_id


def sights(campaign: Campaign, levels: Sequence[int] | None = None, roles: Sequence[str] = ROLES) -> list[Sight]:
    """What each role sees at each level, lowest level first; without the askers from whom nothing is kept.

    `levels` None takes level 0 and every level that a live passage has. UsageError for a role or level that cannot be.
    """
    with closing(Catalog.open(campaign.at.catalog)) as catalog:
        roles_of = {source.source_id: {*map(fold, source.facts.allowed_roles)} for source in catalog.sources()}
    named = {role for allowed in roles_of.values() for role in allowed}
    everything = _everything(campaign, [*roles, NARRATOR, *sorted(named)])
    if levels is None:
        levels = sorted({0, *(passage.spoiler_level for passage in everything.values())})
    if not levels or not roles:
        raise UsageError("there is nobody to ask as: name at least one level and one role")
    scopes = [Scope(role, level) for level in sorted(set(levels)) for role in dict.fromkeys(roles)]
    found = [_sight(campaign, scope, everything, roles_of) for scope in scopes]
    return [sight for sight in found if sight.forbidden]


def _everything(campaign: Campaign, roles: Iterable[str]) -> dict[Key, Passage]:
    found: dict[Key, Passage] = {}
    for role in dict.fromkeys(roles):
        found |= {key(passage): passage for passage in campaign.survey(Scope(role, HIGHEST_LEVEL), list)}
    return found


def _sight(
    campaign: Campaign, scope: Scope, everything: Mapping[Key, Passage], roles_of: Mapping[str, set[str]]
) -> Sight:
    eligible = campaign.survey(scope, list)
    allowed = {
        key(passage): passage
        for passage in eligible
        if not is_marked_secret(passage, scope, roles_of.get(passage.source_id, set()))
    }
    return Sight(scope, allowed, {at: passage for at, passage in everything.items() if at not in allowed})


def is_marked_secret(passage: Passage, scope: Scope, roles: set[str]) -> bool:
    """Whether a passage's own marks keep it from an asker. `roles`, folded, are those its source is for; empty for all."""
    return (
        passage.spoiler_level > scope.spoiler_level
        or (passage.visibility == "hidden" and scope.role != NARRATOR)
        or bool(roles and fold(scope.role) not in roles)
    )
