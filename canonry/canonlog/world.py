"""World content and origins as values: static, referenced by id, never written to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar


@dataclass(frozen=True, slots=True)
class Action:
    """Something that can be done at a location; with `needs_item_id`, only by whoever holds that item."""

    id: str
    name: str
    needs_item_id: str | None = None


@dataclass(frozen=True, slots=True)
class Location:
    id: str
    name: str
    description: str
    exits: tuple[str, ...]
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class Npc:
    """A person of the world. `knowledge` is for this NPC's own call alone; `disposition` is towards the player."""

    id: str
    name: str
    persona: str
    location_id: str
    disposition: int
    knowledge: tuple[str, ...]
    available_moves: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuestPlan:
    """A quest as the world defines it. `requires` are quests that must be complete before it can start."""

    id: str
    name: str
    objective: str
    requires: tuple[str, ...]
    giver_id: str | None = None
    location_id: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """`fact` makes it a narrative item: it becomes an established fact where an origin grants it."""

    id: str
    name: str
    fact: str | None = None


Entity = TypeVar("Entity", Location, Npc, QuestPlan, Item)


@dataclass(frozen=True, slots=True)
class World:
    """Everything that is authored once. `roster` are the companions of every game, `facts` are true in all of them."""

    name: str
    roster: tuple[str, ...]
    facts: tuple[str, ...]
    event_changes: tuple[str, ...]  # types of event that the improviser may ask for
    locations: Mapping[str, Location]
    npcs: Mapping[str, Npc]
    quests: Mapping[str, QuestPlan]
    items: Mapping[str, Item]

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> World:
        """A world from JSON that its schema has accepted: world.json's keys and a list under each folder's name."""
        return cls(
            said["name"],
            tuple(said["roster"]),
            tuple(said["facts"]),
            tuple(said["event_changes"]),
            _by_id(_location(entity) for entity in said["locations"]),
            _by_id(Npc(**_with_tuples(entity)) for entity in said["npcs"]),
            _by_id(QuestPlan(**_with_tuples(entity)) for entity in said["quests"]),
            _by_id(Item(**entity) for entity in said["items"]),
        )

    def as_json(self) -> dict[str, Any]:
        """What `from_json` takes; entities in order of their ids."""
        entities: dict[str, Mapping[str, Any]] = {
            "locations": self.locations, "npcs": self.npcs, "quests": self.quests, "items": self.items,
        }  # fmt: skip
        return {
            "schema_version": 1, "name": self.name, "roster": list(self.roster), "facts": list(self.facts),
            "event_changes": list(self.event_changes),
        } | {kind: [_stated(entity) for entity in those.values()] for kind, those in entities.items()}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a game starts and in what situation. `start_quest_id` may be null; `inventory_grants` are (item id, quantity)."""

    id: str
    display_name: str
    description: str
    start_location_id: str
    situation: tuple[str, ...]
    opening_facts: tuple[str, ...]
    disposition_overrides: Mapping[str, int]
    inventory_grants: tuple[tuple[str, int], ...]
    start_quest_id: str | None
    allowed_classes: tuple[str, ...]
    luck_modifier: int

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Origin:
        """An origin from JSON that its schema has accepted."""
        return cls(
            said["id"],
            said["display_name"],
            said["description"],
            said["start_location_id"],
            tuple(said["situation"]),
            tuple(said["opening_facts"]),
            dict(said["disposition_overrides"]),
            tuple((grant["item_id"], grant["qty"]) for grant in said["inventory_grants"]),
            said["start_quest_id"],
            tuple(said["build_constraints"]["allowed_classes"]),
            said["build_constraints"]["luck_modifier"],
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "schema_version": 1,
            "id": self.id,
            "display_name": self.display_name,
            "description": self.description,
            "start_location_id": self.start_location_id,
            "situation": list(self.situation),
            "opening_facts": list(self.opening_facts),
            "disposition_overrides": dict(self.disposition_overrides),
            "inventory_grants": [{"item_id": item, "qty": count} for item, count in self.inventory_grants],
            "start_quest_id": self.start_quest_id,
            "build_constraints": {
                "allowed_classes": list(self.allowed_classes),
                "luck_modifier": self.luck_modifier,
            },
        }


def _location(said: Mapping[str, Any]) -> Location:
    actions = tuple(Action(**action) for action in said.get("actions", ()))
    return Location(**(_with_tuples(said) | {"actions": actions}))


def _with_tuples(said: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in said.items()}


def _by_id(entities: Iterable[Entity]) -> dict[str, Entity]:
    return {entity.id: entity for entity in sorted(entities, key=lambda entity: entity.id)}


def _stated(entity: Location | Npc | QuestPlan | Item) -> dict[str, Any]:
    """An entity as JSON without the keys that were left out."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(below) for key, below in value.items() if below is not None}
        return [plain(below) for below in value] if isinstance(value, tuple) else value

    stated: dict[str, Any] = plain(asdict(entity))
    return stated
