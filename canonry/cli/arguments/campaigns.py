"""The commands about whole campaigns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from canonry.archive import Limits
from canonry.cli.arguments.options import command, lazily


def add_commands(commands: Any) -> None:
    _add_demo(commands)
    _add_campaign(commands)
    _add_export(commands)
    _add_restore(commands)


def _add_demo(commands: Any) -> None:
    command(
        commands, "demo", lazily("demo", "run_demo"), "show the main job on a small campaign that comes with canonry",
        "Import a copy of the campaign that comes with canonry into a temporary folder, index it, ask three questions\n"
        "and evaluate search by words against words and meaning. With --data DIR it is made there and stays.",
        campaign=False,
    )  # fmt: skip


def _add_campaign(commands: Any) -> None:
    group = commands.add_parser("campaign", help="create, list, show, set up or delete campaigns").add_subparsers(
        metavar="ACTION", required=True
    )
    create = command(group, "create", lazily("campaigns", "create"), "create a campaign", campaign=False)
    create.add_argument("id", help="its id: a-z, 0-9, - and _")
    create.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting, for example embedder=none or chunk.target=400; repeat for more",
    )
    command(group, "list", lazily("campaigns", "list_all"), "list the campaigns", campaign=False)
    show = command(
        group, "show", lazily("campaigns", "show"), "show a campaign: sources, settings, index", campaign=False
    )
    show.add_argument("id")
    settings = command(
        group, "settings", lazily("campaigns", "settings"), "show or change a campaign's settings",
        "Show or change settings. Keys: embedder (minilm, static, none), mode (of a query that names none),\n"
        "max_file_bytes, chunk.target, chunk.min, chunk.max, chunk.overlap (tokens),\n"
        "fusion.method (rrf, convex), fusion.k, fusion.weight, fusion.alpha, fusion.entity.", campaign=False,
    )  # fmt: skip
    settings.add_argument("id")
    settings.add_argument(
        "--set", dest="settings", action="append", default=[], metavar="KEY=VALUE", help="change one; repeat for more"
    )
    delete = command(
        group, "delete", lazily("campaigns", "delete"), "delete a campaign with everything in it", campaign=False
    )
    delete.add_argument("id")
    delete.add_argument("--yes", action="store_true", help="do not ask")


def _add_export(commands: Any) -> None:
    parser = command(
        commands, "export", lazily("archive", "export"), "write a campaign to one file, to keep or to move",
        "Write a campaign to one zip: every version of every source, what was said of each, settings, and the history of\n"
        "packs, with a manifest and checksums. Hidden texts and spoilers are in it. Others may read and write meanwhile.",
    )  # fmt: skip
    parser.add_argument("file", type=Path, metavar="FILE.zip")
    parser.add_argument(
        "--with-embeddings", action="store_true", help="with the vectors too (a restore makes them anew otherwise)"
    )
    parser.add_argument("--force", action="store_true", help="overwrite the file if it is there")


def _add_restore(commands: Any) -> None:
    limits = Limits()
    parser = command(
        commands, "restore", lazily("archive", "restore"), "make a campaign of a file that `export` wrote",
        "Make the campaign of an export in the data directory, and index it. The whole file is checked before anything is\n"
        "written; one that is damaged, or holds what no export holds, is refused with the entry and the reason.",
        campaign=False,
    )  # fmt: skip
    parser.add_argument("file", type=Path, metavar="FILE.zip")
    parser.add_argument("--as", dest="as_", metavar="ID", help="under another id than its own")
    parser.add_argument("--no-index", action="store_true", help="leave the index to `canonry reindex`")
    parser.add_argument(
        "--max-bytes",
        type=int,
        default=limits.bytes,
        metavar="N",
        help=f"unpack at most so many bytes (default: {limits.bytes:,})",
    )
    parser.add_argument(
        "--max-members",
        type=int,
        default=limits.members,
        metavar="N",
        help=f"take at most so many files (default: {limits.members:,})",
    )
