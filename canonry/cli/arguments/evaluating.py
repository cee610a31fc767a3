"""The commands that evaluate search."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from canonry.cli.arguments.options import command, lazily, whole, words

_SET = """A question set is a folder with two files of JSON, one object a line.

queries.jsonl      _id, text and kind (a word of yours; of kind `unanswerable`: what the lore does not say); and where
                   it is not a player at level 0 who asks: role, spoiler_level, forbid_tags, as_of, context
judgements.jsonl   query_id, source (file name as imported), relevance (2 answers, 1 helps, -1 must not be shown), and
                   the place: quote (verbatim, within one line), heading (a list) or lines ([first, last])"""


def add_commands(commands: Any) -> None:
    group = commands.add_parser("eval", help="measure search on questions of your own, and earn hybrid").add_subparsers(
        metavar="ACTION", required=True
    )
    _add_run(group)
    _add_compare(group)
    _add_leaks(group)
    _add_regression(group)
    _add_tune(group)
    _add_beir(group)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        found = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        found = ()
    if not found or not 1 <= found[0] <= found[-1] <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers from 1 to 1000, such as 1,5,10")
    return found


def add_set(parser: argparse.ArgumentParser) -> None:
    """The question set."""
    parser.add_argument(
        "questions",
        metavar="QUESTIONS",
        help="a folder with queries.jsonl and judgements.jsonl; `demo` is the set of the demo",
    )


def add_modes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--modes",
        type=words,
        default=("lexical", "semantic", "hybrid"),
        metavar="a,b",
        help="default: lexical,semantic,hybrid; rerank is hybrid in the order of the campaign's judge",
    )


def add_questions(parser: argparse.ArgumentParser) -> None:
    """The question set, and how it is asked."""
    add_set(parser)
    parser.add_argument("--in-process", action="store_true", help="run the same steps without Prefect")


def _add_run(group: Any) -> None:
    parser = command(
        group, "run", lazily("evaluating", "run"), "ask a question set in every mode, and compare",
        "Ask every question by words, by meaning and by both, as whoever the set says asks it, and print recall, ranking,\n"
        "leaks and latency. Runs as a Prefect flow. With --gate, exit code 0 means that hybrid has earned to be the\n"
        "campaign's default, which it is from then on, and 1 that it has not. A leak is exit code 1 too.\n\n"
        + _SET,
    )  # fmt: skip
    add_questions(parser)
    add_modes(parser)
    parser.add_argument(
        "-k", dest="ks", type=_numbers, default=(1, 3, 5, 8, 10), metavar="1,5,10", help="cut-offs of recall"
    )
    parser.add_argument("--report", type=Path, metavar="DIR", help="write report.html, .md, .json and TREC files there")
    parser.add_argument(
        "--gate",
        metavar="FILE",
        help="what hybrid must show (gate.toml) to become the default; `demo` is the gate of the demo",
    )
    parser.add_argument(
        "--cold",
        type=whole(0, 1000, "count of processes"),
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


def _levels(text: str) -> tuple[int, ...] | None:
    if text == "all":
        return None
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a list of levels such as 0,2 nor all") from None


def _count_or_all(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number from 1 upwards nor all")
    return int(text)


def _add_leaks(group: Any) -> None:
    parser = command(
        group, "leaks", lazily("leaking", "leaks"), "try to bring every secret to light",
        "For every passage that is hidden or above a level, make questions of its title, headings, entities, names, rare\n"
        "words and sentences, and of these shuffled, halved and in other words; ask them as everyone who may not see it, in\n"
        "every mode, as results and as packs, and ask for it by its id. A leak is a secret passage, its id, or a sentence of\n"
        "it in any answer: exit code 1.\n\n"
        "Secret names in sight (a title, entity or heading of a secret that a passage in sight says) are listed beside that\n"
        "and are no failure. What this prints is for the owner of the campaign: it names secrets and where they stand.",
    )  # fmt: skip
    parser.add_argument(
        "--levels", type=_levels, metavar="N,N|all", help="ask at these spoiler levels (default: all there are)"
    )
    parser.add_argument(
        "--roles", type=words, default=("player", "narrator"), metavar="a,b", help="default: player,narrator"
    )
    parser.add_argument(
        "--modes",
        type=words,
        default=(),
        metavar="a,b",
        help="default: lexical,semantic,hybrid, as far as they are set up",
    )
    parser.add_argument(
        "--max-chunks",
        type=_count_or_all,
        default=25,
        metavar="N|all",
        help="try so many secret passages, chosen by the seed (default: 25)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which passages, and which of their words")
    parser.add_argument("--report", type=Path, metavar="DIR", help="write report.md and report.json there")
    parser.add_argument("--in-process", action="store_true", help="run the same steps without Prefect")


def _add_regression(group: Any) -> None:
    parser = command(
        group, "regression", lazily("regressing", "regression"), "compare search with a stored baseline",
        "Import the campaign that comes with canonry into a temporary folder, ask its questions in every mode, and compare\n"
        "with the baseline. A loss beyond noise, or a leak, is exit code 1, and the questions that lost are named. Nothing\n"
        "of yours is read or changed.", campaign=False,
    )  # fmt: skip
    parser.add_argument(
        "--baseline", type=Path, metavar="FILE", help="another baseline than the one that comes with canonry"
    )
    parser.add_argument("--write", action="store_true", help="store what is found as the baseline")


def _add_tune(group: Any) -> None:
    parser = command(
        group, "tune", lazily("tuning", "run"), "choose the fusion on half of a question set, and test it on the other half",
        "Try settings of the fusion on one half of the judged questions: rrf with k of 5, 10, 20 and 60 and a weight of 0.1,\n"
        "0.25, 0.5, 0.75 and 1; convex with an alpha of auto and of 0.1 to 0.7. Print what the best of them is worth on the\n"
        "other half, against the current setting and against search by words alone. Equal settings go to the default.",
    )  # fmt: skip
    add_set(parser)
    parser.add_argument(
        "--measure", default="nDCG@10", metavar="M", help="nDCG@k, RR@k, Recall@k or Success@k (default: nDCG@10)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="another draw of the halves (default: 0)")
    parser.add_argument(
        "--apply",
        action="store_true",
        help="set what was chosen and keep the evidence; not where the held-out half does worse, which is exit code 1",
    )


def _add_beir(group: Any) -> None:
    parser = command(
        group, "beir", lazily("tuning", "beir"), "measure search on a judged collection in BEIR's files",
        "Import a folder with corpus.jsonl, queries.jsonl and qrels/<split>.tsv as a campaign that is gone afterwards, ask its\n"
        "questions in each mode, and print nDCG@10, Recall@10 and Recall@100 by document, beside published figures.",
        campaign=False,
    )  # fmt: skip
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument(
        "--split", default="test", metavar="NAME", help="the file of judgements under qrels (default: test)"
    )
    parser.add_argument("--queries", type=_count, metavar="N", help="ask the first N judged questions (default: all)")
    parser.add_argument("--embedder", metavar="SPEC", help="the model behind search by meaning (default: minilm)")
    add_modes(parser)
    parser.add_argument(
        "--tune", action="store_true", help="choose the fusion on half of the questions, and test it on the other half"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="another draw of the halves (default: 0)")
    parser.add_argument("--report", type=Path, metavar="DIR", help="write report.json, report.md and TREC files there")
    parser.add_argument(
        "--keep",
        metavar="ID",
        help="keep the campaign under this id in the data directory, or ask the one that was kept",
    )


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of questions")
    return int(text)
