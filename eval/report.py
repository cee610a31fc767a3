"""One folder that tells an evaluation: report.html for eyes, report.md, report.json, and TREC runs and qrels.

report.html stands alone: no script, nothing from elsewhere. `qrels.trec` and `run-<mode>.trec` are read by ir_measures,
ranx and trec_eval; a document of theirs is a judged place, or a passage that covers none.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from canonry.errors import UsageError
from canonry.files import room_for
from canonry.layout import TEMPORARY_PREFIX
from eval.evaluation import Evaluation
from eval.gate import Check
from eval.judge import Place
from eval.metrics import wanted
from eval.plots import plots
from eval.questions import QuestionSet

_COMPARED = ("mode, kind", "measure", "difference", "95 %", "p (Holm)", "wins/ties/losses")
_SHOWN = ("nDCG@10", "RR@10", "source Success@1")
FILES = ("report.json", "report.md", "report.html", "qrels.trec")


def write_report(
    folder: Path,
    found: Evaluation,
    questions: QuestionSet,
    places: Mapping[str, Sequence[Place]],
    checks: Sequence[Check] = (),
) -> None:
    """Write the folder, whole or not at all; one that holds something else than a report is refused."""
    write_folder(folder, {
        "report.json": json.dumps(found.as_json() | {"gate": [_told(one) for one in checks]}, ensure_ascii=False, indent=1),
        "report.md": markdown(found, checks),
        "report.html": html(found, questions, checks),
        "qrels.trec": _qrels(found, places),
        **{f"run-{mode}.trec": _run(found, mode) for mode in found.modes},
    })  # fmt: skip


def write_folder(folder: Path, texts: Mapping[str, str]) -> None:
    """Write a report's files by name, report.json among them: all or none, in place of an earlier report."""
    check_folder(folder)
    making = folder.parent / f"{TEMPORARY_PREFIX}report-{folder.name}"
    with room_for(folder):
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        try:
            for name, text in texts.items():
                (making / name).write_text(text, encoding="utf-8")
            shutil.rmtree(folder, ignore_errors=True)
            making.rename(folder)
        finally:
            shutil.rmtree(making, ignore_errors=True)


def check_folder(folder: Path) -> None:
    """UsageError for a folder that holds something else than a report."""
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / "report.json").exists())):
        raise UsageError(f"{folder}: is there and holds no report; name another folder with --report")


def shown_measures(found: Evaluation) -> list[str]:
    """The measures that a table for people has room for."""
    k = shown_k(found)
    return [f"Recall@{found.ks[0]}", f"Recall@{k}", f"Success@{k}", *_SHOWN]


