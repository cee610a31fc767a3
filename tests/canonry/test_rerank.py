"""Authority reorders near-equals; the floor empties what nothing here answers."""

from __future__ import annotations

import pytest

from canonry import rerank
from canonry.context import NO_CONTEXT, QueryContext, Surroundings
from canonry.rerank import Candidate, boosts
from tests.conftest import Workshop


def candidate(class_: str = "reference", priority: str = "normal", version: str = "s@1") -> Candidate:
    return Candidate(
        1, "c1", version, "h", class_, priority, 0, 9, " lamp brass ", frozenset({"mara"}), frozenset({"quay"})
    )


def test_the_boost_is_bounded_whatever_comes_together() -> None:
    around = Surroundings(QueryContext(scene="brass lamp quay", entities=("Mara",)))
    most = boosts(candidate("canon", "high", "s@3"), around)
    assert most.total <= rerank.MOST
    assert boosts(candidate("inspiration", "low"), Surroundings(NO_CONTEXT)).total == pytest.approx(-0.03)


def test_class_priority_and_revision_count_in_their_order() -> None:
    around = Surroundings(NO_CONTEXT)
    totals = [
        boosts(candidate(*kind), around).total
        for kind in (("canon", "high"), ("canon",), ("reference",), ("inspiration",), ("inspiration", "low"))
    ]
    assert totals == sorted(totals, reverse=True)
    assert 0 < boosts(candidate(version="s@2"), around).total - boosts(candidate(), around).total < 0.01


def bring(workshop: Workshop, files: dict[str, str], **settings: str) -> object:
    at = workshop.create(**settings)
    workshop.bring(at, *(workshop.write(name, text) for name, text in files.items()))
    return at


NEAR = {
    "a.md": "---\nclass: inspiration\n---\nThe toll of the bridge is one copper.\n",
    "b.md": "---\nclass: canon\n---\nThe toll of the bridge is two coppers.\n",
    "c.md": "---\nclass: reference\n---\nThe toll of the bridge is three coppers.\n",
    "d.md": "---\nclass: canon\n---\nA gate stands there, and a keeper, and a bridge of old stones, and much else besides.\n",
}


def test_among_near_equals_canon_comes_first(workshop: Workshop) -> None:
    at = bring(workshop, NEAR)
    found = workshop.ask(at).retrieve("bridge toll").results  # type: ignore[arg-type]
    assert [passage.uri for passage in found][:3] == ["b.md", "c.md", "a.md"]


def test_class_never_lifts_the_irrelevant(workshop: Workshop) -> None:
    at = bring(workshop, NEAR)
    found = workshop.ask(at).retrieve("bridge toll one copper", explain=True).results  # type: ignore[arg-type]
    assert found[0].uri == "a.md"
    assert found[-1].uri == "d.md"


def test_the_explanation_holds_every_component_and_adds_up(workshop: Workshop) -> None:
    at = bring(workshop, NEAR)
    for passage in workshop.ask(at).retrieve("bridge toll", explain=True).results:  # type: ignore[arg-type]
        explain = passage.explain
        assert explain is not None
        parts = explain["boosts"]
        assert isinstance(parts, dict)
        assert set(parts) == {"entity", "context", "class", "tags", "priority", "recency"}
        assert explain["boost"] == pytest.approx(sum(parts.values()))
        assert explain["score"] == pytest.approx(passage.fused_score * (1 + sum(parts.values())))
        assert explain["covered"] is not None


def test_a_lift_is_told_in_words_and_rerank_can_be_left_out(workshop: Workshop) -> None:
    files = {"a.md": NEAR["a.md"], "b.md": NEAR["b.md"].replace("two", "but two")}
    at = bring(
        workshop, files | {f"{n}.md": "An old gate of stone stands by the river, and nobody pays.\n" for n in range(3)}
    )
    campaign = workshop.ask(at)  # type: ignore[arg-type]
    plain = campaign.retrieve("bridge toll", rerank=False, explain=True).results
    assert plain == sorted(plain, key=lambda p: (-p.fused_score, p.chunk_id))
    assert plain[0].uri != "b.md"
    assert plain[0].explain is not None
    assert plain[0].explain["boosts"] is None
    first = campaign.retrieve("bridge toll").results[0]
    assert first.uri == "b.md"
    assert any(reason.startswith("is lifted above") and "canon" in reason for reason in first.reasons)


