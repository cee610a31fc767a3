"""`canonry demo`: the main job on the campaign that comes with canonry, with a word on what to look at."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from importlib.resources import as_file, files
from pathlib import Path

from canonry.campaign import Campaign
from canonry.catalog import Catalog
from canonry.cli.asking import print_passage
from canonry.cli.show import Bar, bold, dim, plural, table
from canonry.errors import UsageError
from canonry.layout import Layout
from canonry.locking import writing

CAMPAIGN = "tolleth"
QUERIES = (
    ("what happens at the end?", 0, "a player who has only read the box (spoiler level 0)"),
    ("what happens at the end?", 4, "a player who has finished the game (level 4): the last chapter may speak"),
    ("雾津的钱币", 0, "a question in Chinese, about words of two characters"),
)


def run_demo(given: argparse.Namespace) -> int:
    if given.data is not None:
        return _run(given, given.data)
    with tempfile.TemporaryDirectory(prefix="canonry-demo-") as folder:
        return _run(given, Path(folder))


def _run(given: argparse.Namespace, data: Path) -> int:
    at = Layout(data, CAMPAIGN)
    if at.catalog.exists():
        raise UsageError(f"campaign {CAMPAIGN} exists already in {data}; choose another folder for --data")
    with (
        tempfile.TemporaryDirectory(prefix="canonry-lore-") as folder,
        as_file(files("canonry") / "demo_campaign") as shipped,
    ):
        lore = Path(folder) / "tolleth"
        shutil.copytree(shipped, lore)
        _import(given, at, lore)
    _reindex(given, at)
    _ask(at)
    _evaluate(at)
    _farewell(data, kept=given.data is not None)
    return 0


def _step(number: int, title: str, command: str) -> None:
    print(f"{bold(f'{number}. {title}')}\n{dim(f'   $ {command}')}")


def _import(given: argparse.Namespace, at: Layout, lore: Path) -> None:
    from flows.import_files import Choices, import_files
    from stages.select import select_files

    _step(1, "Import a folder of lore", f"canonry import {lore.name}/")
    with writing(at):
        Catalog.create(at.catalog, at.campaign).close()
        bar = Bar(given)
        report = import_files(at, select_files([lore]), Choices(with_vectors=False), bar)
        bar.close()
    rows = [(file.name, file.class_, file.chunks) for file in report.imported]
    print(table(("file", "class", "chunks"), rows, right=(2,)))
    print(
        "Each file has one class: canon is true, reference is helpful, inspiration is only mood. They can be searched by words already.\n"
    )


def _reindex(given: argparse.Namespace, at: Layout) -> None:
    from flows.plan import make_plan
    from flows.reindex import run

    _step(2, "Reindex: embed every passage, as a Prefect flow", "canonry reindex")
    with writing(at):
        plan = make_plan(at)
        for reason in plan.reasons:
            print(f"   stale: {reason}")
        bar = Bar(given)
        report = run(at, plan, "thread", bar)
        bar.close()
    steps = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in report.seconds.items())
    print(f"   {plural(report.vectors, 'vector')} by {plan.settings.embedder}, offline, on this machine ({steps}).")
    print(
        f"   {plural(report.lexical_only_texts, 'passage')} in Chinese stay findable by words: the model does not know the script.\n"
    )


def _ask(at: Layout) -> None:
    _step(3, "Ask", 'canonry query "…" --mode hybrid --spoiler-level N')
    with Campaign(at) as campaign:
        for text, level, why in QUERIES:
            print(f"\n   {bold(text)}  {dim('— ' + why)}\n")
            answer = campaign.retrieve(text, mode="hybrid", spoiler_level=level, limit=2)
            for number, passage in enumerate(answer.results, 1):
                print_passage(number, passage)
            if answer.degraded:
                print(dim(f"   ({answer.degraded})\n"))


def _evaluate(at: Layout) -> None:
    from eval.compare import compare_modes
    from eval.questions import read_set

    with as_file(files("eval") / "sets" / "demo") as folder:
        questions = read_set(folder)
    _step(
        4,
        f"Evaluate: {len(questions.questions)} questions, by words against words and meaning",
        "the questions and the places that answer them come with canonry",
    )
    found = compare_modes(at, questions, ("lexical", "semantic", "hybrid"))
    names = ("Recall@1", "Recall@5", "Success@5", "RR@10", "nDCG@10")
    rows = [
        (
            mode,
            *(f"{f.means[name]:.3f}" for name in names),
            f.leaks,
            f"{f.empty}/{f.unanswerable}",
            f"{f.p50_ms:.1f} ms",
            f"{f.result_tokens:.0f}",
        )
        for mode, f in found.modes.items()
    ]
    headers = ("mode", *names, "leaks", "empty when it should", "p50", "tokens")
    print(table(headers, rows, right=tuple(range(1, len(headers)))))
    print(
        f"   {found.counts['judged']} questions have places to find. A leak is a passage that its asker may not see: it must be 0 in every mode.\n"
    )


def _farewell(data: Path, *, kept: bool) -> None:
    print(bold("Next, with your own lore"))
    if kept:
        print(f'   The campaign is in {data}: canonry query --data {data} "who is the harbourmaster?"')
    print("   canonry campaign create my-world")
    print("   canonry import my-notes/ --class canon")
    print('   canonry query "where is the silver key?"')
