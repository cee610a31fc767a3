"""Applying a file of events to a save: each line an event, invalid ones dropped with their place and reason."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from canonry.canonlog.document import parse_document
from canonry.canonlog.problem import InvalidData, Problem
from canonry.canonlog.rules import Dropped, Event, Outcome, apply_event, check_event
from canonry.canonlog.save import Record, Save


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an events file: where it stands, and its event or what is wrong with it."""

    place: str
    event: Event | None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Play:
    """What became of some events: the save after them, the new records with what each did, and what was dropped why."""

    save: Save
    applied: tuple[tuple[Record, Outcome], ...]
    dropped: tuple[Problem, ...]


def read_events(data: bytes, shown: str) -> Iterator[Line]:
    """The lines of an events file that are not blank, in order."""
    for number, line in enumerate(data.removeprefix(BOM_UTF8).split(b"\n"), 1):
        if not line.strip():
            continue
        place = f"{shown}:{number}"
        try:
            event = parse_document(line, place)
            check_event(event)
        except InvalidData as invalid:
            yield Line(place, None, invalid.problems)
        except Dropped as dropped:
            yield Line(place, None, (Problem(place, dropped.pointer, dropped.reason),))
        else:
            yield Line(place, event)


def play(save: Save, lines: Iterable[Line], recorded_at: str) -> Play:
    """Apply events in order. The save that was given is not changed, and is returned as it is where none applied."""
    story = save.story()
    applied: list[tuple[Record, Outcome]] = []
    dropped: list[Problem] = []
    for line in lines:
        if line.event is None:
            dropped += line.problems
            continue
        event = {"type": "", "turn": story.turn, "by": "code"} | dict(line.event)
        try:
            outcome = apply_event(story, event)
        except Dropped as reason:
            dropped.append(Problem(line.place, reason.pointer, reason.reason))
        else:
            applied.append((Record(len(save.records) + len(applied) + 1, recorded_at, event), outcome))
    after = save.with_story(story, (*save.records, *(record for record, _ in applied))) if applied else save
    return Play(after, tuple(applied), tuple(dropped))
