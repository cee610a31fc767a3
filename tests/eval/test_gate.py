from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from canonry.errors import UsageError
from eval.evaluation import Evaluation
from eval.gate import check, read_rules
from eval.metrics import names
from eval.significance import Comparison

KS = (1, 5)
SHIPPED = Path(__file__).parents[2] / "eval" / "gate.toml"


def figures(mode: str, recall: float, leaks: int = 0, p50: float = 1.0) -> object:
    from eval.evaluation import ModeFigures

    values = dict.fromkeys(names(KS), recall)
    return ModeFigures(mode, values, {"paraphrase": values}, {}, leaks, 0, 0, 0, 0, p50, p50, None, 0.0, 0.0)


def compared(kind: str, difference: float, p: float) -> Comparison:
    return Comparison("nDCG@10", kind, 10, difference, difference, difference, p, p, 1, 0, 0)


@pytest.fixture
def good() -> Evaluation:
    """An evaluation that passes the gate that comes with canonry."""
    return Evaluation(
        "vell", "set", "2026", KS, {}, {}, {"paraphrase": 10, "unanswerable": 2},
        {"lexical": figures("lexical", 0.6), "hybrid": figures("hybrid", 0.8, p50=5.0)},  # type: ignore[dict-item]
        {"hybrid": [compared("all", 0.1, 0.01), compared("paraphrase", 0.1, 0.01)]}, {},
    )  # fmt: skip


def failed(found: Evaluation, rules: dict[str, dict[str, object]] | None = None) -> list[str]:
    return [one.name for one in check(found, rules or read_rules(SHIPPED)) if not one.holds]


def test_the_gate_that_comes_with_canonry_can_be_passed(good: Evaluation) -> None:
    assert failed(good) == []


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        ({"hybrid": figures("hybrid", 0.5, p50=5.0)}, ["Recall@5, all"]),
        ({"hybrid": figures("hybrid", 0.8, leaks=1, p50=5.0)}, ["leaks, hybrid"]),
        ({"lexical": figures("lexical", 0.6, leaks=2)}, ["leaks, lexical"]),
        ({"hybrid": figures("hybrid", 0.8, p50=41.0)}, ["median latency, hybrid over lexical"]),
    ],
    ids=["recall", "leak", "leak by words", "latency"],
)
def test_each_line_can_fail(good: Evaluation, change: dict[str, object], lines: list[str]) -> None:
    assert failed(replace(good, modes={**good.modes, **change})) == lines  # type: ignore[dict-item]


@pytest.mark.parametrize("lexical", [0.0, 0.7, 1.9])
def test_medians_too_short_to_tell_apart_do_not_decide_the_ratio(good: Evaluation, lexical: float) -> None:
    modes = {"lexical": figures("lexical", 0.6, p50=lexical), "hybrid": figures("hybrid", 0.8, p50=15.4)}
    found = replace(good, modes=modes)  # type: ignore[arg-type]
    assert failed(found) == []
    (line,) = [one for one in check(found, read_rules(SHIPPED)) if one.name.startswith("median latency")]
    assert line.found == "7.7"


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([compared("all", 0.1, 0.2), compared("paraphrase", 0.1, 0.2)], ["nDCG@10 against lexical"]),
        ([compared("all", -0.1, 0.01), compared("paraphrase", 0.1, 0.2)], ["nDCG@10 against lexical"]),
        ([compared("all", 0.1, 0.01), compared("paraphrase", -0.1, 0.01)], ["nDCG@10 by kind"]),
        ([compared("all", 0.1, 0.01), compared("paraphrase", -0.1, 0.2)], []),
        ([], ["nDCG@10 against lexical", "nDCG@10 by kind"]),
    ],
    ids=["by chance", "worse", "a kind is worse", "a kind may be worse by chance", "nothing compared"],
)
def test_hybrid_must_be_better_and_worse_on_no_kind(good: Evaluation, rows: list[Comparison], lines: list[str]) -> None:
    assert failed(replace(good, comparisons={"hybrid": rows})) == lines


def test_recall_may_be_asked_for_by_kind(good: Evaluation) -> None:
    assert failed(good, {"recall": {"paraphrase": 0.9}}) == ["Recall@5, paraphrase"]
    assert failed(good, {"recall": {"measure": "Recall@1", "unanswerable": 0.1}}) == ["Recall@1, unanswerable"]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"recall": {"riddle": 0.1}}, "riddle is no kind of question"),
        ({"recall": {"measure": "Recall@7", "all": 0.1}}, "'Recall@7' is not measured"),
        ({"comparison": {"measure": "RR@10"}}, "'RR@10' is not compared"),
    ],
)
def test_a_rule_that_cannot_be_checked_is_an_error(
    good: Evaluation, rules: dict[str, dict[str, object]], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        check(good, rules)


def test_a_gate_needs_both_modes(good: Evaluation) -> None:
    with pytest.raises(UsageError, match="--modes lexical,hybrid"):
        check(replace(good, modes={"hybrid": good.modes["hybrid"]}), read_rules(SHIPPED))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no rule"),
        ("[recall", "is not TOML"),
        ("[speed]\nmost = 1", r"section \[speed\] is unknown"),
        ("leaks = 0", r"section \[leaks\] is unknown"),
        ("[leaks]\nleast = 0", r"\[leaks\] least is unknown; it has most"),
        ('[leaks]\nmost = "none"', "neither a number"),
        ('[recall]\nmeasure = "Recall@5"', r"section \[recall\] holds no rule"),
        ("[latency]\nratio = 2", "ratio is unknown"),
    ],
)
def test_rules_that_cannot_be_meant_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "gate.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_rules(path)


def test_a_gate_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gate\.toml: cannot be read"):
        read_rules(tmp_path / "gate.toml")
