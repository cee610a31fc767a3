"""`canonry memory`: notes derived from passages."""

from __future__ import annotations

import argparse

from canonry.campaign import Campaign
from canonry.cli.contexts import inventory_of
from canonry.cli.show import chosen, note, plural, print_json, printable, table
from canonry.contexts import memory
from canonry.contexts.journal import open_journal
from canonry.eligibility import Scope
from canonry.errors import UsageError


def add(given: argparse.Namespace) -> None:
    with inventory_of(given) as inventory, open_journal(chosen(given), make=True) as journal:
        made = memory.remember(journal, inventory, given.note, given.of, author=given.author, readers=given.readers)
    if given.json:
        print_json({"id": made.id, "of": [ref.id for ref in made.refs]})
    elif not given.quiet:
        print(
            f"Kept as {made.id}, derived from {plural(len(made.refs), 'passage')}; it holds while their sources stay as they are."
        )


def list_all(given: argparse.Namespace) -> None:
    scope = _scope(given)
    with Campaign(chosen(given)) as campaign:
        items = memory.remembered(campaign, scope)
    if given.json:
        print_json([item.as_json() for item in items])
        return
    rows = [
        (item.id, item.invalidated or "holds", item.title.removeprefix("Note by "), item.source_id, item.text)
        for item in items
    ]
    if rows:
        print(table(("ID", "STATE", "BY", "FROM", "NOTE"), rows))
    note(
        given,
        f"{plural(len(rows), 'note')} for {given.role}, up to spoiler level {given.spoiler_level}. None is canon.",
    )


def withdraw(given: argparse.Namespace) -> None:
    number = given.id.removeprefix(memory.PREFIX)
    if not number.isascii() or not number.isdigit() or len(number) > 18:
        raise UsageError(f"{given.id!r} is no note; name one as `canonry memory list` does")
    with open_journal(chosen(given), write=True) as journal:
        made = memory.withdraw(journal, _scope(given), int(number), given.why)
    if given.json:
        print_json({"id": made.id, "withdrawn_at": made.withdrawn_at, "why": made.withdrawn_why})
    elif not given.quiet:
        print(printable(f"{made.id} holds no more: {made.withdrawn_why}."))


def _scope(given: argparse.Namespace) -> Scope:
    return Scope(given.role, given.spoiler_level, given.forbid_tags, story_time=given.story_time)
