"""The commands that bring sources in and keep the index up to date."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from canonry.cli.arguments.options import add_facts, command, lazily
from canonry.records import CLASSES


def add_commands(commands: Any) -> None:
    _add_import(commands)
    _add_refresh(commands)
    _add_reindex(commands)
    _add_status(commands)
    _add_embed(commands)


def _add_import(commands: Any) -> None:
    parser = command(
        commands, "import", lazily("indexing", "import_paths"), "import files and folders of .md and .txt",
        "Import files, or folders with everything below them. They can be found by words at once and by meaning when\n"
        "their vectors are made. A file that cannot be imported is named with the reason; the others are imported.\n"
        "A canonry.toml in the folder and front matter in the files may say class, visibility, spoiler level and more;\n"
        "options here win over both, except that on secrecy the stricter statement wins.\n"
        "A file that changed becomes a new version of its source, one that was only moved keeps its source at no cost; one\n"
        "that was moved and changed is a new source.",
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
        help="what to do with text that is here already, byte for byte or but for line ends, blanks at the end of a line, "
        "runs of blank lines and Unicode form (default: ask; without a terminal the file is refused)",
    )
    parser.add_argument("--no-embed", action="store_true", help="leave the vectors to the next reindex")


def _add_refresh(commands: Any) -> None:
    parser = command(
        commands, "refresh", lazily("refreshing", "refresh"), "read the originals of sources again and take in what changed",
        "Read the files again that sources were imported from. A changed one becomes a new version, as by import; of a locked\n"
        "source it becomes a proposal. One that is gone is named, and its source stays. New files are not looked for: import\n"
        "their folder again; that also finds files that were moved.",
    )  # fmt: skip
    parser.add_argument(
        "sources", nargs="*", metavar="SOURCE", help="id, its beginning, file name or title (default: all)"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what has changed, and change nothing")
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
        help="set the campaign's embedder first: minilm, static, e5, none, ollama:MODEL or openai:MODEL@URL",
    )
    parser.add_argument("--in-process", action="store_true", help="run the same steps without Prefect")


def _add_status(commands: Any) -> None:
    command(commands, "status", lazily("indexing", "status"), "show what is stale and why, and the state of the index")


def _add_embed(commands: Any) -> None:
    group = commands.add_parser("embed", help="see, choose and test the model behind search by meaning").add_subparsers(
        metavar="ACTION", required=True
    )
    command(group, "status", lazily("embedding", "status"), "show the campaign's embedder and the vectors on disk")
    use = command(
        group, "use", lazily("embedding", "use"), "set the campaign's embedder and make its vectors",
        "Set the campaign's embedder and make its vectors beside those that are there. Until they are complete, questions\n"
        "are asked of the old ones. It may be stopped at any time: the next run goes on with what is missing.",
    )  # fmt: skip
    use.add_argument("spec", metavar="SPEC", help="minilm, static, e5, none, ollama:MODEL or openai:MODEL@URL")
    use.add_argument("--later", action="store_true", help="leave the vectors to the next import or reindex")
    purge = command(
        group, "purge", lazily("embedding", "purge"), "remove the vectors of an embedder that is not in use",
        "Remove the vectors of an embedder that is not in use. They can be made again.",
    )  # fmt: skip
    purge.add_argument("spec", metavar="SPEC", help="the embedder, or the fingerprint of one set of its vectors")
    purge.add_argument("--yes", action="store_true", help="do not ask")
    test = command(
        group, "test", lazily("embedding", "test"), "try an embedder: does it answer, how quickly, is it sound",
        "Ask an embedder for a few vectors: does it answer, of how many dimensions, how quickly, and is a paraphrase clearly\n"
        "nearer to a question than an unrelated sentence (in English, and in Chinese where the model knows the script)?",
        campaign=False,
    )  # fmt: skip
    test.add_argument("spec", metavar="SPEC", help="minilm, static or e5")
