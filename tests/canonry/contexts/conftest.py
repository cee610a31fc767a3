"""What the tests of contexts share: a campaign with a secret, a correction to make, and blocks of every kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import canonry
from canonry.canonlog.content import load_content
from canonry.canonlog.new_game import create_character
from canonry.canonlog.save import Save, new_save
from canonry.contexts.blocks import parse_blocks
from canonry.contexts.inventory import Inventory
from canonry.contexts.item import Item
from canonry.eligibility import Scope
from canonry.layout import Layout
from tests.conftest import Workshop, built_once

BLOCKS: list[dict[str, Any]] = [
    {"id": "gold", "kind": "answer_key", "text": "GOLDWORD did it."},
    {"id": "sim", "kind": "private_state", "text": "SIMWORD is hidden by Perrin."},
    {"id": "plan", "kind": "reasoning", "text": "PLANWORD comes in chapter nine."},
    {"id": "trace", "kind": "trace", "text": "TRACEWORD was said at the quay."},
    {"id": "veiled", "text": "VEILWORD behind the curtain.", "hidden": True},
    {"id": "old", "kind": "note", "text": "PASTWORD held once.", "invalidated": "its source has changed"},
    {"id": "style", "text": "Present tense.", "pinned": True, "priority": 2},
]


def blocks(*said: dict[str, Any]) -> tuple[Item, ...]:
    return tuple(parse_blocks(json.dumps(said).encode(), "blocks"))


@built_once
def at(workshop: Workshop) -> Layout:
    """Three open passages of canon, one hidden, one of level 3."""
    at = workshop.create()
    workshop.write(
        "town.md",
        "---\nclass: canon\n---\n# Gate\n\nThe gatekeeper sleeps at noon.\n\n# Lamp\n\nThe lamp burns whale oil.\n\n"
        "# Cellar {visibility=hidden}\n\nCELLARWORD lies in the cellar.\n\n# End {spoiler=3}\n\nENDWORD comes last.\n",
    )
    workshop.bring(
        at, workshop.write("capital.md", "---\nclass: canon\n---\n# Vell\n\nThe capital of Vell is Karth.\n")
    )
    workshop.bring(at, workshop.root / "lore" / "town.md")
    return at


@pytest.fixture
def game() -> Save:
    content = load_content(Path(canonry.__file__).parent / "demo_world")
    return new_save(content.world, create_character(content, "unredeemed", name="A", class_id="priest", seed=7))


Stock = Callable[..., Inventory]


@pytest.fixture
def stock(workshop: Workshop, at: Layout) -> Stock:
    """The inventory for a role; keywords as in Scope, and the blocks of every kind unless others are given."""

    def take(role: str = "player", *, save: Save | None = None, supplied: Any = None, **scope: Any) -> Inventory:
        items = blocks(*BLOCKS) if supplied is None else supplied
        return Inventory(workshop.ask(at), Scope(role, **scope), lambda: save, items)

    return take


@pytest.fixture
def foreign(workshop: Workshop, at: Layout) -> Item:
    """An open item of another campaign in the same folder."""
    other = workshop.create("othercampaign")
    workshop.bring(other, workshop.write("elsewhere/guild.md", "# Guildhall\n\nFOREIGNWORD hangs in the guildhall.\n"))
    (item,) = Inventory(workshop.ask(other), Scope()).items()
    return item


def id_of(inventory: Inventory, word: str) -> str:
    """The id of the only item that holds a word."""
    (found,) = [item.id for item in inventory.items() if word in item.text]
    return found
