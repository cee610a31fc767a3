"""A game in play: what the rules change, turned into the log and the state when they are done."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from canonry.canonlog.log import MOST_RECENT, CanonLog, Humiliation, Place, Quest
from canonry.canonlog.luck import descriptor_of, kept_within
from canonry.canonlog.tags import fact_key
from canonry.canonlog.world import Location, World

STRONGEST = 100  # disposition, either way


@dataclass(frozen=True, slots=True)
class GameState:
    """What no model is shown: the number of luck, the inventory, where NPCs outside the party stand, the last turn."""

    turn: int
    luck: int
    inventory: Mapping[str, int]
    npc_dispositions: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Story:
    """A log and a game state, taken apart so that events can change them. `log` and `state` give them back."""

    def __init__(self, world: World, log: CanonLog, state: GameState) -> None:
        self.world = world
        self.turn = state.turn
        self.luck = state.luck
        self.location = log.location
        self.party = {companion.id: companion for companion in log.party}
        self.recent_events = deque(log.recent_events, maxlen=MOST_RECENT)
        self.quests = {quest.id: quest for quest in log.active_quests}
        self.humiliations = list(log.humiliations)
        self.inventory = dict(state.inventory)
        self.npc_dispositions = dict(state.npc_dispositions)
        self.player = log.player
        self._facts = list(log.established_facts)
        self._fact_keys = set(map(fact_key, self._facts))

    @property
    def log(self) -> CanonLog:
        return CanonLog(
            self.player,
            self.location,
            tuple(self.party.values()),
            tuple(self.recent_events),
            tuple(self._facts),
            tuple(self.quests.values()),
            tuple(self.humiliations),
        )

    @property
    def state(self) -> GameState:
        return GameState(
            self.turn,
            self.luck,
            dict(sorted(self.inventory.items())),
            dict(sorted(self.npc_dispositions.items())),
        )

    @property
    def here(self) -> Location:
        """The location as the world has it."""
        return self.world.locations[self.location.id]

    def knows(self, fact: str) -> bool:
        """Whether a fact that says the same is established."""
        return fact_key(fact) in self._fact_keys

    def establish(self, fact: str) -> bool:
        """Record a fact; False where it is known already."""
        if self.knows(fact):
            return False
        self._facts.append(fact)
        self._fact_keys.add(fact_key(fact))
        return True

    def summarise(self, replaced: Iterable[str], fact: str) -> None:
        """Put one fact where the first of several known ones stood, and take those away."""
        gone = set(map(fact_key, replaced))
        first = next(at for at, known in enumerate(self._facts) if fact_key(known) in gone)
        kept = [known for known in self._facts if fact_key(known) not in gone]
        self._facts = [*kept[:first], fact, *kept[first:]]
        self._fact_keys = set(map(fact_key, self._facts))

    def disposition_of(self, npc_id: str) -> int:
        if npc_id in self.party:
            return self.party[npc_id].disposition
        return self.npc_dispositions.get(npc_id, self.world.npcs[npc_id].disposition)

    def adjust_disposition(self, npc_id: str, change: int) -> int:
        """The new disposition, clamped to -100..100: of a companion in the log, of anyone else in the game state."""
        value = max(-STRONGEST, min(STRONGEST, self.disposition_of(npc_id) + change))
        if npc_id in self.party:
            self.party[npc_id] = replace(self.party[npc_id], disposition=value)
        else:
            self.npc_dispositions[npc_id] = value
        return value

    def drift_luck(self, change: int) -> None:
        """Move the number, and put its descriptor into the log."""
        self.luck = kept_within(self.luck + change)
        self.player = replace(self.player, luck_descriptor=descriptor_of(self.luck))

    def move_to(self, location_id: str) -> None:
        self.location = Place(location_id, self.world.locations[location_id].name)

    def take_quest(self, quest_id: str, status: str, objective: str | None) -> None:
        """Start a quest or change where it stands; without an objective it keeps the one it has."""
        plan, known = self.world.quests[quest_id], self.quests.get(quest_id)
        standing = known.objective if known else plan.objective
        self.quests[quest_id] = Quest(quest_id, plan.name, status, objective or standing)

    def humiliate(self, text: str, weight: int) -> str:
        """Append a humiliation; returns its id."""
        last = max((int(one.id.removeprefix("h_")) for one in self.humiliations), default=0)
        id_ = f"h_{last + 1:04}"
        self.humiliations.append(Humiliation(id_, text, weight, self.turn))
        return id_
