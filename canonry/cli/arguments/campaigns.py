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
    _add_health(commands)


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
        "Show or change settings. Keys: embedder (minilm, static, e5, none, ollama:MODEL, openai:MODEL@URL), mode (of a\n"
        "query that names none), max_file_bytes, chunk.target, chunk.min, chunk.max, chunk.overlap (tokens),\n"
        "fusion.method (rrf, convex), fusion.k, fusion.weight, fusion.alpha (auto, or 0 to 1), fusion.entity. For a model\n"
        "behind an address:\n"
        "embed.query_prefix, embed.document_prefix, embed.max_tokens, embed.dimensions (auto: as is known of the model),\n"
        "embed.batch (texts a request), embed.timeout (seconds), embed.retries, embed.encoding (float, base64),\n"
        "embed.allow_remote (true lets texts be sent beyond this machine and private networks).", campaign=False,
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


def _add_health(commands: Any) -> None:
    command(
        commands, "verify", lazily("health", "verify"), "check every stored byte, chunk, row and vector of a campaign",
        "Hash every version anew and hold chunks, index and vectors against it. Nothing is changed; questions go on\n"
        "meanwhile, writers wait. Each finding is one line with a code. Exit code 1 with findings, 0 without.",
    )  # fmt: skip
    doctor = command(
        commands, "doctor", lazily("health", "doctor"), "say what is wrong with a campaign or could be better, and mend it",
        "Everything that verify finds, and advice: what is stale or of no use, tiny chunks, text in a wrong encoding, equal\n"
        "and nearly equal sources, statements without effect, and secrets that public passages tell.\n"
        "A tool for the campaign's owner: it says where secrets stand. Never show its output to a player or a program\n"
        "that plays one. Exit code 1 with findings, problems and advice alike, 0 without.",
    )  # fmt: skip
    doctor.add_argument(
        "--fix",
        action="store_true",
        help="make derived files anew or remove them; sources and what is said of them stay",
    )
    doctor.add_argument(
        "--show-text", action="store_true", help="quote the secret sentence or name, not just the place where it stands"
    )
