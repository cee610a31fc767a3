"""Case 11: what a question may see is settled before the best are taken, so a small scope is never crowded out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import canonry

MODES = ["lexical", "semantic", "hybrid"]
RUMOURS = [
    "A small rumour mentions one red dragon over the fens.",
    "Farmers blame a red dragon for the burnt barley.",
    "The smith keeps a scale of the red dragon.",
]


def write_inputs(root: Path) -> None:
    """The notes of the case's own generator: big/ 300, small/ 3, classes/ 60 + 2, spoilers/ 50 + 2."""
    notes = {
        f"big/n{i:03d}.md": f"# Dragon note {i}\n\nThe red dragon sleeps. Red dragon, red dragon, hoard number {i}.\n"
        for i in range(300)
    }
    notes |= {f"small/s{i}.md": f"# Fen rumour {i}\n\n{rumour}\n" for i, rumour in enumerate(RUMOURS)}
    notes |= {
        f"classes/insp{i:02d}.md": f"# Mood {i}\n\nSilver bell, silver bell, silver bell over water, take {i}.\n"
        for i in range(60)
    }
    notes |= {
        f"classes/canon{i}.md": f"# Law {i}\n\nLaw {i}: the silver bell may ring only once in a reign, and the abbess holds the cord.\n"
        for i in range(2)
    }
    notes |= {
        f"spoilers/late{i:02d}.md": f"# Ending {i}\n\nThe mask, the mask, the mask hides the queen, version {i}.\n"
        for i in range(50)
    }
    notes |= {
        f"spoilers/early{i}.md": f"# Opening {i}\n\nA travelling player sells a mask at stall {i} of the winter market.\n"
        for i in range(2)
    }
    for name, text in notes.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


Campaigns = dict[str, canonry.Campaign]


def import_all(make: Callable[..., canonry.Campaign], root: Path, embedder: str) -> Campaigns:
    write_inputs(root)
    classes, spoilers = root / "classes", root / "spoilers"
    return {
        "big": make(f"big-{embedder}", embedder, [root / "big"]),
        "small": make(f"small-{embedder}", embedder, [root / "small"]),
        "classes": make(
            f"classes-{embedder}", embedder,
            ["--class", "inspiration", *sorted(classes.glob("insp*"))], ["--class", "canon", *sorted(classes.glob("canon*"))],
        ),
        "spoilers": make(
            f"spoilers-{embedder}", embedder,
            ["--spoiler-level", "3", *sorted(spoilers.glob("late*"))], ["--spoiler-level", "0", *sorted(spoilers.glob("early*"))],
        ),
    }  # fmt: skip


@pytest.fixture(scope="module")
def crowd(campaigns: Callable[..., canonry.Campaign], tmp_path_factory: pytest.TempPathFactory) -> Campaigns:
    return import_all(campaigns, tmp_path_factory.mktemp("crowd"), "static")


@pytest.fixture(scope="module")
def minilm_crowd(campaigns: Callable[..., canonry.Campaign], tmp_path_factory: pytest.TempPathFactory) -> Campaigns:
    return import_all(campaigns, tmp_path_factory.mktemp("crowd"), "minilm")


def assert_nothing_is_crowded_out(crowd: Campaigns, mode: str) -> None:
    for limit in (3, 10):
        rumours = crowd["small"].retrieve("red dragon", limit=limit, mode=mode)
        assert sorted(p.uri for p in rumours.results) == ["s0.md", "s1.md", "s2.md"]
        assert {p.campaign_id for p in rumours.results} == {crowd["small"].at.campaign}
    laws = crowd["classes"].retrieve("silver bell", limit=2, mode=mode, classes=["canon"])
    assert sorted(p.uri for p in laws.results) == ["canon0.md", "canon1.md"]
    openings = crowd["spoilers"].retrieve("the mask", limit=2, mode=mode, spoiler_level=0)
    assert sorted(p.uri for p in openings.results) == ["early0.md", "early1.md"]


@pytest.mark.parametrize("mode", MODES)
def test_a_small_scope_is_answered_in_full_at_a_small_limit(crowd: Campaigns, mode: str) -> None:
    assert_nothing_is_crowded_out(crowd, mode)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_small_scope_is_answered_in_full_with_minilm(minilm_crowd: Campaigns, mode: str) -> None:
    assert_nothing_is_crowded_out(minilm_crowd, mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_larger_limit_shows_no_late_note_either(crowd: Campaigns, mode: str) -> None:
    found = crowd["spoilers"].retrieve("the mask", limit=50, mode=mode).results
    assert {p.uri for p in found} == {"early0.md", "early1.md"}
    assert len(crowd["spoilers"].retrieve("the mask", limit=60, mode=mode, spoiler_level=3).results) == 52
