"""Whether one mode does better than another on the same questions: paired tests by SciPy, and Holm's correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

ALPHA = 0.05
_SHUFFLES = 9_999
_SAME = 1e-9
_HELD = 5_000_000  # numbers in memory at once


@dataclass(frozen=True, slots=True)
class Comparison:
    """The mean difference of a measure over paired questions, with a 95 % bootstrap interval and a permutation p."""

    measure: str
    kind: str  # "all", or a kind of question
    questions: int
    difference: float
    low: float
    high: float
    p: float  # two-sided
    p_holm: float  # corrected over the kinds
    wins: int
    ties: int
    losses: int

    @property
    def is_better(self) -> bool:
        return self.difference > 0 and self.p_holm < ALPHA

    @property
    def is_worse(self) -> bool:
        return self.difference < 0 and self.p_holm < ALPHA


def compare(
    measure: str, base: Mapping[str, float], other: Mapping[str, float], kinds: Mapping[str, str]
) -> list[Comparison]:
    """`other` against `base` (query id -> value), over all questions and over each kind; Holm's correction over the kinds."""
    groups: dict[str, list[str]] = {}
    for query_id in base:
        groups.setdefault(kinds[query_id], []).append(query_id)
    whole = _paired(measure, "all", [other[query] - base[query] for query in base])
    parts = [_paired(measure, kind, [other[q] - base[q] for q in queries]) for kind, queries in sorted(groups.items())]
    return [whole, *_holm(parts)]


def _paired(measure: str, kind: str, values: Sequence[float]) -> Comparison:
    differences = np.asarray(values, np.float64)
    differences[np.abs(differences) < _SAME] = 0.0
    low, high, p = _interval_and_p(differences)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    mean = float(differences.mean()) if len(differences) else 0.0
    return Comparison(
        measure, kind, len(differences), mean, low, high, p, p, wins, len(differences) - wins - losses, losses
    )


def _interval_and_p(differences: np.ndarray) -> tuple[float, float, float]:
    """(low, high, p): of questions that are all alike the interval is a point, and p is 1 where they do not differ.

    One question alone shows nothing: its p is 1.
    """
    if not differences.any():
        return 0.0, 0.0, 1.0
    if len(differences) == 1:
        return float(differences[0]), float(differences[0]), 1.0
    from scipy import stats

    batch = max(1, _HELD // len(differences))
    test = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        n_resamples=_SHUFFLES,
        batch=batch,
        rng=np.random.default_rng(1),
    )
    if np.ptp(differences) == 0:
        return float(differences[0]), float(differences[0]), float(test.pvalue)
    interval = stats.bootstrap(
        (differences,),
        np.mean,
        n_resamples=_SHUFFLES,
        batch=batch,
        method="percentile",
        rng=np.random.default_rng(1),
        vectorized=True,
    ).confidence_interval
    return float(interval.low), float(interval.high), float(test.pvalue)


def _holm(parts: Sequence[Comparison]) -> list[Comparison]:
    """Each with its p corrected for how many were tested (Holm 1979), in the order given."""
    from dataclasses import replace

    corrected: dict[int, float] = {}
    highest = 0.0
    for rank, at in enumerate(sorted(range(len(parts)), key=lambda at: parts[at].p)):
        highest = max(highest, min(1.0, parts[at].p * (len(parts) - rank)))
        corrected[at] = highest
    return [replace(part, p_holm=corrected[at]) for at, part in enumerate(parts)]
