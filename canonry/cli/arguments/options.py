"""What several commands share: how a command is declared, the global options, and groups of options."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from canonry.records import PRIORITIES, SCOPES, VISIBILITIES

Run = Callable[[argparse.Namespace], "int | None"]


def lazily(module: str, function: str) -> Run:
    """The function of that module under canonry.cli, imported when the command runs."""

    def run(given: argparse.Namespace) -> int | None:
        result: int | None = getattr(import_module(f"canonry.cli.{module}"), function)(given)
        return result

    run.__name__ = function
    return run


def command(
    commands: Any, name: str, run: Run, help_: str, description: str = "", *, campaign: bool = True
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_,
        description=description or help_[0].upper() + help_[1:] + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_globals(parser, campaign=campaign)
    parser.set_defaults(run=run)
    return parser


def add_globals(parser: argparse.ArgumentParser, *, campaign: bool) -> None:
    """Options that may stand before the command and after it; `parse` fills in what was not given."""

    def add(*names: str, **details: Any) -> None:
        parser.add_argument(*names, default=argparse.SUPPRESS, **details)

    add("--data", type=Path, metavar="DIR", help="the data directory (default: $CANONRY_DATA, else ./data)")
    if campaign:
        add("-c", "--campaign", metavar="ID", help="the campaign (default: $CANONRY_CAMPAIGN, else the only one)")
    add("--json", action="store_true", help="print one JSON document; notices go to standard error")
    add("-q", "--quiet", action="store_true", help="print results only")
    add("-v", "--verbose", action="count", help="say more; twice: show tracebacks")


def words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def whole(least: int, most: int, what: str) -> Callable[[str], int]:
    """The type of an argument that is a whole number within bounds, and what it is for the message."""

    def read(text: str) -> int:
        number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(most)) else -1
        if not least <= number <= most:
            shown = text if len(text) <= 40 else f"{text[:39]}…"
            raise argparse.ArgumentTypeError(f"{shown!r} is no {what}; give a whole number from {least} to {most}")
        return number

    return read


row_id = whole(1, 2**63 - 1, "id")  # the largest that SQLite counts to
list_limit = whole(1, 1000, "length of a list")


def add_facts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--title", metavar="T")
    parser.add_argument("--tags", type=words, metavar="a,b")
    parser.add_argument("--entities", type=words, metavar="a,b", help="people, places and things it is about")
    parser.add_argument("--visibility", choices=VISIBILITIES, help="hidden is for the narrator alone")
    parser.add_argument("--spoiler-level", type=int, metavar="N", help="0 is safe for everyone")
    parser.add_argument("--spoiler-tags", type=words, metavar="a,b")
    parser.add_argument("--priority", choices=PRIORITIES)
    parser.add_argument(
        "--scope", choices=SCOPES, help="invariant always holds; initial holds until the story changes it"
    )
    parser.add_argument("--always-include", action="store_true", default=None)


_FACTS = (
    "title", "class_", "tags", "entities", "visibility", "spoiler_level", "spoiler_tags", "priority", "scope", "always_include",
)  # fmt: skip


def stated_facts(given: argparse.Namespace) -> dict[str, object]:
    """What the options of `add_facts`, and --class, say of a source, under the names of front matter; only what was given."""
    stated = {name.rstrip("_"): getattr(given, name, None) for name in _FACTS}
    return {name: value for name, value in stated.items() if value is not None}


def add_question(parser: argparse.ArgumentParser) -> None:
    """The question and who asks it, of whom: what `query` and `pack` share."""
    parser.add_argument("text", nargs="?", metavar="TEXT", help="the question, or - to read it from standard input")
    parser.add_argument(
        "--mode", choices=("hybrid", "lexical", "semantic"), help="default: the campaign's own, at first lexical"
    )
    parser.add_argument("--spoiler-level", type=int, default=0, metavar="N", help="see up to this level (default: 0)")
    parser.add_argument(
        "--forbid-tags", type=words, default=(), metavar="a,b", help="see nothing with one of these spoiler tags"
    )
    parser.add_argument(
        "--role", default="player", help="player (default), narrator (sees hidden), writer, npc:<id>, …"
    )
    parser.add_argument("--class", dest="classes", type=words, default=(), metavar="a,b", help="only these classes")
    parser.add_argument(
        "--source-types",
        type=words,
        default=(),
        metavar="a,b",
        help="only sources of these types (`type` in front matter)",
    )
    parser.add_argument("--tags", type=words, default=(), metavar="a,b", help="only sources with one of these tags")
    parser.add_argument("--entities", type=words, default=(), metavar="a,b", help="only sources about one of these")
    parser.add_argument("--source", dest="sources", type=words, default=(), metavar="ID,ID", help="only these sources")
    parser.add_argument(
        "--as-of", metavar="TIME", help="the versions that were live then (2026-03-01 or 2026-03-01T18:00)"
    )
    add_story_time(parser)
    around = parser.add_argument_group(
        "context", "What surrounds the question. It lifts passages, and filters nothing."
    )
    around.add_argument("--scene", default="", metavar="T", help="what is going on")
    around.add_argument("--location", default="", metavar="T", help="where it is going on")
    around.add_argument(
        "--mention",
        type=words,
        default=(),
        metavar="a,b",
        help="who and what was mentioned; finds passages that name it",
    )
    around.add_argument("--thread", default="", metavar="T", help="the active thread of the story")
    around.add_argument("--genre", default="", metavar="T", help="what kind of story it is")
    around.add_argument("--keywords", type=words, default=(), metavar="a,b", help="words of the current state")


def add_story_time(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--story-time", type=int, metavar="N",
        help="how far the story is for the NPC that asks, in story order (default: before all that has a `known_from`)",
    )  # fmt: skip


def add_ranking(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, default=8, metavar="N")
    parser.add_argument("--copies", action="store_true", help="show passages of equal text each, not once for all")
    parser.add_argument(
        "--no-rerank", action="store_true", help="order by words and meaning alone, without class, context and priority"
    )


def add_judge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--judge",
        "--rerank",
        action="store_true",
        help="let the model at judge.url grade the first 20 passages, and order them so (apart from --no-rerank)",
    )
