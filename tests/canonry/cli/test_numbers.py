"""Numbers on the command line: one that no command can mean ends in an exit code and one line, never a traceback."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from unittest.mock import patch

import pytest

import canonry
from canonry.cli import main
from canonry.cli.parser import build_parser
from canonry.contexts.journal import open_journal
from canonry.contexts.reading import list_sessions
from canonry.eligibility import Scope
from canonry.history import record_pack
from canonry.layout import Layout
from canonry.pack import build_pack
from tests.conftest import Workshop

Cli = Callable[..., tuple[int, str, str]]
Words = tuple[str, ...]
WORLD = Path(canonry.__file__).parent / "demo_world"
ODD = ("0", "-1", str(10**20))


def leaves(parser: argparse.ArgumentParser, path: Words = ()) -> Iterator[tuple[Words, argparse.ArgumentParser]]:
    """Every command with the words that call it."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for group in groups:
        for name, below in group.choices.items():
            yield from leaves(below, (*path, name))
    if not groups:
        yield path, parser


def is_number(action: argparse.Action) -> bool:
    """Whether an argument takes numbers: its type makes one of 1 (words and paths stay words and paths)."""
    try:
        made = action.type("1") if callable(action.type) else None
    except (argparse.ArgumentTypeError, ValueError):
        return False
    return isinstance(made, int) or (isinstance(made, tuple) and made == (1,))


def numbers_of(parser: argparse.ArgumentParser) -> list[str]:
    """Its arguments that take numbers: options by name, places in the line as ""."""
    return [
        action.option_strings[-1] if action.option_strings else "" for action in parser._actions if is_number(action)
    ]


NUMBERS = [
    pytest.param(path, names, id=" ".join(path))
    for path, parser in leaves(build_parser())
    if (names := numbers_of(parser))
]
FILLED: dict[str, str] = {
    "restore": "{root}/vell.zip --as other --no-index",
    "import": "{root}/lore",
    "source text": "lamp.md",
    "source edit": "lamp.md",
    "correct": "salt",
    "query": "lamp",
    "why": "lamp lamp.md",
    "pack": "lamp",
    "history show": "1",
    "eval run": "{root}/questions --in-process --modes lexical --no-packs",
    "eval leaks": "--in-process --modes lexical",
    "eval tune": "{root}/questions",
    "eval beir": "{root}/nowhere",
    "canon new-game": "--content {world} --origin unredeemed --name Aldric --class sellsword --out {root}/new.json",
    "canon inject": "{root}/game.json --role narrator",
    "canon undo": "{root}/game.json",
    "entry add": "--text Salt. --type fact --title Salt",
    "context build": "--binding {root}/binding.json",
    "context show": "1",
    "context assemble": "{root}/selection.json",
    "context select": "--task {root}/task.json",
    "session show": "{session}",
    "session resume": "{session}",
    "memory add": "salt --of {chunk}",
    "memory withdraw": "memory:1",
    "mcp": "--task {root}/task.json",
}


def words_for(root: Path, path: Words, filled: str) -> list[str]:
    """A whole command line over the campaign in a folder."""
    ids = json.loads((root / "ids.json").read_text())
    return [*path, *filled.format(root=root, world=WORLD, **ids).split(), "--data", str(root / "data")]


def build(workshop: Workshop) -> Layout:
    """A campaign that has one of everything that a number can name, but for a proposal."""
    at, root = workshop.create(), workshop.root
    workshop.bring(at, workshop.write("lamp.md", "# Lamp\n\nThe lamp burns whale oil.\n"))
    record_pack(at, build_pack(workshop.ask(at), "lamp"))
    (passage,) = workshop.ask(at).retrieve("lamp").results
    ids = {"chunk": passage.chunk_id, "session": ""}
    judged = {"query_id": "1", "source": "lamp.md", "quote": "whale oil", "relevance": 2}
    (root / "questions").mkdir()
    for name, content in {
        "questions/queries.jsonl": {"_id": "1", "text": "lamp", "kind": "exact-name"},
        "questions/judgements.jsonl": judged,
        "task.json": {"task": "Write.", "role": "player"},
        "selection.json": {"selected": [passage.chunk_id]},
        "binding.json": {"settingIds": [passage.source_id]},
        "ids.json": ids,
    }.items():
        (root / name).write_text(json.dumps(content) + "\n")
    for path, filled in (
        (("export",), "{root}/vell.zip"),
        (("canon", "new-game"), FILLED["canon new-game"].replace("new.json", "game.json")),
        (("context", "build"), FILLED["context build"]),
        (("memory", "add"), FILLED["memory add"]),
    ):
        assert main(words_for(root, path, filled)) == 0, path
    with patch("sys.stdin", nothing()):
        main(words_for(root, ("context", "select"), FILLED["context select"]))
    with open_journal(at) as journal:
        ids["session"] = list_sessions(journal, Scope(), 1)[0].session_id
    (root / "ids.json").write_text(json.dumps(ids))
    return at


def nothing() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO())


@pytest.mark.parametrize(("path", "names"), NUMBERS)
def test_an_odd_number_ends_in_an_exit_code(
    workshop: Workshop, run_cli: Cli, monkeypatch: pytest.MonkeyPatch, path: Words, names: list[str]
) -> None:
    """What a command raises here would be a traceback for whoever typed it."""
    workshop.once(build)
    for name, number in product(names, ODD):
        filled = FILLED.get(" ".join(path), "")
        if not name and path[0] != "canon":  # the number stands where another was filled in
            filled = ""
        monkeypatch.setattr(sys, "stdin", nothing())
        tried = f"{name}={number}" if name.startswith("--") else f"{name} {number}"
        code, _, err = run_cli(*words_for(workshop.root, path, f"{filled} {tried}"))
        assert code in (0, 1, 2, 3), tried
        assert code in (0, 3) or err.splitlines()[-1].startswith("canonry"), tried


@pytest.mark.parametrize("command", ["history list", "context list", "session list"])
@pytest.mark.parametrize("number", [*ODD, "1001", "9" * 5000], ids=lambda number: number[:20])
def test_a_list_of_no_length_is_refused_in_one_line(
    workshop: Workshop, run_cli: Cli, command: str, number: str
) -> None:
    workshop.once(build)
    code, out, err = run_cli(*words_for(workshop.root, (*command.split(),), f"--limit={number}"))
    assert (code, out) == (2, "")
    assert "is no length of a list; give a whole number from 1 to 1000" in err.splitlines()[-1]
    assert len(err) < 2000


@pytest.mark.parametrize("number", [str(2**63 - 1), "7777"])
@pytest.mark.parametrize(
    "command", ["history show", "context show", "proposals show", "proposals accept", "proposals reject"]
)
def test_an_id_that_could_be_is_not_found(workshop: Workshop, run_cli: Cli, command: str, number: str) -> None:
    workshop.once(build)
    code, out, err = run_cli(*words_for(workshop.root, (*command.split(),), number))
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert number in err
