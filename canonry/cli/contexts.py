"""`canonry context`: inspect what there is for a role, and assemble a selection."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from canonry.campaign import Campaign
from canonry.canonlog.document import read_bytes
from canonry.cli.show import chosen, note, plural, print_json, printable, table
from canonry.contexts.assembly import Assembly
from canonry.contexts.assembly import assemble as put_together
from canonry.contexts.blocks import read_blocks
from canonry.contexts.failures import ContextFailure
from canonry.contexts.game import SavedGame, no_game
from canonry.contexts.inventory import Inventory
from canonry.contexts.item import ORIGINS, Item
from canonry.contexts.memory import remembered
from canonry.contexts.roles import as_told
from canonry.contexts.selection import MOST_BYTES, parse_selection
from canonry.contexts.tiers import Budgets
from canonry.eligibility import NARRATOR, Scope
from canonry.errors import UsageError
from canonry.timestamps import parse_instant

FAILED, DEGRADED = 1, 3


def inspect(given: argparse.Namespace) -> None:
    if unknown := [name for name in given.origin if name not in ORIGINS]:
        raise UsageError(f"origin {unknown[0]!r} is unknown; choose from {', '.join(ORIGINS)}")
    with inventory_of(given) as inventory:
        items = [item for item in inventory.items() if not given.origin or item.origin in given.origin]
        withheld = inventory.excluded() if given.viewer == NARRATOR else []
    if given.json:
        print_json({
            "campaign_id": inventory.campaign.at.campaign, "role": given.role,
            "items": [as_told(item, given.viewer or given.role).as_json(with_text=given.text) for item in items],
            **({"withheld": [item.as_json(with_text=False) | {"reason": why} for item, why in withheld]} if given.viewer else {}),
        })  # fmt: skip
        return
    rows = [
        (item.id, item.origin, item.authority, item.priority, _marks(item), item.tokens, _name(item)) for item in items
    ]
    if rows:
        print(table(("ID", "FROM", "AUTHORITY", "PRIORITY", "MARKS", "TOKENS", "WHAT"), rows, right=(3, 5)))
    note(
        given, f"{plural(len(items), 'item')} for {given.role}. None is called relevant; whoever selects decides that."
    )
    for item, why in withheld:
        note(given, f"withheld: {item.id} ({_name(item)}): {why}")


def assemble(given: argparse.Namespace) -> int:
    data = sys.stdin.buffer.read() if given.file == "-" else read_bytes(Path(given.file), given.file, MOST_BYTES)
    selected, required = parse_selection(data, given.file)
    budgets = Budgets(given.hot, given.working)
    with inventory_of(given) as inventory, told(given):
        made = put_together(inventory, selected, required, budgets=budgets, told_all=given.viewer == NARRATOR)
    return show_assembly(given, made)


def show_assembly(given: argparse.Namespace, made: Assembly) -> int:
    """Print it; exit code 3 where something found no room."""
    if given.json:
        print_json(made.as_json())
    else:
        sys.stdout.write(made.text)
    for warning in made.warnings:
        note(given, f"warning: {warning}")
    for block, reason in made.left:
        note(given, f"left out: {block.item.id} ({_name(block.item)}): {reason}")
    note(
        given,
        f"{made.total_tokens:,} tokens, {len(made.hot)} hot and {len(made.working)} working of {plural(_count(made), 'item')}",
    )
    return DEGRADED if made.left else 0


def _count(made: Assembly) -> int:
    return len(made.hot) + len(made.working) + len(made.left)


@contextmanager
def told(given: argparse.Namespace) -> Iterator[None]:
    """With --json, a failure is a document too."""
    try:
        yield
    except ContextFailure as failure:
        if given.json:
            print(json.dumps(failure.as_json(), ensure_ascii=False, indent=2))
        raise


@contextmanager
def inventory_of(given: argparse.Namespace) -> Iterator[Inventory]:
    """What there is for the role that the options name."""
    as_of = parse_instant(given.as_of) if given.as_of else None
    scope = Scope(
        given.role, given.spoiler_level, given.forbid_tags, sources=getattr(given, "sources", ()), as_of=as_of,
        story_time=given.story_time,
    )  # fmt: skip
    game = SavedGame(given.save) if given.save else no_game
    blocks = tuple(read_blocks(given.blocks)) if given.blocks else ()
    with Campaign(chosen(given)) as campaign:
        yield Inventory(campaign, scope, game, blocks, remembered)


def _marks(item: Item) -> str:
    names = ("pinned", "derived", "hidden", "protected")
    return " ".join(name for name in names if getattr(item, name)) or "-"


def _name(item: Item) -> str:
    return printable(" > ".join(dict.fromkeys((item.title, *item.place))))
