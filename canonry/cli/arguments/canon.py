"""The commands about the canon log of a running game."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from canonry.cli.arguments.options import command, lazily

_EVENTS = """Each event is one JSON object on a line. It applies whole, or is dropped with its place and the reason and
changes nothing. Exit code 3 where some were dropped, 1 where all were.

type         takes                         does
say          by, text                      keep what was said; establish each [FACT: …] in it, once; of an npc:ID that
                                           has the move, carry out [ADJUST_DISPOSITION: ±n]; a player records nothing
beat         text (one line)               a recent event; the oldest of more than five goes
move         location_id                   through an exit; by gm, anywhere
disposition  npc_id, change                kept within -100 to 100
humiliation  text, weight (1 to 10)        remembered from weight 5 on, for ever
luck         change                        the number drifts; the log gets new words for it
quest        quest_id, status, objective   active, then complete or failed; objective may be left out
item         item_id, qty                  gained, or lost where negative
summary      replaces (facts), fact        one fact in the place of several

All take turn (a number; never back in time) and by: code (default), gm, or improviser within the world's
event_changes; for say, any role, player, gm or code."""

_CONTENT = "a folder with world/ and origins/; `demo` is the world of the demo"


def add_commands(commands: Any) -> None:
    group = commands.add_parser("canon", help="the canon log: what holds in a running game").add_subparsers(
        metavar="ACTION", required=True
    )
    _add_content(group)
    _add_game(group)


def _add_content(group: Any) -> None:
    check = command(
        group, "check", lazily("canonlog", "check"), "check a world and its origins, and report every problem at once",
        "Read world/ and origins/ of DIR, check each file against its schema and every id against the world.",
        campaign=False,
    )  # fmt: skip
    check.add_argument("content", metavar="DIR", help=_CONTENT)
    new = command(
        group, "new-game", lazily("canonlog", "new_game"), "start a game from an origin and write its save",
        "Check the content, apply the origin's build constraints, roll luck (five twenty-sided dice, their average and the\n"
        "origin's modifier), then make the canon log. The log holds words for luck, never the number.", campaign=False,
    )  # fmt: skip
    new.add_argument("--content", required=True, metavar="DIR", help=_CONTENT)
    new.add_argument("--origin", required=True, metavar="ID")
    new.add_argument("--name", required=True, metavar="NAME", help="the player's")
    new.add_argument("--class", dest="class_id", required=True, metavar="CLASS", help="one that the origin allows")
    new.add_argument(
        "--seed", type=int, metavar="N", help="of the dice; the same gives the same game (default: random)"
    )
    new.add_argument("--out", type=Path, required=True, metavar="SAVE")
    new.add_argument("--force", action="store_true", help="write over a file that is there")


def _add_game(group: Any) -> None:
    apply = command(
        group, "apply", lazily("canonlog", "apply"), "apply events to a save, one JSON object a line",
        _EVENTS, campaign=False,
    )  # fmt: skip
    _add_save(apply)
    apply.add_argument("events", metavar="EVENTS.jsonl", help="a file, or - for standard input")
    inject = command(
        group, "inject", lazily("canonlog", "print_injection"), "print what a role's call is given: the log and its extras",
        "The same save gives the same bytes. Nothing is ever cut: what is over the budget is reported with what to\n"
        "summarise (exit code 3).", campaign=False,
    )  # fmt: skip
    _add_save(inject)
    inject.add_argument(
        "--role", required=True, metavar="ROLE", help="narrator, npc:ID, improviser, banter, adjudicator"
    )
    inject.add_argument("--budget", type=int, metavar="N", help="tokens that the text should fit into")
    log = command(
        group, "log", lazily("canonlog", "show_log"), "list every event: who, when, and what it changed",
        "For whoever runs the game: it shows numbers that no model is given.", campaign=False,
    )  # fmt: skip
    _add_save(log)
    undo = command(
        group, "undo", lazily("canonlog", "undo_events"), "take back the last events, by replay of the others",
        "The events stay in the save, marked as undone.", campaign=False,
    )  # fmt: skip
    _add_save(undo)
    undo.add_argument("count", type=int, nargs="?", default=1, metavar="N", help="how many (default: 1)")
    undo.add_argument("--force", action="store_true", help="even where edits made by hand are lost")


def _add_save(parser: Any) -> None:
    parser.add_argument("save", type=Path, metavar="SAVE")
