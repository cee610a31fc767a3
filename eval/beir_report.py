"""What a BEIR collection showed: figures by mode beside published ones, as a document, as Markdown, and as TREC files."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from eval.beir import MEASURES, PUBLISHED, Collection
from eval.metrics import Values
from eval.report import write_folder
from eval.significance import Comparison, compare
from eval.tune import Choice

CONTRACT = "canonry/beir/1"
BASE = "lexical"


@dataclass(frozen=True, slots=True)
class ModeRun:
    """One mode over all questions: the first documents of each, its values, and how long the asking took.

    `without_floor` has the values of the same order where no passage and no question is left out as too little relevant:
    what the floor costs. Published figures have none.
    """

    ranked: dict[str, list[str]]
    values: dict[str, Values]
    seconds: float
    degraded: int = 0  # questions that less was searched for than the mode asks
    without_floor: dict[str, Values] = field(default_factory=dict)

    @property
    def means(self) -> Values:
        return _means(self.values)

    @property
    def means_without_floor(self) -> Values:
        return _means(self.without_floor)

    @property
    def empty(self) -> int:
        """Questions that got nothing."""
        return sum(not documents for documents in self.ranked.values())


@dataclass(frozen=True, slots=True)
class BeirReport:
    """One collection: what was indexed, what was left out, each mode, and the choice of a fusion where one was wanted."""

    collection: str
    split: str
    documents: int
    passages: int
    gaps: tuple[str, ...]
    settings: dict[str, str]
    import_seconds: float
    modes: dict[str, ModeRun]
    comparisons: dict[str, list[Comparison]]  # mode -> against lexical, a measure each
    choice: Choice | None = None
    tried: dict[str, dict[str, float]] = field(default_factory=dict)  # label of a fusion -> query id -> nDCG@10

    def as_json(self, *, questions: bool = True) -> dict[str, Any]:
        """The whole as a JSON document; with the values of single questions or without."""
        document: dict[str, Any] = {
            "contract": CONTRACT, "collection": self.collection, "split": self.split, "documents": self.documents,
            "passages": self.passages, "questions": len(next(iter(self.modes.values())).values), "left_out": list(self.gaps),
            "settings": self.settings, "import_seconds": round(self.import_seconds, 2),
            "modes": {
                mode: {
                    "means": run.means, "means_without_floor": run.means_without_floor, "seconds": round(run.seconds, 2),
                    "empty": run.empty, "degraded": run.degraded,
                }
                for mode, run in self.modes.items()
            },
            "published": [
                {"what": what, "measure": measure, "value": value, "source": source}
                for what, measure, value, source in PUBLISHED.get(self.collection, ())
            ],
            "against_lexical": {mode: [asdict(one) for one in rows] for mode, rows in self.comparisons.items()},
            "tuned": self.choice.as_json() if self.choice else None,
        }  # fmt: skip
        if questions:
            document["by_question"] = {mode: run.values for mode, run in self.modes.items()}
            document["tried"] = self.tried
        return document


def _means(values: Mapping[str, Values]) -> Values:
    return {name: statistics.fmean(row[name] for row in values.values()) for name in MEASURES} if values else {}


def floor_costs(found: BeirReport) -> list[str]:
    """A sentence for each mode that left questions without an answer, with what that cost."""
    return [
        f"{mode}: {run.empty:,} question{'s' * (run.empty > 1)} got nothing, which counts as 0; without the relevance floor "
        f"nDCG@10 is {run.means_without_floor['nDCG@10']:.3f}"
        for mode, run in found.modes.items()
        if run.empty and run.without_floor
    ]


def compare_modes(modes: Mapping[str, ModeRun]) -> dict[str, list[Comparison]]:
    """Each mode against lexical, by each measure, paired by question; nothing without lexical."""
    if BASE not in modes:
        return {}
    return {
        mode: [
            compare(name, _column(modes[BASE], name), _column(run, name), dict.fromkeys(run.values, "all"))[0]
            for name in MEASURES
        ]
        for mode, run in modes.items()
        if mode != BASE
    }


def _column(run: ModeRun, measure: str) -> dict[str, float]:
    return {query: row[measure] for query, row in run.values.items()}


def mark(comparison: Comparison) -> str:
    """Plus or minus for a difference that is not chance (p < 0.05); else nothing."""
    return "+" if comparison.is_better else "−" if comparison.is_worse else ""


def rows(found: BeirReport) -> list[tuple[str, ...]]:
    """(what, then each measure with its mark, seconds of asking) for each mode, and for each published figure."""
    lines = []
    for mode, run in found.modes.items():
        marks = {one.measure: mark(one) for one in found.comparisons.get(mode, ())}
        cells = (f"{value:.3f}{marks.get(name, '')}" for name, value in run.means.items())
        lines.append((mode, *cells, f"{run.seconds:.1f}"))
    published: dict[str, dict[str, str]] = {}
    for what, measure, value, _ in PUBLISHED.get(found.collection, ()):
        published.setdefault(what, {})[measure] = f"{value:.3f}"
    return lines + [(what, *(given.get(name, "–") for name in MEASURES), "–") for what, given in published.items()]


def sentences(choice: Choice) -> list[str]:
    """What was chosen, on how many questions, and what the held-out half says of it."""
    on, out = (sum(pair[at] for pair in choice.halves.values()) for at in (0, 1))
    lines = [f"chosen on {on:,} questions, held out {out:,} (seed {choice.seed}): {choice.chosen.label}"]
    compared = {"lexical": choice.against_lexical}
    if choice.is_new:
        compared = {choice.current.label: choice.against_current, **compared}
    else:
        lines.append("which is the current setting")
    for name, one in compared.items():
        lines.append(
            f"held out, {choice.measure}: {choice.held_out[choice.chosen.label]:.3f}, {one.difference:+.3f} against {name} "
            f"{choice.held_out[name]:.3f} (95 % {one.low:+.3f} to {one.high:+.3f}, p {one.p:.3f}; "
            f"{one.wins} won, {one.ties} alike, {one.losses} lost)"
        )
    return lines


def markdown(found: BeirReport) -> str:
    """The figures as a Markdown table, and what they are figures of."""
    headers = ("", *MEASURES, "seconds")
    lines = [
        f"# {found.collection} ({found.split})", "",
        f"{found.documents:,} documents, {found.passages:,} passages, {len(next(iter(found.modes.values())).values):,} questions, "
        f"embedder {found.settings['embedder']}. + and − differ from lexical with p < 0.05.", "",
        _row(headers), _row(["---"] * len(headers)), *map(_row, rows(found)), "",
        *(f"- {line}" for line in (*found.gaps, *floor_costs(found))),
    ]  # fmt: skip
    if found.choice:
        lines += ["", "## Tuned", "", *(f"- {line}" for line in sentences(found.choice))]
    return "\n".join(lines) + "\n"


def write_report(folder: Path, found: BeirReport, collection: Collection) -> None:
    """Write the folder, whole or not at all; one that holds something else than a report is refused."""
    texts = {
        "report.json": json.dumps(found.as_json(), ensure_ascii=False, indent=1),
        "report.md": markdown(found),
        "qrels.trec": _qrels(found, collection),
        **{f"run-{mode}.trec": _run(mode, run) for mode, run in found.modes.items()},
    }
    write_folder(folder, texts)


def _qrels(found: BeirReport, collection: Collection) -> str:
    return "".join(
        f"{query} 0 {_name(document)} {gain}\n"
        for query in next(iter(found.modes.values())).ranked
        for document, gain in collection.gains[query].items()
    )


def _run(mode: str, run: ModeRun) -> str:
    return "".join(
        f"{query} Q0 {_name(document)} {rank} {len(ranked) - rank + 1} canonry-{mode}\n"
        for query, ranked in run.ranked.items()
        for rank, document in enumerate(ranked, 1)
    )


def _name(document: str) -> str:
    """An id without white space, which a TREC file cannot hold."""
    return "_".join(document.split()) or "_"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
