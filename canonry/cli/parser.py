"""The command line: every command with its options and its help."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from canonry.records import CLASSES, PRIORITIES, VISIBILITIES

Run = Callable[[argparse.Namespace], "int | None"]


def build_parser() -> argparse.ArgumentParser:
    """The parser of `canonry`; each command carries the function that runs it as `run`."""
    parser = argparse.ArgumentParser(
        prog="canonry",
        description="Local lore for storytelling and games: import it, say how true and how secret it is, get back the passages a role may see.",
        epilog="Start with `canonry demo`. Every command has --help.",
    )
    _add_globals(parser, campaign=True)
    parser.add_argument("--version", action="version", version=f"canonry {_version()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_demo(commands)
    _add_campaign(commands)
    _add_import(commands)
    _add_reindex(commands)
    _add_status(commands)
    _add_source(commands)
    _add_query(commands)
    _add_why(commands)
    _add_pack(commands)
    _add_history(commands)
    return parser


def _version() -> str:
    from canonry import __version__

    return __version__


def lazily(module: str, function: str) -> Run:
    """The function of that module under canonry.cli, imported when the command runs."""

    def run(given: argparse.Namespace) -> int | None:
        result: int | None = getattr(import_module(f"canonry.cli.{module}"), function)(given)
        return result

    run.__name__ = function
    return run


def _command(
    commands: Any, name: str, run: Run, help_: str, description: str = "", *, campaign: bool = True
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_,
        description=description or help_[0].upper() + help_[1:] + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_globals(parser, campaign=campaign)
    parser.set_defaults(run=run)
    return parser


def _add_globals(parser: argparse.ArgumentParser, *, campaign: bool) -> None:
    """Options that may stand before the command and after it; `parse` fills in what was not given."""

    def add(*names: str, **details: Any) -> None:
        parser.add_argument(*names, default=argparse.SUPPRESS, **details)

    add("--data", type=Path, metavar="DIR", help="the data directory (default: $CANONRY_DATA, else ./data)")
    if campaign:
        add("-c", "--campaign", metavar="ID", help="the campaign (default: $CANONRY_CAMPAIGN, else the only one)")
    add("--json", action="store_true", help="print one JSON document; notices go to standard error")
    add("-q", "--quiet", action="store_true", help="print results only")
    add("-v", "--verbose", action="count", help="say more; twice: show tracebacks")


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


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _add_demo(commands: Any) -> None:
    _command(
        commands, "demo", lazily("demo", "run_demo"), "show the main job on a small campaign that comes with canonry",
        "Import a copy of the campaign that comes with canonry into a temporary folder, index it, ask three questions\n"
        "and evaluate search by words against words and meaning. With --data DIR it is made there and stays.",
        campaign=False,
    )  # fmt: skip


def _add_campaign(commands: Any) -> None:
    group = commands.add_parser("campaign", help="create, list, show, set up or delete campaigns").add_subparsers(
        metavar="ACTION", required=True
    )
    create = _command(group, "create", lazily("campaigns", "create"), "create a campaign", campaign=False)
    create.add_argument("id", help="its id: a-z, 0-9, - and _")
    create.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting, for example embedder=none or chunk.target=400; repeat for more",
    )
    _command(group, "list", lazily("campaigns", "list_all"), "list the campaigns", campaign=False)
    show = _command(
        group, "show", lazily("campaigns", "show"), "show a campaign: sources, settings, index", campaign=False
    )
    show.add_argument("id")
    settings = _command(
        group, "settings", lazily("campaigns", "settings"), "show or change a campaign's settings",
        "Show or change settings. Keys: embedder (minilm, static, none), mode (of a query that names none),\n"
        "max_file_bytes, chunk.target, chunk.min, chunk.max, chunk.overlap (tokens).", campaign=False,
    )  # fmt: skip
    settings.add_argument("id")
    settings.add_argument(
        "--set", dest="settings", action="append", default=[], metavar="KEY=VALUE", help="change one; repeat for more"
    )
    delete = _command(
        group, "delete", lazily("campaigns", "delete"), "delete a campaign with everything in it", campaign=False
    )
    delete.add_argument("id")
    delete.add_argument("--yes", action="store_true", help="do not ask")


def _add_import(commands: Any) -> None:
    parser = _command(
        commands, "import", lazily("indexing", "import_paths"), "import files and folders of .md and .txt",
        "Import files, or folders with everything below them. They can be found by words at once and by meaning when\n"
        "their vectors are made. A file that cannot be imported is named with the reason; the others are imported.\n"
        "A canonry.toml in the folder and front matter in the files may say class, visibility, spoiler level and more;\n"
        "options here win over both, except that on secrecy the stricter statement wins.",
    )  # fmt: skip
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument(
        "--class", dest="class_", choices=CLASSES, help="how true it is (default: what the files say, else reference)"
    )
    _add_facts(parser)
    parser.add_argument(
        "--encoding", metavar="NAME", help="convert files that are not UTF-8 from this encoding (cp1252, gb18030, …)"
    )
    parser.add_argument(
        "--on-duplicate",
        choices=("ask", "reuse", "separate", "cancel"),
        default="ask",
        help="what to do with content that is here already (default: ask; without a terminal the file is refused)",
    )
    parser.add_argument("--no-embed", action="store_true", help="leave the vectors to the next reindex")


def _add_facts(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--title", metavar="T")
    parser.add_argument("--tags", type=_words, metavar="a,b")
    parser.add_argument("--entities", type=_words, metavar="a,b", help="people, places and things it is about")
    parser.add_argument("--visibility", choices=VISIBILITIES, help="hidden is for the narrator alone")
    parser.add_argument("--spoiler-level", type=int, metavar="N", help="0 is safe for everyone")
    parser.add_argument("--spoiler-tags", type=_words, metavar="a,b")
    parser.add_argument("--priority", choices=PRIORITIES)
    parser.add_argument("--always-include", action="store_true", default=None)


def _add_reindex(commands: Any) -> None:
    parser = _command(
        commands, "reindex", lazily("indexing", "reindex"), "bring the index up to date with the sources",
        "Bring chunks, index and vectors up to date. With nothing to do it ends at once. Work runs as a Prefect flow,\n"
        "on the server of PREFECT_API_URL where there is one.",
    )  # fmt: skip
    parser.add_argument("--full", action="store_true", help="write the whole index anew")
    parser.add_argument(
        "--runner",
        choices=("process", "thread"),
        default="process",
        help="how tasks run side by side (default: process)",
    )
    parser.add_argument("--embedder", metavar="SPEC", help="set the campaign's embedder first: minilm, static or none")
    parser.add_argument("--in-process", action="store_true", help="run the same steps without Prefect")


def _add_status(commands: Any) -> None:
    _command(commands, "status", lazily("indexing", "status"), "show what is stale and why, and the state of the index")


def _add_source(commands: Any) -> None:
    group = commands.add_parser("source", help="look at and change the sources of a campaign").add_subparsers(
        metavar="ACTION", required=True
    )
    _command(group, "list", lazily("sources", "list_all"), "list the sources")
    for name, function, help_ in (
        ("show", "show", "show everything about a source"),
        ("text", "show_text", "print a source's text as it was imported"),
        ("chunks", "show_chunks", "list a source's chunks"),
        ("history", "history", "list a source's versions"),
        ("enable", "enable", "let a source be found again"),
        ("disable", "disable", "keep a source, but let no query find it"),
    ):
        _command(group, name, lazily("sources", function), help_).add_argument(
            "id", help="id, its beginning, file name or title"
        )
    edit = _command(
        group, "edit", lazily("sources", "edit"), "change what is said of a source; in force at the next query"
    )
    edit.add_argument("id", help="id, its beginning, file name or title")
    edit.add_argument("--class", dest="class_", choices=CLASSES)
    _add_facts(edit)
    delete = _command(
        group, "delete", lazily("sources", "delete"), "delete a source with its versions and everything derived from it"
    )
    delete.add_argument("id", help="id, its beginning, file name or title")
    delete.add_argument("--yes", action="store_true", help="do not ask")


def _add_query(commands: Any) -> None:
    parser = _command(
        commands, "query", lazily("asking", "query"), "find the passages that answer a question",
        "Find the passages that answer a question and that the role may see. The words are never syntax; \"quoted words\"\n"
        "must occur as they stand. Without options: as a player, at spoiler level 0, nothing hidden.",
    )  # fmt: skip
    _add_question(parser)
    _add_ranking(parser)
    parser.add_argument("--explain", action="store_true", help="show every component of every score")


def _add_ranking(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, default=8, metavar="N")
    parser.add_argument("--copies", action="store_true", help="show passages of equal text each, not once for all")
    parser.add_argument(
        "--no-rerank", action="store_true", help="order by words and meaning alone, without class, context and priority"
    )


def _add_why(commands: Any) -> None:
    parser = _command(
        commands, "why", lazily("asking", "why"), "say why a chunk is, or is not, in the answer to a question",
        "Name the step that kept or dropped a chunk when the question was asked with the same options, and what would change\n"
        "that. What a role may not see does not exist for it; --as narrator tells a narrator all of it.",
    )  # fmt: skip
    parser.add_argument("chunk", metavar="CHUNK_ID")
    _add_question(parser)
    _add_ranking(parser)
    parser.add_argument(
        "--as", dest="viewer", choices=("narrator",), help="who reads this, where it is not the role that asks"
    )


def _add_question(parser: argparse.ArgumentParser) -> None:
    """The question and who asks it, of whom: what `query` and `pack` share."""
    parser.add_argument("text", nargs="?", metavar="TEXT", help="the question, or - to read it from standard input")
    parser.add_argument(
        "--mode", choices=("hybrid", "lexical", "semantic"), help="default: the campaign's own, at first lexical"
    )
    parser.add_argument("--spoiler-level", type=int, default=0, metavar="N", help="see up to this level (default: 0)")
    parser.add_argument(
        "--forbid-tags", type=_words, default=(), metavar="a,b", help="see nothing with one of these spoiler tags"
    )
    parser.add_argument(
        "--role", default="player", help="player (default), narrator (sees hidden), writer, npc:<id>, …"
    )
    parser.add_argument("--class", dest="classes", type=_words, default=(), metavar="a,b", help="only these classes")
    parser.add_argument(
        "--source-types",
        type=_words,
        default=(),
        metavar="a,b",
        help="only sources of these types (`type` in front matter)",
    )
    parser.add_argument("--tags", type=_words, default=(), metavar="a,b", help="only sources with one of these tags")
    parser.add_argument("--entities", type=_words, default=(), metavar="a,b", help="only sources about one of these")
    parser.add_argument("--source", dest="sources", type=_words, default=(), metavar="ID,ID", help="only these sources")
    parser.add_argument(
        "--as-of", metavar="TIME", help="the versions that were live then (2026-03-01 or 2026-03-01T18:00)"
    )
    around = parser.add_argument_group(
        "context", "What surrounds the question. It lifts passages, and filters nothing."
    )
    around.add_argument("--scene", default="", metavar="T", help="what is going on")
    around.add_argument("--location", default="", metavar="T", help="where it is going on")
    around.add_argument(
        "--mention",
        type=_words,
        default=(),
        metavar="a,b",
        help="who and what was mentioned; finds passages that name it",
    )
    around.add_argument("--thread", default="", metavar="T", help="the active thread of the story")
    around.add_argument("--genre", default="", metavar="T", help="what kind of story it is")
    around.add_argument("--keywords", type=_words, default=(), metavar="a,b", help="words of the current state")


def _add_pack(commands: Any) -> None:
    parser = _command(
        commands, "pack", lazily("packing", "pack"), "put the passages that answer a question into a text for a prompt",
        "Print the passages that answer a question, whole and framed as data, for a prompt, never above a budget of tokens.\n"
        "Canon that is always included comes first, then pins, canon, reference and inspiration; what found no room is\n"
        "listed on standard error. Every pack is kept for `canonry history`. Without options: as a player, at spoiler level 0.",
    )  # fmt: skip
    _add_question(parser)
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
    parser.add_argument("--state", type=Path, metavar="FILE", help="what the prompt says already; not said again")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="json is the same as --json")
    parser.add_argument(
        "--diff", type=_words, metavar="ROLE,ROLE",
        help="instead of a pack, list what only one of two roles gets; for eyes that may see both",
    )  # fmt: skip
    parser.add_argument("--no-record", action="store_true", help="keep it out of the history")


def _add_history(commands: Any) -> None:
    group = commands.add_parser("history", help="look at packs as they were supplied").add_subparsers(
        metavar="ACTION", required=True
    )
    list_ = _command(group, "list", lazily("packing", "list_history"), "list the latest packs")
    list_.add_argument("--limit", type=int, default=20, metavar="N", help="so many (default: 20)")
    show = _command(group, "show", lazily("packing", "show_history"), "print a pack as it was supplied")
    show.add_argument("id", type=int, metavar="ID")
    for parser in (list_, show):
        parser.add_argument(
            "--role", default="player", help="who asks: shown are packs for this role and for player (default: player)"
        )
        parser.add_argument(
            "--spoiler-level", type=int, default=0, metavar="N", help="shown are packs up to this level (default: 0)"
        )
