"""The log as accepted story state: what a search for lore may take from a running game, for one role."""

from __future__ import annotations

import re
from dataclasses import dataclass

from canonry.canonlog.save import Save

_NPC = "npc:"


@dataclass(frozen=True, slots=True)
class AcceptedState:
    """Names as the log has them. `knowledge` is the role's own and hidden from every other; it is empty but for an NPC.

    `entities` are the names around the question: the place, the party, whoever and whatever of the world the log's
    texts name. Nothing that the log does not say is among them.
    """

    location: str
    party: tuple[str, ...]
    active_quests: tuple[str, ...]  # those that are neither complete nor failed
    objectives: tuple[str, ...]  # of these quests, in the same order
    entities: tuple[str, ...]
    facts: tuple[str, ...]  # established, oldest first
    recent_events: tuple[str, ...]  # oldest first
    knowledge: tuple[str, ...]


def accepted_state(save: Save, role: str = "player") -> AcceptedState:
    """What is accepted in this game, with what `role` (player, narrator, npc:<id>, …) knows beside it."""
    log, world = save.log, save.world
    active = [quest for quest in log.active_quests if quest.status == "active"]
    npc = world.npcs.get(role.removeprefix(_NPC)) if role.startswith(_NPC) else None
    texts = "\n".join((*log.established_facts, *log.recent_events, *(quest.objective for quest in active))).casefold()
    names = [
        *(one.name for one in world.npcs.values()),
        *(one.name for one in world.locations.values()),
        *(one.name for one in world.items.values()),
    ]
    named = [name for name in names if _is_named(name, texts)]
    party = tuple(companion.name for companion in log.party)
    return AcceptedState(
        location=log.location.name,
        party=party,
        active_quests=tuple(quest.name for quest in active),
        objectives=tuple(quest.objective for quest in active),
        entities=tuple(dict.fromkeys((log.location.name, *party, *named))),
        facts=log.established_facts,
        recent_events=log.recent_events,
        knowledge=npc.knowledge if npc else (),
    )


def _is_named(name: str, texts: str) -> bool:
    """Whether folded texts hold a name as words of its own, with its article or without."""
    bare = re.escape(name.casefold().removeprefix("the "))
    return re.search(rf"(?<![a-z0-9]){bare}(?![a-z0-9])", texts) is not None
