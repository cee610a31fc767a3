"""The command line: every command with its options and its help."""

from __future__ import annotations

import argparse
import functools
import os
from collections.abc import Sequence
from pathlib import Path

from canonry.cli.arguments import (
    asking,
    campaigns,
    canon,
    contexts,
    evaluating,
    indexing,
    proposals,
    sources,
    suggesting,
)
from canonry.cli.arguments.options import add_globals


@functools.cache
def build_parser() -> argparse.ArgumentParser:
    """The parser of `canonry`, made once a process; each command carries the function that runs it as `run`."""
    parser = argparse.ArgumentParser(
        prog="canonry",
        description="Local lore for storytelling and games: import it, say how true and how secret it is, get back the passages a role may see.",
        epilog="Start with `canonry demo`. Every command has --help.",
    )
    add_globals(parser, campaign=True)
    parser.add_argument("--version", action="version", version=f"canonry {_version()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for declare in (campaigns, indexing, sources, asking, evaluating, canon, proposals, suggesting, contexts):
        declare.add_commands(commands)
    return parser


def _version() -> str:
    from canonry import __version__

    return __version__


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line with every global option filled in from the environment or its default."""
    parser = build_parser()
    given, rest = parser.parse_known_args(arguments)
    if getattr(given, "text", "") is None:  # a question that begins with a dash is a question
        given.text, rest = (rest[0], rest[1:]) if rest else (None, rest)
        if given.text is None:
            name = given.run.__name__
            parser.error(f"{name} needs a question; write canonry {name} TEXT")
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    data = os.environ.get("CANONRY_DATA")
    defaults: dict[str, object] = {
        "data": Path(data or "data") if given.run.__name__ != "run_demo" else None,
        "campaign": os.environ.get("CANONRY_CAMPAIGN"),
        "json": False,
        "quiet": False,
        "verbose": 0,
    }
    for name, value in defaults.items():
        if not hasattr(given, name):
            setattr(given, name, value)
    return given
