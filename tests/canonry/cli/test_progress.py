"""What a person sees of a long step, on a terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.conftest import Workshop
from tests.servers import Standin

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
ROOT = Path(__file__).parents[3]
LAMPS = 24


def on_a_terminal(*arguments: str | Path) -> str:
    """What `canonry` writes to standard error where that is a terminal of 100 columns."""
    import termios

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    process = subprocess.Popen(
        [sys.executable, "-m", "canonry", *arguments], stdout=subprocess.DEVNULL, stderr=theirs, cwd=ROOT
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := _read(ours):
            shown += piece
        assert process.wait(timeout=60) == 0, shown
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # how Linux says that nobody writes there any more
        return b""


def takes_a_while(server: Standin, handler: BaseHTTPRequestHandler, texts: Sequence[str]) -> bool:
    time.sleep(0.3)
    return False


@pytest.fixture
def importing(workshop: Workshop, server: Standin) -> list[str | Path]:
    """The arguments of an import of two dozen texts into a campaign whose server takes its time for each."""
    workshop.create(embedder=server.spec(), embed_batch="1")
    for number in range(LAMPS):
        workshop.write(f"{number}.md", f"Lamp {number} of the quay.\n")
    server.fault = takes_a_while
    return ["import", workshop.root / "lore", "--data", workshop.data]


def test_a_step_shows_how_far_it_is_how_fast_and_how_long_it_will_take(importing: list[str | Path]) -> None:
    shown = on_a_terminal(*importing)
    bars = re.findall(rf"embed: +\d+%\|.*?\| (\d+)/{LAMPS} \[\d\d:\d\d<([\d:]+|\?), +([\d.]+|\?)(?:it/s|s/it)\]", shown)
    assert bars, shown
    assert bars[0] == ("0", "?", "?")
    counts = [int(count) for count, _, _ in bars]
    assert counts == sorted(counts)
    told = [(left, float(rate)) for _, left, rate in bars[1:]]
    assert told, shown
    assert all(re.fullmatch(r"\d\d:\d\d", left) and rate > 0 for left, rate in told)


def test_a_quiet_command_shows_no_bar(importing: list[str | Path]) -> None:
    assert "embed" not in on_a_terminal(*importing, "--quiet")
