"""The canon log as a value: the shared part of every model call, in the order of its schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

SCHEMA_VERSION = 1
MOST_RECENT = 5  # events in the rolling window


@dataclass(frozen=True, slots=True)
class Player:
    name: str
    class_id: str
    luck_descriptor: str


@dataclass(frozen=True, slots=True)
class Place:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Companion:
    id: str
    name: str
    disposition: int  # -100 to 100


@dataclass(frozen=True, slots=True)
class Quest:
    id: str
    name: str
    status: str  # "active", "complete" or "failed"
    objective: str


@dataclass(frozen=True, slots=True)
class Humiliation:
    id: str
    text: str
    weight: int  # 1 to 10
    turn: int


@dataclass(frozen=True, slots=True)
class CanonLog:
    """Events oldest first, at most five; facts in the order in which they were established; humiliations append-only."""

    player: Player
    location: Place
    party: tuple[Companion, ...]
    recent_events: tuple[str, ...]
    established_facts: tuple[str, ...]
    active_quests: tuple[Quest, ...]
    humiliations: tuple[Humiliation, ...]

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> CanonLog:
        """A log from JSON that its schema has accepted."""
        return cls(
            Player(**said["player"]),
            Place(**said["location"]),
            tuple(Companion(**companion) for companion in said["party"]),
            tuple(said["recent_events"]),
            tuple(said["established_facts"]),
            tuple(Quest(**quest) for quest in said["active_quests"]),
            tuple(Humiliation(**humiliation) for humiliation in said["humiliations"]),
        )

    def as_json(self) -> dict[str, Any]:
        said = {"schema_version": SCHEMA_VERSION} | asdict(self)
        return {key: list(value) if isinstance(value, tuple) else value for key, value in said.items()}
