"""The commands about what a model is given for a task."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from canonry.cli.arguments.options import add_story_time, command, lazily, list_limit, words

_INSPECT = """List the items that a role may be given: passages, the state of a game, notes, and blocks that you supply.
Pinned ones come first, then by explicit priority, then by id. How relevant an item is, is never said: that is for
whoever selects."""
_ASSEMBLE = """Check an exact selection and print it as a text for a prompt. FILE is JSON: {"selected": [ID or {"id":,
"fingerprint":}], "required": [...]}. Every item must be there for the role, be what it was when it was selected, and
stand beside what corrects it. What is pinned or required must fit the hot budget; the rest fills the working budget,
whole items, by priority and then as selected."""

_SELECT = """Let a program or a model select context for a task: JSON lines on standard input and output. FILE is JSON: {"task":
TEXT, "role":, "spoiler_level":, "forbid_tags":, "story_time":, "as_of":, "searches": [modes], "required": [IDs],
"budget": {"calls":, "tokens":, "hot":, "working":}}. The first line out names the calls: search, fetch, select, stop. Each
is on the disk before it is answered; --session goes on where an interrupted session was. Exit code 3 where it is left open."""


def add_commands(commands: Any) -> None:
    _add_context(commands)
    _add_session(commands)
    _add_memory(commands)
    _add_mcp(commands)


def _add_context(commands: Any) -> None:
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

    select = command(
        group, "select", lazily("sessions", "select"), "let a program or a model select context, line by line", _SELECT
    )
    which = select.add_mutually_exclusive_group(required=True)
    which.add_argument("--task", type=Path, metavar="FILE", help="begin a session for this task")
    which.add_argument("--session", metavar="ID", help="go on with this session")
    select.add_argument(
        "--model", metavar="SPEC",
        help="let a model on this machine drive instead, over /v1/chat/completions: openai:MODEL@http://127.0.0.1:PORT",
    )  # fmt: skip
    add_supplies(select)
    add_grants(select)


def _add_session(commands: Any) -> None:
    group = group_of(commands, "session", "sessions in which context was selected")
    listing = command(group, "list", lazily("sessions", "list_all"), "list the latest sessions")
    listing.add_argument("--limit", type=list_limit, default=20, metavar="N", help="so many (default: 20)")
    show = command(group, "show", lazily("sessions", "show"), "show what happened in a session")
    show.add_argument("--text", action="store_true", help="print the context that it was stopped with instead")
    resume = command(
        group, "resume", lazily("sessions", "resume"), "rebuild what a session had selected, and say what is stale",
        "Rebuild what a session had selected from its events and hold it against today's sources. What is no longer what it was\n"
        "leaves the selection and is named; exit code 3. `canonry context select --session ID` then goes on with it.",
    )  # fmt: skip
    for parser in (show, resume):
        parser.add_argument("id", metavar="ID")
    add_grants(resume)
    for parser in (listing, show, resume):
        add_reader(parser)


def _add_memory(commands: Any) -> None:
    group = group_of(commands, "memory", "notes derived from passages; never canon")
    add = command(
        group, "add", lazily("memory", "add"), "keep a note that was derived from passages",
        "Keep a note that was derived from passages. It is bound to the versions that they came from: when one has another text, the\n"
        "note is invalid, and kept. No query finds it; it is an item of `canonry context`, for the role that wrote it.",
    )  # fmt: skip
    add.add_argument("note", metavar="TEXT")
    add.add_argument("--of", type=words, required=True, metavar="ID,ID", help="the passages that it comes from")
    add.add_argument("--author", default="user", metavar="NAME", help="who wrote it (default: user)")
    add.add_argument(
        "--readers", type=words, default=(), metavar="a,b", help="roles that may read it beside the one that wrote it"
    )
    add_scope(add)
    listing = command(group, "list", lazily("memory", "list_all"), "list notes, and which hold no more")
    withdraw = command(group, "withdraw", lazily("memory", "withdraw"), "let a note hold no more; it is kept")
    withdraw.add_argument("id", metavar="ID", help="as in memory:7")
    withdraw.add_argument("--why", default="", metavar="T", help="kept with it")
    for parser in (listing, withdraw):
        add_reader(parser)


def _add_mcp(commands: Any) -> None:
    parser = command(
        commands, "mcp", lazily("serving", "mcp"), "serve a role's tools to an MCP client, on standard input and output",
        "Serve tools over the Model Context Protocol on standard input and output: search, fetch, pack, assemble, with --save\n"
        "state, for a narrator inspect and why too. The role and its limits are those given here, whatever the client says.\n"
        "With --task or --session the tools are the calls of that session, which keeps what is called. Needs canonry[mcp].",
    )  # fmt: skip
    add_scope(parser)
    parser.set_defaults(role=None, spoiler_level=None, forbid_tags=None)  # a session has its own, and none beside them
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--task", type=Path, metavar="FILE", help="serve a session for this task; it names the role")
    which.add_argument("--session", metavar="ID", help="go on with this session")
    add_grants(parser)
    parser.add_argument("--write", action="store_true", help="with `remember`, which keeps notes; nothing else writes")


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
    add_supplies(parser)


def add_reader(parser: argparse.ArgumentParser) -> None:
    """Who looks at what was made for a role."""
    parser.add_argument(
        "--role", default="player", help="who asks: shown is what is for this role and for player (default: player)"
    )
    parser.add_argument("--spoiler-level", type=int, default=0, metavar="N", help="up to this level (default: 0)")
    parser.add_argument(
        "--forbid-tags", type=words, default=(), metavar="a,b", help="only what was kept from these spoiler tags"
    )
    add_story_time(parser)


def add_supplies(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--save", type=Path, metavar="FILE", help="a game, for its accepted state")
    parser.add_argument("--blocks", type=Path, metavar="FILE", help="items of your own, as JSON")


def add_budgets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hot", type=int, default=1000, metavar="N", help="tokens for what must be there (default: 1000)"
    )
    parser.add_argument("--working", type=int, default=3000, metavar="N", help="tokens for the rest (default: 3000)")


def add_grants(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--more-calls", type=int, default=0, metavar="N", help="so many calls beyond its budget")
    parser.add_argument("--more-tokens", type=int, default=0, metavar="N", help="so many tokens beyond its budget")
