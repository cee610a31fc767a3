"""The commands about single sources."""

from __future__ import annotations

from typing import Any

from canonry.cli.arguments.options import add_facts, command, lazily
from canonry.records import CLASSES


def add_commands(commands: Any) -> None:
    _add_source(commands)


def _add_source(commands: Any) -> None:
    group = commands.add_parser("source", help="look at and change the sources of a campaign").add_subparsers(
        metavar="ACTION", required=True
    )
    command(group, "list", lazily("sources", "list_all"), "list the sources")
    for name, function, help_ in (
        ("show", "show", "show everything about a source"),
        ("text", "show_text", "print a source's text as it was imported"),
        ("chunks", "show_chunks", "list a source's chunks"),
        ("history", "history", "list a source's versions"),
        ("enable", "enable", "let a source be found again"),
        ("disable", "disable", "keep a source, but let no query find it"),
    ):
        command(group, name, lazily("sources", function), help_).add_argument(
            "id", help="id, its beginning, file name or title"
        )
    edit = command(
        group, "edit", lazily("sources", "edit"), "change what is said of a source; in force at the next query"
    )
    edit.add_argument("id", help="id, its beginning, file name or title")
    edit.add_argument("--class", dest="class_", choices=CLASSES)
    add_facts(edit)
    delete = command(
        group, "delete", lazily("sources", "delete"), "delete a source with its versions and everything derived from it"
    )
    delete.add_argument("id", help="id, its beginning, file name or title")
    delete.add_argument("--yes", action="store_true", help="do not ask")
