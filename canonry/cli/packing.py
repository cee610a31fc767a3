"""`canonry pack` and `canonry history`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from canonry.campaign import Campaign
from canonry.cli.asking import DEGRADED, context_of, question, who_asked
from canonry.cli.show import chosen, note, print_json, printable, table
from canonry.context import QueryContext
from canonry.eligibility import Scope
from canonry.errors import UsageError
from canonry.history import list_records, record_pack, show_record
from canonry.pack import Item, Limits, Pack, build_pack, only_in
from canonry.timestamps import parse_instant

_OMITTED_SHOWN = 10


def pack(given: argparse.Namespace) -> int:
    if given.diff is not None:
        return _diff(given)
    made = _build(given, _scope(given, given.role or "player"))
    if not given.no_record:
        made = record_pack(chosen(given), made)
    if given.json or given.format == "json":
        print_json(made.as_json())
    else:
        sys.stdout.write(made.text)
    _note_rest(given, made)
    return DEGRADED if made.degraded else 0


def list_history(given: argparse.Namespace) -> None:
    records = list_records(chosen(given), _reading(given), given.limit)
    if given.json:
        print_json([record.as_json() for record in records])
        return
    rows = [
        (record.record_id, record.created_at[:19], record.role, record.supplied["total_tokens"], record.query)
        for record in records
    ]
    print(table(("ID", "MADE (UTC)", "FOR", "TOKENS", "QUESTION"), rows, right=(0, 3)))
    note(
        given,
        f"Packs for {given.role}, up to spoiler level {given.spoiler_level}; --role and --spoiler-level name others.",
    )


def show_history(given: argparse.Namespace) -> None:
    record = show_record(chosen(given), given.id, _reading(given))
    if given.json:
        print_json(record.as_json())
        return
    sys.stdout.write(str(record.supplied["text"]))
    note(given, f"made {record.created_at[:19]} UTC for {record.role}: {_line(record.query)}")


def _reading(given: argparse.Namespace) -> Scope:
    return Scope(given.role, given.spoiler_level, given.forbid_tags, story_time=given.story_time)


def _scope(given: argparse.Namespace, role: str) -> Scope:
    return Scope(
        role, given.spoiler_level, given.forbid_tags, given.classes, given.source_types, given.tags, given.entities,
        given.sources, parse_instant(given.as_of) if given.as_of else None, given.story_time,
    )  # fmt: skip


def _build(given: argparse.Namespace, scope: Scope) -> Pack:
    given.text = question(given)  # standard input is read once
    limits = Limits(given.budget, given.budget_canon, given.budget_reference, given.budget_inspiration)
    state, context = _read_state(given.state) if given.state else "", context_of(given)
    if given.save is not None:
        state, context = _with_game(given.save, scope.role, state, context)
    with Campaign(chosen(given)) as campaign:
        return build_pack(
            campaign,
            given.text,
            scope=scope,
            limits=limits,
            mode=given.mode,
            context=context,
            pins=given.pins,
            state=state,
            judge=given.judge,
        )


def _with_game(save: Path, role: str, state: str, context: QueryContext) -> tuple[str, QueryContext]:
    """The state and the context with what a running game says, as far as the role knows it."""
    from canonry.canonlog.accepted import accepted_state
    from canonry.canonlog.asking import context_of as context_in_game
    from canonry.canonlog.asking import statements_of
    from canonry.canonlog.save import read_save

    accepted = accepted_state(read_save(save), role)
    return f"{state}\n{statements_of(accepted)}", context_in_game(accepted, context)


def _read_state(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"{path}: {(error.strerror or 'cannot be read').lower()}; name another file with --state"
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8 text; convert it and try again") from None


def _note_rest(given: argparse.Namespace, made: Pack) -> None:
    """What a person should know of a pack beside its text."""
    if not made.items:
        note(given, "Nothing here answers that." if not made.omitted else "Nothing fits into this budget.")
        note(given, who_asked(made.scope.role, made.scope.spoiler_level))
    for line in (*made.notices, *(f"warning: {warning}" for warning in made.warnings)):
        note(given, _line(line))
    for left in made.omitted[:_OMITTED_SHOWN]:
        note(
            given,
            _line(f"left out: {left.name} ({left.class_}, {left.tokens:,} tokens, {left.chunk_id}): {left.reason}"),
        )
    if len(made.omitted) > _OMITTED_SHOWN:
        note(given, f"left out: {len(made.omitted) - _OMITTED_SHOWN} more; --json lists all")
    number = "not recorded" if made.pack_id is None else f"pack {made.pack_id}"
    note(given, f"{number}: {made.total_tokens:,} of {made.limits.whole:,} tokens ({made.counter})")
    if made.degraded:
        note(given, f"degraded: {_line(made.degraded)}")


def _diff(given: argparse.Namespace) -> int:
    """What only one of two roles gets. It shows both sides, so it is for someone who may see both; nothing is recorded."""
    if given.role is not None:
        raise UsageError("--diff names the roles that it compares, and shows what each gets; leave --role out")
    roles = given.diff
    if len(roles) != 2:
        raise UsageError("--diff compares two different roles; write --diff player,narrator")
    one, other = (_build(given, _scope(given, role)) for role in roles)
    only = {roles[0]: only_in(one, other), roles[1]: only_in(other, one)}
    if given.json or given.format == "json":
        print_json({
            "campaign_id": one.campaign_id, "query": one.query, "roles": roles, "both": len(one.items) - len(only[roles[0]]),
            "only": {role: [_found(item) for item in items] for role, items in only.items()},
        })  # fmt: skip
    else:
        for role, items in only.items():
            print(f"only {role}:" if items else f"only {role}: nothing")
            for item in items:
                print(f"  {item.passage.chunk_id}  {_line(item.name)} ({item.section})")
    return DEGRADED if one.degraded or other.degraded else 0


def _found(item: Item) -> dict[str, object]:
    passage = item.passage
    return {
        "chunk_id": passage.chunk_id, "source_id": passage.source_id, "title": passage.title, "class": passage.class_,
        "heading_path": passage.heading_path, "visibility": passage.visibility, "spoiler_level": passage.spoiler_level,
        "why": item.why,
    }  # fmt: skip


def _line(text: str) -> str:
    return " ".join(printable(text).split())
