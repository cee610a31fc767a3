"""The commands that evaluate search."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from canonry.cli.arguments.options import command, lazily, words


def add_commands(commands: Any) -> None:
    group = commands.add_parser("eval", help="measure search on questions of your own, and earn hybrid").add_subparsers(
        metavar="ACTION", required=True
    )
    _add_run(group)
    _add_compare(group)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        found = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        found = ()
    if not found or not 1 <= found[0] <= found[-1] <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers from 1 to 1000, such as 1,5,10")
    return found


def add_questions(parser: argparse.ArgumentParser) -> None:
    """The question set, and how it is asked."""
    parser.add_argument(
        "questions",
        metavar="QUESTIONS",
        help="a folder with queries.jsonl and judgements.jsonl; `demo` is the set of the demo",
    )
    parser.add_argument("--in-process", action="store_true", help="run the same steps without Prefect")


def _add_run(group: Any) -> None:
    parser = command(
        group, "run", lazily("evaluating", "run"), "ask a question set in every mode, and compare",
        "Ask every question by words, by meaning and by both, as whoever the set says asks it, and print recall, ranking,\n"
        "leaks and latency. Runs as a Prefect flow. With --gate, exit code 0 means that hybrid has earned to be the\n"
        "campaign's default, which it is from then on, and 1 that it has not. A leak is exit code 1 too.",
    )  # fmt: skip
    add_questions(parser)
    parser.add_argument(
        "--modes",
        type=words,
        default=("lexical", "semantic", "hybrid"),
        metavar="a,b",
        help="default: lexical,semantic,hybrid; rerank is hybrid in the order of the campaign's judge",
    )
    parser.add_argument(
        "-k", dest="ks", type=_numbers, default=(1, 3, 5, 8, 10), metavar="1,5,10", help="cut-offs of recall"
    )
    parser.add_argument("--report", type=Path, metavar="DIR", help="write report.html, .md, .json and TREC files there")
    parser.add_argument(
        "--gate", type=Path, metavar="FILE", help="what hybrid must show (gate.toml) to become the default"
    )
    parser.add_argument(
        "--cold",
        type=int,
        default=0,
        metavar="N",
        help="time so many questions a mode in processes of their own (default: 0)",
    )
    parser.add_argument(
        "--no-packs",
        action="store_true",
        help="make no pack for each question; quicker, looks for leaks in results alone",
    )


def _add_compare(group: Any) -> None:
    parser = command(
        group, "compare", lazily("evaluating", "compare"), "show two reports side by side",
        "Show the figures of two reports side by side, and which questions do better or worse in the second.", campaign=False,
    )  # fmt: skip
    parser.add_argument("first", type=Path, metavar="A", help="a report: its folder or its report.json")
    parser.add_argument("second", type=Path, metavar="B")
