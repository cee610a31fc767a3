"""What one question got, and figures for it by ir-measures, as the field defines them.

Recall@k is the share of a question's places (relevance above 0) that the first k passages cover, Success@k is 1 where
they cover any; a place counts once however many passages cover it. RR@10 and nDCG@10 are of the ranking itself; there a
passage that covers two places takes two ranks. "source" measures judge by source instead: k counts the distinct sources
in their order. A question without an answer in the results counts as 0. A leak is a passage that covers a forbidden
place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import ir_measures
from ir_measures import RR, R, Success, nDCG

from canonry.errors import UsageError
from canonry.retrieval import Passage
from eval.judge import Place, Spot, covered

KS = (1, 3, 5, 8, 10)
DEPTH = 10
_EVERY = 1000
_RANKING = {"nDCG": nDCG, "RR": RR}
_COVERING = {"Recall": R, "Success": Success}
Values = dict[str, float]


@dataclass(frozen=True, slots=True)
class Result:
    """What one question got in one mode, and in how many milliseconds; what a pack for it holds, where one was made."""

    query_id: str
    passages: Sequence[Passage]
    milliseconds: float
    degraded: str | None = None
    pack: Sequence[Passage] = ()
    pack_text: str = ""
    pack_tokens: int = 0
    pack_milliseconds: float = 0.0
    pack_by_class: Mapping[str, int] = field(default_factory=dict)


def wanted(places: Sequence[Place]) -> list[Place]:
    """The places that answer."""
    return [place for place in places if place.relevance > 0]


def forbidden(places: Sequence[Place]) -> list[Place]:
    """The places that must not be shown to the asker."""
    return [place for place in places if place.relevance < 0]


def names(ks: Sequence[int]) -> list[str]:
    """The measures that `per_question` gives, in order."""
    return [
        *(f"Recall@{k}" for k in ks), *(f"Success@{k}" for k in ks), f"RR@{DEPTH}", f"nDCG@{DEPTH}",
        *(f"source Recall@{k}" for k in ks), "source Success@1",
    ]  # fmt: skip


def per_question(
    results: Sequence[Result], places: Mapping[str, Sequence[Place]], ks: Sequence[int] = KS
) -> dict[str, Values]:
    """Query id -> measure -> value, for the results whose question has a place to find."""
    judged = [result for result in results if wanted(places.get(result.query_id, ()))]
    qrels = judgements(judged, places)
    values: dict[str, Values] = {result.query_id: {} for result in judged}
    ranking = calculated([nDCG @ DEPTH, RR @ DEPTH], qrels, run_rows(judged, places))
    for k in ks:
        cut = run_rows(judged, places, k)
        found = calculated([R @ _EVERY, Success @ _EVERY], qrels, cut)
        for query_id, row in found.items():
            values[query_id] |= {f"Recall@{k}": row[str(R @ _EVERY)], f"Success@{k}": row[str(Success @ _EVERY)]}
    of_sources = by_source(
        {one.query_id: [passage.source_id for passage in one.passages] for one in judged},
        {one.query_id: [place.source_id for place in wanted(places[one.query_id])] for one in judged},
        ks,
    )
    for query_id, row in ranking.items():
        values[query_id] |= {f"RR@{DEPTH}": row[str(RR @ DEPTH)], f"nDCG@{DEPTH}": row[str(nDCG @ DEPTH)]}
        values[query_id] |= of_sources[query_id]
    return {query_id: {name: row[name] for name in names(ks)} for query_id, row in values.items()}


def by_source(
    found: Mapping[str, Sequence[str]], relevant: Mapping[str, Sequence[str]], ks: Sequence[int]
) -> dict[str, Values]:
    """Query id -> Recall@k and Success@1 by source; k counts distinct sources in the order of their first passages."""
    qrels = [
        ir_measures.Qrel(query, source, 1) for query, sources in relevant.items() for source in dict.fromkeys(sources)
    ]
    run = [
        ir_measures.ScoredDoc(query, source, float(-rank))
        for query, sources in found.items()
        for rank, source in enumerate(dict.fromkeys(sources))
    ]
    rows = calculated([*(R @ k for k in ks), Success @ 1], qrels, run)
    return {
        query: {**{f"source Recall@{k}": row[str(R @ k)] for k in ks}, "source Success@1": row[str(Success @ 1)]}
        for query, row in rows.items()
    }


def judgements(results: Sequence[Result], places: Mapping[str, Sequence[Place]]) -> list[ir_measures.Qrel]:
    """The places to find of these questions, as qrels."""
    return [
        ir_measures.Qrel(result.query_id, place.place_id, place.relevance)
        for result in results
        for place in wanted(places[result.query_id])
    ]


def run_rows(
    results: Sequence[Result], places: Mapping[str, Sequence[Place]], k: int | None = None
) -> list[ir_measures.ScoredDoc]:
    """The first k passages of each result as a run: a passage stands for the places it covers first, or for itself."""
    return [row for one in results for row in _run(one.query_id, one.passages[:k], wanted(places[one.query_id]))]


def _run(query_id: str, found: Sequence[Spot], places: Sequence[Place]) -> Iterator[ir_measures.ScoredDoc]:
    seen: set[str] = set()
    for rank, spot in enumerate(found):
        of_it = covered(spot, places)
        fresh = [place.place_id for place in of_it if place.place_id not in seen]
        seen.update(fresh)
        if of_it and not fresh:
            continue
        for name in fresh or [f"{spot.source_version_id}:{spot.chunk_id}"]:
            yield ir_measures.ScoredDoc(query_id, name, float(-rank))


def check_measure(name: str) -> int:
    """The cut-off of a measure that `measured` knows; UsageError for another."""
    kind, _, k = name.partition("@")
    if kind not in _RANKING | _COVERING or not k.isdecimal() or not 1 <= int(k) <= _EVERY:
        known = ", ".join(f"{kind}@{DEPTH}" for kind in _RANKING | _COVERING)
        raise UsageError(f"measure {name!r} is unknown; take one such as {known}")
    return int(k)


def measured(name: str, found: Mapping[str, Sequence[Spot]], places: Mapping[str, Sequence[Place]]) -> dict[str, float]:
    """Query id -> value of one measure (nDCG@k, RR@k, Recall@k or Success@k), for questions with a place to find."""
    kind, k = name.partition("@")[0], check_measure(name)
    judged = {query: spots for query, spots in found.items() if wanted(places.get(query, ()))}
    measure = _RANKING[kind] @ k if kind in _RANKING else _COVERING[kind] @ _EVERY
    most = None if kind in _RANKING else k
    qrels = [ir_measures.Qrel(query, one.place_id, one.relevance) for query in judged for one in wanted(places[query])]
    run = [row for query, spots in judged.items() for row in _run(query, spots[:most], wanted(places[query]))]
    return {query: row[str(measure)] for query, row in calculated([measure], qrels, run).items()}


def leaks(passages: Sequence[Passage], places: Sequence[Place]) -> list[Passage]:
    """The passages that cover a place that is forbidden to their asker."""
    return [passage for passage in passages if covered(passage, forbidden(places))]


def calculated(
    measures: Sequence[ir_measures.Measure], qrels: Sequence[ir_measures.Qrel], run: Sequence[ir_measures.ScoredDoc]
) -> dict[str, Values]:
    """Query id -> measure -> value for every question of the qrels; one without a row in the run counts as 0."""
    values: dict[str, Values] = {qrel.query_id: dict.fromkeys(map(str, measures), 0.0) for qrel in qrels}
    if qrels:
        for metric in ir_measures.iter_calc(list(measures), list(qrels), list(run)):
            values[metric.query_id][str(metric.measure)] = float(metric.value)
    return values
