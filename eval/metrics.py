"""Figures of one mode over one question set, by ir-measures where the field has a measure.

Recall@k is the share of all places with relevance above 0 that the first k *passages* cover; a place counts once
however many passages cover it, and a question without an answer in the results counts as 0. Success@k is 1 when any
place is covered. Questions that have no place to find are left out of both and counted aloud. A leak is a passage that
covers a forbidden place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ir_measures
from ir_measures import RR, R, Success, nDCG

from canonry.retrieval import Passage
from eval.judge import Place, covered

MEASURES = (R @ 1, R @ 5, Success @ 5, RR @ 10, nDCG @ 10)


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over the questions that have a place to find. `empty` of `unanswerable` got the empty answer they deserve."""

    means: Mapping[str, float]
    judged: int
    leaks: int
    unanswerable: int
    empty: int
    p50_ms: float
    p95_ms: float
    tokens: float  # in the results of a question, mean


@dataclass(frozen=True, slots=True)
class Result:
    """What one question got, and in how many milliseconds."""

    query_id: str
    passages: Sequence[Passage]
    milliseconds: float


def measure(results: Sequence[Result], places: Mapping[str, Sequence[Place]]) -> Figures:
    """The figures of one run over the set."""
    wanted = {query: [place for place in found if place.relevance > 0] for query, found in places.items()}
    judged = [result for result in results if wanted.get(result.query_id)]
    qrels = [
        ir_measures.Qrel(result.query_id, place.place_id, place.relevance)
        for result in judged
        for place in wanted[result.query_id]
    ]
    run = [row for result in judged for row in _run_rows(result, wanted[result.query_id])]
    sums = ir_measures.calc_aggregate(MEASURES, qrels, run) if qrels else {}
    times = sorted(result.milliseconds for result in results) or [0.0]
    hopeless = [result for result in results if not places.get(result.query_id)]
    return Figures(
        {str(name): float(sums[name]) for name in MEASURES if name in sums},
        len(judged),
        sum(leaks(result, places.get(result.query_id, ())) for result in results),
        len(hopeless),
        sum(1 for result in hopeless if not result.passages),
        times[len(times) // 2],
        times[min(len(times) - 1, int(len(times) * 0.95))],
        sum(passage.token_count for result in results for passage in result.passages) / max(1, len(results)),
    )


def leaks(result: Result, places: Sequence[Place]) -> int:
    """How many passages of a result cover a place that is forbidden to its asker."""
    forbidden = [place for place in places if place.relevance < 0]
    return sum(1 for passage in result.passages if covered(passage, forbidden))


def _run_rows(result: Result, wanted: Sequence[Place]) -> list[ir_measures.ScoredDoc]:
    """The result as a run: a passage stands for the places it covers first, or for itself."""
    rows: list[ir_measures.ScoredDoc] = []
    seen: set[str] = set()
    for rank, passage in enumerate(result.passages):
        fresh = [place.place_id for place in covered(passage, wanted) if place.place_id not in seen]
        seen.update(fresh)
        for name in fresh or [passage.chunk_id + passage.source_version_id]:
            rows.append(ir_measures.ScoredDoc(result.query_id, name, float(len(result.passages) - rank)))
    return rows
