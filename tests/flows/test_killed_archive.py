"""Killed at every step that touches a file, an export and a restore leave nothing or the whole, and the next one is clean."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from canonry.embedders import register
from canonry.export import export_campaign
from canonry.layout import Layout
from flows.pipeline import loaded
from tests.conftest import Workshop
from tests.fakes import WordBag

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json, os, shutil, signal, sys, zipfile
from pathlib import Path
import filelock, pyarrow.compute  # once, not in every child
from canonry.catalog import Catalog
from canonry.export import export_campaign
from canonry.layout import Layout, list_campaigns
from canonry.locking import writing
from flows.restore import restore

what, source, target = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
EVENTS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "sqlite3.connect", "os.truncate"}

def work():
    if what == "restore":
        restore(source, target / "data", with_index=False)
    else:
        export_campaign(Layout(source, "vell"), target / "vell.zip", replace=True, with_embeddings=True)

def killed_at(step):
    child = os.fork()
    if child == 0:
        left = [step]
        def hook(event, arguments):
            if event in EVENTS and str(target) in str(arguments[0] if arguments else ""):
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        try:
            work()
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(2)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)

def tree(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.name.endswith(".lock"))

results = []
step = 1
while True:
    code = killed_at(step)
    if what == "restore":
        there = list_campaigns(target / "data")
        if there:
            catalog = Catalog.open(target / "data" / "raw" / "vell" / "catalog.sqlite", write=True)
            rows = catalog.connection.execute("SELECT content_hash, mime_type FROM knowledge_source_version").fetchall()
            catalog.close()
            state = [len(rows), len(tree(target / "data" / "raw" / "vell" / "files"))]
        else:
            state = None
        if code == -signal.SIGKILL and not there:
            assert killed_at(10**9) == 0
        with writing(Layout(target / "data", "vell")):
            pass
        after = tree(target / "data")
        shutil.rmtree(target / "data")
    else:
        state = zipfile.ZipFile(target / "vell.zip").testzip() is None if (target / "vell.zip").exists() else None
        if code == -signal.SIGKILL:
            assert killed_at(10**9) == 0
        after = tree(target)
        (target / "vell.zip").unlink()
    results.append([code, state, after])
    if code != -signal.SIGKILL:
        break
    step += 1
print(json.dumps(results))
"""


def kill_at_every_step(what: str, source: Path, target: Path) -> list[tuple[int, object, list[str]]]:
    """(exit code, what was there after the kill, every file after the next run) for each step, and last for the run undisturbed."""
    target.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, what, source, target], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    return [tuple(one) for one in json.loads(done.stdout)]


def without_logs(names: list[str]) -> list[str]:
    """The files but for SQLite's log, which the last reader leaves or takes away."""
    return [name for name in names if not name.endswith(("-wal", "-shm"))]


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")


@pytest.fixture
def data(workshop: Workshop) -> Path:
    register(WordBag())
    loaded.cache_clear()
    at = workshop.create(embedder="wordbag")
    workshop.bring(at, workshop.write("lamp.md", "A lamp.\n"), workshop.write("jar.txt", "A jar.\n"))
    workshop.bring(at, workshop.write("lamp.md", "A lamp of brass.\n"))
    return at.root


@pytest.mark.slow
def test_a_killed_restore(data: Path, tmp_path: Path) -> None:
    export_campaign(Layout(data, "vell"), tmp_path / "vell.zip", with_embeddings=True)
    *killed, (code, _, undisturbed) = kill_at_every_step("restore", tmp_path / "vell.zip", tmp_path / "target")
    assert code == 0
    assert len(killed) > 15
    assert {json.dumps(state) for _, state, _ in killed} == {"null", "[3, 3]"}
    assert all(without_logs(after) == without_logs(undisturbed) for _, _, after in killed)


def test_a_killed_export(data: Path, tmp_path: Path) -> None:
    *killed, (code, whole, undisturbed) = kill_at_every_step("export", data, tmp_path / "target")
    assert (code, whole, undisturbed) == (0, True, ["vell.zip"])
    assert len(killed) > 2
    assert {state for _, state, _ in killed} <= {None, True}
    assert all(after == ["vell.zip"] for _, _, after in killed)