def test_a_tag_that_the_question_names_counts(workshop: Workshop) -> None:
    at = bring(workshop, {"a.md": "The old bridge.\n", "b.md": "---\ntags: [toll]\n---\nThe new bridge.\n"})
    first = workshop.ask(at).retrieve("bridge toll").results[0]  # type: ignore[arg-type]
    assert first.uri == "b.md"
    assert "is tagged toll, which the question names" in first.reasons


# the floor


def corpus() -> dict[str, str]:
    words = ["harbour", "lamp", "keeper", "bridge", "copper", "gate", "stone", "river", "night", "bell", "tide", "rope"]
    return {
        f"{n}.md": f"The {words[n % 12]} of the {words[(n * 5 + 1) % 12]} stands by the {words[(n * 7 + 2) % 12]}, number n{n}.\n"
        for n in range(60)
    }


@pytest.mark.parametrize(
    ("query", "answered"),
    [
        ("how do I learn the fireball spell of the bridge wizards?", False),
        ("plum pudding recipe", False),
        ("and then what?", False),
        ("who are you", False),
        ("tell me something", False),
        ("the", False),
        ('"of the"', True),  # quoted, it is asked for as it stands
        ("bridge", True),
        ("lamp keeper", True),
        ("where does the lamp of the keeper stand?", True),
        ('"number n7"', True),
        ("n7", True),
    ],
)
def test_a_question_about_nothing_gets_nothing(workshop: Workshop, query: str, answered: bool) -> None:
    at = bring(workshop, corpus())
    assert bool(workshop.ask(at).retrieve(query).results) is answered  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "query", ["tell me about Bram", "what do you know of Bram?", "please say something about Bram"]
)
def test_how_a_person_asks_does_not_keep_the_answer_away(workshop: Workshop, query: str) -> None:
    """In a small campaign a name that stands everywhere weighs little, and `tell`, which stands nowhere, weighed much."""
    at = bring(
        workshop, {"a.md": "Bram keeps the ferry.\n", "b.md": "Bram never sleeps.\n", "c.md": "Bram is a duke.\n"}
    )
    assert len(workshop.ask(at).retrieve(query).results) == 3  # type: ignore[arg-type]


@pytest.mark.parametrize("query", ["的", "是什么？", "这是谁的", "为什么？"])
def test_a_chinese_question_without_a_subject_gets_nothing(workshop: Workshop, query: str) -> None:
    at = bring(workshop, {"zh.md": "这是老守卫的城门，夜里是关闭的，为什么？谁的？\n", "a.md": "河\n"})
    assert workshop.ask(at).retrieve(query).results == []  # type: ignore[arg-type]


@pytest.mark.parametrize("query", ["城", "城门", "城门在哪里？", "老城门的守卫是谁？"])
def test_chinese_questions_are_answered(workshop: Workshop, query: str) -> None:
    at = bring(workshop, corpus() | {"zh.md": "城门由老守卫看守，夜里关闭。\n"})
    found = workshop.ask(at).retrieve(query).results  # type: ignore[arg-type]
    assert [passage.uri for passage in found] == ["zh.md"]


def test_a_small_limit_is_the_beginning_of_the_largest(workshop: Workshop) -> None:
    at = workshop.create()
    files = {
        f"{n}.md": f"---\nclass: {('canon', 'reference', 'inspiration')[n % 3]}\n---\nThe brass lamp {'oil ' * (n % 9)}{n}\n"
        for n in range(160)
    }
    workshop.bring(at, *(workshop.write(name, text) for name, text in files.items()), decide="separate")
    campaign = workshop.ask(at)
    ids = [passage.chunk_id for passage in campaign.retrieve("brass lamp oil", limit=1000).results]
    assert len(ids) > 120
    for limit in (1, 8, 50, 60, 130):
        assert [p.chunk_id for p in campaign.retrieve("brass lamp oil", limit=limit).results] == ids[:limit]
