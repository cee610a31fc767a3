"""`canonry context select` and `canonry session`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from canonry.campaign import Campaign
from canonry.canonlog.document import read_bytes
from canonry.cli.contexts import show_assembly
from canonry.cli.show import chosen, note, plural, print_json, printable, table
from canonry.contexts import blocks, task
from canonry.contexts.journal import Event, Opened, open_journal
from canonry.contexts.lines import drive
from canonry.contexts.reading import assembled, find_session, list_sessions
from canonry.contexts.session import Session, Verdict, begin, fold
from canonry.contexts.session import resume as rebuild
from canonry.contexts.task import parse_task
from canonry.eligibility import Scope
from canonry.errors import EmbedderError, NotFound, UsageError

if TYPE_CHECKING:
    from canonry.servers.endpoint import Endpoint

DEGRADED = 3
_LARGEST_GRANT = 10_000_000


def select(given: argparse.Namespace) -> int:
    model = _model(given.model) if given.model else None
    with driven(given) as session:
        for line in _staleness(session.take_up() if given.session else []):
            note(given, line)
        if model is None:
            drive(session, sys.stdin.buffer, _write)
        else:
            _drive_by_model(given, session, model)
    if session.state.stopped:
        return DEGRADED if session.assembly and session.assembly.left else 0
    note(
        given, f"session {session.session_id} is open; `canonry context select --session {session.session_id}` goes on"
    )
    return DEGRADED


def _model(spec: str) -> Endpoint:
    from canonry.contexts.local_model import open_model

    return open_model(spec)


def _drive_by_model(given: argparse.Namespace, session: Session, model: Endpoint) -> None:
    """Print what the model stopped with; where its server fails, the session is named first."""
    from canonry.contexts.local_model import drive_by_model

    try:
        drive_by_model(session, model)
    except EmbedderError:
        note(given, f"session {session.session_id} is open")
        raise
    finally:
        model.close()
    if session.assembly is not None:
        show_assembly(given, session.assembly)


@contextmanager
def driven(given: argparse.Namespace) -> Iterator[Session]:
    """The session that the options begin or name, with what they grant."""
    calls, tokens = _grants(given)
    if given.session and (given.save or given.blocks):
        raise UsageError(
            "a session keeps the game and the blocks that it was begun with; leave --save and --blocks out"
        )
    at = chosen(given)
    if given.session:
        with Campaign(at) as campaign, open_journal(at, write=True) as journal:
            session, warnings = rebuild(journal, campaign, given.session)
            for warning in warnings:
                note(given, warning)
            session.grant(calls, tokens)
            yield session
        return
    stated, supplied = _read_task(given)
    with Campaign(at) as campaign, open_journal(at, make=True) as journal:
        session = begin(journal, campaign, stated, save=given.save, blocks=supplied)
        session.grant(calls, tokens)
        yield session


def _read_task(given: argparse.Namespace) -> tuple[task.Task, str]:
    """The task, and the JSON of the blocks, which is checked."""
    stated = parse_task(read_bytes(given.task, str(given.task), task.MOST_BYTES), str(given.task))
    if not given.blocks:
        return stated, ""
    data = read_bytes(given.blocks, str(given.blocks), blocks.MOST_BYTES)
    blocks.parse_blocks(data, str(given.blocks))
    return stated, data.decode("utf-8-sig")


def list_all(given: argparse.Namespace) -> None:
    try:
        with open_journal(chosen(given)) as journal:
            found = list_sessions(journal, _reader(given), given.limit)
            states = [fold(journal.events(one.session_id)) for one in found]
    except NotFound:
        if not chosen(given).catalog.exists():
            raise
        found, states = [], []
    if given.json:
        print_json([_opened(one) | {"stopped": state.stopped} for one, state in zip(found, states, strict=True)])
        return
    rows = [
        (one.session_id, one.created_at[:19], one.role, state.calls, len(state.selected), "stopped" if state.stopped else "open")
        for one, state in zip(found, states, strict=True)
    ]  # fmt: skip
    if rows:
        print(table(("ID", "BEGUN (UTC)", "FOR", "CALLS", "SELECTED", "STATE"), rows, right=(3, 4)))
    note(given, f"{plural(len(rows), 'session')} for {given.role}, up to spoiler level {given.spoiler_level}.")


def show(given: argparse.Namespace) -> None:
    with open_journal(chosen(given)) as journal:
        opened = find_session(journal, given.id, _reader(given))
        events = journal.events(given.id)
        context = assembled(journal, given.id)
    if given.text:
        if context is None:
            raise NotFound(f"session {given.id} is still open; its context is put together when it stops")
        sys.stdout.write(str(context["text"]))
        return
    if given.json:
        print_json({**_opened(opened), "events": [event.as_json() for event in events], "context": context})
        return
    print(
        table(
            ("NO", "WHEN (UTC)", "WHAT", ""),
            [(e.number, e.recorded_at[:19], e.kind, _what(e)) for e in events],
            right=(0,),
        )
    )
    state = fold(events)
    note(given, f"{plural(len(state.selected), 'item')} selected; {'stopped' if state.stopped else 'open'}")


def resume(given: argparse.Namespace) -> int:
    calls, tokens = _grants(given)
    at = chosen(given)
    with Campaign(at) as campaign, open_journal(at, write=True) as journal:
        find_session(journal, given.id, _reader(given))
        session, warnings = rebuild(journal, campaign, given.id)
        verdicts = session.take_up()
        session.grant(calls, tokens)
    if given.json:
        print_json({
            "session": given.id, "stopped": session.state.stopped, "items": [one.as_json() for one in verdicts],
            "warnings": warnings, "left": session.left,
        })  # fmt: skip
    else:
        for verdict in verdicts:
            if verdict.failure is None:
                print(f"current: {printable(verdict.ref.id)}")
        for line in _staleness(verdicts):
            print(printable(line))
        left = session.left
        note(
            given,
            f"{left['calls']:,} calls and {left['tokens']:,} tokens left; {'stopped' if session.state.stopped else 'open'}",
        )
        for warning in warnings:
            note(given, warning)
    return DEGRADED if warnings or any(verdict.failure for verdict in verdicts) else 0


def _staleness(verdicts: list[Verdict]) -> list[str]:
    return [f"{type(one.failure).__name__}: {one.failure}" for one in verdicts if one.failure]


def _grants(given: argparse.Namespace) -> tuple[int, int]:
    for name, value in (("calls", given.more_calls), ("tokens", given.more_tokens)):
        if not 0 <= value <= _LARGEST_GRANT:
            raise UsageError(f"--more-{name} {value} must lie between 0 and {_LARGEST_GRANT:,}; give another")
    return given.more_calls, given.more_tokens


def _reader(given: argparse.Namespace) -> Scope:
    return Scope(given.role, given.spoiler_level, given.forbid_tags, story_time=given.story_time)


def _opened(one: Opened) -> dict[str, object]:
    return {
        "session": one.session_id, "created_at": one.created_at, "role": one.role, "spoiler_level": one.spoiler_level,
    }  # fmt: skip


def _what(event: Event) -> str:
    body = event.body
    if event.kind in ("select", "resumed"):
        stale = f", {len(body['stale'])} stale" if body.get("stale") else ""
        return f"{plural(len(body['selected']), 'item')}{stale}"
    if event.kind == "search":
        return f"{body['query']} ({body['mode']}, {plural(len(body['ids']), 'candidate')})"
    if event.kind == "granted":
        return f"{body['granted_calls']:,} calls, {body['granted_tokens']:,} tokens"
    return str(body.get("error") or ", ".join(body.get("ids", ())) or body.get("reason", ""))


def _write(answer: Mapping[str, object]) -> None:
    print(json.dumps(answer, ensure_ascii=False), flush=True)
