"""Case 15: nothing leaves its folder, by an archive's entries or by links, and nothing small becomes huge."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from canonry.export import export_campaign
from canonry.layout import Layout
from tests.archives import append, tree
from tests.conftest import Workshop

Cli = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).parents[2]
GIB = 1 << 30
LINK = zipfile.ZipInfo("sources/link")
LINK.create_system, LINK.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
Entries = list[tuple[str | zipfile.ZipInfo, bytes | str]]
EVIL: dict[str, tuple[Entries, str]] = {
    "dotdot": ([("sources/../../../escaped-dotdot.md", "out")], "sources/../../../escaped-dotdot.md"),
    "absolute": ([("/tmp/escaped-absolute.md", "out")], "/tmp/escaped-absolute.md"),
    "drive": ([("C:\\escaped-drive.md", "out")], "C:\\escaped-drive.md"),
    "backslash": ([("sources\\..\\..\\escaped-back.md", "out")], "sources\\..\\..\\escaped-back.md"),
    "link": ([(LINK, "/tmp"), ("sources/link/escaped-link.md", "out")], "sources/link"),
    "bomb": ([("sources/bomb.md", b"a " * (150 * 1024 * 1024))], "sources/bomb.md"),
    "crowd": ([(f"sources/x{number:06d}.md", "") for number in range(50_000)], "sources/x000000.md"),
    "program": ([("sources/run.py", "open('/tmp/escaped-program','w')")], "sources/run.py"),
}


def build(workshop: Workshop) -> Layout:
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "A lamp of brass.\n"))
    export_campaign(at, workshop.root / "good.zip")
    return at


@pytest.fixture
def good(workshop: Workshop) -> Path:
    workshop.once(build)
    return workshop.root / "good.zip"


def in_a_gibibyte() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (GIB, GIB))


@pytest.mark.skipif(sys.platform == "win32", reason="limits its memory by setrlimit")
@pytest.mark.parametrize("name", EVIL)
def test_a_bad_archive_is_refused_whole_with_the_entry_named(good: Path, tmp_path: Path, name: str) -> None:
    entries, named = EVIL[name]
    evil = tmp_path / "evil.zip"
    append(good, evil, *entries[0])
    with zipfile.ZipFile(evil, "a", zipfile.ZIP_DEFLATED) as file:
        for entry, data in entries[1:]:
            file.writestr(entry, data)
    data = tmp_path / "empty"
    data.mkdir()
    before = tree(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "canonry", "restore", evil, "--data", data], capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}, preexec_fn=in_a_gibibyte, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert f"entry '{named}'" in done.stderr
    assert tree(tmp_path) == before
    assert not [path.name for path in (*Path("/tmp").glob("escaped-*"), *tmp_path.parent.glob("escaped-*"))]


@pytest.fixture
def links(tmp_path: Path) -> Path:
    """A folder of notes with links that leave it."""
    folder, outside = tmp_path / "links.d", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "secret.md").write_text("# Outside\n\nThe canary is copper-plover.\n")
    (folder / "plain.md").write_text("# Inside\n\nA plain note about barley.\n")
    for name, target in (
        ("leaf.md", "../outside/secret.md"), ("folder", "../outside"), ("round", "."),
        ("broken.md", "/nonexistent/nowhere.md"), ("endless.md", "/dev/zero"),
    ):  # fmt: skip
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "pipe.md")
    return folder


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
def test_links_in_a_folder_bring_nothing_in_and_nothing_hangs(workshop: Workshop, run_cli: Cli, links: Path) -> None:
    at = workshop.create()
    code, out, _ = run_cli("import", "--data", at.root, links, "--json")
    report = json.loads(out)
    assert code == 1
    assert [file["file"] for file in report["imported"]] == ["plain.md"]
    left_out = {Path(file["file"]).name: file["reason"] for file in report["rejected"]}
    assert left_out.keys() == {"leaf.md", "folder", "round", "broken.md", "endless.md", "pipe.md"}
    assert "is a link to ../outside/secret.md" in left_out["leaf.md"]
    assert json.loads(run_cli("query", "--data", at.root, "--json", "copper-plover")[1])["results"] == []
    assert len(json.loads(run_cli("query", "--data", at.root, "--json", "barley")[1])["results"]) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
def test_a_link_that_the_user_names_is_copied_and_its_real_path_shown(
    workshop: Workshop, run_cli: Cli, links: Path
) -> None:
    at = workshop.create()
    assert run_cli("import", "--data", at.root, links / "leaf.md")[0] == 0
    shown = json.loads(run_cli("source", "show", "--data", at.root, "leaf.md", "--json")[1])
    assert shown["original_path"] == str((links.parent / "outside" / "secret.md").resolve())
    (stored,) = at.files.iterdir()
    assert not stored.is_symlink()
    for name in ("endless.md", "broken.md", "pipe.md"):
        assert run_cli("import", "--data", at.root, links / name)[0] == 1
