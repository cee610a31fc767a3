"""The commands about single sources."""

from __future__ import annotations

from typing import Any

from canonry.cli.arguments.options import add_facts, command, lazily, words
from canonry.records import CLASSES


def add_commands(commands: Any) -> None:
    _add_source(commands)
    _add_correct(commands)
    _add_conflicts(commands)


def _add_source(commands: Any) -> None:
    group = commands.add_parser("source", help="look at and change the sources of a campaign").add_subparsers(
        metavar="ACTION", required=True
    )
    command(group, "list", lazily("sources", "list_all"), "list the sources")
    for name, function, help_ in (
        ("show", "show", "show everything about a source"),
        ("chunks", "show_chunks", "list a source's chunks"),
        ("history", "history", "list a source's versions"),
        ("enable", "enable", "let a source be found again"),
        ("disable", "disable", "keep a source, but let no query find it"),
        ("lock", "lock", "let a source change by accepted proposals alone; stricter secrecy still holds at once"),
        ("unlock", "unlock", "let a source be changed directly again"),
    ):
        command(group, name, lazily("sources", function), help_).add_argument(
            "id", help="id, its beginning, file name or title"
        )
    text = command(group, "text", lazily("sources", "show_text"), "print a source's text as it was imported")
    text.add_argument("id", help="id, its beginning, file name or title")
    text.add_argument("--version", type=int, metavar="N", help="an earlier version (default: the live one)")
    edit = command(
        group,
        "edit",
        lazily("sources", "edit"),
        "change what is said of a source; in force at the next query",
        "Change what is said of a source, and print what it was before. In force at the next query. Of a locked source the\n"
        "change becomes a proposal, but that stricter secrecy holds at once.",
    )
    edit.add_argument("id", help="id, its beginning, file name or title")
    edit.add_argument("--class", dest="class_", choices=CLASSES)
    add_facts(edit)
    edit.add_argument(
        "--superseded-by",
        metavar="ID",
        help="another source holds in its place from now on, for whoever may see that; none takes it back",
    )
    delete = command(
        group, "delete", lazily("sources", "delete"), "delete a source with its versions and everything derived from it"
    )
    delete.add_argument("id", help="id, its beginning, file name or title")
    delete.add_argument("--yes", action="store_true", help="do not ask")


def _add_correct(commands: Any) -> None:
    parser = command(
        commands, "correct", lazily("correcting", "correct"), "say what is so, above everything that was imported",
        "Record a correction: canon that holds where any other passage says otherwise. In packs it stands beside the passages\n"
        "that it corrects: those named with --of, else every one whose statement it plainly contradicts. It is at least as\n"
        "secret as they are. `canonry source delete` takes it back.",
    )  # fmt: skip
    parser.add_argument("text", nargs="?", metavar="TEXT", help="what is so, or - to read it from standard input")
    parser.add_argument(
        "--of", action="append", default=[], metavar="CHUNK", help="a passage that it corrects; repeat for more"
    )
    add_facts(parser)


def _add_conflicts(commands: Any) -> None:
    parser = command(
        commands, "conflicts", lazily("correcting", "conflicts"), "list canon that contradicts canon, and settle it",
        "List pairs of canon that plainly contradict each other: the same thing said and denied, or two values of what can have\n"
        "only one. With the ID of one, show both sides in full, or settle it. Compared is what the role may see at the level.",
    )  # fmt: skip
    parser.add_argument("id", nargs="?", metavar="ID", help="one conflict, by its id or the beginning of it")
    parser.add_argument("--all", action="store_true", help="list those that are settled as well")
    parser.add_argument("--role", default="player", help="who asks (default: player; narrator sees hidden canon)")
    parser.add_argument(
        "--spoiler-level", type=int, default=0, metavar="N", help="compare up to this level (default: 0)"
    )
    parser.add_argument(
        "--forbid-tags", type=words, default=(), metavar="a,b", help="compare nothing with one of these tags"
    )
    settle = parser.add_argument_group("settle it").add_mutually_exclusive_group()
    settle.add_argument("--prefer", metavar="SOURCE", help="this one of the two holds")
    settle.add_argument("--correct", metavar="TEXT", help="neither does; this holds")
    settle.add_argument("--no-conflict", action="store_true", help="both can hold")
    settle.add_argument("--reopen", action="store_true", help="forget how it was settled")
    parser.add_argument("--note", default="", metavar="T", help="why, for whoever looks later")
