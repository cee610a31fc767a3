from __future__ import annotations

from contextlib import closing

import pytest

from canonry.catalog import Catalog
from canonry.config import Settings
from canonry.fuse import Fusion
from canonry.gate import Gate, earned_by, pass_gate, read_gate
from canonry.tuning import Tuning, apply_tuning, fusion_settings, read_tuning
from tests.conftest import Workshop


@pytest.mark.parametrize(
    "fusion",
    [Fusion("rrf", k=20, weight=0.5), Fusion("convex", alpha=0.4), Fusion("convex")],
    ids=lambda one: one.label,
)
def test_the_settings_of_a_fusion_make_it(fusion: Fusion) -> None:
    assert Settings.parse(fusion_settings(fusion)).fusion == fusion


def test_what_was_chosen_is_set_and_kept_with_its_evidence(workshop: Workshop) -> None:
    at = workshop.create()
    tuning = Tuning("2026-01-01", fusion_settings(Fusion("convex", alpha=0.4)), {"set": "demo"})
    with closing(Catalog.open(at.catalog, write=True)) as catalog:
        assert read_tuning(catalog.connection) is None
        apply_tuning(catalog, tuning)
        settings = Settings.parse(catalog.settings())
        assert settings.fusion.label == "convex α=0.4"
        assert read_tuning(catalog.connection) == tuning
        assert tuning.holds(settings)
        catalog.set_settings({"fusion.alpha": "0.5"})
        assert not tuning.holds(Settings.parse(catalog.settings()))


@pytest.mark.parametrize(
    ("fusion", "void"), [(Fusion(), []), (Fusion("rrf", k=60), ["fusion"])], ids=["same", "another"]
)
def test_a_gate_holds_under_the_fusion_that_earned_it_alone(
    workshop: Workshop, fusion: Fusion, void: list[str]
) -> None:
    at = workshop.create()
    with closing(Catalog.open(at.catalog, write=True)) as catalog:
        pass_gate(catalog, Gate("2026-01-01", earned_by(at, Settings.parse(catalog.settings())), {}))
        apply_tuning(catalog, Tuning("2026-01-02", fusion_settings(fusion), {}))
        gate = read_gate(catalog.connection)
        assert gate is not None
        assert gate.voided_by(at, Settings.parse(catalog.settings())) == void
