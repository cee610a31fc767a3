"""Which role may be given which item. A rule about privilege alone; statements about it can narrow it, never widen it.

lore, state, text    every role, as far as visibility, spoilers and perspective allow
note                 derived: not for a blind reader
trace                what a scene came to, safe for a writer: not for players, NPCs and blind readers
reasoning            of a manager, an author or a character: for narrator, writer and simulation
private_state        of a simulation: for simulation alone
answer_key           hidden gold, expected verdicts: for judge alone
"""

from __future__ import annotations

from dataclasses import replace

from canonry.contexts.item import Item
from canonry.eligibility import NARRATOR, Scope
from canonry.perspective import character, is_character, knows
from canonry.text import fold

WRITER, SIMULATION, BLIND_READER, JUDGE = "writer", "simulation", "blind_reader", "judge"
_TELLERS = (NARRATOR, WRITER, SIMULATION)
RECEIVERS: dict[str, tuple[str, ...]] = {
    "trace": (*_TELLERS, JUDGE),
    "reasoning": _TELLERS,
    "private_state": (SIMULATION,),
    "answer_key": (JUDGE,),
}  # a kind that is not here is for every role


def why_not(item: Item, scope: Scope) -> str:
    """What keeps an item from the scope's role, in words for who may see it all; empty where nothing does."""
    role = fold(scope.role)
    receivers = RECEIVERS.get(item.kind)
    if receivers is not None and role not in receivers:
        return f"{item.kind} is for {' and '.join(receivers)} alone"
    if item.roles and role not in map(fold, item.roles):
        return f"is for {', '.join(item.roles)}"
    if role == BLIND_READER and item.derived:
        return "is derived, and a blind reader inherits no reasoning"
    if item.hidden and role != NARRATOR and receivers is None:
        return "is hidden: for the narrator alone"
    if item.spoiler_level > scope.spoiler_level:
        return f"is of spoiler level {item.spoiler_level}"
    if {*map(fold, item.spoiler_tags)} & {*map(fold, scope.forbid_tags)}:
        return "carries a forbidden tag"
    if not knows(scope.role, scope.story_time, item.known_by, item.known_from):
        return "is not known to this character at that time"
    return ""


def as_told(item: Item, role: str) -> Item:
    """The item as it may be told to whoever acts for a role: who else is given it, or knows of it, is for those who tell."""
    if fold(role) in _TELLERS:
        return item
    roles = tuple(name for name in item.roles if fold(name) == fold(role))
    if not is_character(role):
        return replace(item, roles=roles, known_by=None, known_from=None)
    return replace(item, roles=roles, known_by=None if item.known_by is None else (character(role),))
