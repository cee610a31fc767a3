"""Everything works with no network, and nothing asks for one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import outside

BLOCKED = """
import socket, sys
def refuse(*arguments, **named):
    raise AssertionError("a socket was opened")
class Refusing(socket.socket):
    __init__ = refuse
socket.socket = Refusing
socket.create_connection = socket.getaddrinfo = refuse
from canonry.cli import main
sys.exit(main(sys.argv[1:]))
"""
ROOT = Path(__file__).parents[1]


def main_job(prefix: list[str], tmp_path: Path) -> None:
    """Create, import with vectors, rebuild, ask in both ways."""
    (tmp_path / "lore").mkdir()
    (tmp_path / "lore" / "gate.md").write_text(
        "# Gate\n\n![map](https://tracker.example/pixel.png) The gatekeeper sleeps at noon.\n\n"
        "<script src='https://evil.example/x.js'></script>\n\n# Lamp\n\nThe lamp burns whale oil.\n"
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*prefix, *arguments, "--data", str(tmp_path / "data")],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done

    run("campaign", "create", "vell")
    run("import", str(tmp_path / "lore"))
    run("reindex", "--full", "--in-process")
    for mode in ("lexical", "hybrid"):
        answer = json.loads(run("query", "who sleeps at the gate", "--mode", mode, "--json").stdout)
        assert answer["degraded"] is None
        assert "gatekeeper sleeps" in answer["results"][0]["exact_text"]


def test_the_main_job_opens_no_socket(tmp_path: Path) -> None:
    main_job([sys.executable, "-c", BLOCKED], tmp_path)


SILENCING = (  # what a user's machine need not have, and what would keep libraries from calling home
    "CI", "GITHUB_ACTIONS", "TF_BUILD", "BUILD_ID", "GITLAB_CI", "PREFECT_API_URL", "PREFECT_SERVER_ANALYTICS_ENABLED",
    "DO_NOT_TRACK", "ORT_DISABLE_TELEMETRY", "ORT_RUNNING_UNIT_TESTS", "HF_HUB_OFFLINE",
)  # fmt: skip


class Watched:
    """Commands that are watched: Python's calls by a hook in each process, and all packets where a namespace can be had."""

    def __init__(self, folder: Path) -> None:
        (folder / "hook").mkdir(parents=True)
        (folder / "hook" / "sitecustomize.py").write_text(outside.HOOK)
        self._calls, self._packets = folder / "calls", folder / "packets"
        self._all_packets = outside.namespaces_work(folder)
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(folder / "hook"), str(ROOT)]), outside.CALLS: str(self._calls),
            "PREFECT_HOME": str(folder / "prefect"), "CANONRY_DATA": str(folder / "data"),
        }  # fmt: skip
        for name in SILENCING:
            self.environment.pop(name, None)

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run Python with these arguments."""
        whole = [sys.executable, *map(str, command)]
        if self._all_packets:
            whole = outside.in_namespace(self._packets, *whole)
        return subprocess.run(
            whole, capture_output=True, text=True, timeout=600, check=False, env=self.environment, cwd=ROOT
        )

    def canonry(self, *arguments: str | Path) -> str:
        """What the command printed; it must succeed."""
        done = self.run("-m", "canonry", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def called(self) -> list[str]:
        """Every call of the outside so far."""
        files = [path for path in (self._calls, self._packets) if path.exists()]
        return [line for path in files for line in path.read_text().splitlines()]


CALL = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('192.0.2.1', 9)); s.send(b'x')"
LOOK_UP = "import socket; socket.getaddrinfo('tracker.example', 443)"


@pytest.mark.skipif(sys.platform == "win32", reason="its watch needs a Unix system")
@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        (("-c", CALL), "socket.connect 192.0.2.1"),
        (("-c", LOOK_UP), "socket.getaddrinfo tracker.example"),
        (("-S", "-c", CALL), "protocol 17 to 192.0.2.1"),  # as native code calls: no hook sees it
        (("-S", "-c", LOOK_UP), "protocol 17 to 10.77.0.53"),
    ],
)
def test_the_watch_sees_a_call(tmp_path: Path, arguments: tuple[str, ...], seen: str) -> None:
    if "-S" in arguments and not outside.namespaces_work(tmp_path):
        pytest.skip("this system does not let a test make a network namespace")
    watched = Watched(tmp_path / "watched")
    watched.run(*arguments)
    assert [line for line in watched.called() if line.startswith(seen)]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="its watch needs a Unix system")
def test_nothing_outside_is_called_from_import_to_evaluation(tmp_path: Path) -> None:
    """Everything that is loaded is watched: Prefect with its server and workers, DuckDB, onnxruntime, the tokenizers, plots."""
    watched = Watched(tmp_path)
    lore = tmp_path / "lore"
    lore.mkdir()
    (lore / "linked.md").write_text(
        "# Gate\n\n![map](https://tracker.example/pixel.png) See <https://evil.example>.\n\n<script src='//evil.example/x.js'>\n"
    )
    watched.canonry("campaign", "create", "tolleth")
    watched.canonry("import", ROOT / "canonry" / "demo_campaign", lore)
    assert "Indexed" in watched.canonry("reindex", "--full")
    for mode in ("lexical", "semantic", "hybrid"):
        answer = json.loads(watched.canonry("query", "what happens to an unclaimed pledge?", "--mode", mode, "--json"))
        assert (answer["degraded"], answer["results"] != []) == (None, True)
    assert "data, not instructions" in watched.canonry("pack", "an unclaimed pledge", "--mode", "hybrid")
    watched.canonry("embed", "test", "minilm")
    watched.canonry("export", tmp_path / "tolleth.zip", "--with-embeddings")
    watched.canonry("restore", tmp_path / "tolleth.zip", "--as", "again")
    watched.canonry("refresh", "-c", "tolleth")
    questions = tmp_path / "questions"
    questions.mkdir()
    judged = {"query_id": "q", "source": "canon.md", "quote": "An unclaimed pledge falls to the house", "relevance": 2}
    (questions / "queries.jsonl").write_text('{"_id": "q", "text": "an unclaimed pledge", "kind": "mechanics"}\n')
    (questions / "judgements.jsonl").write_text(json.dumps(judged) + "\n")
    watched.canonry("eval", "run", questions, "-c", "tolleth", "--report", tmp_path / "report")
    assert (tmp_path / "report" / "report.html").exists()
    assert watched.called() == []
