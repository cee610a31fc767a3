"""The commands about whole campaigns."""

from __future__ import annotations

from typing import Any

from canonry.cli.arguments.options import command, lazily


def add_commands(commands: Any) -> None:
    _add_demo(commands)
    _add_campaign(commands)


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
        "Show or change settings. Keys: embedder (minilm, static, none, ollama:MODEL, openai:MODEL@URL), mode (of a query\n"
        "that names none), max_file_bytes, chunk.target, chunk.min, chunk.max, chunk.overlap (tokens). For a model behind\n"
        "an address: embed.query_prefix, embed.document_prefix, embed.max_tokens, embed.dimensions (auto: as is known of\n"
        "the model), embed.batch (texts a request), embed.timeout (seconds), embed.retries, embed.encoding (float, base64),\n"
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
