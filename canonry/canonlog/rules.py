"""What an event may change, and how: the only place where a running game's log changes.

An event applies whole or is dropped with the place and the reason, and then nothing has changed. A model says things;
what it asks for in tags is granted or refused one by one. State is changed by code and the game master, and by the
improviser within the world's `event_changes`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from canonry.canonlog.schema import problems_in
from canonry.canonlog.story import Story
from canonry.canonlog.tags import ADJUST_DISPOSITION, FACT, BrokenTags, Tag, asks_anything, fact_key, read_tags

HUMILIATION_THRESHOLD = 5  # weight from which an embarrassment is remembered
LONGEST_FACT = 1000  # characters, as in the schema
MOST_OF_AN_ITEM = 10**12
_STEP = re.compile(r"([+-]?)([0-9]{1,3})")

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an event changed, a line each, and what it asked for in vain."""

    changes: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


class Dropped(Exception):
    """An event that does not apply: the pointer into the event, and the reason."""

    def __init__(self, pointer: str, reason: str) -> None:
        super().__init__(f"{pointer or 'the event'}: {reason}")
        self.pointer = pointer
        self.reason = reason


def check_event(event: object) -> None:
    """Dropped where an event is not what the schema of its type says, with everything that is wrong."""
    kind = event.get("type") if isinstance(event, dict) else None
    is_known = isinstance(kind, str) and kind in _RULES
    wrong = problems_in(event, f"event#/$defs/{kind}" if is_known else "event", "")
    if wrong:
        rest = "".join(f"; {problem.pointer or 'the event'} {problem.message}" for problem in wrong[1:])
        raise Dropped(wrong[0].pointer, wrong[0].message + rest)


def apply_event(story: Story, event: Event) -> Outcome:
    """Carry out an event that `check_event` has passed, with `turn` and `by` filled in; Dropped leaves all as it was."""
    before = story.turn
    turn = event["turn"]
    if turn < before:
        raise Dropped("/turn", f"is {turn}, but turn {before} has been played already; events come in order")
    if event["by"] == "improviser" and event["type"] not in ("say", *story.world.event_changes):
        allowed = ", ".join(story.world.event_changes) or "nothing"
        raise Dropped("/by", f"is the improviser, who may change {allowed} in this world and not {event['type']}")
    story.turn = turn
    try:
        return _RULES[event["type"]](story, event)
    except Dropped:
        story.turn = before
        raise


def _say(story: Story, event: Event) -> Outcome:
    speaker = event["by"]
    npc_id = speaker.removeprefix("npc:") if speaker.startswith("npc:") else ""
    if npc_id:
        _check_known(npc_id, story.world.npcs, "/by", "npc")
    if speaker == "player":
        asked = asks_anything(event["text"])
        return Outcome(refused=("a player's words record nothing, whatever tags they hold",) if asked else ())
    try:
        tags = read_tags(event["text"])
    except BrokenTags as broken:
        raise Dropped("/text", str(broken)) from None
    for tag in tags:
        if tag.name == FACT and len(tag.text) > LONGEST_FACT:
            raise Dropped("/text", f"holds a fact of {len(tag.text):,} characters; at most {LONGEST_FACT:,}, never cut")
    said = [_harvest(story, tag) if tag.name == FACT else _adjust(story, tag, npc_id) for tag in tags]
    return Outcome(
        tuple(line for granted, line in said if granted), tuple(line for granted, line in said if not granted)
    )


def _harvest(story: Story, tag: Tag) -> tuple[bool, str]:
    if not fact_key(tag.text):
        return False, f"[{FACT}:] is empty"
    if not story.establish(tag.text):
        return False, f"known already: {tag.text}"
    return True, f"fact: {tag.text}"


def _adjust(story: Story, tag: Tag, npc_id: str) -> tuple[bool, str]:
    """A move of the NPC that speaks: only where it has that move, and says by how much."""
    shown = f"[{tag.name}: {tag.text[:20]}]"
    if not npc_id:
        return False, f"{shown}: only an NPC adjusts its disposition"
    if ADJUST_DISPOSITION not in story.world.npcs[npc_id].available_moves:
        return False, f"{shown}: is not a move that {npc_id} has"
    step = _STEP.fullmatch(unicodedata.normalize("NFKC", tag.text).replace("\u2212", "-").replace(" ", ""))
    if not step:
        return False, f"{shown}: must be a whole number such as +5 or -10"
    return True, _adjusted(story, npc_id, int("".join(step.groups())))


