"""`canonry eval regression`"""

from __future__ import annotations

import argparse
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from canonry.cli.show import Bar, bold, colour, dim, note, plural, print_json, printable, table

if TYPE_CHECKING:
    from eval.regression import Dropped, Regression

MOST_SHOWN = 20


def regression(given: argparse.Namespace) -> int:
    """Exit 0 where nothing is worse beyond noise, 1 where something is, or where the baseline is of something else."""
    from eval import regression as check
    from flows.regression import measure

    path = given.baseline or Path(str(files("eval") / "baselines" / "demo.json"))
    baseline = None if given.write else check.read_baseline(path)
    bar = Bar(given)
    with tempfile.TemporaryDirectory(prefix="canonry-regression-") as folder:
        try:
            found, questions, campaign = measure(Path(folder), bar)
        finally:
            bar.close()
    if baseline is None:
        baseline = check.baseline_of(found, campaign)
        check.write_baseline(path, baseline)
        if given.json:
            print_json(baseline)
        note(given, f"The baseline is in {path}.")
        return 0
    compared = check.regression(baseline, found, campaign, questions)
    if given.json:
        print_json(compared.as_json())
    else:
        _print(given, compared)
    return 1 if compared.failures else 0


def _print(given: argparse.Namespace, found: Regression) -> None:
    rows = [
        (mode, *(f"{means[name][0]:.3f} → {means[name][1]:.3f}" for name in ("Recall@5", "nDCG@10")))
        for mode, means in found.means.items()
    ]
    print(table(("mode", "Recall@5", "nDCG@10"), rows))
    for line in found.notes:
        print(dim(printable(f"changed since: {line}")))
    if not found.failures:
        print(bold("Nothing is worse than the baseline beyond noise."))
        if found.dropped:
            note(given, f"{plural(len(found.dropped), 'question')} ranked a little lower; --json names them.")
        return
    print(colour("Worse than the baseline:", "31"))
    for line in found.failures:
        print(printable(f"  {line}"))
    for one in found.dropped[:MOST_SHOWN]:
        _print_dropped(one)
    if len(found.dropped) > MOST_SHOWN:
        print(f"and {len(found.dropped) - MOST_SHOWN:,} more; --json has them all")


def _print_dropped(one: Dropped) -> None:
    from eval.evaluation import COMPARED

    print(f"\n{bold(printable(f'{one.query_id} {one.text}'))}")
    figures = (
        f"{name} {then:.3f} → {now:.3f}" for name, then, now in zip(COMPARED, one.before, one.after, strict=True)
    )
    print(f"  {one.mode}, {one.kind}, {one.asker}: {', '.join(figures)}")
    for quote in one.wanted:
        print(printable(f"  wanted: {quote}"))
    for passage in one.instead or ("nothing",):
        print(dim(printable(f"  came:   {passage}")))
