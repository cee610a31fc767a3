"""Case 10: a run that is stopped half-way is taken up where it stopped, and is never taken for finished."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from canonry.errors import Busy
from canonry.layout import Layout
from canonry.locking import writing
from tests.conftest import Workshop
from tests.servers import Standin, fails

ROOT = Path(__file__).parents[2]
LAMPS = (
    "amber",
    "beryl",
    "cinnabar",
    "diorite",
    "emery",
    "feldspar",
    "gneiss",
    "halite",
    "indigo",
    "jasper",
    "kyanite",
    "lapis",
)
ALMANAC = "# Almanac\n\n" + "".join(
    f"## Month {number:02}\n\nIn month {number:02} the crane returns and the wardens light the {lamp} lamp.\n\n"
    for number, lamp in enumerate(LAMPS, 1)
)
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def at(workshop: Workshop, server: Standin) -> Layout:
    workshop.write("almanac.md", ALMANAC)
    return workshop.create(embedder=server.spec("openai"), embed_batch="2", embed_retries="0")


def lamps_in(texts: list[str]) -> list[str]:
    return sorted(lamp for lamp in LAMPS for text in texts if f"{lamp} lamp" in text)


def state(run_cli: Run, workshop: Workshop) -> tuple[int, dict[str, object]]:
    code, out, _ = run_cli("status", "--json", "--data", workshop.data)
    return code, json.loads(out)


def test_what_is_missing_is_made_up_for_and_nothing_else(
    workshop: Workshop, server: Standin, at: Layout, run_cli: Run
) -> None:
    where = ("--data", workshop.data)
    server.fault = fails(500, after=9)  # of which three are for getting to know the model
    code, _, err = run_cli("import", workshop.root / "lore", *where)
    assert (code, "semantic search is incomplete" in err) == (3, True)
    for lamp in LAMPS:
        answer = workshop.ask(at).retrieve(lamp, mode="lexical")
        assert f"{lamp} lamp" in answer.results[0].exact_text
    code, facts = state(run_cli, workshop)
    assert (code, facts["chunks"], facts["chunks_without_vector"]) == (3, 12, 6)
    (source,) = facts["sources_without_vectors"]  # type: ignore[misc]
    assert source.startswith("almanac-")

    server.fault = None
    before = lamps_in(server.answered)
    assert len(before) == 6
    server.log.clear()
    assert run_cli("reindex", "--in-process", *where)[0] == 0
    assert lamps_in(server.asked()) == sorted({*LAMPS} - {*before})
    assert state(run_cli, workshop)[1]["chunks_without_vector"] == 0

    server.log.clear()
    code, out, _ = run_cli("reindex", "--in-process", *where)
    assert (code, out) == (0, "Everything is up to date.\n")
    assert lamps_in(server.asked()) == []


def test_a_server_that_asks_to_wait_is_waited_for(workshop: Workshop, server: Standin, run_cli: Run) -> None:
    workshop.write("almanac.md", ALMANAC)
    workshop.create(embedder=server.spec("openai"), embed_batch="12")
    server.fault = fails(429, times=2, after=5, Retry_After="0.2")
    assert run_cli("import", workshop.root / "lore", "--data", workshop.data)[0] == 0
    code, facts = state(run_cli, workshop)
    assert (code, facts["chunks_without_vector"]) == (0, 0)
    assert len([request for request in server.log if len(request["input"]) == 12]) == 3


def test_questions_are_answered_while_a_server_takes_its_time(
    workshop: Workshop, server: Standin, at: Layout, run_cli: Run
) -> None:
    """Twenty questions and one more writer, while a run waits for vectors: they are answered, and it waits its turn."""
    embedding, go_on = threading.Event(), threading.Event()

    def wait(server: Standin, handler: object, texts: list[str]) -> bool:
        if lamps_in(texts):
            embedding.set()
            go_on.wait(30)
        return False

    server.fault = wait
    done: list[str | None] = []
    importing = threading.Thread(
        target=lambda: done.append(workshop.bring(at, workshop.root / "lore").index.degraded), daemon=True
    )
    importing.start()
    assert embedding.wait(30)
    for number in range(20):
        answer = workshop.ask(at).retrieve(LAMPS[number % 12])
        assert f"{LAMPS[number % 12]} lamp" in answer.results[0].exact_text
    more = workshop.root / "tide.md"
    more.write_text("# Tide\n\nThe tide table hangs in the hall.\n")
    with pytest.raises(Busy, match=r"is being written by .*; waited 0.2 s, try again"), writing(at, wait_s=0.2):
        pass
    assert not workshop.ask(at).retrieve("tide table", mode="lexical").results
    with subprocess.Popen(
        [sys.executable, "-m", "canonry", "import", more, "--data", at.root, "-q"], cwd=ROOT, stderr=subprocess.PIPE
    ) as writer:
        go_on.set()
        importing.join(30)
        assert writer.communicate(timeout=60)[1] == b""
    assert (writer.returncode, done) == (0, [None])
    assert len(workshop.ask(at).retrieve("tide table", mode="lexical").results) == 1
    assert workshop.ask(at).retrieve("crane", mode="hybrid").degraded is None
