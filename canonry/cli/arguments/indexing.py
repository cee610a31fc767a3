"""The commands that bring sources in and keep the index up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from canonry.cli.arguments.options import add_facts, command, lazily
from canonry.records import CLASSES


def add_commands(commands: Any) -> None:
    _add_import(commands)
    _add_reindex(commands)
    _add_status(commands)


def _add_import(commands: Any) -> None:
    parser = command(
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
    add_facts(parser)
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


def _add_reindex(commands: Any) -> None:
    parser = command(
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
    parser.add_argument(
        "--embedder",
        metavar="SPEC",
        help="set the campaign's embedder first: minilm, static, none, ollama:MODEL or openai:MODEL@URL",
    )
    parser.add_argument("--in-process", action="store_true", help="run the same steps without Prefect")


def _add_status(commands: Any) -> None:
    command(commands, "status", lazily("indexing", "status"), "show what is stale and why, and the state of the index")
