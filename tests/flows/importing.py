"""What an import says, as a report or on standard error, and what it left in the campaign."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from canonry.catalog import Catalog
from canonry.layout import Layout
from canonry.records import Source

ROOT = Path(__file__).parents[2]
Cli = Callable[..., tuple[int, str, str]]


def names_in(at: Layout) -> list[str]:
    """File names of the catalog, after checking that nothing else is anywhere: no file, version, part or row too many."""
    with sqlite3.connect(at.catalog) as db:
        names = [row[0] for row in db.execute("SELECT original_filename FROM knowledge_source ORDER BY 1")]
        versions = dict(db.execute("SELECT version_id, content_hash FROM knowledge_source_version"))
    assert {path.stem for path in at.files.glob("*")} == set(versions.values())
    if at.lexical.exists():
        with sqlite3.connect(at.lexical) as db:
            assert {row[0] for row in db.execute("SELECT version_id FROM document")} == set(versions)
            rows = [row[0] for row in db.execute("SELECT DISTINCT version_id FROM knowledge_chunk")]
            assert set(rows) <= set(versions)
    else:
        assert not versions
    cut = {
        value
        for part in at.chunks.glob("*.parquet")
        for value in pq.read_table(part).column("content_hash").to_pylist()
    }
    assert cut <= set(versions.values())
    assert list(at.root.rglob(".tmp-*")) == []
    return names


def import_(run_cli: Cli, at: Layout, *arguments: str | Path) -> tuple[int, list[str]]:
    """Exit code and the lines on standard error of an import."""
    code, _, err = run_cli("import", "--data", at.root, "-c", at.campaign, *arguments)
    assert "Traceback" not in err
    return code, err.splitlines()


def the_line(lines: list[str], about: str) -> str:
    """The one line about something."""
    found = [line for line in lines if about in line]
    assert len(found) == 1, "\n".join(lines)
    return found[0]


def run_in_process(
    *arguments: str,
    program: tuple[str, ...] = ("-m", "canonry"),
    before: Callable[[], None] | None = None,
    cwd: Path = ROOT,
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *program, *arguments],
        capture_output=True, text=True, cwd=cwd, env=environment, check=False, preexec_fn=before, timeout=540,
    )  # fmt: skip


def outcomes(report: object) -> list[tuple[str, str]]:
    return [(file.name, file.outcome) for file in report.imported]  # type: ignore[attr-defined]


def edit(at: Layout, name: str, **changes: object) -> None:
    catalog = Catalog.open(at.catalog, write=True)
    source = catalog.source(name)
    catalog.edit(source.source_id, replace(source.facts, **changes), changes)  # type: ignore[arg-type]
    catalog.close()


def one_source(at: Layout) -> Source:
    with closing(Catalog.open(at.catalog)) as catalog:
        (source,) = catalog.sources()
    return source