def shown_k(found: Evaluation) -> int:
    return 5 if 5 in found.ks else found.ks[len(found.ks) // 2]


def markdown(found: Evaluation, checks: Sequence[Check] = ()) -> str:
    """The figures as Markdown tables."""
    shown = shown_measures(found)
    lines = [
        f"# Evaluation of {found.campaign_id}: {found.set_name}", "",
        f"{found.counts['questions']} questions, {found.counts['judgements']} judgements, {found.created_at[:19]} UTC. "
        f"{found.counts['judged']} have a place to find; {found.counts['without_answer']} have none and are left out of the means.", "",
        *_listed(found.counts["gaps"]),
        _row("mode", *shown, "leaks", "pack leaks", "empty when it should", "p50 ms", "p95 ms", "cold ms", "pack tokens"),
        _row(*["---"] * (len(shown) + 8)),
    ]  # fmt: skip
    for mode, f in found.modes.items():
        cold = "–" if f.cold_ms is None else f"{f.cold_ms:.0f}"
        lines.append(_row(
            mode, *(f"{f.means[name]:.3f}" if name in f.means else "–" for name in shown), f.leaks, f.pack_leaks,
            f"{f.empty}/{f.unanswerable}", f"{f.p50_ms:.1f}", f"{f.p95_ms:.1f}", cold, f"{f.pack_tokens:.0f}",
        ))  # fmt: skip
    if checks:
        passed = all(one.holds for one in checks)
        lines += [
            "",
            f"## Gate: {'passed' if passed else 'not passed'}",
            "",
            _row("what", "wanted", "found", "holds"),
            _row(*["---"] * 4),
        ]
        lines += [_row(one.name, one.wanted, one.found, "yes" if one.holds else "no") for one in checks]
    lines += [
        "",
        "## nDCG@10 by kind",
        "",
        _row("kind", "asked", "judged", *found.modes),
        _row(*["---"] * (3 + len(found.modes))),
    ]
    for kind, number in found.kinds.items():
        values = [found.modes[mode].by_kind.get(kind, {}).get("nDCG@10") for mode in found.modes]
        lines.append(
            _row(kind, number, found.judged(kind), *("–" if value is None else f"{value:.3f}" for value in values))
        )
    if found.comparisons:
        lines += [
            "",
            "## Against lexical",
            "",
            _row("mode, kind", "measure", "difference", "95 %", "p (Holm)", "wins/ties/losses"),
            _row(*["---"] * 6),
        ]
        for mode, rows in found.comparisons.items():
            lines += [
                _row(f"{mode}, {r.kind}", r.measure, f"{r.difference:+.3f}", f"{r.low:+.3f} … {r.high:+.3f}", f"{r.p_holm:.3f}",
                     f"{r.wins}/{r.ties}/{r.losses}")
                for r in rows
            ]  # fmt: skip
    return "\n".join(lines) + "\n"


def html(found: Evaluation, questions: QuestionSet, checks: Sequence[Check] = ()) -> str:
    """The page, with everything in it; every text of a source escaped."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = environment.from_string((files("eval") / "templates" / "report.html").read_text(encoding="utf-8"))
    return template.render(
        it=found, plots=plots(found), shown=shown_measures(found), shown_k=shown_k(found), checks=checks,
        passed=all(one.holds for one in checks), failures={mode: failures(found, questions, mode) for mode in found.modes},
        leaked=_leaked(found),
    )  # fmt: skip


def failures(found: Evaluation, questions: QuestionSet, mode: str) -> list[dict[str, Any]]:
    """Questions of which no judged place was found, with what was wanted and what came instead."""
    quotes: dict[str, list[str]] = {}
    for judgement in questions.judgements:
        if judgement.relevance > 0:
            quotes.setdefault(judgement.query_id, []).append(
                judgement.quote or f"{judgement.source}: {' > '.join(judgement.heading)}"
            )
    missed = []
    for question in questions.questions:
        row = found.modes[mode].questions[question.query_id]
        if row["values"] is not None and row["values"][f"Success@{max(found.ks)}"] == 0:
            missed.append({
                "query_id": question.query_id, "text": question.text, "kind": question.kind, "role": question.role,
                "level": question.spoiler_level, "wanted": quotes.get(question.query_id, []), "instead": row["passages"][:5],
            })  # fmt: skip
    return missed


def _leaked(found: Evaluation) -> list[dict[str, Any]]:
    return [
        {"mode": mode, "query_id": query_id, "places": [*row["leaks"], *row["pack_leaks"]]}
        for mode, figures in found.modes.items()
        for query_id, row in figures.questions.items()
        if row["leaks"] or row["pack_leaks"]
    ]


def _qrels(found: Evaluation, places: Mapping[str, Sequence[Place]]) -> str:
    judged = next(iter(found.modes.values())).questions if found.modes else {}
    return "".join(
        f"{query_id} 0 {place.place_id} {place.relevance}\n"
        for query_id in judged
        for place in wanted(places.get(query_id, ()))
    )


def _run(found: Evaluation, mode: str) -> str:
    lines = []
    for query_id, row in found.modes[mode].questions.items():
        seen: set[str] = set()
        documents: list[str] = []
        for passage in row["passages"]:
            fresh = [place for place in passage["places"] if place not in seen]
            seen.update(fresh)
            if fresh or not passage["places"]:
                documents += fresh or [f"{passage['version']}:{passage['chunk_id']}"]
        lines += [
            f"{query_id} Q0 {name} {rank} {len(documents) - rank + 1} canonry-{mode}\n"
            for rank, name in enumerate(documents, 1)
        ]
    return "".join(lines)


def _told(one: Check) -> dict[str, object]:
    return {"name": one.name, "wanted": one.wanted, "found": one.found, "holds": one.holds}


def _listed(sentences: Sequence[str]) -> list[str]:
    """A list in Markdown, with the blank line behind it; nothing where there is nothing to say."""
    return [*(f"- {sentence}" for sentence in sentences), ""] if sentences else []


def _row(*cells: object) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"
