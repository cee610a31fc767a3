"""A pool gives the order of the answer under any fusion, without asking again."""

from __future__ import annotations

from contextlib import closing

import pytest

from canonry.campaign import Campaign
from canonry.catalog import Catalog
from canonry.context import QueryContext
from canonry.embedders import register
from canonry.fuse import Fusion
from canonry.layout import Layout
from canonry.tuning import fusion_settings
from tests.conftest import Workshop
from tests.fakes import WordBag

TEXTS = {
    "lamp": "A brass lamp burns in the tower of Vell.",
    "lamps": "Lamps, lamps, lamps of the tower keepers.",
    "copy": "A brass lamp burns in the tower of Vell.",
    "tower": "The tower has a keeper, Mara, who holds the brass key.",
    "quay": "Boats of brass lie at the quay.",
}
FUSIONS = [Fusion(), Fusion(k=60, weight=1.0), Fusion("convex", alpha=0.1), Fusion("convex", alpha=0.7)]


def build(workshop: Workshop) -> Layout:
    at = workshop.create(embedder="wordbag")
    for name, text in TEXTS.items():
        workshop.bring(
            at, workshop.write(f"{name}.md", f"# {name}\n\n{text}\n"), decide="separate",
            class_="canon" if name == "tower" else "inspiration",
        )  # fmt: skip
    return at


@pytest.fixture
def at(workshop: Workshop) -> Layout:
    register(WordBag())
    return workshop.once(build)


@pytest.mark.parametrize("fusion", FUSIONS, ids=lambda fusion: fusion.label)
@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
@pytest.mark.parametrize(
    "options",
    [{}, {"copies": True}, {"rerank": False}, {"context": QueryContext(scene="the tower", entities=("Mara",))}],
    ids=["plain", "copies", "no rerank", "context"],
)
def test_a_pool_gives_the_answer_of_every_fusion(
    at: Layout, fusion: Fusion, mode: str, options: dict[str, object]
) -> None:
    with Campaign(at) as campaign:
        pool, degraded = campaign.pool("brass lamps of the tower", mode=mode, **options)  # type: ignore[arg-type]
    assert pool is not None
    with closing(Catalog.open(at.catalog, write=True)) as catalog:
        catalog.set_settings(fusion_settings(fusion))
    with Campaign(at) as campaign:
        answer = campaign.retrieve("brass lamps of the tower", mode=mode, **options)  # type: ignore[arg-type]
    ordered = pool.ranked(fusion).chosen
    assert [pool.candidates[one.row].chunk_id for one in ordered] == [one.chunk_id for one in answer.results]
    assert [one.fused for one in ordered] == [one.fused_score for one in answer.results]
    assert len(ordered) > 1
    spots = {one.chunk_id: (one.start_byte, one.end_byte) for one in answer.results}
    assert {c.chunk_id: (c.start_byte, c.end_byte) for c in pool.candidates.values()}.items() >= spots.items()
    assert degraded is None


def test_a_question_of_no_words_has_no_pool(at: Layout) -> None:
    with Campaign(at) as campaign:
        assert campaign.pool("…", mode="hybrid")[0] is None


def test_a_pool_says_what_the_search_lacked(workshop: Workshop) -> None:
    at = workshop.create("plain")
    workshop.bring(at, workshop.write("lamp.md", "A brass lamp."))
    with Campaign(at) as campaign:
        pool, degraded = campaign.pool("lamp", mode="hybrid")
    assert pool is not None
    assert "no embedder" in (degraded or "")
