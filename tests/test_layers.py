"""Imports point down, and a question pays for nothing that it does not use."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("canonry", "stages", "flows", "eval")
MAY_IMPORT = {
    "canonry": {"canonry"},
    "stages": {"stages", "canonry"},
    "flows": {"flows", "stages", "canonry", "eval"},
    "eval": {"eval", "canonry"},
}
HEAVY = (
    "prefect",
    "pyarrow",
    "duckdb",
    "pandas",
    "numpy",
    "onnxruntime",
    "rich",
    "pydantic",
    "jsonschema",
    "tqdm",
    "filelock",
    "tokenizers",
    "yaml",
    "markdown_it",
    "httpx",
)
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def imported(tree: ast.AST, *, inside_functions: bool) -> Iterator[str]:
    """Names of the modules that a module imports as it is loaded, or also when its functions run; not for types alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        elif inside_functions or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from imported(node, inside_functions=inside_functions)


def tops(path: Path, *, inside_functions: bool) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {name.partition(".")[0] for name in imported(tree, inside_functions=inside_functions)}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_imports_nothing_from_above_as_it_is_loaded(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    assert tops(path, inside_functions=False) & {*PACKAGES} <= MAY_IMPORT[package]


@pytest.mark.parametrize(
    "path",
    [p for p in MODULES if p.relative_to(ROOT).parts[0] in ("stages", "eval")],
    ids=lambda p: p.relative_to(ROOT).as_posix(),
)
def test_a_stage_knows_no_flow_even_when_it_runs(path: Path) -> None:
    assert not tops(path, inside_functions=True) & {"flows", "prefect"} - ({"flows"} if "eval" in path.parts else set())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_prefect_is_imported_by_the_two_flows_alone(path: Path) -> None:
    if path not in (ROOT / "flows" / "reindex.py", ROOT / "flows" / "evaluate.py"):
        assert "prefect" not in tops(path, inside_functions=True)


@pytest.mark.parametrize(
    "path",
    [p for p in MODULES if p.relative_to(ROOT).parts[0] == "stages"],
    ids=lambda p: p.relative_to(ROOT).as_posix(),
)
def test_a_stage_has_no_clock_no_prompt_and_no_layout(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not tops(path, inside_functions=True) & {"time", "datetime", "getpass"} - (
        {"datetime"} if path.name == "front_matter.py" else set()
    )
    assert "input(" not in text
    assert "Layout" not in text


def loaded_by(program: str, *arguments: str) -> set[str]:
    """Names of the heavy modules that a fresh process has loaded when the program ends."""
    script = f"import sys\nsys.argv = ['canonry', *sys.argv[1:]]\n{program}\nprint('\\nLOADED', *[m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "LOADED" in done.stdout, done.stdout
    return set(done.stdout.rpartition("LOADED")[2].split())


def test_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("import canonry") == set()


def test_the_help_loads_nothing_heavy() -> None:
    assert loaded_by("from canonry.cli.parser import build_parser; build_parser().format_help()") == set()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with one campaign that has vectors of the table embedder."""
    from canonry.cli import main

    root = tmp_path_factory.mktemp("layers")
    (root / "lamp.md").write_text("# Lamp\n\nA brass lamp by the quay.\n")
    assert main(["campaign", "create", "vell", "--data", str(root / "data"), "--set", "embedder=static"]) == 0
    assert main(["import", "--data", str(root / "data"), str(root / "lamp.md")]) == 0
    return root / "data"


ASK = "from canonry.cli import main\nassert main(sys.argv[1:]) == 0"


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "lamp", "--mode", "lexical"),
        ("query", "lamp", "--json", "--explain"),
        ("query", "lamp", "--tags", "x"),
        ("source", "list"),
        ("source", "show", "lamp.md"),
        ("source", "chunks", "lamp.md"),
        ("campaign", "list"),
        ("campaign", "show", "vell"),
        ("suggest", "--chapter", "3", "--goal", "lamp"),
        ("context", "list"),
    ],
    ids=" ".join,
)
def test_a_question_by_words_loads_nothing_heavy(data: Path, arguments: tuple[str, ...]) -> None:
    assert loaded_by(ASK, *arguments, "--data", str(data)) == set()


def test_a_hybrid_question_loads_numpy_and_a_tokenizer_and_no_store(data: Path) -> None:
    assert loaded_by(ASK, "query", "lamp", "--mode", "hybrid", "--data", str(data)) == {"numpy", "tokenizers"}


def test_the_python_api_asks_without_anything_heavy(data: Path) -> None:
    program = (
        "import canonry\nassert canonry.open(sys.argv[1]).campaign('vell').retrieve('lamp', mode='lexical').results"
    )
    assert loaded_by(program, str(data)) == set()


def test_a_game_that_nobody_touched_is_injected_without_anything_heavy(tmp_path: Path) -> None:
    """Its seal holds, so no schema is asked."""
    from canonry.cli import main

    save = str(tmp_path / "game.json")
    game = ["--content", str(ROOT / "canonry/demo_world"), "--origin", "unredeemed", "--name", "A", "--class", "priest"]
    assert main(["canon", "new-game", *game, "--out", save]) == 0
    assert loaded_by(ASK, "canon", "inject", save, "--role", "npc:ouseley") == set()
    with Path(save).open("a", encoding="utf-8") as file:
        file.write("\n")
    assert loaded_by(ASK, "canon", "inject", save, "--role", "npc:ouseley") == {"jsonschema"}


@pytest.mark.parametrize("arguments", [("status",), ("reindex",)], ids=" ".join)
def test_a_look_at_what_is_stale_needs_no_prefect_and_no_pandas(data: Path, arguments: tuple[str, ...]) -> None:
    assert not loaded_by(ASK, *arguments, "--data", str(data)) & {
        "prefect",
        "pandas",
        "rich",
        "pydantic",
        "onnxruntime",
    }


def test_an_import_needs_no_prefect(data: Path, tmp_path: Path) -> None:
    """pyarrow itself looks for pandas when it is given Python values."""
    (tmp_path / "gate.md").write_text("A gate.\n")
    assert not loaded_by(ASK, "import", str(tmp_path / "gate.md"), "--data", str(data)) & {
        "prefect",
        "rich",
        "pydantic",
        "onnxruntime",
    }
