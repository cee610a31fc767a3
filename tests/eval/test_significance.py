from __future__ import annotations

import random

import pytest

from eval.significance import compare


def questions(count: int, kinds: int = 1) -> dict[str, str]:
    return {f"q{number}": f"kind{number % kinds}" for number in range(count)}


def test_a_clear_gain_is_better_and_seen_the_other_way_round_worse() -> None:
    kinds = questions(30)
    base, other = dict.fromkeys(kinds, 0.2), {query: 0.2 + 0.01 * (at % 7 + 1) for at, query in enumerate(kinds)}
    (whole, part) = compare("nDCG@10", base, other, kinds)
    assert (whole.kind, part.kind, whole.questions) == ("all", "kind0", 30)
    assert (whole.wins, whole.ties, whole.losses) == (30, 0, 0)
    assert whole.is_better
    assert whole.low <= whole.difference <= whole.high
    assert compare("nDCG@10", other, base, kinds)[0].is_worse


def test_equal_results_differ_in_nothing() -> None:
    kinds = questions(9)
    (whole, _) = compare("nDCG@10", dict.fromkeys(kinds, 0.5), dict.fromkeys(kinds, 0.5), kinds)
    assert (whole.difference, whole.p, whole.ties) == (0.0, 1.0, 9)
    assert not whole.is_better
    assert not whole.is_worse


def test_a_gain_on_a_few_questions_may_be_chance() -> None:
    kinds = questions(4)
    (whole, _) = compare("nDCG@10", dict.fromkeys(kinds, 0.0), dict.fromkeys(kinds, 1.0), kinds)
    assert whole.difference == 1.0
    assert whole.p == pytest.approx(2 / 2**4)
    assert not whole.is_better


def test_a_gain_on_one_question_is_chance() -> None:
    for part in compare("nDCG@10", {"q": 0.25}, {"q": 1.0}, {"q": "kind"}):
        assert (part.difference, part.low, part.high, part.p, part.wins) == (0.75, 0.75, 0.75, 1.0, 1)


def test_over_more_kinds_each_needs_more_and_the_order_of_p_is_kept() -> None:
    kinds = questions(60, kinds=6)
    dice = random.Random(3)
    base = {query: dice.random() for query in kinds}
    other = {query: value + dice.gauss(0.05, 0.1) for query, value in base.items()}
    parts = compare("nDCG@10", base, other, kinds)[1:]
    assert len(parts) == 6
    assert all(part.p <= part.p_holm <= min(1.0, 6 * part.p) for part in parts)
    ordered = sorted(parts, key=lambda part: part.p)
    assert [part.p_holm for part in ordered] == sorted(part.p_holm for part in parts)
    assert ordered[0].p_holm == pytest.approx(min(1.0, 6 * ordered[0].p))


def test_the_same_questions_give_the_same_figures_again() -> None:
    kinds = questions(20)
    base = {query: (at * 7 % 10) / 10 for at, query in enumerate(kinds)}
    other = {query: (at * 3 % 10) / 10 for at, query in enumerate(kinds)}
    assert compare("R", base, other, kinds) == compare("R", base, other, kinds)


def test_one_question_alone_shows_nothing() -> None:
    (whole, part) = compare("nDCG@10", {"q": 1.0}, {"q": 0.0}, {"q": "chinese"})
    assert (part.kind, part.questions, part.difference, part.low, part.high, part.p) == (
        "chinese",
        1,
        -1.0,
        -1.0,
        -1.0,
        1.0,
    )
    assert not whole.is_worse
