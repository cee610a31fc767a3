"""A campaign that is whole has no finding, and whoever verifies it changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from canonry.catalog import Catalog
from canonry.embedders import register
from canonry.layout import Layout
from flows.verify import verify
from stages.select import select_files
from tests.conftest import Workshop
from tests.fakes import WordBag
from tests.flows.checks.conftest import codes


def test_a_clean_campaign_has_no_finding_and_everything_was_counted(at: Layout) -> None:
    health = verify(at)
    assert health.findings == []
    assert health.checked["versions"] == 4
    assert health.checked["rows"] == health.checked["vectors"] == 4
    assert health.checked["chunks"] == health.checked["embeddings"] == 5
    assert health.checked["checksums"] == 2


@pytest.mark.parametrize("embedder", ["none", "wordbag"])
def test_the_campaign_that_comes_with_canonry_is_clean(workshop: Workshop, embedder: str) -> None:
    import canonry

    register(WordBag())
    at = workshop.create(embedder=embedder)
    workshop.bring(at, Path(canonry.__file__).parent / "demo_campaign")
    assert verify(at).findings == []


def test_every_fixture_that_is_imported_is_clean(workshop: Workshop, fixtures: Path) -> None:
    at = workshop.create(chunk_target="40")
    for folder in sorted((fixtures / "cases").iterdir()):
        if select_files([folder]).files:
            workshop.bring(at, folder, decide="separate")
    assert verify(at).findings == []
    assert verify(at).checked["versions"] > 20


def test_a_campaign_without_a_source_is_clean(workshop: Workshop) -> None:
    assert verify(workshop.create()).findings == []


def test_verify_changes_no_byte(at: Layout) -> None:
    def everything() -> dict[str, bytes]:
        return {
            str(path): path.read_bytes()
            for path in at.root.rglob("*")
            if path.is_file() and path.suffix != ".sqlite-shm"
        }

    before = everything()
    verify(at)
    assert everything() == before


def test_settings_that_are_not_carried_out_yet_are_no_damage(at: Layout) -> None:
    catalog = Catalog.open(at.catalog, write=True)
    catalog.set_settings({"chunk.target": "60"})
    catalog.close()
    assert codes(at) == []