def _adjusted(story: Story, npc_id: str, change: int) -> str:
    before = story.disposition_of(npc_id)
    return f"disposition of {story.world.npcs[npc_id].name}: {before} → {story.adjust_disposition(npc_id, change)}"


def _beat(story: Story, event: Event) -> Outcome:
    story.recent_events.append(event["text"])
    return Outcome((f"beat: {event['text']}",))


def _move(story: Story, event: Event) -> Outcome:
    target = event["location_id"]
    _check_known(target, story.world.locations, "/location_id", "location")
    here = story.here
    if target == here.id:
        raise Dropped("/location_id", f"is {target!r}, where the party is already")
    if target not in here.exits and event["by"] != "gm":
        raise Dropped(
            "/location_id", f"is {target!r}, to which {here.id!r} has no exit; only the gm moves a party freely"
        )
    story.move_to(target)
    return Outcome((f"location: {here.name} → {story.location.name}",))


def _disposition(story: Story, event: Event) -> Outcome:
    _check_known(event["npc_id"], story.world.npcs, "/npc_id", "npc")
    return Outcome((_adjusted(story, event["npc_id"], event["change"]),))


def _humiliation(story: Story, event: Event) -> Outcome:
    if event["weight"] < HUMILIATION_THRESHOLD:
        return Outcome(refused=(f"weight {event['weight']} is below {HUMILIATION_THRESHOLD}: nobody remembers it",))
    return Outcome((f"humiliation {story.humiliate(event['text'], event['weight'])}: {event['text']}",))


def _luck(story: Story, event: Event) -> Outcome:
    before, words = story.luck, story.player.luck_descriptor
    story.drift_luck(event["change"])
    now = story.player.luck_descriptor
    return Outcome((f"luck: {before} → {story.luck}{'' if now == words else f' ({now})'}",))


def _quest(story: Story, event: Event) -> Outcome:
    quest_id, status = event["quest_id"], event["status"]
    _check_known(quest_id, story.world.quests, "/quest_id", "quest")
    known = story.quests.get(quest_id)
    if known and known.status != "active":
        raise Dropped("/quest_id", f"is {quest_id!r}, which is {known.status} and stays so")
    if not known:
        if status != "active":
            raise Dropped("/status", f"is {status!r}, but {quest_id!r} has not been started; make it active first")
        complete = {quest.id for quest in story.quests.values() if quest.status == "complete"}
        missing = [id_ for id_ in story.world.quests[quest_id].requires if id_ not in complete]
        if missing:
            raise Dropped("/quest_id", f"is {quest_id!r}, which requires {', '.join(missing)} to be complete first")
    story.take_quest(quest_id, status, event.get("objective"))
    quest = story.quests[quest_id]
    return Outcome((f"quest {quest.name}: {quest.status} ({quest.objective})",))


def _item(story: Story, event: Event) -> Outcome:
    item_id, count = event["item_id"], event["qty"]
    _check_known(item_id, story.world.items, "/item_id", "item")
    before = story.inventory.get(item_id, 0)
    if not 0 <= before + count <= MOST_OF_AN_ITEM or not count:
        raise Dropped("/qty", f"is {count:,}, but {before:,} are held")
    story.inventory[item_id] = before + count
    if not story.inventory[item_id]:
        del story.inventory[item_id]
    return Outcome((f"{story.world.items[item_id].name}: {before:,} → {before + count:,}",))


def _summary(story: Story, event: Event) -> Outcome:
    replaced, fact = event["replaces"], event["fact"]
    for at, one in enumerate(replaced):
        if not story.knows(one):
            raise Dropped(f"/replaces/{at}", "is not an established fact; write it as it stands in the log")
    if story.knows(fact) and fact_key(fact) not in map(fact_key, replaced):
        raise Dropped("/fact", "is established already beside those that it would replace")
    story.summarise(replaced, fact)
    return Outcome((f"{len(replaced)} facts → {fact}",))


def _check_known(id_: str, there: Mapping[str, object], pointer: str, noun: str) -> None:
    if id_ not in there:
        raise Dropped(pointer, f"names {noun} {id_!r}, which is not in this world")


_RULES: dict[str, Callable[[Story, Event], Outcome]] = {
    "say": _say, "beat": _beat, "move": _move, "disposition": _disposition, "humiliation": _humiliation,
    "luck": _luck, "quest": _quest, "item": _item, "summary": _summary,
}  # fmt: skip
