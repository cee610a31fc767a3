from __future__ import annotations

import pytest

from canonry.catalog import Catalog
from canonry.config import Settings
from canonry.embedders import register
from canonry.gate import Gate, default_mode, earned_by, forget_gate, pass_gate, read_gate
from canonry.layout import Layout
from tests.conftest import Workshop
from tests.fakes import WordBag


def build(workshop: Workshop) -> Layout:
    at = workshop.create(embedder="wordbag")
    workshop.bring(at, workshop.write("lamp.md", "# Lamp\n\nA brass lamp.\n"))
    return at


@pytest.fixture
def at(workshop: Workshop) -> Layout:
    register(WordBag())
    return workshop.once(build)


def earn(at: Layout) -> None:
    catalog = Catalog.open(at.catalog, write=True)
    pass_gate(catalog, Gate("2026-01-01", earned_by(at, Settings.parse(catalog.settings())), {"set": "demo"}))
    catalog.close()


def test_a_passed_gate_makes_hybrid_the_default(workshop: Workshop, at: Layout) -> None:
    assert workshop.ask(at).retrieve("lamp").mode == "lexical"
    earn(at)
    answer = workshop.ask(at).retrieve("lamp")
    assert (answer.mode, answer.notices) == ("hybrid", [])
    assert workshop.ask(at).retrieve("lamp", mode="lexical").mode == "lexical"


@pytest.mark.parametrize(
    ("setting", "what"),
    [({"embedder": "none"}, "embedder"),
     ({"chunk.target": "300"}, "chunker"), ({"fusion.method": "rrf"}, "fusion"), ({"fusion.k": "60"}, "fusion")],
    ids=str,
)  # fmt: skip
def test_another_embedder_chunker_or_fusion_voids_it(
    workshop: Workshop, at: Layout, setting: dict[str, str], what: str
) -> None:
    earn(at)
    catalog = Catalog.open(at.catalog, write=True)
    catalog.set_settings(setting)
    answer = workshop.ask(at).retrieve("lamp")
    assert answer.mode == "lexical"
    assert answer.notices == [
        f"searched by words: hybrid was earned with another {what}; `canonry eval run QUESTIONS --gate gate.toml` earns it anew, "
        "--mode hybrid asks for it"
    ]
    catalog.set_settings(
        {key: Settings().as_text()[key] for key in setting} | ({"embedder": "wordbag"} if "embedder" in setting else {})
    )
    catalog.close()
    assert workshop.ask(at).retrieve("lamp").mode == "hybrid"


def test_a_new_version_of_the_model_voids_it(at: Layout) -> None:
    earn(at)
    register(WordBag(dimensions=32))
    catalog = Catalog.open(at.catalog)
    gate = read_gate(catalog.connection)
    assert gate is not None
    assert gate.voided_by(at, Settings.parse(catalog.settings())) == ["embedder"]


def test_what_no_ranking_depends_on_voids_nothing(at: Layout) -> None:
    earn(at)
    catalog = Catalog.open(at.catalog, write=True)
    catalog.set_settings({"max_file_bytes": "1000"})
    assert default_mode(at, Settings.parse(catalog.settings()), read_gate(catalog.connection)) == ("hybrid", "")


def test_a_mode_that_the_user_chose_needs_no_gate(workshop: Workshop, at: Layout) -> None:
    earn(at)
    catalog = Catalog.open(at.catalog, write=True)
    catalog.set_settings({"mode": "hybrid", "fusion.k": "60"})
    forget_gate(catalog)
    catalog.close()
    assert workshop.ask(at).retrieve("lamp").mode == "hybrid"
