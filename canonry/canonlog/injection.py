"""What a role's call is given: the log, and beside it that role's own extras. The same save gives the same bytes.

narrator       the log alone
npc:ID         that NPC's persona, knowledge, moves and disposition
improviser     the changes that it may ask for
banter         the humiliations first, with how often each is still brought up
adjudicator    what is legal to do now
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from canonry.canonlog.log import Humiliation
from canonry.canonlog.save import Save
from canonry.canonlog.story import Story
from canonry.errors import NotFound, UsageError
from canonry.tokens import count_tokens

ROLES = ("narrator", "npc:ID", "improviser", "banter", "adjudicator")
HALF_LIFE_TURNS = 20  # after so many turns a humiliation is brought up half as often


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the text that grows, with its entries and what they cost."""

    name: str
    entries: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Injection:
    """The text for one call, and what it costs. `parts` is dearest first: what a summary would have to shorten."""

    role: str
    text: str
    tokens: int
    parts: tuple[Part, ...]


def inject(save: Save, role: str) -> Injection:
    """The text for a role; nothing is ever cut from it. UsageError for no such role, NotFound for no such NPC."""
    story = save.story()
    log = save.log.as_json()
    payload = {**_extras_before(story, role), "log": log, **_extras_after(story, role)}
    text = _as_text(payload) + "\n"
    grown = {
        f"log.{name}": entries for name, entries in log.items() if isinstance(entries, list)
    } | {name: entries for name, entries in payload.items() if isinstance(entries, list)}  # fmt: skip
    parts = [Part(name, len(entries), count_tokens(_as_text(entries))) for name, entries in grown.items() if entries]
    return Injection(role, text, count_tokens(text), tuple(sorted(parts, key=lambda part: (-part.tokens, part.name))))


def reference_frequency(humiliation: Humiliation, turn: int) -> float:
    """How often it is brought up, 0 to 1: by its weight, halved every HALF_LIFE_TURNS since."""
    age = max(0, turn - humiliation.turn)
    return round(humiliation.weight / 10 * math.pow(0.5, age / HALF_LIFE_TURNS), 2)


def legal_actions(story: Story) -> list[str]:
    """What can be done now: through which exits, with whom to talk, what the place offers to those with the means."""
    here, world = story.here, story.world
    present = {*story.party, *(npc.id for npc in world.npcs.values() if npc.location_id == here.id)}
    offered = [action.id for action in here.actions if action.needs_item_id in (None, *story.inventory)]
    return [
        *(f"go:{id_}" for id_ in here.exits),
        *(f"talk:{id_}" for id_ in sorted(present)),
        *(f"do:{id_}" for id_ in offered),
    ]


def _extras_before(story: Story, role: str) -> dict[str, Any]:
    if role != "banter":
        return {}
    rated = [(reference_frequency(one, story.turn), one) for one in story.humiliations]
    rated.sort(key=lambda pair: (-pair[0], pair[1].id))
    return {"humiliations_first": [{"id": one.id, "text": one.text, "frequency": rate} for rate, one in rated]}


def _extras_after(story: Story, role: str) -> dict[str, Any]:
    if role in ("narrator", "banter"):
        return {}
    if role == "improviser":
        return {"event_changes": list(story.world.event_changes)}
    if role == "adjudicator":
        return {"legal_actions": legal_actions(story)}
    kind, _, npc_id = role.partition(":")
    if kind != "npc":
        raise UsageError(f"role {role!r} is not one of {', '.join(ROLES)}; choose one of these")
    npc = story.world.npcs.get(npc_id)
    if npc is None:
        raise NotFound(f"there is no NPC {npc_id!r} in this world; name one by its id, as in npc:ID")
    return {
        "npc": {
            "id": npc.id,
            "name": npc.name,
            "persona": npc.persona,
            "disposition": story.disposition_of(npc.id),
            "knowledge": list(npc.knowledge),
            "available_moves": list(npc.available_moves),
        }
    }


def _as_text(value: object, levels: int = 3) -> str:
    """JSON with the fields of its outer objects and the entries of its lists on lines of their own, compact below."""
    if not value or not levels or not isinstance(value, (dict, list)) or (levels == 1 and isinstance(value, dict)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[\n" + ",\n".join(_as_text(entry, 0) for entry in value) + "\n]"
    fields = (f"{json.dumps(key)}: {_as_text(below, levels - 1)}" for key, below in value.items())
    return "{\n" + ",\n".join(fields) + "\n}"
