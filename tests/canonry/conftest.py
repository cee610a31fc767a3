"""What the tests of the library share: campaigns that several modules ask."""

from __future__ import annotations

from contextlib import closing

import pytest

import canonry
from canonry.catalog import Catalog
from canonry.embedders import register
from canonry.layout import Layout
from tests.canonry.packs import lore
from tests.conftest import Workshop, built_once
from tests.fakes import WordBag


@pytest.fixture
def bag() -> WordBag:
    """An embedder that campaigns can be set to, as `wordbag`."""
    bag = WordBag()
    register(bag)
    return bag


def build_lamp(workshop: Workshop, embedder: str) -> Layout:
    at = workshop.create(embedder=embedder)
    workshop.bring(at, workshop.write("lamp.md", "# Lamp\n\nA brass lamp by the quay.\n"))
    return at


def one_lamp(workshop: Workshop, embedder: str = "none") -> tuple[Layout, str]:
    """A campaign with one source, and its id."""
    at = workshop.once(build_lamp, embedder)
    with closing(Catalog.open(at.catalog)) as catalog:
        return at, catalog.source("lamp.md").source_id


@built_once
def town(workshop: Workshop) -> Layout:
    """One passage of each class about the lamp, a rule that always holds, and one passage that is hidden."""
    at = workshop.create()
    files = {
        "rule.md": lore("canon", "No one returns from death.", "always_include: true", "priority: high"),
        "canon.md": lore("canon", "The lamp of the tower burns blue when a ship is lost."),
        "reference.md": lore("reference", "A Fresnel lamp is seen at twenty miles over open sea."),
        "mood.md": lore("inspiration", "Fog, a lamp, someone humming on the stairs."),
        "secret.md": lore("canon", "The lamp is fed by Ravel's own blood.", "visibility: hidden", "title: Ravel"),
    }
    workshop.bring(at, *(workshop.write(name, text) for name, text in files.items()))
    return at


@pytest.fixture
def tolleth(workshop: Workshop, town: Layout) -> canonry.Campaign:
    return workshop.ask(town)
