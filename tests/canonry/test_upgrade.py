"""A data directory of an earlier canonry goes on working; one of a later canonry is refused as it is.

The fixtures data-v1, … were written by the released versions; tests/fixtures/make_data.py says how.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from filelock import FileLock

from canonry.catalog import Catalog
from canonry.errors import Busy, DamagedData
from canonry.layout import Layout
from canonry.locking import writing
from canonry.migrations import MIGRATIONS
from flows.plan import make_plan

Cli = Callable[..., tuple[int, str, str]]
VERSIONS = ["v1"]
ROOT = Path(__file__).parents[2]
KEPT = {".sqlite", ".parquet", ".json", ".md", ".txt"}


@pytest.fixture(params=VERSIONS)
def at(request: pytest.FixtureRequest, tmp_path: Path, fixtures: Path) -> Layout:
    """A copy of the data directory that a released version wrote."""
    shutil.copytree(fixtures / f"data-{request.param}", tmp_path / "data")
    return Layout(tmp_path / "data", "vell")


def asked(run_cli: Cli, at: Layout, *question: str) -> list[str]:
    """The passages that a question gets."""
    code, out, err = run_cli("query", "--data", at.root, "--json", *question)
    assert code == 0, err
    return [passage["exact_text"] for passage in json.loads(out)["results"]]


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def test_the_fixture_is_of_an_older_version_and_small(at: Layout) -> None:
    assert version(at.catalog) < len(MIGRATIONS)
    assert sum(path.stat().st_size for path in at.root.rglob("*") if path.is_file()) < 200_000


def test_the_first_question_after_an_upgrade_is_answered_and_says_what_was_done(at: Layout) -> None:
    before = version(at.catalog)
    command = [sys.executable, "-m", "canonry", "query", "--data", str(at.root), "--json", "sluice key"]
    first, second = (subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False) for _ in range(2))
    for done in (first, second):
        assert [p["exact_text"] for p in json.loads(done.stdout)["results"]] == ["Old Wenna keeps the sluice key."]
    assert len(first.stderr.splitlines()) == 1
    assert f"catalog-v{before}.sqlite" in first.stderr
    assert second.stderr == ""
    assert version(at.catalog) == len(MIGRATIONS)


def test_every_kind_of_content_is_there_and_as_secret_as_it_was(at: Layout, run_cli: Cli) -> None:
    assert asked(run_cli, at, "grinds") == ["The mill grinds rye for the whole valley."]
    assert asked(run_cli, at, "ferryman heron") == []
    assert asked(run_cli, at, "bell") == []
    assert asked(run_cli, at, "bell", "--role", "narrator") == ["The bell rings for a death at the mill."]
    assert asked(run_cli, at, "hollow") == []
    assert asked(run_cli, at, "hollow", "--spoiler-level", "2") == ["The seventh arch is hollow."]


def test_an_earlier_version_and_the_history_are_there(at: Layout, run_cli: Cli) -> None:
    versions = json.loads(run_cli("source", "history", "mill.md", "--data", at.root, "--json")[1])
    assert [entry["valid_to"] is None for entry in versions] == [False, True]
    old = asked(run_cli, at, "grinds", "--as-of", versions[0]["valid_from"])
    assert old == ["The mill grinds barley for the whole valley."]
    code, out, _ = run_cli("history", "show", "1", "--data", at.root)
    assert code == 0
    assert "Old Wenna keeps the sluice key." in out


@pytest.mark.parametrize("way", [(), ("--full",)], ids=["what is stale", "in full"])
def test_it_is_reindexed_to_the_same_answers(at: Layout, run_cli: Cli, way: tuple[str, ...]) -> None:
    before = asked(run_cli, at, "mill bridge toll key", "--role", "narrator", "--spoiler-level", "9")
    assert run_cli("reindex", "--in-process", *way, "--data", at.root)[0] == 0
    assert make_plan(at).is_empty
    assert asked(run_cli, at, "mill bridge toll key", "--role", "narrator", "--spoiler-level", "9") == before


@pytest.mark.parametrize(
    "command",
    [("status",), ("source", "list"), ("campaign", "list"), ("history", "list"), ("source", "enable", "rumour.txt")],
    ids=" ".join,
)
def test_any_command_may_be_the_first(at: Layout, run_cli: Cli, command: tuple[str, ...]) -> None:
    code, _, err = run_cli(*command, "--data", at.root)
    assert code == 0, err
    assert version(at.catalog) == len(MIGRATIONS)


def test_what_it_was_is_kept_whole_and_can_be_put_back(at: Layout) -> None:
    before, rows = version(at.catalog), _rows(at.catalog)
    Catalog.open(at.catalog).close()
    kept = at.raw / f"catalog-v{before}.sqlite"
    assert (version(kept), _rows(kept)) == (before, rows)
    assert _rows(at.catalog) == rows
    assert sorted(path.name for path in at.raw.iterdir() if path.is_file()) == sorted(["catalog.sqlite", kept.name])
    shutil.copy(kept, at.catalog)
    Catalog.open(at.catalog, write=True).close()
    assert _rows(at.catalog) == rows


def _rows(path: Path) -> list[tuple[object, ...]]:
    """What both versions know of sources, versions and packs."""
    with closing(sqlite3.connect(path)) as db:
        return [
            *db.execute("SELECT source_id, title, enabled, visibility FROM knowledge_source ORDER BY 1"),
            *db.execute("SELECT version_id, content_hash, valid_to FROM knowledge_source_version ORDER BY 1"),
            *db.execute("SELECT * FROM knowledge_retrieval_record ORDER BY 1"),
        ]


def test_a_writer_that_has_the_lock_already_may_read_it_first(at: Layout) -> None:
    """As the scheduled flow does: the lock, then the plan."""
    with writing(at):
        assert make_plan(at).documents


@pytest.mark.slow
def test_while_another_process_writes_the_upgrade_waits_and_then_says_so(at: Layout) -> None:
    with FileLock(at.lock), pytest.raises(Busy):
        Catalog.open(at.catalog).close()
    Catalog.open(at.catalog).close()


def test_a_catalog_of_a_later_canonry_names_what_to_install_and_is_left_as_it_is(at: Layout, run_cli: Cli) -> None:
    Catalog.open(at.catalog).close()
    with closing(sqlite3.connect(at.catalog, isolation_level=None)) as db:
        db.execute("UPDATE meta SET value = '9.1.0' WHERE key = 'written_by'")
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    before = {path: path.read_bytes() for path in at.root.rglob("*") if path.is_file() and path.suffix in KEPT}
    for command in (("query", "mill"), ("source", "enable", "rumour.txt"), ("reindex", "--in-process"), ("status",)):
        code, _, err = run_cli(*command, "--data", at.root)
        assert code == 1
        assert len(err.splitlines()) == 1
        assert "install canonry 9.1.0" in err
    after = {path: path.read_bytes() for path in at.root.rglob("*") if path.is_file() and path.suffix in KEPT}
    assert after == before


def test_deleting_a_source_removes_the_copy_that_names_it(at: Layout, run_cli: Cli) -> None:
    assert asked(run_cli, at, "sluice") != []
    assert run_cli("source", "delete", "bridge.md", "--yes", "--data", at.root)[0] == 0
    assert [path for path in at.root.rglob("*") if path.is_file() and b"bridge.md" in path.read_bytes()] == []


def test_a_damaged_older_catalog_is_refused_as_a_damaged_one(at: Layout) -> None:
    with closing(sqlite3.connect(at.catalog, isolation_level=None)) as db:
        db.execute("PRAGMA application_id = 7")
    with pytest.raises(DamagedData, match="not a canonry catalog"):
        Catalog.open(at.catalog, write=True)
