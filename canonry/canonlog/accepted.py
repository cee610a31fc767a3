"""The log as accepted story state: what a search for lore may take from a running game, for one role."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from canonry.canonlog.save import Save
from canonry.context import Name, padded
from canonry.text import fold, index_terms

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
    texts = (*log.established_facts, *log.recent_events, *(quest.objective for quest in active))
    names = [
        *(one.name for one in world.npcs.values()),
        *(one.name for one in world.locations.values()),
        *(one.name for one in world.items.values()),
    ]
    party = tuple(companion.name for companion in log.party)
    return AcceptedState(
        location=log.location.name,
        party=party,
        active_quests=tuple(quest.name for quest in active),
        objectives=tuple(quest.objective for quest in active),
        entities=tuple(dict.fromkeys((log.location.name, *party, *named_in(names, texts)))),
        facts=log.established_facts,
        recent_events=log.recent_events,
        knowledge=npc.knowledge if npc else (),
    )


def named_in(labels: Iterable[str], texts: Iterable[str]) -> list[str]:
    """The names that the texts hold, in the order given: with their article or without, as a search finds names.

    They are words of their own in any script, in any of their cases; inside an unspaced run they stand as they are.
    """
    terms = padded(*map(_terms, texts))
    return [label for label in labels if _name(label.casefold().removeprefix("the ")).is_in(terms)]


def _name(label: str) -> Name:
    name = Name.of(label)
    return replace(name, terms=tuple(_terms(label).split()[: len(name.terms)]))


def _terms(text: str) -> str:
    """Index terms, with the double letter that a stem may have lost: it tells Анна from Ан."""
    return " ".join(_with_double(index_terms(word), word) for word in fold(text).split())


def _with_double(term: str, word: str) -> str:
    doubled = term + term[-1:]
    return doubled if doubled in word else term
