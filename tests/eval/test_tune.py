from __future__ import annotations

from collections import Counter

import pytest

from canonry.embedders import register
from canonry.errors import UsageError
from canonry.fuse import DEFAULT_FUSION, Fusion
from eval.questions import Judgement, Question, QuestionSet
from eval.tune import FEWEST, choose, grid, halves, tune
from tests.conftest import Workshop
from tests.fakes import WordBag

KINDS = {f"q{number:02}": "name" if number < 13 else "rule" for number in range(40)}


def test_every_setting_is_tried_once_the_default_and_the_current_one_first() -> None:
    current = Fusion("convex", k=7, alpha=0.35, entity=0.1)
    found = grid(current)
    assert list(found)[:2] == [DEFAULT_FUSION.label, current.label]
    assert found[current.label] == current
    assert {fusion.entity for fusion in found.values()} == {0.1}
    assert len(found) == 1 + 4 * 5 + 7 + 1
    assert len(grid(DEFAULT_FUSION)) == 1 + 4 * 5 + 7


def test_the_halves_share_each_kind_and_follow_from_the_seed() -> None:
    first, second = halves(KINDS, 3)
    assert sorted([*first, *second]) == sorted(KINDS)
    assert abs(len(first) - len(second)) <= 1
    for kind, count in Counter(KINDS.values()).items():
        assert abs(sum(KINDS[query] == kind for query in first) * 2 - count) <= 1
    assert halves(dict(reversed(KINDS.items())), 3) == (first, second)
    assert halves(KINDS, 4) != (first, second)


def values(**by_label: float) -> dict[str, dict[str, float]]:
    """The same value for every question under every setting, but for those named (`convex_5` for α=0.5)."""
    found = {label: dict.fromkeys(KINDS, 0.5) for label in grid(DEFAULT_FUSION)}
    for name, value in by_label.items():
        found[f"convex α=0.{name[-1]}"] = dict.fromkeys(KINDS, value)
    return found


LEXICAL = dict.fromkeys(KINDS, 0.5)


def test_equal_settings_go_to_the_default_whatever_is_set_now() -> None:
    current = Fusion("convex", alpha=0.2)
    found = choose(values(), LEXICAL, KINDS, current, measure="nDCG@10")
    assert (found.chosen.label, found.is_new, found.is_worse) == (DEFAULT_FUSION.label, True, False)
    best = choose(values(convex_2=0.6, convex_6=0.6), LEXICAL, KINDS, current, measure="nDCG@10")
    assert (best.chosen, best.is_new) == (current, False)


def test_the_choice_sees_one_half_and_is_reported_on_the_other() -> None:
    first, second = halves(KINDS, 0)
    tried = values()
    tried["convex α=0.5"] = dict.fromkeys(first, 0.9) | dict.fromkeys(second, 0.3)
    tried["convex α=0.4"] = dict.fromkeys(first, 0.1) | dict.fromkeys(second, 1.0)
    found = choose(tried, LEXICAL, KINDS, DEFAULT_FUSION, measure="nDCG@10")
    assert found.chosen.label == "convex α=0.5"
    assert next(iter(found.chosen_on.items())) == ("convex α=0.5", pytest.approx(0.9))
    assert found.held_out == {
        "lexical": pytest.approx(0.5), DEFAULT_FUSION.label: pytest.approx(0.5), "convex α=0.5": pytest.approx(0.3)
    }  # fmt: skip
    assert found.against_current.difference == pytest.approx(-0.2)
    assert (found.against_current.questions, found.against_current.losses) == (len(second), len(second))
    assert found.is_worse
    assert found.halves == {
        kind: tuple(sum(KINDS[query] == kind for query in half) for half in (first, second))
        for kind in ("name", "rule")
    }


def test_few_questions_are_said_or_refused() -> None:
    assert "20 held-out questions" in choose(values(), LEXICAL, KINDS, DEFAULT_FUSION, measure="nDCG@10").few
    fewer = dict.fromkeys(list(KINDS)[: 2 * FEWEST - 1], 0.5)
    with pytest.raises(UsageError, match="19 judged questions are too few"):
        choose(values(), fewer, KINDS, DEFAULT_FUSION, measure="nDCG@10")


def test_a_campaign_without_vectors_has_nothing_to_fuse(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "A brass lamp burns in the tower."))
    questions = QuestionSet(
        tuple(Question(f"q{number}", "brass lamp", "name") for number in range(20)),
        tuple(Judgement(f"q{number}", "lamp.md", "brass lamp burns", 2) for number in range(20)),
    )
    with pytest.raises(UsageError, match=r"no question can be asked by meaning.*no embedder"):
        tune(at, questions, DEFAULT_FUSION)


@pytest.mark.parametrize("measure", ["nDCG@10", "RR@5", "Recall@1", "Success@3"])
def test_the_measure_is_of_the_places_found(workshop: Workshop, measure: str) -> None:
    register(WordBag())
    at = workshop.create(embedder="wordbag")
    words = [f"word{number}x" for number in range(20)]
    workshop.bring(at, *(workshop.write(f"{word}.md", f"The {word} stands in the hall.\n") for word in words))
    questions = QuestionSet(
        tuple(Question(word, word, "name") for word in words),
        tuple(Judgement(word, f"{word}.md", f"The {word} stands", 2) for word in words[:-1])
        + (Judgement(words[-1], f"{words[0]}.md", f"The {words[0]} stands", 2),),
    )
    found, mute = tune(at, questions, DEFAULT_FUSION, measure=measure)
    assert mute == 0
    assert found.chosen == DEFAULT_FUSION
    _, second = halves(dict.fromkeys(words, "name"), 0)
    wrong = words[-1] in second
    assert found.held_out["lexical"] == pytest.approx((len(second) - wrong) / len(second))
