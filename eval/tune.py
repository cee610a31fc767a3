"""Choosing a campaign's fusion on one half of the questions, and what the choice is worth on the other half.

Tried are rrf with k of 5, 10, 20 and 60 and a weight of 0.1, 0.25, 0.5, 0.75 and 1, convex with α auto and from 0.1 to 0.7 in
steps of 0.1, and the current setting. The highest mean on the first half is chosen; equal means go to the default, then
to the current setting, then to the first in the order above. The halves hold equally many questions of each kind, give
or take one, and are drawn by the seed alone.

Each question is asked once: every fusion is tried on the same legs, and floor, rerank and copies are those of a query.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from canonry.campaign import Campaign
from canonry.errors import UsageError
from canonry.fuse import DEFAULT_FUSION, LEXICAL, SEMANTIC, Fusion
from canonry.layout import Layout
from canonry.ranking import Pool
from eval.asking import located
from eval.judge import Place
from eval.metrics import check_measure, measured, wanted
from eval.questions import Question, QuestionSet
from eval.significance import Comparison, compare

RANK_CONSTANTS = (5, 10, 20, 60)
WEIGHTS = (0.1, 0.25, 0.5, 0.75, 1.0)
ALPHAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
FEWEST = 10  # judged questions in a half
FEW = 50
_ALIKE = 1e-9
Progress = Callable[[str, int, int], None]
Values = dict[str, float]  # query id -> value


@dataclass(frozen=True, slots=True)
class Found:
    """A chunk that was found, as a spot to judge."""

    chunk_id: str
    source_version_id: str
    source_id: str
    start_byte: int
    end_byte: int


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen on the first half, and how it does on the held-out one against the current setting and lexical."""

    measure: str
    seed: int
    halves: dict[str, tuple[int, int]]  # kind -> questions chosen on, questions held out
    current: Fusion
    chosen: Fusion
    chosen_on: dict[str, float]  # label of each setting -> mean on the first half, best first
    held_out: dict[str, float]  # lexical, and the labels of the current and the chosen setting -> mean
    against_current: Comparison
    against_lexical: Comparison

    @property
    def is_new(self) -> bool:
        """Whether another setting than the current one was chosen."""
        return self.chosen.label != self.current.label

    @property
    def is_worse(self) -> bool:
        """Whether the held-out half speaks against the choice, be it by chance."""
        return self.against_current.difference < 0

    @property
    def few(self) -> str:
        """A warning where the held-out half is small; else empty."""
        if self.against_current.questions >= FEW:
            return ""
        return (
            f"{self.against_current.questions} held-out questions tell large differences alone; "
            f"ask at least {2 * FEW} judged ones"
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {
            "chosen_label": self.chosen.label, "current_label": self.current.label, "is_new": self.is_new, "is_worse": self.is_worse,
        }  # fmt: skip


def grid(current: Fusion) -> dict[str, Fusion]:
    """Label -> each setting to try, by preference among equals; a leg of mentioned names weighs what it weighs now."""
    default = replace(DEFAULT_FUSION, entity=current.entity)
    tried = [default, current]
    tried += [replace(default, method="rrf", k=k, weight=weight) for k in RANK_CONSTANTS for weight in WEIGHTS]
    tried += [replace(default, method="convex", alpha=alpha) for alpha in ALPHAS]
    found: dict[str, Fusion] = {}
    for fusion in tried:
        found.setdefault(fusion.label, fusion)
    return found


def halves(kinds: Mapping[str, str], seed: int) -> tuple[list[str], list[str]]:
    """(ids to choose on, ids held out) of query id -> kind: half of each kind, drawn by the seed; each list sorted."""
    groups: dict[str, list[str]] = {}
    for query_id in sorted(kinds):
        groups.setdefault(kinds[query_id], []).append(query_id)
    drawn: list[str] = []
    for kind in sorted(groups):
        random.Random(f"{seed} {kind}").shuffle(groups[kind])  # noqa: S311 - a draw that can be repeated
        drawn += groups[kind]
    return sorted(drawn[::2]), sorted(drawn[1::2])


def choose(
    tried: Mapping[str, Mapping[str, float]],
    lexical: Mapping[str, float],
    kinds: Mapping[str, str],
    current: Fusion,
    *,
    measure: str,
    seed: int = 0,
) -> Choice:
    """The choice among `tried` (label of `grid(current)` -> query id -> value), with values of the lexical leg beside.

    UsageError for fewer than 20 questions.
    """
    kinds = {query: kinds[query] for query in lexical}
    if len(kinds) < 2 * FEWEST:
        raise UsageError(
            f"{len(kinds)} judged questions are too few to choose by; ask at least {2 * FEWEST}, better {2 * FEW} and more"
        )
    first, second = halves(kinds, seed)
    settings = grid(current)
    means = {label: statistics.fmean(tried[label][query] for query in first) for label in settings}
    best = next(label for label, mean in means.items() if mean >= max(means.values()) - _ALIKE)
    held = {name: {query: values[query] for query in second} for name, values in (
        (LEXICAL, lexical), (current.label, tried[current.label]), (best, tried[best]))}  # fmt: skip
    return Choice(
        measure, seed,
        {kind: (sum(kinds[q] == kind for q in first), sum(kinds[q] == kind for q in second)) for kind in sorted({*kinds.values()})},
        current, settings[best], dict(sorted(means.items(), key=lambda pair: -pair[1])),
        {name: statistics.fmean(values.values()) for name, values in held.items()},
        compare(measure, held[current.label], held[best], kinds)[0],
        compare(measure, held[LEXICAL], held[best], kinds)[0],
    )  # fmt: skip


def tune(
    at: Layout,
    questions: QuestionSet,
    current: Fusion,
    *,
    measure: str = "nDCG@10",
    seed: int = 0,
    progress: Progress = lambda step, done, total: None,
) -> tuple[Choice, int]:
    """(the choice by a campaign's question set, how many of its questions the semantic leg could not answer).

    UsageError where it could answer none, or where the questions are too few.
    """
    places = located(at, questions)
    judged = [one for one in questions.questions if wanted(places.get(one.query_id, ()))]
    if len(judged) >= 2 * FEWEST:
        tried, lexical, mute = _try(at, judged, places, grid(current), measure, progress)
    else:
        tried, lexical, mute = {}, {one.query_id: 0.0 for one in judged}, 0
    kinds = {one.query_id: one.kind for one in judged}
    return choose(tried, lexical, kinds, current, measure=measure, seed=seed), mute


def _try(
    at: Layout,
    questions: Sequence[Question],
    places: Mapping[str, Sequence[Place]],
    fusions: Mapping[str, Fusion],
    measure: str,
    progress: Progress,
) -> tuple[dict[str, Values], Values, int]:
    """(label -> values, values by words alone, questions without a semantic leg)."""
    limit = check_measure(measure)
    found: dict[str, dict[str, list[Found]]] = {label: {} for label in (LEXICAL, *fusions)}
    mute, why = 0, None
    with Campaign(at) as campaign:
        for done, question in enumerate(questions, 1):
            asked = question.asked
            asked["limit"] = limit
            asked["mode"] = "lexical"
            words, _ = campaign.pool(question.text, **asked)
            found[LEXICAL][question.query_id] = _spots(words, [DEFAULT_FUSION], limit)[0]
            asked["mode"] = "hybrid"
            both, degraded = campaign.pool(question.text, **asked)
            if both is None or SEMANTIC not in {leg.name for leg in both.legs}:
                mute, why = mute + 1, degraded
            for label, spots in zip(fusions, _spots(both, fusions.values(), limit), strict=True):
                found[label][question.query_id] = spots
            progress("try", done, len(questions))
    if mute == len(questions):
        raise UsageError(f"no question can be asked by meaning, so that there is nothing to fuse: {why}")
    values = {label: measured(measure, spots, places) for label, spots in found.items()}
    return values, values.pop(LEXICAL), mute


def _spots(pool: Pool | None, fusions: Iterable[Fusion], limit: int) -> list[list[Found]]:
    """The first passages under each fusion."""
    made: dict[int, Found] = {}
    lists = []
    for fusion in fusions:
        rows = [one.row for one in pool.ranked(fusion).chosen[:limit]] if pool else []
        for row in rows:
            if row not in made and pool:
                one = pool.candidates[row]
                source_id = one.version_id.rpartition("@")[0]
                made[row] = Found(one.chunk_id, one.version_id, source_id, one.start_byte, one.end_byte)
        lists.append([made[row] for row in rows])
    return lists
