"""Everything works with no network: in this interpreter with sockets that refuse, and where the system has no network."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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
NO_NETWORK = [shutil.which("unshare") or "unshare", "-rn"]


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


def test_the_main_job_works_in_a_network_namespace_without_network(tmp_path: Path) -> None:
    """Native code included: there is no interface to call out by."""
    if subprocess.run([*NO_NETWORK, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system does not let a test make a network namespace")
    main_job([*NO_NETWORK, sys.executable, "-m", "canonry"], tmp_path)
