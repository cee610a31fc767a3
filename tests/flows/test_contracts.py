"""Derived files of another contract, or that are none of ours, are named in one line and made anew by a reindex."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from canonry.embedders import register
from canonry.layout import Layout
from flows.pipeline import loaded
from flows.plan import make_plan
from tests.conftest import Workshop
from tests.fakes import WordBag

Cli = Callable[..., tuple[int, str, str]]


def build(workshop: Workshop) -> Layout:
    at = workshop.create(embedder="wordbag")
    for name in ("gate", "lamp", "well"):
        workshop.write(f"{name}.md", f"# The {name}\n\nAn old {name} stands here.\n")
    workshop.bring(at, workshop.root / "lore")
    return at


@pytest.fixture
def at(workshop: Workshop) -> Layout:
    """A campaign with words and vectors."""
    register(WordBag())
    loaded.cache_clear()
    return workshop.once(build)


def lexical(at: Layout) -> Path:
    return at.lexical


def chunks(at: Layout) -> Path:
    return next(at.chunks.glob("chunks-*.parquet"))


def embeddings(at: Layout) -> Path:
    return next((at.chunks / "vectors").glob("*/*.parquet"))


def vectors(at: Layout) -> Path:
    return next(at.index.glob("vectors-*.duckdb"))


def scan(at: Layout) -> Path:
    return next(at.index.glob("scan-*.bin"))


def older(path: Path) -> None:
    """Let a file say that it is of contract 0."""
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("UPDATE meta SET value = 'canonry/lexical/0' WHERE key = 'contract'")
    elif path.suffix == ".parquet":
        table = pq.read_table(path)
        footer = {key: value.replace(b"/1", b"/0") for key, value in table.schema.metadata.items()}
        pq.write_table(table.replace_schema_metadata(footer), path)
    else:
        path.write_bytes(path.read_bytes().replace(b"canonry/scan/1", b"canonry/scan/0", 1))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def foreign(path: Path) -> None:
    path.write_bytes(b"a letter to the editor\n" * 200)


SPOILED = [(f, s) for f in (lexical, chunks, embeddings, vectors, scan) for s in (older, empty, cut_short, foreign)]


def ask(run_cli: Cli, at: Layout, mode: str) -> tuple[int, list[tuple[str, float]], str]:
    code, out, err = run_cli("query", "--data", at.root, "--json", "--mode", mode, "old lamp")
    found = json.loads(out)["results"] if out else []
    return code, [(passage["chunk_id"], passage["fused_score"]) for passage in found], err


@pytest.mark.parametrize(("which", "spoil"), [pair for pair in SPOILED if pair != (vectors, older)])
def test_a_file_that_is_not_ours_is_named_and_a_reindex_makes_it_anew(
    at: Layout, run_cli: Cli, which: Callable[[Layout], Path], spoil: Callable[[Path], None]
) -> None:
    before = {mode: ask(run_cli, at, mode)[1] for mode in ("lexical", "hybrid")}
    spoil(which(at))
    code, found, err = ask(run_cli, at, "hybrid")
    if (code, found) != (0, before["hybrid"]):  # some are not read by a question
        assert code in (1, 3)
        assert len(err.splitlines()) == 1, err
        assert "canonry reindex" in err
    full = ("--full",) if "reindex --full" in err else ()
    code, _, err = run_cli("reindex", "--in-process", "--data", at.root, *full)
    assert code == 0, err
    for mode in ("lexical", "hybrid"):
        assert ask(run_cli, at, mode) == (0, before[mode], "")
    assert make_plan(at).is_empty


@pytest.mark.parametrize(("which", "spoil"), [pair for pair in SPOILED if pair != (vectors, older)])
def test_a_full_reindex_and_an_import_go_on_beside_it(
    at: Layout, workshop: Workshop, run_cli: Cli, which: Callable[[Layout], Path], spoil: Callable[[Path], None]
) -> None:
    before = ask(run_cli, at, "hybrid")
    spoil(which(at))
    code, _, err = run_cli("import", "--data", at.root, workshop.write("tree.md", "# Tree\n\nA young elm.\n"))
    assert code == 0, err
    code, _, err = run_cli("reindex", "--full", "--in-process", "--data", at.root)
    assert code == 0, err
    assert [found[0] for found in ask(run_cli, at, "hybrid")[1]][:1] == [found[0] for found in before[1]][:1]
    assert make_plan(at).is_empty
