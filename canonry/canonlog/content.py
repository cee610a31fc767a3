"""A folder of content: world/ and origins/, read, checked and resolved before any game starts, all problems at once.

DIR/world/world.json                            the world itself
DIR/world/locations|npcs|quests|items/ID.json   one entity a file
DIR/origins/ID.json                             one origin a file

Anything else in the folder (fallback texts, notes) is not content and is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from canonry.canonlog.document import read_document
from canonry.canonlog.problem import InvalidData, Problem
from canonry.canonlog.reference import KINDS, Placed, origin_problems, world_problems
from canonry.canonlog.schema import problems_in
from canonry.canonlog.world import Origin, World
from canonry.errors import CanonryError, NotFound

_MOST_BYTES = 1_000_000  # of one file


@dataclass(frozen=True, slots=True)
class Content:
    """A world and the origins that a game in it may start from, by id; every name in them resolves."""

    world: World
    origins: Mapping[str, Origin]


def load_content(folder: Path) -> Content:
    """The content of a folder; InvalidData with every problem in every file, NotFound where there is no world."""
    if not (folder / "world").is_dir():
        raise NotFound(
            f"{folder}: has no folder `world`, so there is no content; name the folder that holds world/ and origins/"
        )
    reader = _Reader(folder)
    world = reader.read("world/world.json", "world")
    entities = {kind: reader.read_all(f"world/{kind}", f"world#/$defs/{schema}") for kind, schema in KINDS.items()}
    origins = reader.read_all("origins", "origin")
    known = {kind: {Path(name).stem for name in reader.names(f"world/{kind}")} for kind in KINDS}
    reader.problems += world_problems(world, entities, known)
    for origin in origins:
        reader.problems += origin_problems(origin, entities["quests"], known)
    if reader.problems or world is None:
        raise InvalidData(reader.problems)
    said = dict(world.said) | {kind: [entity.said for entity in those] for kind, those in entities.items()}
    found = [Origin.from_json(origin.said) for origin in origins]
    return Content(World.from_json(said), {origin.id: origin for origin in found})


class _Reader:
    """Reads files of one folder and collects what is wrong with them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.problems: list[Problem] = []

    def names(self, below: str) -> list[str]:
        """The JSON files of a folder, sorted; none where there is no such folder."""
        return sorted(
            path.name
            for path in (self._folder / below).glob("*.json")
            if path.is_file() and not path.name.startswith(".")
        )

    def read(self, name: str, schema: str) -> Placed | None:
        """One file, where its schema accepts it."""
        said: Any
        try:
            said = read_document(self._folder / name, name, _MOST_BYTES)
        except InvalidData as invalid:
            self.problems += invalid.problems
            return None
        except CanonryError as error:
            self.problems.append(Problem(name, "", str(error).removeprefix(f"{name}: ")))
            return None
        wrong = problems_in(said, schema, name)
        self.problems += wrong
        return None if wrong else Placed(name, (), said)

    def read_all(self, below: str, schema: str) -> list[Placed]:
        """The files of a folder that their schema accepts, each named after the id that it holds."""
        placed = []
        for name in self.names(below):
            one = self.read(f"{below}/{name}", schema)
            if one and one.said["id"] != Path(name).stem:
                self.problems.append(one.problem(f"is {one.said['id']!r}, but the file is named {name}", "id"))
            elif one:
                placed.append(one)
        return placed
