"""Case 13: several chunks of one source are one hit of it, and a doubled entry of the answer key is one source."""

from __future__ import annotations

import pytest

from eval.metrics import by_source

RELEVANT = {"q1": ["s1"], "q2": ["s1", "s2", "s3"], "q3": ["s5", "s5", "s6"], "q4": ["s7"]}
FOUND = {
    "q1": ["s1", "s1", "s2"], "q2": ["s1", "s4", "s2"], "q3": ["s5", "s5", "s5", "s8"], "q4": [],
}  # fmt: skip
EXPECTED = {
    "q1": {1: 1, 2: 1, 3: 1, 10: 1}, "q2": {1: 1 / 3, 2: 1 / 3, 3: 2 / 3, 10: 2 / 3}, "q3": {1: 0.5, 5: 0.5}, "q4": {1: 0, 10: 0},
}  # fmt: skip


def test_recall_by_source_counts_each_source_once() -> None:
    values = by_source(FOUND, RELEVANT, (1, 2, 3, 5, 10))
    assert set(values) == {"q1", "q2", "q3", "q4"}
    for query, expected in EXPECTED.items():
        assert {k: values[query][f"source Recall@{k}"] for k in expected} == pytest.approx(expected)
    assert max(value for row in values.values() for value in row.values()) <= 1


def test_the_mean_holds_the_question_without_results() -> None:
    values = by_source(FOUND, RELEVANT, (1,))
    assert sum(row["source Recall@1"] for row in values.values()) / len(values) == pytest.approx(0.4583333333)
