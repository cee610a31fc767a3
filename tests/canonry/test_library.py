"""The library: a data directory and its campaigns."""

from __future__ import annotations

import pytest

import canonry
from canonry.errors import NotFound
from tests.canonry.conftest import one_lamp
from tests.conftest import Workshop


def test_a_library_lists_its_campaigns(workshop: Workshop) -> None:
    assert canonry.open(workshop.data).campaigns() == []
    workshop.create("vell")
    workshop.create("abbey")
    assert canonry.open(workshop.data).campaigns() == ["abbey", "vell"]


def test_a_campaign_that_is_not_there_is_not_found_and_not_made(workshop: Workshop) -> None:
    with pytest.raises(NotFound, match="vell"):
        canonry.open(workshop.data).campaign("vell")
    assert not workshop.data.exists()


def test_the_old_signature_returns_dictionaries(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    one_lamp(workshop)
    monkeypatch.setenv("CANONRY_DATA", str(workshop.data))
    (passage,) = canonry.retrieve("vell", "lamp", 0, source_types=None, as_of=None, limit=1)
    assert passage["exact_text"] == "A brass lamp by the quay."
    assert canonry.retrieve("vell", "lamp", 0, ["walkthrough"]) == []


def test_what_the_package_offers_is_there() -> None:
    assert all(hasattr(canonry, name) for name in canonry.__all__)
