"""`canonry eval …`"""

from __future__ import annotations

import argparse
from contextlib import closing
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from canonry.catalog import Catalog
from canonry.cli.show import Bar, bold, chosen, colour, dim, note, plural, print_json, table
from canonry.config import Settings
from canonry.errors import UsageError
from canonry.gate import Gate, pass_gate
from canonry.layout import Layout
from canonry.locking import writing

if TYPE_CHECKING:
    from eval.evaluation import Evaluation
    from eval.questions import QuestionSet
    from flows.evaluate import Outcome

DEMO = "demo"
DEGRADED = 3


def read_questions(name: str) -> tuple[QuestionSet, str]:
    """A set by its folder, or the one that comes with canonry; with its name."""
    from eval.questions import read_set

    if name == DEMO and not Path(name).exists():
        with as_file(files("eval") / "sets" / DEMO) as folder:
            return read_set(folder), DEMO
    return read_set(Path(name)), Path(name).resolve().name


def read_gate(name: str) -> dict[str, dict[str, Any]]:
    """The rules of a gate by its file, or those that come with canonry."""
    from eval.gate import read_rules

    if name == DEMO and not Path(name).is_file():
        with as_file(files("eval") / "gate.toml") as path:
            return read_rules(path)
    return read_rules(Path(name))


def run(given: argparse.Namespace) -> int:
    from canonry.judge import Judge
    from eval.asking import MODES, RERANK
    from flows import evaluate
    from flows.plan import campaign_settings

    at = chosen(given)
    settings = campaign_settings(at)
    unknown = [mode for mode in given.modes if mode not in MODES]
    if unknown or not given.modes:
        raise UsageError(f"mode {', '.join(unknown)!r} is unknown; choose from {', '.join(MODES)}")
    if RERANK in given.modes:
        Judge(settings.judge)  # or the error that says how one is named
    rules = None if given.gate is None else read_gate(given.gate)
    questions, name = read_questions(given.questions)
    wanted = evaluate.Request(
        questions,
        name,
        tuple(dict.fromkeys(given.modes)),
        given.ks,
        given.cold,
        not given.no_packs,
        given.report,
        rules,
    )
    bar = Bar(given)
    try:
        outcome = (evaluate.in_process if given.in_process else evaluate.run)(at, wanted, bar)
    finally:
        bar.close()
    if outcome.passed:
        _earn(at, outcome, given.report)
    if given.json:
        print_json(
            outcome.evaluation.as_json() | {"gate": [_told(one) for one in outcome.checks], "passed": outcome.passed}
        )
    else:
        _print(given, outcome)
    return _code(outcome)


def _code(outcome: Outcome) -> int:
    found = outcome.evaluation
    leaks = any(figures.leaks or figures.pack_leaks for figures in found.modes.values())
    if leaks or (outcome.checks and not outcome.passed):
        return 1
    all_degraded = any(figures.degraded == len(figures.questions) for figures in found.modes.values())
    return DEGRADED if all_degraded or _unjudged(found) else 0


def _unjudged(found: Evaluation) -> int:
    """Questions that were to be judged, and were not: their figures are those of the search alone."""
    from canonry.judge import NOT_JUDGED
    from eval.asking import RERANK

    judged = found.modes.get(RERANK)
    return sum(NOT_JUDGED in (told["degraded"] or "") for told in judged.questions.values()) if judged else 0


def _earn(at: Layout, outcome: Outcome, report: Path | None) -> None:
    from canonry.gate import earned_by

    found = outcome.evaluation
    figures = found.modes["hybrid"]
    evidence = {
        "questions": found.evidence["questions"], "set": found.set_name, "report": str(report.resolve()) if report else "",
        **{one.name: one.found for one in outcome.checks}, "nDCG@10": f"{figures.means['nDCG@10']:.3f}",
    }  # fmt: skip
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        pass_gate(catalog, Gate(found.created_at, earned_by(at, Settings.parse(catalog.settings())), evidence))


def _told(one: object) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(one)  # type: ignore[call-overload,no-any-return]


def _print(given: argparse.Namespace, outcome: Outcome) -> None:
    found = outcome.evaluation
    print(bold(f"{found.set_name}: {found.counts['questions']} questions to {found.campaign_id}"))
    _print_figures(found)
    counts = found.counts
    print(
        f"{counts['judged']} questions have a place to find; {counts['without_answer']} have none and are left out of the means."
    )
    if unjudged := _unjudged(found):
        print(colour(f"rerank: {plural(unjudged, 'question')} not judged; the order is that of hybrid there", "31"))
    for gap in counts["gaps"]:
        note(given, gap)
    for mode, rows in found.comparisons.items():
        for row in rows:
            if row.measure == "nDCG@10" and (row.kind == "all" or row.is_better or row.is_worse):
                word = "better" if row.is_better else "worse" if row.is_worse else "not sure to differ"
                print(
                    f"{mode}, {row.kind}: nDCG@10 {row.difference:+.3f} against lexical (95 % {row.low:+.3f} to {row.high:+.3f}, "
                    f"p {row.p_holm:.3f}): {word}; {row.wins} won, {row.ties} alike, {row.losses} lost"
                )
    for mode, figures in found.modes.items():
        if figures.leaks or figures.pack_leaks:
            print(colour(f"{mode}: {figures.leaks} leaks in results, {figures.pack_leaks} in packs", "31"))
    if outcome.checks:
        print()
        lines = [
            (one.name, one.wanted, one.found, "yes" if one.holds else colour("no", "31")) for one in outcome.checks
        ]
        print(table(("gate", "wanted", "found", "holds"), lines))
        print(
            "Passed: hybrid is the default mode of this campaign now."
            if outcome.passed
            else "Not passed: nothing was changed."
        )
    if given.report:
        note(given, f"The report is in {given.report}: open report.html.")


def _print_figures(found: Evaluation) -> None:
    from eval.report import shown_measures

    names = shown_measures(found)
    headers = ("mode", *names, "leaks", "empty when it should", "p50 ms", "p95 ms", "pack tokens")
    rows = [
        (
            mode, *(f"{f.means[name]:.3f}" if f.means else "–" for name in names), f.leaks + f.pack_leaks,
            f"{f.empty}/{f.unanswerable}", f"{f.p50_ms:.1f}", f"{f.p95_ms:.1f}", f"{f.pack_tokens:.0f}",
        )
        for mode, f in found.modes.items()
    ]  # fmt: skip
    print(table(headers, rows, right=tuple(range(1, len(headers)))))


def compare(given: argparse.Namespace) -> None:
    from eval.reports import compared, read_report

    first, second = read_report(given.first), read_report(given.second)
    found = compared(first, second)
    if given.json:
        print_json(found)
        return
    for name, (one, other) in found["evidence"].items():
        print(dim(f"{name}: {one}  →  {other}"))
    for mode, means in found["modes"].items():
        print(bold(mode))
        measured = [(name, f"{one:.3f}", f"{other:.3f}", f"{other - one:+.3f}") for name, (one, other) in means.items()]
        print(table(("measure", "A", "B", "B − A"), measured, right=(1, 2, 3)))
        for word in ("better", "worse"):
            questions = found["questions"][mode][word]
            if questions:
                print(f"  {word} in B: {', '.join(questions[:20])}{' …' if len(questions) > 20 else ''}")
    if not found["modes"]:
        print("The two reports have no mode in common.")
