"""The flow on a real Prefect: one server for the whole module."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from canonry.embedders import register
from canonry.layout import Layout
from flows.pipeline import loaded
from tests.conftest import Workshop
from tests.fakes import WordBag

reindex = pytest.importorskip("flows.reindex", reason="Prefect is not installed")


@pytest.fixture(scope="module")
def prefect_server() -> Iterator[None]:
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=180):
        yield


def with_three_sources(workshop: Workshop, embedder: str = "none") -> Layout:
    at = workshop.create(embedder=embedder)
    for name in ("gate", "lamp", "well"):
        workshop.write(f"{name}.md", f"# The {name}\n\nAn old {name} stands by the harbour wall.\n")
    workshop.bring(at, workshop.root / "lore")
    return at


def test_the_flow_rebuilds_everything_and_publishes_its_counts(workshop: Workshop, prefect_server: None) -> None:
    from prefect.artifacts import Artifact

    at = with_three_sources(workshop)
    report = reindex.reindex(str(at.root), at.campaign, full=True, runner="thread")
    assert (report["rows"], report["rows_added"]) == (3, 3)
    artifact = Artifact.get("canonry-vell")
    assert artifact is not None
    counts = {row["what"]: row["count"] for row in json.loads(str(artifact.data))}
    assert counts["rows"] == 3
    assert len(workshop.ask(at).retrieve("old lamp").results) == 3


def test_worker_processes_cut_the_same_chunks_as_this_process(workshop: Workshop, prefect_server: None) -> None:
    at = with_three_sources(workshop)
    before = [(p.chunk_id, p.exact_text) for p in workshop.ask(at).retrieve("old harbour").results]
    for part in at.chunks.glob("*.parquet"):
        part.unlink()
    reindex.reindex(str(at.root), at.campaign, full=True, runner="process")
    assert [(p.chunk_id, p.exact_text) for p in workshop.ask(at).retrieve("old harbour").results] == before


def test_embedding_is_tried_again_and_then_complete(workshop: Workshop, prefect_server: None) -> None:
    embedder = WordBag("flaky", failures=1)
    register(embedder)
    loaded.cache_clear()
    at = with_three_sources(workshop, "flaky")
    assert workshop.ask(at).retrieve("old lamp", mode="hybrid").degraded is not None
    embedder.failures = 1
    report = reindex.reindex(str(at.root), at.campaign, runner="thread")
    assert report["degraded"] is None
    assert report["vectors_missing"] == 0
    assert workshop.ask(at).retrieve("old lamp", mode="hybrid").degraded is None


def test_an_embedder_that_stays_away_leaves_search_by_words_and_says_so(
    workshop: Workshop, prefect_server: None
) -> None:
    register(WordBag("away", failures=100))
    loaded.cache_clear()
    at = with_three_sources(workshop, "away")
    report = reindex.reindex(str(at.root), at.campaign, full=True, runner="thread")
    assert "the word bag is away" in str(report["degraded"])
    answer = workshop.ask(at).retrieve("old lamp", mode="hybrid")
    assert len(answer.results) == 3
    assert answer.degraded is not None


@pytest.mark.slow
@pytest.mark.parametrize("server", ["temporary", "configured"])
def test_a_good_run_prints_nothing_red(workshop: Workshop, server: str, prefect_server: None) -> None:
    """The whole command in a process of its own, with PREFECT_API_URL unset and set."""
    from prefect.settings import PREFECT_API_URL

    at = with_three_sources(workshop)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PREFECT_")}
    if server == "configured":
        environment["PREFECT_API_URL"] = str(PREFECT_API_URL.value())
    command = [sys.executable, "-m", "canonry", "reindex", "--full", "--data", str(at.root)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "stale: lexical index: a full rebuild was asked for",
        "running as a Prefect flow …",
    ]
    assert done.stdout.startswith("Indexed: ")


def test_the_deployment_names_a_flow_that_takes_its_parameters() -> None:
    root = Path(__file__).parent.parent.parent
    (deployment,) = yaml.safe_load((root / "prefect.yaml").read_text(encoding="utf-8"))["deployments"]
    path, _, name = deployment["entrypoint"].partition(":")
    assert (root / path).samefile(reindex.__file__)
    assert set(deployment["parameters"]) <= set(inspect.signature(getattr(reindex, name).fn).parameters)
    assert deployment["schedules"][0]["cron"] == "0 3 * * *"
