"""The commands that ask: passages, packs, and what became of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from canonry.cli.arguments.options import (
    add_judge,
    add_question,
    add_ranking,
    add_story_time,
    command,
    lazily,
    list_limit,
    row_id,
    words,
)  # fmt: skip


def add_commands(commands: Any) -> None:
    _add_query(commands)
    _add_why(commands)
    _add_pack(commands)
    _add_history(commands)


def _add_query(commands: Any) -> None:
    parser = command(
        commands, "query", lazily("asking", "query"), "find the passages that answer a question",
        "Find the passages that answer a question and that the role may see. The words are never syntax; \"quoted words\"\n"
        "must occur as they stand. Without options: as a player, at spoiler level 0, nothing hidden.",
    )  # fmt: skip
    add_question(parser)
    add_ranking(parser)
    add_judge(parser)
    parser.add_argument("--explain", action="store_true", help="show every component of every score")


def _add_why(commands: Any) -> None:
    parser = command(
        commands, "why", lazily("asking", "why"), "say why a chunk is, or is not, in the answer to a question",
        "Name the step that kept or dropped a chunk when the question was asked with the same options, and what would change\n"
        "that. What a role may not see does not exist for it; --as narrator tells a narrator all of it.",
    )  # fmt: skip
    parser.add_argument("chunk", metavar="CHUNK_ID")
    add_question(parser)
    add_ranking(parser)
    parser.add_argument(
        "--as", dest="viewer", choices=("narrator",), help="who reads this, where it is not the role that asks"
    )


def _add_pack(commands: Any) -> None:
    parser = command(
        commands, "pack", lazily("packing", "pack"), "put the passages that answer a question into a text for a prompt",
        "Print the passages that answer a question, whole and framed as data, for a prompt, never above a budget of tokens.\n"
        "Canon that is always included comes first, then pins, canon, reference and inspiration; what found no room is\n"
        "listed on standard error. Every pack is kept for `canonry history`. Without options: as a player, at spoiler level 0.",
    )  # fmt: skip
    add_question(parser)
    add_judge(parser)
    parser.set_defaults(role=None)  # --diff is refused beside a role
    budgets = parser.add_argument_group("budget, in tokens")
    budgets.add_argument("--budget", type=int, default=2000, metavar="N", help="of the whole pack (default: 2000)")
    for class_, share in (("canon", 60), ("reference", 25), ("inspiration", 15)):
        budgets.add_argument(
            f"--budget-{class_}", type=int, metavar="N",
            help=f"at most so much {class_} (default: {share} %% of what always-included canon and pins leave, and what others leave)",
        )  # fmt: skip
    parser.add_argument(
        "--pin", dest="pins", action="append", default=[], metavar="CHUNK", help="must be in it; repeat for more"
    )
    parser.add_argument(
        "--state", type=Path, metavar="FILE", help="what the prompt says already and is so now; not said again"
    )
    parser.add_argument(
        "--save",
        type=Path,
        metavar="FILE",
        help="a running game of `canonry canon`: its log is the state, and around the question",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="json is the same as --json")
    parser.add_argument(
        "--diff", type=words, metavar="ROLE,ROLE",
        help="instead of a pack, list what only one of two roles gets; for eyes that may see both",
    )  # fmt: skip
    parser.add_argument("--no-record", action="store_true", help="keep it out of the history")


def _add_history(commands: Any) -> None:
    group = commands.add_parser("history", help="look at packs as they were supplied").add_subparsers(
        metavar="ACTION", required=True
    )
    list_ = command(group, "list", lazily("packing", "list_history"), "list the latest packs")
    list_.add_argument("--limit", type=list_limit, default=20, metavar="N", help="so many (default: 20)")
    show = command(group, "show", lazily("packing", "show_history"), "print a pack as it was supplied")
    show.add_argument("id", type=row_id, metavar="ID")
    for parser in (list_, show):
        parser.add_argument(
            "--role", default="player", help="who asks: shown are packs for this role and for player (default: player)"
        )
        parser.add_argument(
            "--spoiler-level", type=int, default=0, metavar="N", help="shown are packs up to this level (default: 0)"
        )
        parser.add_argument(
            "--forbid-tags",
            type=words,
            default=(),
            metavar="a,b",
            help="shown are packs that hold none of these spoiler tags",
        )
        add_story_time(parser)
