"""The commands about proposals."""

from __future__ import annotations

from typing import Any

from canonry.cli.arguments.options import command, lazily, row_id


def add_commands(commands: Any) -> None:
    group = commands.add_parser("proposals", help="decide on changes of locked sources").add_subparsers(
        metavar="ACTION", required=True
    )
    listing = command(group, "list", lazily("proposals", "list_all"), "list the proposals that wait for a decision")
    listing.add_argument("--all", action="store_true", help="those that were decided too")
    for name, function, help_ in (
        ("show", "show", "show what a proposal would change"),
        ("accept", "accept", "carry a proposal out; a new text becomes a version, as by import"),
        ("reject", "reject", "drop a proposal; the source stays as it is"),
    ):
        parser = command(group, name, lazily("proposals", function), help_)
        parser.add_argument("id", type=row_id, metavar="ID", help="the proposal's number")
        if name != "show":
            parser.add_argument("--note", default="", metavar="T", help="why, kept with the decision")
