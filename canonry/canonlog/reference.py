"""Whether every id that content, an origin or a log names is one of the world's; and quests that wait for each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from canonry.canonlog.document import pointer_to
from canonry.canonlog.problem import Problem

KINDS = {"locations": "location", "npcs": "npc", "quests": "quest", "items": "item"}  # folder, schema
Known = Mapping[str, Collection[str]]  # ids by folder
_Steps = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A part of a document that its schema has accepted, and where it stands."""

    shown: str  # the file
    steps: _Steps
    said: Mapping[str, Any]

    def problem(self, message: str, *steps: str | int) -> Problem:
        return Problem(self.shown, pointer_to(*self.steps, *steps), message)


def world_problems(world: Placed | None, entities: Mapping[str, list[Placed]], known: Known) -> Iterator[Problem]:
    """Names of what is not there, in the world's own content, and circles of quests."""
    if world:
        yield from _dangling(
            world, known, (("npcs", ("roster", at), id_) for at, id_ in enumerate(world.said["roster"]))
        )
    for kind, those in entities.items():
        for entity in those:
            yield from _dangling(entity, known, _NAMED_BY[kind](entity.said))
    yield from _circles(entities["quests"])


def origin_problems(origin: Placed, quests: Iterable[Placed], known: Known) -> Iterator[Problem]:
    """Names of what is not there, and a first quest that could not start yet."""
    said = origin.said
    start = said["start_quest_id"]
    named = [
        ("locations", ("start_location_id",), said["start_location_id"]),
        *(("npcs", ("disposition_overrides", id_), id_) for id_ in said["disposition_overrides"]),
        *(
            ("items", ("inventory_grants", at, "item_id"), g["item_id"])
            for at, g in enumerate(said["inventory_grants"])
        ),
        *([("quests", ("start_quest_id",), start)] if start is not None else []),
    ]
    yield from _dangling(origin, known, named)
    for quest in quests:
        if quest.said["id"] == start and quest.said["requires"]:
            first = ", ".join(quest.said["requires"])
            yield origin.problem(f"{start!r} requires {first} first, so no game can start with it", "start_quest_id")


def log_problems(log: Placed, state: Placed, known: Known) -> Iterator[Problem]:
    """Names of what is not there, in a log and the game state beside it; and who or what the log holds twice."""
    yield from repeated_ids(log, "party", "active_quests", "humiliations")
    yield from _dangling(
        log,
        known,
        (
            ("locations", ("location", "id"), log.said["location"]["id"]),
            *(("npcs", ("party", at, "id"), one["id"]) for at, one in enumerate(log.said["party"])),
            *(("quests", ("active_quests", at, "id"), one["id"]) for at, one in enumerate(log.said["active_quests"])),
        ),
    )
    yield from _dangling(state, known, (("items", ("inventory", id_), id_) for id_ in state.said["inventory"]))
    yield from _dangling(
        state, known, (("npcs", ("npc_dispositions", id_), id_) for id_ in state.said["npc_dispositions"])
    )


def repeated_ids(place: Placed, *fields: str) -> Iterator[Problem]:
    """Ids that stand twice in a list of entities."""
    for field in fields:
        seen: set[str] = set()
        for at, entity in enumerate(place.said[field]):
            if entity["id"] in seen:
                yield place.problem(f"is {entity['id']!r}, which stands there already", field, at, "id")
            seen.add(entity["id"])


def _dangling(place: Placed, known: Known, named: Iterable[tuple[str, _Steps, str]]) -> Iterator[Problem]:
    for kind, steps, id_ in named:
        if id_ not in known[kind]:
            yield place.problem(f"names {KINDS[kind]} {id_!r}, which is not in the world's {kind}", *steps)


def _named_by_location(said: Mapping[str, Any]) -> Iterator[tuple[str, _Steps, str]]:
    yield from (("locations", ("exits", at), id_) for at, id_ in enumerate(said["exits"]))
    for at, action in enumerate(said.get("actions", ())):
        if "needs_item_id" in action:
            yield "items", ("actions", at, "needs_item_id"), action["needs_item_id"]


def _named_by_npc(said: Mapping[str, Any]) -> Iterator[tuple[str, _Steps, str]]:
    yield "locations", ("location_id",), said["location_id"]


def _named_by_quest(said: Mapping[str, Any]) -> Iterator[tuple[str, _Steps, str]]:
    if "giver_id" in said:
        yield "npcs", ("giver_id",), said["giver_id"]
    if "location_id" in said:
        yield "locations", ("location_id",), said["location_id"]
    yield from (("quests", ("requires", at), id_) for at, id_ in enumerate(said["requires"]))


def _named_by_item(said: Mapping[str, Any]) -> Iterator[tuple[str, _Steps, str]]:
    yield from ()


_NAMED_BY = {
    "locations": _named_by_location, "npcs": _named_by_npc, "quests": _named_by_quest, "items": _named_by_item,
}  # fmt: skip


def _circles(quests: list[Placed]) -> Iterator[Problem]:
    """One problem for each circle of quests that require each other."""
    by_id = {quest.said["id"]: quest for quest in quests}
    requires = {id_: [r for r in quest.said["requires"] if r in by_id] for id_, quest in by_id.items()}
    free: set[str] = set()
    while found := {id_ for id_, first in requires.items() if id_ not in free and free.issuperset(first)}:
        free |= found
    bound = set(requires) - free
    while bound:
        path = [min(bound)]
        while (following := next(r for r in requires[path[-1]] if r not in free)) not in path:
            path.append(following)
        circle = path[path.index(following) :]
        if not bound.isdisjoint(circle):
            quest = by_id[circle[0]]
            shown = " → ".join((*circle, circle[0]))
            yield quest.problem(f"is a circle, so none of its quests can ever start: {shown}", "requires")
        bound -= {*path}
