"""A game on disk: one JSON file, checked when it is read, written whole, by one writer at a time.

The file ends with a seal, a hash of all before it. Where the seal holds, nobody has touched the file since canonry wrote
it, and it is not held against its schemas again: a game of thousands of events is loaded for every model call. The seal
proves nothing to anyone who would forge it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from canonry.canonlog.document import parse_document, read_bytes
from canonry.canonlog.log import CanonLog
from canonry.canonlog.new_game import Start, begin
from canonry.canonlog.problem import InvalidData, Problem
from canonry.canonlog.reference import KINDS, Placed, log_problems, origin_problems, repeated_ids, world_problems
from canonry.canonlog.rules import Dropped, Event, Outcome, apply_event, check_event
from canonry.canonlog.schema import problems_in
from canonry.canonlog.story import GameState, Story
from canonry.canonlog.upgrade import LOGS, SAVES, Versions
from canonry.canonlog.world import Origin, World
from canonry.errors import NotFound, UsageError
from canonry.files import whole_file
from canonry.locking import holding

FORMAT = "canonry-save"
_MOST_BYTES = 1 << 30
_SEAL = re.compile(rb',\n "seal": "([0-9a-f]{64})"\n\}\n\Z')
_SEAL_BYTES = 100  # the last bytes of a file, among which its seal is


@dataclass(frozen=True, slots=True)
class Record:
    """An event that was applied: its place in the game from 1, when (UTC), and when it was undone, if it was."""

    number: int
    recorded_at: str
    event: Event
    undone_at: str | None = None


@dataclass(frozen=True, slots=True)
class Save:
    """A whole game. `records` holds every event that was ever applied, oldest first, undone ones too."""

    world: World
    start: Start
    log: CanonLog
    state: GameState
    records: tuple[Record, ...] = ()

    def story(self) -> Story:
        """The game as it stands, ready to be changed; this save stays as it is."""
        return Story(self.world, self.log, self.state)

    def with_story(self, story: Story, records: Iterable[Record]) -> Save:
        return replace(self, log=story.log, state=story.state, records=tuple(records))


def new_save(world: World, start: Start) -> Save:
    """The save of a game in which nothing has happened yet."""
    story = begin(world, start)
    return Save(world, start, story.log, story.state)


def read_save(path: Path, *, saves: Versions = SAVES, logs: Versions = LOGS) -> Save:
    """A save from its file, in the current versions; InvalidData with every problem and its pointer."""
    return _parse(read_bytes(path, str(path), _MOST_BYTES), str(path), saves, logs)


def write_save(path: Path, save: Save) -> None:
    """Write a save whole; equal saves give equal bytes."""
    body = json.dumps(_as_json(save), ensure_ascii=False, indent=1).removesuffix("\n}").encode("utf-8")
    with whole_file(path) as temporary:
        temporary.write_bytes(body + f',\n "seal": "{sha256(body).hexdigest()}"\n}}\n'.encode())


def create_save(path: Path, save: Save, *, replace_old: bool = False) -> None:
    """Write the save of a new game; UsageError where a file is there that may not be replaced."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file")
    with _held(path):
        if path.exists() and not replace_old:
            raise UsageError(f"{path} is there already; name another file, or write over it with --force")
        write_save(path, save)


@contextmanager
def changing(path: Path) -> Iterator[Save]:
    """The save at `path` for one who will write it: nobody else does meanwhile."""
    if not path.is_file():
        raise NotFound(f"{path}: there is no such file; `canonry canon new-game` makes a save")
    with _held(path):
        yield read_save(path)


def _held(path: Path) -> AbstractContextManager[None]:
    return holding(path.with_name(f".{path.name}.lock"), f"save {path}")


def replayed(save: Save) -> tuple[Story, list[tuple[Record, Outcome | None]]]:
    """The story as its events make it from the start, and what each did; None for one that is undone or applies no more."""
    story = begin(save.world, save.start)
    return story, [(record, _again(story, record)) for record in save.records]


