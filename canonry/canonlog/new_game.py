"""A new game, in the order of its construction: build constraints, luck, the player, and only then the log."""

from __future__ import annotations

from dataclasses import dataclass

from canonry.canonlog.content import Content
from canonry.canonlog.log import CanonLog, Companion, Place, Player
from canonry.canonlog.luck import descriptor_of, luck_of, roll_luck
from canonry.canonlog.schema import problems_in
from canonry.canonlog.story import GameState, Story
from canonry.canonlog.world import Origin, World
from canonry.errors import NotFound, UsageError


@dataclass(frozen=True, slots=True)
class Start:
    """How a game began: with the world, all that its first log is made from."""

    origin: Origin
    name: str
    class_id: str
    seed: int
    luck_rolls: tuple[int, ...]


def create_character(content: Content, origin_id: str, *, name: str, class_id: str, seed: int) -> Start:
    """The player's choices against the origin's build constraints, and the rolls for luck.

    UsageError for a class that the origin does not allow or a name that no log can hold, NotFound for no such origin.
    """
    origin = content.origins.get(origin_id)
    if origin is None:
        raise NotFound(
            f"there is no origin {origin_id!r} in this content; there are {', '.join(content.origins) or 'none'}"
        )
    if class_id not in origin.allowed_classes:
        raise UsageError(
            f"class {class_id!r} is not allowed by origin {origin_id!r} (origins/{origin_id}.json#/build_constraints/"
            f"allowed_classes); choose {' or '.join(origin.allowed_classes)}"
        )
    if wrong := problems_in(name, "canon-log#/properties/player/properties/name", "name"):
        raise UsageError(f"the player's {wrong[0]}; choose another name")
    return Start(origin, name, class_id, seed, roll_luck(seed))


def begin(world: World, start: Start) -> Story:
    """The story before its first event: the same for the same world and start, whenever it is asked for."""
    origin = start.origin
    luck = luck_of(start.luck_rolls, origin.luck_modifier)
    dispositions = {npc.id: npc.disposition for npc in world.npcs.values()} | dict(origin.disposition_overrides)
    party = tuple(Companion(id_, world.npcs[id_].name, dispositions[id_]) for id_ in world.roster)
    log = CanonLog(
        player=Player(start.name, start.class_id, descriptor_of(luck)),
        location=Place(origin.start_location_id, world.locations[origin.start_location_id].name),
        party=party,
        recent_events=origin.situation,
        established_facts=(),
        active_quests=(),
        humiliations=(),
    )
    others = {id_: value for id_, value in sorted(dispositions.items()) if id_ not in world.roster}
    story = Story(world, log, GameState(0, luck, {}, others))
    granted = [world.items[item_id].fact for item_id, _ in origin.inventory_grants]
    for fact in (*origin.opening_facts, *world.facts, *granted):
        if fact:
            story.establish(fact)
    if origin.start_quest_id:
        story.take_quest(origin.start_quest_id, "active", None)
    for item_id, count in origin.inventory_grants:
        story.inventory[item_id] = story.inventory.get(item_id, 0) + count
    return story
