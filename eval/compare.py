"""Two or more modes side by side over the same campaign, for `canonry demo` and the tests."""

from __future__ import annotations

from collections.abc import Sequence

from canonry.layout import Layout
from eval.evaluation import Evaluation, evaluate
from eval.questions import QuestionSet

KS = (1, 5, 10)


def compare_modes(at: Layout, questions: QuestionSet, modes: Sequence[str]) -> Evaluation:
    """The evaluation of a whole set, without packs and processes."""
    return evaluate(at, questions, "demo", modes, ks=KS, packs=False)
