"""Case 09: a vector is of the text it was asked for, and a model of another size never meets the old vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from canonry.layout import Layout
from canonry.semantic import Scan
from tests.conftest import Workshop
from tests.servers import Standin

TOWN = """# Harrowgate

## Tannery

Hides hides soak in the vats of the tanner, and the stench keeps visitors away.

## Lighthouse

The keeper of the beacon beacon trims wicks and counts sails at dusk.

## Library

Scrolls scrolls lie under dust, and the archivist lends none of them.

## Bakery

Loaves loaves of rye cool on the sill beside honeyed buns.
"""
QUESTIONS = {
    "hides hides soak in vats": "Tannery",
    "beacon beacon wicks sails": "Lighthouse",
    "scrolls scrolls archivist dust": "Library",
    "loaves loaves rye honeyed buns": "Bakery",
}


@pytest.fixture
def town(workshop: Workshop, server: Standin) -> Layout:
    """A campaign whose server gives its vectors back to front."""
    at = workshop.create(embedder=server.spec("openai"))
    workshop.bring(at, workshop.write("town.md", TOWN))
    return at


@pytest.mark.parametrize(("question", "section"), QUESTIONS.items(), ids=QUESTIONS.values())
def test_the_first_hit_is_the_section_that_was_meant(
    workshop: Workshop, town: Layout, question: str, section: str
) -> None:
    answer = workshop.ask(town).retrieve(question, mode="semantic")
    assert answer.degraded is None
    assert answer.results[0].heading_path[-1] == section


def test_a_model_of_another_size_is_said_and_never_ranked_with_the_old_vectors(
    workshop: Workshop, server: Standin, town: Layout, run_cli: Callable[..., tuple[int, str, str]]
) -> None:
    where = ("--data", workshop.data)
    old = {path: path.read_bytes() for path in (town.chunks / "vectors").glob("*/*.parquet")}
    server.dimensions = 96

    code, out, err = run_cli("query", "beacon", "--mode", "hybrid", *where)
    assert code == 3
    assert "Lighthouse" in out
    assert "re-embedding needed (64 -> 96)" in err
    code, out, _ = run_cli("status", *where)
    assert (code, "re-embedding needed (64 -> 96)" in out) == (3, True)

    workshop.write("otter.md", "# Otter\n\nAn otter guards the weir.\n")
    server.log.clear()
    code, out, err = run_cli("import", workshop.root / "lore" / "otter.md", *where)
    assert (code, "re-embedding needed (64 -> 96)" in err) == (3, True)
    assert not any("otter" in text for text in server.asked())
    code, out, _ = run_cli("query", "weir", *where)
    assert (code, "An otter guards the weir." in out) == (0, True)

    code, out, _ = run_cli("reindex", "--in-process", *where)
    assert (code, "5 texts newly embedded" in out) == (0, True)
    assert {path: path.read_bytes() for path in old} == old
    for question, section in QUESTIONS.items():
        answer = workshop.ask(town).retrieve(question, mode="semantic")
        assert (answer.degraded, answer.results[0].heading_path[-1]) == (None, section)
    (scan,) = town.index.glob("scan-*.bin")
    assert Scan.open(scan).vectors.shape == (5, 96)
    assert run_cli("status", *where)[0] == 0


def test_the_old_model_finds_its_vectors_again(
    workshop: Workshop, server: Standin, town: Layout, run_cli: Callable[..., tuple[int, str, str]]
) -> None:
    for dimensions in (96, 64):
        server.dimensions = dimensions
        server.log.clear()
        assert run_cli("reindex", "--in-process", "--data", workshop.data)[0] == 0
    assert not any("scrolls" in text.lower() for text in server.asked())
    assert workshop.ask(town).retrieve("scrolls", mode="semantic").degraded is None


def test_model_dimensions_and_versions_are_stored_with_the_vectors(town: Layout) -> None:
    from canonry import schemas

    (part,) = (town.chunks / "vectors").glob("*/*.parquet")
    origin = schemas.made_from(part, schemas.EMBEDDING_CONTRACT)
    assert str(origin["embedder"]).startswith("lantern-embed-64-")
    assert str(origin["spec"]).startswith("openai:lantern-embed@")
    assert origin["stage"]
    assert Path(part).parent.name == origin["embedder"]
