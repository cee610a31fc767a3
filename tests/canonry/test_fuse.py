from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.fuse import Fusion, convex, rrf

LEGS = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), min_size=1, max_size=3)


def test_rank_fusion_adds_weight_over_k_plus_rank() -> None:
    fused = rrf([["a", "b"], ["b", "c"]], k=10, weights=[1.0, 0.5])
    assert fused == [("b", 1 / 12 + 0.5 / 11), ("a", 1 / 11), ("c", 0.5 / 12)]


def test_rank_fusion_without_weights_counts_every_leg_the_same() -> None:
    assert rrf([["a"], ["b"]], k=60) == [("a", 1 / 61), ("b", 1 / 61)]


@pytest.mark.parametrize("legs", [[], [[]], [[], []]], ids=["no leg", "an empty leg", "two empty legs"])
def test_nothing_fuses_to_nothing(legs: list[list[str]]) -> None:
    assert rrf(legs, k=10) == []


def test_weights_must_be_one_a_leg() -> None:
    with pytest.raises(ValueError, match="zip"):
        rrf([["a"], ["b"]], k=10, weights=[1.0])


@given(LEGS)
def test_the_order_of_the_legs_does_not_matter(legs: list[list[str]]) -> None:
    assert [item for item, _ in rrf(legs, k=10)] == [item for item, _ in rrf(legs[::-1], k=10)]


@given(LEGS)
def test_the_best_come_first_and_equal_scores_by_id(legs: list[list[str]]) -> None:
    fused = rrf(legs, k=10)
    assert fused == sorted(fused, key=lambda pair: (-pair[1], pair[0]))
    assert {item for item, _ in fused} == {item for leg in legs for item in leg}


def test_convex_mixes_min_max_normalised_scores() -> None:
    lexical, semantic = {"a": 10.0, "b": 5.0, "c": 0.0}, {"b": 0.9, "c": 0.5, "d": 0.1}
    fused = dict(convex([lexical, semantic], weights=[0.75, 0.25]))
    assert fused == pytest.approx({"a": 0.75, "b": 0.75 * 0.5 + 0.25, "c": 0.25 * 0.5, "d": 0.0})


def test_convex_orders_ties_by_id() -> None:
    assert [item for item, _ in convex([{"b": 1.0, "a": 1.0}, {}], weights=[0.5, 0.5])] == ["a", "b"]


@pytest.mark.parametrize(("alpha", "first"), [(0.0, "a"), (1.0, "b")], ids=["words alone", "meaning alone"])
def test_alpha_says_which_leg_decides(alpha: float, first: str) -> None:
    assert convex([{"a": 2.0, "b": 1.0}, {"a": 0.1, "b": 0.2}], weights=[1 - alpha, alpha])[0][0] == first


def test_one_hit_alone_counts_as_the_best_of_its_leg() -> None:
    assert convex([{"a": 0.001}, {}], weights=[0.5, 0.5]) == [("a", 0.5)]


@pytest.mark.parametrize(
    "fusion", [Fusion().weighed(0.5), Fusion("rrf", 60, 1.0), Fusion("convex", alpha=0.9)], ids=str
)
def test_the_fused_score_is_the_sum_of_the_shares_whatever_the_order_of_the_legs(fusion: Fusion) -> None:
    legs = {"lexical": [("a", 9.0), ("b", 4.0)], "semantic": [("b", 0.8), ("c", 0.2)], "entity": [("c", 3.0)]}
    shares = fusion.shares(legs)
    fused = fusion.fuse(legs)
    assert dict(fused) == pytest.approx({item: sum(leg.get(item, 0.0) for leg in shares.values()) for item in "abc"})
    assert [item for item, _ in fused] == [item for item, _ in fusion.fuse(dict(reversed(legs.items())))]


def test_each_method_weighs_its_legs_in_its_own_way() -> None:
    legs = {"lexical": [("a", 9.0), ("b", 4.0)], "semantic": [("b", 0.8)]}
    assert Fusion("rrf", 10, 0.5).shares(legs) == {"lexical": {"a": 1 / 11, "b": 1 / 12}, "semantic": {"b": 0.5 / 11}}
    assert Fusion("convex", alpha=0.4).shares(legs) == {"lexical": {"a": 0.6, "b": 0.0}, "semantic": {"b": 0.4}}


@pytest.mark.parametrize(("coverage", "alpha"), [(1.0, 0.1), (0.0, 0.7), (0.5, 0.4), (0.75, 0.25)])
def test_meaning_counts_for_what_words_leave_open(coverage: float, alpha: float) -> None:
    fusion = Fusion().weighed(coverage)
    assert fusion.alpha == alpha
    assert (fusion.weight_of("lexical"), fusion.weight_of("semantic")) == (pytest.approx(1 - alpha), alpha)


@pytest.mark.parametrize("fusion", [Fusion("convex", alpha=0.4), Fusion("rrf", 10, 0.5)], ids=str)
def test_a_stated_weight_is_that_of_every_question(fusion: Fusion) -> None:
    assert fusion.weighed(0.2) is fusion


@pytest.mark.parametrize("fusion", [Fusion("convex", alpha=0.4), Fusion("rrf", 10, 0.5)], ids=str)
@pytest.mark.parametrize("leg", ["lexical", "semantic"])
def test_names_stand_beside_words_or_meaning_alone_as_they_stand_beside_both(fusion: Fusion, leg: str) -> None:
    alone = fusion.shares({leg: [("a", 1.0), ("b", 0.5)], "entity": [("b", 1.0)]})
    assert alone[leg]["a"] == (1.0 if fusion.method == "convex" else 1 / 11)
    assert alone["entity"]["b"] == (fusion.entity if fusion.method == "convex" else fusion.entity / 11)
