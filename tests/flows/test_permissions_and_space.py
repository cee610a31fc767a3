"""What the file system refuses: as another user, on a small disk, in processes of their own."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from canonry.layout import Layout
from tests.conftest import Workshop
from tests.flows.importing import Cli, import_, names_in, run_in_process, the_line

GOOD = "# The mill\n\nThe miller counts sacks of barley at dusk.\n"
AS_ANYBODY = """
import os, sys
import canonry.cli.indexing, canonry.cli.asking, canonry.cli.campaigns, canonry.cli.sources, canonry.cli.show
import flows.import_files, flows.removal, filelock, duckdb, pyarrow.compute, stages.classify, encodings.idna
from canonry.cli import main
if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def at(workshop: Workshop) -> Layout:
    """An empty campaign without an embedder."""
    return workshop.create()


@pytest.fixture
def lore(workshop: Workshop) -> Path:
    """A folder that holds one good file."""
    return workshop.write("good.md", GOOD).parent


@pytest.fixture
def open_to_all(tmp_path: Path) -> Path:
    """The temporary folder, reachable by a user without rights."""
    folder = tmp_path
    while folder.stat().st_uid == os.getuid() and folder != folder.parent:
        folder.chmod(folder.stat().st_mode | 0o755)
        if folder.name.startswith("pytest-of-"):
            break
        folder = folder.parent
    return tmp_path


def as_anybody(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """canonry as a user whom permissions bind."""
    return run_in_process(*map(str, arguments), program=("-c", AS_ANYBODY))


def give_to_anybody(folder: Path) -> None:
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, 65534, 65534)


def test_a_file_that_may_not_be_read_is_one_line(open_to_all: Path, at: Layout, lore: Path) -> None:
    (lore / "private.md").write_text("# Private\n\nMine.\n")
    (lore / "private.md").chmod(0)
    (lore / "vault").mkdir(mode=0o000)
    give_to_anybody(at.root)
    done = as_anybody("import", "--data", at.root, lore)
    assert done.returncode == 1, done.stderr
    assert "permission denied" in the_line(done.stderr.splitlines(), "private.md")
    assert "permission denied" in the_line(done.stderr.splitlines(), "vault")
    (lore / "vault").chmod(0o755)
    assert names_in(at) == ["good.md"]


def test_a_data_directory_that_may_not_be_written_is_one_line(
    open_to_all: Path, at: Layout, lore: Path, run_cli: Cli
) -> None:
    import_(run_cli, at, lore)
    (lore / "more.md").write_text("# More\n\nMore barley.\n")
    before = sorted((path, path.stat().st_mtime_ns) for path in at.root.rglob("*"))
    for path in (at.root, *at.root.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    for command in (("import", lore), ("reindex", "--full", "--in-process"), ("source", "disable", "good.md")):
        done = as_anybody(command[0], *command[1:], "--data", at.root)
        assert done.returncode == 1, done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert str(at.root) in done.stderr
        assert "writable" in done.stderr
    assert sorted((path, path.stat().st_mtime_ns) for path in at.root.rglob("*")) == before


def test_a_data_directory_that_may_not_be_written_can_be_asked(
    open_to_all: Path, at: Layout, lore: Path, run_cli: Cli
) -> None:
    import_(run_cli, at, lore)
    for path in (at.root, *at.root.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    done = as_anybody("query", "--data", at.root, "--json", "barley")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)["results"]) == 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], capture_output=True, check=False
    ).returncode:
        pytest.skip("mounting a small disk needs rights that this user lacks")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="tmpfs is of Linux")
@pytest.mark.parametrize(
    "kilobytes", [3_000, 900, 400], ids=["no room for the copy", "none for the index", "hardly any"]
)
def test_a_full_disk_is_one_line_and_what_was_there_before_stays(
    small_disk: Path, lore: Path, run_cli: Cli, kilobytes: int
) -> None:
    at = Layout(small_disk, "vell")
    run_cli("campaign", "create", "vell", "--data", small_disk, "--set", "embedder=none")
    assert import_(run_cli, at, lore) == (0, [])
    (lore / "long.md").write_text(
        "".join(f"# Part {n}\n\nThe clerk noted sack {n}.\n\n" for n in range(kilobytes * 25))
    )
    done = run_in_process("import", "--data", str(small_disk), str(lore))
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert str(small_disk) in done.stderr
    assert "free some space" in done.stderr
    assert names_in(at) == ["good.md"]
    code, out, _ = run_cli("query", "--data", small_disk, "--json", "barley")
    assert (code, len(json.loads(out)["results"])) == (0, 1)


def no_large_files() -> None:
    """A file that would grow past 300 kB fails, as on a disk with quotas."""
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))


def test_a_file_that_may_not_grow_is_one_line_and_nothing_is_half_imported(at: Layout, lore: Path) -> None:
    (lore / "long.md").write_text("".join(f"The clerk noted sack {n}.\n\n" for n in range(20_000)))
    done = run_in_process("import", "--data", str(at.root), str(lore), before=no_large_files)
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert str(at.root) in done.stderr
    assert names_in(at) == []
