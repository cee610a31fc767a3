"""`canonry canon`: check content, start a game, apply events, look at the log, inject it."""

from __future__ import annotations

import argparse
import secrets
import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from canonry.canonlog.content import Content, load_content
from canonry.canonlog.document import read_bytes
from canonry.canonlog.injection import inject
from canonry.canonlog.new_game import create_character
from canonry.canonlog.play import Play, play, read_events
from canonry.canonlog.problem import InvalidData, Problem
from canonry.canonlog.rules import Outcome
from canonry.canonlog.save import Record, changing, create_save, new_save, read_save, replayed, undo, write_save
from canonry.cli.show import note, plural, print_json, printable, table
from canonry.errors import UsageError
from canonry.timestamps import now
from canonry.tokens import COUNTER

DEMO = "demo"
FAILED = 1
DEGRADED = 3
_HIGHEST_SEED = 2**63 - 1
_MOST_BYTES = 1 << 28  # of one file of events


def read_content(name: str) -> Content:
    """The content of a folder, or the world that comes with canonry."""
    if name == DEMO and not Path(name).exists():
        with as_file(files("canonry") / "demo_world") as folder:
            return load_content(folder)
    return load_content(Path(name))


def check(given: argparse.Namespace) -> int:
    try:
        content = read_content(given.content)
    except InvalidData as invalid:
        if given.json:
            print_json({"ok": False, "problems": _as_json(invalid.problems)})
        for problem in () if given.json else invalid.problems:
            print(printable(str(problem)))
        note(
            given,
            f"{plural(len(invalid.problems), 'problem')} in {given.content}; no game can start until they are mended.",
        )
        return FAILED
    world = content.world
    counts = {
        "locations": len(world.locations), "npcs": len(world.npcs), "quests": len(world.quests),
        "items": len(world.items), "origins": len(content.origins),
    }  # fmt: skip
    if given.json:
        print_json({"ok": True, "world": world.name, **counts, "problems": []})
    else:
        print(
            printable(
                f"{world.name}: {', '.join(f'{count} {kind}' for kind, count in counts.items())}. All is in order."
            )
        )
    return 0


def new_game(given: argparse.Namespace) -> None:
    seed = secrets.randbelow(2**32) if given.seed is None else given.seed
    if not 0 <= seed <= _HIGHEST_SEED:
        raise UsageError(f"seed {seed} is out of range; name one from 0 to {_HIGHEST_SEED}")
    content = read_content(given.content)
    start = create_character(content, given.origin, name=given.name, class_id=given.class_id, seed=seed)
    save = new_save(content.world, start)
    create_save(given.out, save, replace_old=given.force)
    if given.json:
        print_json({"save": str(given.out), "seed": seed, "log": save.log.as_json()})
    elif not given.quiet:
        player = save.log.player
        print(printable(
            f"{start.origin.display_name}: {player.name}, {player.class_id}, at {save.log.location.name}. "
            f"{player.luck_descriptor}.\nWrote {given.out} (seed {seed}). Next: canonry canon apply {given.out} EVENTS.jsonl"
        ))  # fmt: skip


def apply(given: argparse.Namespace) -> int:
    data = sys.stdin.buffer.read() if given.events == "-" else read_bytes(Path(given.events), given.events, _MOST_BYTES)
    with changing(given.save) as save:
        played = play(save, read_events(data, given.events), now())
        if played.applied:
            write_save(given.save, played.save)
    _show_play(given, played)
    if played.dropped:
        return DEGRADED if played.applied else FAILED
    return 0


def _show_play(given: argparse.Namespace, played: Play) -> None:
    if given.json:
        applied = [_record_as_json(record, outcome) for record, outcome in played.applied]
        print_json({"save": str(given.save), "applied": applied, "dropped": _as_json(played.dropped)})
        return
    for record, outcome in played.applied:
        for line in outcome.changes:
            print(printable(f"{record.number}. {line}"))
        for line in outcome.refused:
            note(given, f"{record.number}. refused: {line}")
    for problem in played.dropped:
        print(f"dropped: {printable(str(problem))}", file=sys.stderr)
    total = len(played.applied) + len(played.dropped)
    left = "" if played.applied or not played.dropped else " The save is unchanged."
    note(given, f"{len(played.applied):,} of {plural(total, 'event')} applied, {len(played.dropped):,} dropped.{left}")


def print_injection(given: argparse.Namespace) -> int:
    if given.budget is not None and given.budget < 1:
        raise UsageError(f"budget {given.budget} is no number of tokens; name one from 1")
    made = inject(read_save(given.save), given.role)
    over = max(0, made.tokens - given.budget) if given.budget is not None else 0
    parts = [{"part": part.name, "entries": part.entries, "tokens": part.tokens} for part in made.parts]
    if given.json:
        print_json({
            "role": made.role, "text": made.text, "tokens": made.tokens, "counter": COUNTER, "budget": given.budget,
            "over_by": over, "summarise": parts if over else [],
        })  # fmt: skip
    else:
        sys.stdout.write(made.text)
        note(given, f"{made.tokens:,} tokens ({COUNTER})")
    if not over:
        return 0
    dearest = ", ".join(f"{part.name} ({part.entries:,} entries, {part.tokens:,} tokens)" for part in made.parts[:3])
    note(
        given,
        f"over the budget of {given.budget:,} tokens by {over:,}; nothing was cut. To get under it, summarise {dearest}: "
        "a `summary` event puts one fact in the place of several",
    )
    return DEGRADED


def show_log(given: argparse.Namespace) -> None:
    save = read_save(given.save)
    _, outcomes = replayed(save)
    if given.json:
        print_json([_record_as_json(record, outcome) for record, outcome in outcomes])
        return
    rows = [
        (
            record.number, record.event["turn"], record.recorded_at[:19], record.event["by"],
            record.event["type"], _what(record, outcome),
        )
        for record, outcome in outcomes
    ]  # fmt: skip
    if not rows:
        note(given, "Nothing has happened in this game yet.")
        return
    print(table(("NO", "TURN", "RECORDED (UTC)", "BY", "TYPE", "WHAT"), rows, right=(0, 1)))


def undo_events(given: argparse.Namespace) -> None:
    with changing(given.save) as save:
        after, undone = undo(save, given.count, now(), discard_edits=given.force)
        write_save(given.save, after)
    if given.json:
        print_json({"save": str(given.save), "undone": [record.number for record in undone]})
        return
    for record in undone:
        note(given, f"undone: {record.number}. {record.event['type']} by {record.event['by']}")


def _what(record: Record, outcome: Outcome | None) -> str:
    if record.undone_at:
        return f"undone {record.undone_at[:19]}"
    if outcome is None:
        return "does not apply any more"
    return "; ".join((*outcome.changes, *(f"refused: {line}" for line in outcome.refused))) or "said, nothing recorded"


def _record_as_json(record: Record, outcome: Outcome | None) -> dict[str, Any]:
    return {
        "number": record.number, "recorded_at": record.recorded_at, "undone_at": record.undone_at,
        "event": dict(record.event), "changes": list(outcome.changes) if outcome else [],
        "refused": list(outcome.refused) if outcome else [],
    }  # fmt: skip


def _as_json(problems: tuple[Problem, ...]) -> list[dict[str, str]]:
    return [{"file": one.file, "pointer": one.pointer, "message": one.message} for one in problems]
