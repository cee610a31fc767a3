from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from canonry.errors import Busy
from canonry.layout import Layout
from canonry.locking import writing

ROOT = Path(__file__).parents[2]
HOLD = """
import sys, time
from pathlib import Path
from canonry.layout import Layout
from canonry.locking import writing
sys.argv = ["canonry", "import", "secret-name.md"]
with writing(Layout(Path({root!r}), "vell")):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def at(tmp_path: Path) -> Layout:
    return Layout(tmp_path, "vell")


@pytest.fixture
def holder(at: Layout) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the campaign's lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD.format(root=str(at.root))], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_writer_is_told_who_holds_the_lock(at: Layout, holder: subprocess.Popen[str]) -> None:
    with pytest.raises(Busy) as caught, writing(at, wait_s=0.1):
        pass
    assert f"process {holder.pid}" in str(caught.value)
    assert "canonry import" in str(caught.value)
    assert "secret-name" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_campaign_is_free(at: Layout, holder: subprocess.Popen[str]) -> None:
    with writing(Layout(at.root, "other"), wait_s=0.1):
        pass


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_killed_holder_frees_the_lock_and_its_leavings_are_swept(at: Layout, holder: subprocess.Popen[str]) -> None:
    at.files.mkdir(parents=True)
    (at.files / ".tmp-half-import").touch()
    holder.kill()
    holder.wait()
    with writing(at, wait_s=1):
        assert list(at.files.iterdir()) == []


def test_the_lock_is_free_after_an_error(at: Layout) -> None:
    with pytest.raises(ValueError, match="stop"), writing(at):
        raise ValueError("stop")
    with writing(at, wait_s=0.1):
        pass


def test_two_threads_of_one_process_exclude_each_other(at: Layout) -> None:
    refused: list[Busy] = []

    def second() -> None:
        try:
            with writing(at, wait_s=0.1):
                pass
        except Busy as error:
            refused.append(error)

    with writing(at):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    assert len(refused) == 1


def test_readers_are_not_kept_out(workshop: object, at: Layout) -> None:
    layout = workshop.create()  # type: ignore[attr-defined]
    workshop.bring(layout, workshop.write("mill.md", "# Mill\n\nBarley.\n"))  # type: ignore[attr-defined]
    with writing(layout):
        assert len(workshop.ask(layout).retrieve("barley").results) == 1  # type: ignore[attr-defined]


@pytest.mark.slow
def test_busy_ends_a_command_with_one_line(at: Layout, holder: subprocess.Popen[str]) -> None:
    """The command waits some seconds before it gives up."""
    done = subprocess.run(
        [sys.executable, "-m", "canonry", "campaign", "create", "vell", "--data", str(at.root)],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert str(holder.pid) in done.stderr
    assert not at.catalog.exists()
