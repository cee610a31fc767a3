"""The commands about what a model is given for a task."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from canonry.cli.arguments.options import add_story_time, command, lazily, words

_INSPECT = """List the items that a role may be given: passages, the state of a game, notes, and blocks that you supply.
Pinned ones come first, then by explicit priority, then by id. How relevant an item is, is never said: that is for
whoever selects."""
_ASSEMBLE = """Check an exact selection and print it as a text for a prompt. FILE is JSON: {"selected": [ID or {"id":,
"fingerprint":}], "required": [...]}. Every item must be there for the role, be what it was when it was selected, and
stand beside what corrects it. What is pinned or required must fit the hot budget; the rest fills the working budget,
whole items, by priority and then as selected."""


def add_commands(commands: Any) -> None:
    group = group_of(commands, "context", "what a model is given for a task: inspect, select, assemble")
    inspect = command(
        group, "inspect", lazily("contexts", "inspect"), "list the items that a role may be given", _INSPECT
    )
    add_scope(inspect)
    inspect.add_argument("--source", dest="sources", type=words, default=(), metavar="ID,ID", help="only these sources")
    inspect.add_argument("--origin", type=words, default=(), metavar="a,b", help="knowledge, log, memory, caller")
    inspect.add_argument("--text", action="store_true", help="with the text of each item, in --json")
    inspect.add_argument("--as", dest="viewer", choices=("narrator",), help="who reads this: show what is withheld too")

    assemble = command(
        group, "assemble", lazily("contexts", "assemble"), "check a selection and print it for a prompt", _ASSEMBLE
    )
    assemble.add_argument("file", metavar="FILE", help="the selection, or - to read it from standard input")
    add_scope(assemble)
    add_budgets(assemble)
    assemble.add_argument("--as", dest="viewer", choices=("narrator",), help="who reads the errors: tell all of them")


def group_of(commands: Any, name: str, help_: str) -> Any:
    """The group of that name, made where no other module has made it."""
    if name not in commands.choices:
        return commands.add_parser(name, help=help_).add_subparsers(metavar="ACTION", required=True)
    actions = commands.choices[name]._actions
    return next(action for action in actions if isinstance(action, argparse._SubParsersAction))


def add_scope(parser: argparse.ArgumentParser) -> None:
    """For whom, and what there is beside the campaign's sources."""
    parser.add_argument(
        "--role", default="player", help="player (default), narrator, writer, simulation, blind_reader, npc:<id>, …"
    )
    parser.add_argument("--spoiler-level", type=int, default=0, metavar="N", help="up to this level (default: 0)")
    parser.add_argument(
        "--forbid-tags", type=words, default=(), metavar="a,b", help="nothing with one of these spoiler tags"
    )
    add_story_time(parser)
    parser.add_argument("--as-of", metavar="TIME", help="the versions that were live then")
    parser.add_argument("--save", type=Path, metavar="FILE", help="a game, for its accepted state")
    parser.add_argument("--blocks", type=Path, metavar="FILE", help="items of your own, as JSON")


def add_budgets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hot", type=int, default=1000, metavar="N", help="tokens for what must be there (default: 1000)"
    )
    parser.add_argument("--working", type=int, default=3000, metavar="N", help="tokens for the rest (default: 3000)")
