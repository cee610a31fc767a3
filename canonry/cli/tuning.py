"""`canonry eval tune` and `canonry eval beir`"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from canonry.catalog import Catalog
from canonry.cli.evaluating import DEGRADED, read_questions
from canonry.cli.show import Bar, bold, chosen, dim, note, plural, print_json, table
from canonry.config import MODES, Settings
from canonry.embedders import fingerprint_of
from canonry.errors import UsageError
from canonry.gate import read_gate
from canonry.layout import Layout
from canonry.locking import writing
from canonry.timestamps import now
from canonry.tuning import Tuning, apply_tuning, fusion_settings

if TYPE_CHECKING:
    from eval.beir_report import BeirReport
    from eval.tune import Choice

SHOWN = 8  # settings of the grid


def run(given: argparse.Namespace) -> int:
    from eval.metrics import check_measure
    from eval.tune import tune

    at = chosen(given)
    check_measure(given.measure)
    questions, name = read_questions(given.questions)
    with closing(Catalog.open(at.catalog)) as catalog:
        current = Settings.parse(catalog.settings()).fusion
    bar = Bar(given)
    try:
        choice, mute = tune(at, questions, current, measure=given.measure, seed=given.seed, progress=bar)
    finally:
        bar.close()
    applies = given.apply and choice.is_new and not choice.is_worse
    if applies:
        _apply(at, choice, name)
    if given.json:
        print_json(
            choice.as_json() | {"without_meaning": mute, "applied": applies, "settings": fusion_settings(choice.chosen)}
        )
    else:
        _print(given, at, choice, name)
    for line in (*questions.gaps, choice.few, _muted(mute)):
        note(given, line)
    if given.apply and choice.is_worse:
        return 1
    return DEGRADED if mute else 0


def _muted(mute: int) -> str:
    return f"{plural(mute, 'question')} could not be asked by meaning; every setting is alike on them" if mute else ""


def _apply(at: Layout, choice: Choice, set_name: str) -> None:
    on, out = (sum(pair[half] for pair in choice.halves.values()) for half in (0, 1))
    against = choice.against_current
    evidence = {
        "set": set_name, "measure": choice.measure, "seed": str(choice.seed), "chosen on": f"{on} questions", "held out": f"{out} questions",
        "before": f"{choice.current.label}: {choice.held_out[choice.current.label]:.3f}",
        "now": f"{choice.chosen.label}: {choice.held_out[choice.chosen.label]:.3f}",
        "difference": f"{against.difference:+.3f} (95 % {against.low:+.3f} to {against.high:+.3f}, p {against.p:.3f})",
        "lexical": f"{choice.held_out['lexical']:.3f}",
    }  # fmt: skip
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        apply_tuning(catalog, Tuning(now(), fusion_settings(choice.chosen), evidence))


def _print(given: argparse.Namespace, at: Layout, choice: Choice, set_name: str) -> None:
    from eval.beir_report import sentences

    print(bold(f"{set_name}: fusion of {at.campaign} by {choice.measure}"))
    best = list(choice.chosen_on.items())
    shown = best[:SHOWN] + [pair for pair in best[SHOWN:] if pair[0] == choice.current.label]
    lines = [(label, f"{mean:.3f}", "now" if label == choice.current.label else "") for label, mean in shown]
    print(table((f"best of {len(best)} settings", "first half", ""), lines, right=(1,)))
    for line in sentences(choice):
        print(line[0].upper() + line[1:])
    if choice.against_lexical.is_worse:
        print("By words alone is better than either: leave the mode lexical.")
    if choice.is_new:
        print(_next(given, at, choice))


def _next(given: argparse.Namespace, at: Layout, choice: Choice) -> str:
    pairs = fusion_settings(choice.chosen)
    if choice.is_worse:
        return f"The held-out half speaks against it{': nothing was changed' if given.apply else ''}."
    if not given.apply:
        options = " ".join(f"--set {key}={value}" for key, value in pairs.items())
        return f"--apply sets it, and so does `canonry campaign settings {at.campaign} {options}`."
    with closing(Catalog.open(at.catalog)) as catalog:
        gate = read_gate(catalog.connection)
    again = (
        " Hybrid was earned with another fusion: `canonry eval run QUESTIONS --gate gate.toml` earns it anew."
        if gate
        else ""
    )
    return f"Set: {' '.join(map('='.join, pairs.items()))}.{again}"


def beir(given: argparse.Namespace) -> int:
    from eval.beir import read_collection
    from eval.beir_report import write_report
    from flows import beir as flow

    modes = _modes(given)
    collection = read_collection(given.folder, given.split, given.queries)
    for gap in collection.gaps:
        note(given, gap)
    bar = Bar(given)
    try:
        with tempfile.TemporaryDirectory(prefix="canonry-beir-") as folder:
            at = Layout(given.data, given.keep) if given.keep else Layout(Path(folder), "beir")
            found = flow.run(
                at, collection, modes, embedder=given.embedder, tuned=given.tune, seed=given.seed, progress=bar
            )
    finally:
        bar.close()
    if given.report:
        write_report(given.report, found, collection)
    if given.json:
        print_json(found.as_json(questions=False))
    else:
        _print_beir(given, found)
    return DEGRADED if any(mode.degraded for mode in found.modes.values()) else 0


def _modes(given: argparse.Namespace) -> tuple[str, ...]:
    unknown = [mode for mode in given.modes if mode not in MODES]
    if unknown or not given.modes:
        raise UsageError(f"mode {', '.join(unknown)!r} is unknown; choose from {', '.join(MODES)}")
    without = given.embedder is not None and not fingerprint_of(given.embedder)
    if without and (given.tune or set(given.modes) != {"lexical"}):
        raise UsageError(
            "without an embedder questions can be asked by words alone; add --modes lexical, or name a model"
        )
    return tuple(dict.fromkeys(given.modes))


def _print_beir(given: argparse.Namespace, found: BeirReport) -> None:
    from eval.beir import MEASURES
    from eval.beir_report import floor_costs, rows, sentences

    count = len(next(iter(found.modes.values())).values)
    print(
        bold(
            f"{found.collection} ({found.split}): {plural(count, 'question')} to {plural(found.documents, 'document')}"
        )
    )
    print(
        f"{plural(found.passages, 'passage')}, embedder {found.settings['embedder']}, imported in {found.import_seconds:.1f} s. "
        "+ and − differ from lexical with p < 0.05."
    )
    print(table(("", *MEASURES, "seconds"), rows(found), right=(1, 2, 3, 4)))
    for mode, compared in found.comparisons.items():
        one = compared[0]
        print(
            f"{mode}: {one.measure} {one.difference:+.3f} against lexical (95 % {one.low:+.3f} to {one.high:+.3f}, p {one.p:.3f}); "
            f"{one.wins} won, {one.ties} alike, {one.losses} lost"
        )
    for mode, run_ in found.modes.items():
        if run_.degraded:
            note(given, f"{mode}: {plural(run_.degraded, 'question')} searched by less than was asked for")
    if found.choice:
        for line in sentences(found.choice):
            print(line[0].upper() + line[1:])
    for line in (*floor_costs(found), *found.gaps):
        print(dim(line))
    if given.report:
        note(given, f"The report is in {given.report}.")
