"""One evaluation: a question set asked in several modes, with figures overall and by kind, and what went wrong where.

The result is a plain document (`Evaluation.as_json`), which the report, the gate, the regression check and the
comparison of two reports all read.
"""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from canonry.config import Settings
from canonry.layout import Layout
from canonry.timestamps import now
from canonry.tokens import COUNTER
from eval.asking import ask_all, ask_cold, located
from eval.judge import Place, covered
from eval.metrics import DEPTH, KS, Result, Values, forbidden, leaks, names, per_question, wanted
from eval.questions import UNANSWERABLE, QuestionSet
from eval.significance import Comparison, compare

CONTRACT = "canonry/evaluation/1"
COMPARED = ("nDCG@10", "Recall@5")
EXCERPT = 160  # characters of a passage in the report
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class ModeFigures:
    """One mode over the whole set. Latencies in milliseconds; tokens per question, by `canonry.tokens`."""

    mode: str
    means: Values
    by_kind: dict[str, Values]
    questions: dict[str, dict[str, Any]]
    leaks: int  # passages in results that their asker may not see
    pack_leaks: int  # the same of rendered packs
    unanswerable: int
    empty: int  # of the unanswerable ones, how many got nothing
    degraded: int
    p50_ms: float
    p95_ms: float
    cold_ms: float | None  # median of whole processes; None where none was started
    result_tokens: float
    pack_tokens: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything that one run found out."""

    campaign_id: str
    set_name: str
    created_at: str
    ks: tuple[int, ...]
    evidence: dict[str, str]  # what the figures depend on: question set, settings, embedder, index
    counts: dict[str, Any]
    kinds: dict[str, int]
    modes: dict[str, ModeFigures]
    comparisons: dict[str, list[Comparison]]  # mode -> against lexical
    index_bytes: dict[str, int]
    counter: str = COUNTER
    contract: str = field(default=CONTRACT)

    def judged(self, kind: str) -> int:
        """How many questions of the kind have a place to find, which is what its means are over."""
        return max(
            (int(figures.by_kind[kind]["questions"]) for figures in self.modes.values() if kind in figures.by_kind),
            default=0,
        )

    def as_json(self) -> dict[str, Any]:
        """The whole as a JSON document."""
        return asdict(self)


def evaluate(
    at: Layout,
    questions: QuestionSet,
    set_name: str,
    modes: Sequence[str],
    *,
    ks: Sequence[int] = KS,
    cold: int = 0,
    packs: bool = True,
    progress: Progress = lambda step, done, total: None,
) -> Evaluation:
    """Ask every question in every mode, in order. `cold` processes a mode are started to time a first question."""
    places = located(at, questions)
    results = {mode: ask_all(at, questions.questions, mode, asked_for(ks), packs, progress) for mode in modes}
    cold_ms = {mode: ask_cold(at, questions.questions, mode, cold) for mode in modes}
    return summed_up(at, questions, set_name, places, results, cold_ms, ks)


def asked_for(ks: Sequence[int]) -> int:
    """How many results each question is asked for: RR and nDCG look at the first ten, whatever the cut-offs are."""
    return max(*ks, DEPTH)


def summed_up(
    at: Layout,
    questions: QuestionSet,
    set_name: str,
    places: Mapping[str, Sequence[Place]],
    results: Mapping[str, Sequence[Result]],
    cold_ms: Mapping[str, float | None],
    ks: Sequence[int],
) -> Evaluation:
    """The evaluation of results that are there already."""
    kinds = {question.query_id: question.kind for question in questions.questions}
    values = {mode: per_question(found, places, ks) for mode, found in results.items()}
    counted: dict[str, int] = {}
    for kind in kinds.values():
        counted[kind] = counted.get(kind, 0) + 1
    return Evaluation(
        at.campaign, set_name, now(), tuple(ks), evidence(at, questions), counts(questions, places), counted,
        {mode: _figures(mode, found, values[mode], places, kinds, cold_ms.get(mode), ks) for mode, found in results.items()},
        {mode: _against(values["lexical"], values[mode], kinds) for mode in results if mode != "lexical" and "lexical" in results},
        _index_bytes(at),
    )  # fmt: skip


def counts(questions: QuestionSet, places: Mapping[str, Sequence[Place]]) -> dict[str, Any]:
    """How many questions there are, and which of them the means leave out because nothing is judged to answer them."""
    without = [q.query_id for q in questions.questions if not wanted(places.get(q.query_id, ()))]
    return {
        "questions": len(questions.questions),
        "judgements": len(questions.judgements),
        "judged": len(questions.questions) - len(without),
        "without_answer": len(without),
        "excluded": without,
        "gaps": list(questions.gaps),
    }


def evidence(at: Layout, questions: QuestionSet) -> dict[str, str]:
    """What the figures depend on, as text to compare: another value of any of it makes them figures of something else."""
    from contextlib import closing

    from canonry.catalog import Catalog
    from canonry.gate import earned_by

    with closing(Catalog.open(at.catalog)) as catalog:
        settings = Settings.parse(catalog.settings())
    judged = [asdict(one) | {"where": ""} for one in questions.judgements]
    asked = json.dumps([[asdict(one) for one in questions.questions], judged], sort_keys=True)
    judge = {"judge": f"{settings.judge.model} at {settings.judge.url}".strip()} if settings.judge.url else {}
    return {"questions": hashlib.sha256(asked.encode()).hexdigest()[:16], **earned_by(at, settings), **judge}


def _figures(
    mode: str,
    results: Sequence[Result],
    values: Mapping[str, Values],
    places: Mapping[str, Sequence[Place]],
    kinds: Mapping[str, str],
    cold_ms: float | None,
    ks: Sequence[int],
) -> ModeFigures:
    times = sorted(result.milliseconds for result in results) or [0.0]
    unanswerable = [result for result in results if kinds[result.query_id] == UNANSWERABLE]
    groups: dict[str, list[Values]] = {}
    for query_id, row in values.items():
        groups.setdefault(kinds[query_id], []).append(row)
    return ModeFigures(
        mode,
        _means(list(values.values()), ks),
        {kind: {"questions": float(len(rows)), **_means(rows, ks)} for kind, rows in sorted(groups.items())},
        {
            result.query_id: _told(result, values.get(result.query_id), places.get(result.query_id, ()))
            for result in results
        },
        sum(len(leaks(result.passages, places.get(result.query_id, ()))) for result in results),
        sum(len(_pack_leaks(result, places.get(result.query_id, ()))) for result in results),
        len(unanswerable),
        sum(1 for result in unanswerable if not result.passages),
        sum(1 for result in results if result.degraded),
        statistics.median(times),
        times[min(len(times) - 1, int(len(times) * 0.95))],
        cold_ms,
        statistics.fmean(sum(p.token_count for p in result.passages) for result in results) if results else 0.0,
        statistics.fmean(result.pack_tokens for result in results) if results else 0.0,
    )


def _means(rows: Sequence[Values], ks: Sequence[int]) -> Values:
    return {name: statistics.fmean(row[name] for row in rows) for name in names(ks)} if rows else {}


def _pack_leaks(result: Result, places: Sequence[Place]) -> list[str]:
    """Forbidden places that a pack holds: a passage that covers one, or its words anywhere in the rendered text."""
    text = " ".join(result.pack_text.replace("\n> ", " ").split())
    shown = [place.place_id for place in forbidden(places) if " ".join(place.text.split()) in text]
    held = [place.place_id for passage in result.pack for place in covered(passage, forbidden(places))]
    return list(dict.fromkeys([*held, *shown]))


def _told(result: Result, values: Values | None, places: Sequence[Place]) -> dict[str, Any]:
    """What the report says of one question in one mode."""
    return {
        "values": values,
        "milliseconds": round(result.milliseconds, 3),
        "pack_tokens": result.pack_tokens,
        "pack_by_class": dict(result.pack_by_class),
        "degraded": result.degraded,
        "leaks": [passage.chunk_id for passage in leaks(result.passages, places)],
        "pack_leaks": _pack_leaks(result, places),
        "passages": [
            {
                "chunk_id": passage.chunk_id, "version": passage.source_version_id, "title": passage.title,
                "heading_path": passage.heading_path, "answers": bool(covered(passage, wanted(places))),
                "excerpt": " ".join(passage.exact_text.split())[:EXCERPT], "places": [p.place_id for p in covered(passage, wanted(places))],
            }
            for passage in result.passages
        ],
    }  # fmt: skip


def _against(base: Mapping[str, Values], other: Mapping[str, Values], kinds: Mapping[str, str]) -> list[Comparison]:
    found: list[Comparison] = []
    for measure in COMPARED:
        if all(measure in row for row in base.values()):
            found += compare(
                measure,
                {q: row[measure] for q, row in base.items()},
                {q: row[measure] for q, row in other.items()},
                kinds,
            )
    return found


def _index_bytes(at: Layout) -> dict[str, int]:
    def below(folder: Path, pattern: str = "**/*") -> int:
        return sum(path.stat().st_size for path in folder.glob(pattern) if path.is_file())

    return {
        "sources": below(at.files),
        "chunks": below(at.chunks, "chunks-*.parquet"),
        "embeddings": below(at.chunks / "vectors"),
        "lexical": below(at.index, "lexical.sqlite*"),
        "vectors": below(at.index, "vectors-*") + below(at.index, "scan-*"),
    }
