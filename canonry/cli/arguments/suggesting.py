"""The commands about knowledge entries, suggestions, and the context that is confirmed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from canonry.cli.arguments.options import add_facts, add_story_time, command, lazily, list_limit, row_id, words
from canonry.records import CLASSES, ENTRY_STATUSES, ENTRY_TYPES, FORESHADOW_STATES


def add_commands(commands: Any) -> None:
    _add_entry(commands)
    _add_suggest(commands)
    _add_context(commands)


def _add_entry(commands: Any) -> None:
    group = commands.add_parser("entry", help="keep knowledge entries, and review them").add_subparsers(
        metavar="ACTION", required=True
    )
    _add_entry_add(group)
    review = command(
        group, "review", lazily("entries", "review"), "approve or reject entries; in force at the next query",
        "Approve or reject entries, all of those named or none. Only approved entries are found, packed and suggested.\n"
        "A review outlives every later import of the entry.",
    )  # fmt: skip
    review.add_argument("ids", nargs="+", metavar="ID", help="id, its beginning, file name or title")
    verdict = review.add_mutually_exclusive_group(required=True)
    for name, status in (("approve", "approved"), ("reject", "rejected"), ("pending", "pending")):
        verdict.add_argument(f"--{name}", dest="status", action="store_const", const=status)
    listing = command(group, "list", lazily("entries", "list_all"), "list the entries")
    listing.add_argument(
        "--type", dest="types", type=words, default=(), metavar="a,b", help=f"of {', '.join(ENTRY_TYPES)}"
    )
    listing.add_argument(
        "--status", dest="statuses", type=words, default=(), metavar="a,b", help=f"of {', '.join(ENTRY_STATUSES)}"
    )
    listing.add_argument(
        "--foreshadow-state",
        dest="states",
        type=words,
        default=(),
        metavar="a,b",
        help=f"of {', '.join(FORESHADOW_STATES)}",
    )
    listing.add_argument("--importance", type=int, default=1, metavar="N", help="at least this important (default: 1)")


def _add_entry_add(group: Any) -> None:
    add = command(
        group, "add", lazily("entries", "add"), "add entries from files, or one that is typed in",
        "Add knowledge entries: Markdown files whose front matter has type and importance, files of JSON lines (one object a\n"
        "line with title, type, importance, content; the same id or title again is a new version), or one entry given with\n"
        "--text. Everything that is wrong is said at once, and then nothing is added. An entry waits for review unless its\n"
        "status says otherwise.",
    )  # fmt: skip
    add.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files and folders of .md, and .jsonl files")
    typed = add.add_argument_group("one entry that is typed in")
    typed.add_argument(
        "--text", dest="content", metavar="TEXT", help="what is known, or - to read it from standard input"
    )
    typed.add_argument("--type", choices=ENTRY_TYPES)
    typed.add_argument("--importance", type=int, metavar="N", help="1 to 5 (default: 3)")
    typed.add_argument("--status", choices=ENTRY_STATUSES, help="default: pending")
    typed.add_argument("--foreshadow-state", choices=FORESHADOW_STATES, help="of a foreshadowing (default: buried)")
    typed.add_argument("--source-chapter", metavar="N", help="the chapter that it comes from, by number or name")
    typed.add_argument("--last-mention-chapter", metavar="N", help="the chapter that speaks of it last")
    typed.add_argument("--id", metavar="ID", help="what it is known by (default: the words of its title)")
    typed.add_argument("--class", dest="class_", choices=CLASSES)
    add_facts(typed)  # type: ignore[arg-type]  # a group takes arguments as a parser does


def _add_situation(parser: Any) -> None:
    """For which chapter and goal, in which language: what scores depend on."""
    parser.add_argument("--chapter", metavar="N", help="the current chapter, by number or by the name of its source")
    parser.add_argument("--goal", default="", metavar="TEXT", help="what the chapter is to achieve, in any words")
    parser.add_argument(
        "--lang",
        choices=("en", "zh", "auto"),
        default="auto",
        help="of the labels (default: auto, that of the goal or titles)",
    )


def _add_scope(parser: Any) -> None:
    parser.add_argument("--role", default="player", help="for whom (default: player; narrator sees hidden entries)")
    parser.add_argument("--spoiler-level", type=int, default=0, metavar="N", help="up to this level (default: 0)")
    parser.add_argument(
        "--forbid-tags", type=words, default=(), metavar="a,b", help="nothing with one of these spoiler tags"
    )
    add_story_time(parser)


def _add_suggest(commands: Any) -> None:
    parser = command(
        commands, "suggest", lazily("suggesting", "suggest"), "suggest knowledge entries for a chapter and a goal",
        "Suggest approved knowledge entries, the best first: importance × 20, nearness to the chapter 30/20/10, foreshadowing\n"
        "25 (buried) or 15 (partly resolved), and the share of the goal's words that an entry holds × 30.",
    )  # fmt: skip
    _add_situation(parser)
    parser.add_argument("--top", type=int, default=8, metavar="N", help="so many, 3 to 15 (default: 8)")
    _add_scope(parser)
    parser.add_argument(
        "--binding",
        type=Path,
        metavar="FILE",
        help="write them into a binding, beside what it holds; then take out what is not wanted",
    )


def _add_context(commands: Any) -> None:
    group = commands.add_parser("context", help="make and read the context of a prompt").add_subparsers(
        metavar="ACTION", required=True
    )
    build = command(
        group, "build", lazily("suggesting", "build"), "make the text of a prompt from a confirmed binding, and keep it",
        "Print the text that a binding makes, and keep it whole. A binding is JSON with the ids of sources under chapterIds,\n"
        "outlineIds, settingIds, inspirationIds and knowledgeIds; `canonry suggest --binding FILE` writes one. An entry has at\n"
        "most 500 characters, a chapter 2,000, anything else 500; what does not fit is left out whole, low scores first.",
    )  # fmt: skip
    build.add_argument("--binding", type=Path, required=True, metavar="FILE", help="which sources, as confirmed")
    _add_situation(build)
    build.add_argument("--budget", type=int, metavar="N", help="characters of the whole (default: 16,384)")
    build.add_argument("--budget-knowledge", type=int, metavar="N", help="characters of all entries (default: 4,000)")
    build.add_argument("--preview", action="store_true", help="say what would be in it; print and keep nothing")
    listing = command(group, "list", lazily("suggesting", "list_contexts"), "list the contexts that were confirmed")
    listing.add_argument("--limit", type=list_limit, default=20, metavar="N", help="so many (default: 20)")
    show = command(group, "show", lazily("suggesting", "show_context"), "print a context as it was confirmed")
    show.add_argument("id", type=row_id, metavar="ID")
    for parser in (build, listing, show):
        _add_scope(parser)