def undo(save: Save, count: int, undone_at: str, *, discard_edits: bool = False) -> tuple[Save, tuple[Record, ...]]:
    """The save without its last `count` events in force, by replay of the others, and those events, newest first.

    The events are kept, marked as undone. UsageError where there are not so many, or where the log is not what its
    events make of it (it was edited by hand) and the edits may not be discarded.
    """
    standing = [record for record in save.records if record.undone_at is None]
    if not 1 <= count <= len(standing):
        there = f"name a number from 1 to {len(standing):,}" if standing else "there are none"
        raise UsageError(f"cannot undo {count:,} events: {there}")
    if not discard_edits and (now := replayed(save)[0]) and (now.log, now.state) != (save.log, save.state):
        raise UsageError(
            "the log or the game state is not what the events make of it, so it was edited by hand; "
            "undo replays the events and would lose that edit: --force does it all the same"
        )
    gone = {record.number for record in standing[-count:]}
    records = [replace(one, undone_at=undone_at) if one.number in gone else one for one in save.records]
    story, _ = replayed(replace(save, records=tuple(records)))
    return save.with_story(story, records), tuple(reversed(standing[-count:]))


def _again(story: Story, record: Record) -> Outcome | None:
    if record.undone_at is not None:
        return None
    try:
        return apply_event(story, record.event)
    except Dropped:
        return None


def _as_json(save: Save) -> dict[str, Any]:
    start = save.start
    return {
        "format": FORMAT,
        "schema_version": SAVES.current,
        "world": save.world.as_json(),
        "start": {
            "origin": start.origin.as_json(),
            "name": start.name,
            "class_id": start.class_id,
            "seed": start.seed,
            "luck_rolls": list(start.luck_rolls),
        },
        "log": save.log.as_json(),
        "game_state": save.state.as_json(),
        "events": [_record_as_json(record) for record in save.records],
    }


def _record_as_json(record: Record) -> dict[str, Any]:
    undone = {"undone_at": record.undone_at} if record.undone_at else {}
    return {"number": record.number, "recorded_at": record.recorded_at, **undone, "event": dict(record.event)}


def _parse(data: bytes, shown: str, saves: Versions, logs: Versions) -> Save:
    said = parse_document(data, shown)
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise InvalidData([Problem(shown, "", "is not a save of canonry; `canonry canon new-game` makes one")])
    current = saves.upgrade(said, shown)
    if isinstance(current.get("log"), dict):
        current = current | {"log": logs.upgrade(current["log"], shown, "/log")}
    if current != said or not _is_sealed(data):
        _check(current, shown)
    return _from_json(current)


def _is_sealed(data: bytes) -> bool:
    seal = _SEAL.search(data[-_SEAL_BYTES:])
    return seal is not None and sha256(data[: len(data) - len(seal[0])]).hexdigest().encode() == seal[1]


def _check(said: dict[str, Any], shown: str) -> None:
    problems = problems_in(said, "save", shown) or [*_dangling(said, shown), *_broken_events(said["events"], shown)]
    if problems:
        raise InvalidData(problems)


def _from_json(said: dict[str, Any]) -> Save:
    start = said["start"]
    return Save(
        World.from_json(said["world"]),
        Start(
            Origin.from_json(start["origin"]),
            start["name"],
            start["class_id"],
            start["seed"],
            tuple(start["luck_rolls"]),
        ),
        CanonLog.from_json(said["log"]),
        GameState(**said["game_state"]),
        tuple(Record(**record) for record in said["events"]),
    )


def _dangling(said: Mapping[str, Any], shown: str) -> Iterator[Problem]:
    world = said["world"]
    entities = {
        kind: [Placed(shown, ("world", kind, at), entity) for at, entity in enumerate(world[kind])] for kind in KINDS
    }
    known = {kind: {entity["id"] for entity in world[kind]} for kind in KINDS}
    yield from repeated_ids(Placed(shown, ("world",), world), *KINDS)
    yield from world_problems(Placed(shown, ("world",), world), entities, known)
    yield from origin_problems(Placed(shown, ("start", "origin"), said["start"]["origin"]), entities["quests"], known)
    yield from log_problems(
        Placed(shown, ("log",), said["log"]), Placed(shown, ("game_state",), said["game_state"]), known
    )


def _broken_events(records: list[dict[str, Any]], shown: str) -> Iterator[Problem]:
    for at, record in enumerate(records):
        try:
            check_event(record["event"])
            if missing := {"turn", "by"} - record["event"].keys():
                raise Dropped("", f"lacks {' and '.join(sorted(missing))}")
        except Dropped as dropped:
            yield Problem(shown, f"/events/{at}/event{dropped.pointer}", dropped.reason)
        if record["number"] != at + 1:
            yield Problem(shown, f"/events/{at}/number", f"is {record['number']}; events count from 1 without a gap")
