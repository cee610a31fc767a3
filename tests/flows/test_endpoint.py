"""A model behind an address that goes away, comes back, or becomes another."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from canonry import schemas
from canonry.embedders import register
from canonry.layout import Layout
from canonry.locking import writing
from flows.endpoint import plan_of
from flows.pipeline import InProcess, loaded, run_plan
from flows.plan import make_plan
from stages.embed import without_vector
from tests.conftest import Workshop
from tests.fakes import WordBag
from tests.servers import Standin, answers, fails, send, standin

Run = Callable[..., tuple[int, str, str]]
LORE = {"gate.md": "# Gate\n\nThe gatekeeper sleeps at noon.\n", "lamp.md": "# Lamp\n\nThe lamp burns whale oil.\n"}


@pytest.fixture
def lore(workshop: Workshop) -> Path:
    for name, text in LORE.items():
        workshop.write(name, text)
    return workshop.root / "lore"


def reindex(at: Layout) -> str | None:
    with writing(at):
        return run_plan(at, plan_of(at)[0], InProcess()).degraded


def asked_lore(server: Standin) -> int:
    return sum("gatekeeper" in text or "whale" in text for text in server.asked())


@pytest.mark.parametrize("kind", ["ollama", "openai"])
def test_a_server_that_is_away_at_first(
    workshop: Workshop, server: Standin, lore: Path, run_cli: Run, kind: str
) -> None:
    at = workshop.create(embedder=server.spec(kind), embed_retries="0")
    where = ("--data", workshop.data)
    server.fault = fails(503)
    code, out, err = run_cli("import", lore, *where)
    assert (code, "can be found by words now" in out, "503" in err) == (3, True, True)
    code, out, err = run_cli("query", "who sleeps at noon", "--mode", "hybrid", *where)
    assert (code, "gatekeeper sleeps" in out, "there are no vectors yet" in err) == (3, True, True)
    code, out, _ = run_cli("status", *where)
    assert (code, "Trouble: " in out, "503" in out) == (3, True, True)
    server.fault = None
    assert run_cli("reindex", "--in-process", *where)[0] == 0
    assert run_cli("status", *where)[0] == 0
    answer = workshop.ask(at).retrieve("who sleeps at noon", mode="hybrid")
    assert answer.degraded is None
    assert answer.results[0].semantic_score is not None


def test_a_server_that_goes_away_afterwards(workshop: Workshop, lore: Path, run_cli: Run) -> None:
    where = ("--data", workshop.data)
    with standin() as server:
        at = workshop.create(embedder=server.spec(), embed_retries="0")
        workshop.bring(at, lore)
    code, out, err = run_cli("query", "who sleeps at noon", "--mode", "hybrid", *where)
    assert (code, "gatekeeper sleeps" in out) == (3, True)
    assert "connection refused; see that lantern-embed is served there; searched by words alone" in err
    code, out, _ = run_cli("status", "--json", *where)
    facts = json.loads(out)
    assert (code, "connection refused" in facts["embedder_trouble"], facts["chunks_without_vector"]) == (3, True, 0)
    code, out, err = run_cli("reindex", "--in-process", *where)
    assert (code, out, "connection refused" in err) == (0, "Everything is up to date.\n", True)
    workshop.write("bell.md", "# Bell\n\nThe bell is cracked.\n")
    code, _, err = run_cli("import", lore, *where)
    assert (code, "semantic search is incomplete" in err) == (3, True)
    assert "cracked" in run_cli("query", "bell", *where)[1]


def test_a_plan_and_a_question_by_words_ask_nothing(workshop: Workshop, server: Standin, lore: Path) -> None:
    at = workshop.create(embedder=server.spec())
    workshop.bring(at, lore)
    server.paths.clear()
    assert make_plan(at).is_empty
    assert workshop.ask(at).retrieve("lamp", mode="lexical").results
    assert server.paths == []


def test_one_question_is_one_request(workshop: Workshop, server: Standin, lore: Path) -> None:
    at = workshop.create(embedder=server.spec())
    workshop.bring(at, lore)
    server.paths.clear()
    campaign = workshop.ask(at)
    campaign.retrieve("lamp", mode="hybrid")
    campaign.retrieve("gate", mode="semantic")
    assert server.paths == ["/api/embed", "/api/embed"]


def test_a_wrong_reply_in_the_middle_stores_nothing_of_it(workshop: Workshop, server: Standin, lore: Path) -> None:
    at = workshop.create(embedder=server.spec(), embed_batch="1")
    workshop.bring(at, workshop.write("first.md", "The first lamp.\n"))
    server.fault = answers({"model": "lantern-embed", "embeddings": [[0.0] * 64]})
    report = workshop.bring(at, lore)
    assert report.index.degraded is not None
    assert "length 0" in report.index.degraded
    assert (report.index.vectors, report.index.vectors_missing) == (1, 2)
    server.fault = None
    server.log.clear()
    assert reindex(at) is None
    assert asked_lore(server) == 2


def test_a_new_digest_makes_new_vectors_beside_the_old(
    workshop: Workshop, server: Standin, lore: Path, run_cli: Run
) -> None:
    at = workshop.create(embedder=server.spec())
    workshop.bring(at, lore)
    server.digest, server.space = "sha256:two", "b"
    code, out, err = run_cli("reindex", "--in-process", "--data", workshop.data)
    assert (code, "2 texts newly embedded" in out, "weights are other" in err) == (0, True, True)
    assert len(list((at.chunks / "vectors").glob("*/"))) >= 2
    assert workshop.ask(at).retrieve("gatekeeper", mode="semantic").degraded is None


def test_an_open_campaign_follows_a_model_that_changed(workshop: Workshop, server: Standin, lore: Path) -> None:
    at = workshop.create(embedder=server.spec())
    workshop.bring(at, lore)
    campaign = workshop.ask(at)
    assert campaign.retrieve("gatekeeper", mode="semantic").degraded is None
    server.digest, server.space, server.dimensions = "sha256:two", "b", 32
    assert reindex(at) is None
    answer = campaign.retrieve("gatekeeper", mode="semantic")
    assert (answer.degraded, answer.results[0].uri) == (None, "gate.md")


def test_the_old_vectors_serve_until_the_new_are_complete(
    workshop: Workshop, server: Standin, lore: Path, run_cli: Run
) -> None:
    bag = WordBag()
    register(bag)
    loaded.cache_clear()
    at = workshop.create(embedder=bag.spec)
    workshop.bring(at, lore)
    where = ("--data", workshop.data)
    server.fault = fails(500, after=4)
    run_cli("campaign", "settings", at.campaign, "--set", f"embedder={server.spec()}", "--set", "embed.retries=0",
            "--set", "embed.batch=1", *where)  # fmt: skip
    assert run_cli("reindex", "--in-process", *where)[0] == 3
    answer = workshop.ask(at).retrieve("gatekeeper", mode="semantic")
    assert answer.results[0].uri == "gate.md"
    assert f"searched with the vectors of {bag.spec}" in str(answer.degraded)
    assert "made by wordbag-64" in run_cli("status", *where)[1]
    server.fault = None
    server.log.clear()
    assert run_cli("reindex", "--in-process", *where)[0] == 0
    assert asked_lore(server) == 1
    assert workshop.ask(at).retrieve("gatekeeper", mode="semantic").degraded is None


def test_a_changed_prefix_is_a_changed_model(workshop: Workshop, server: Standin, lore: Path, run_cli: Run) -> None:
    at = workshop.create(embedder=server.spec())
    workshop.bring(at, lore)
    where = ("--data", workshop.data)
    run_cli("campaign", "settings", at.campaign, "--set", "embed.document_prefix=tell me: ", *where)
    assert "made by" in run_cli("status", *where)[1]
    server.log.clear()
    assert run_cli("reindex", "--in-process", *where)[0] == 0
    assert sum(text.startswith("tell me: ") for text in server.asked()) >= 2


def test_an_address_beyond_private_networks_is_never_called(workshop: Workshop, lore: Path, run_cli: Run) -> None:
    workshop.create(embedder="openai:m@http://198.51.100.7:80")
    code, _, err = run_cli("import", lore, "--data", workshop.data)
    assert (code, "allow_remote" in err) == (3, True)


def test_a_deleted_source_needs_no_server(workshop: Workshop, lore: Path, run_cli: Run) -> None:
    with standin() as server:
        at = workshop.create(embedder=server.spec(), embed_retries="0")
        workshop.bring(at, lore)
    assert run_cli("source", "delete", "lamp.md", "--yes", "--data", workshop.data)[0] == 0
    assert workshop.ask(at).retrieve("whale", mode="lexical").results == []


def test_an_impossible_spec_is_refused_before_it_is_stored(workshop: Workshop, run_cli: Run) -> None:
    at = workshop.create()
    for spec in ("ollama:", "openai:m@http://me:secret@host", "openai:m@http://host:x", "nonsense"):
        code, _, err = run_cli(
            "campaign", "settings", at.campaign, "--set", f"embedder={spec}", "--data", workshop.data
        )
        assert (code, "secret" in err) == (2, False)


def test_the_same_model_at_another_address_needs_no_new_vectors(
    workshop: Workshop, server: Standin, lore: Path, run_cli: Run
) -> None:
    where = ("--data", workshop.data)
    with standin() as gone:
        at = workshop.create(embedder=gone.spec(), embed_retries="0")
        workshop.bring(at, lore)
    run_cli("campaign", "settings", at.campaign, "--set", f"embedder={server.spec()}", *where)
    assert run_cli("reindex", "--in-process", *where)[:2] == (0, "Everything is up to date.\n")
    assert asked_lore(server) == 0
    answer = workshop.ask(at).retrieve("gatekeeper", mode="semantic")
    assert (answer.degraded, answer.results[0].uri) == (None, "gate.md")


def test_why_answers_without_the_server(workshop: Workshop, lore: Path) -> None:
    with standin() as server:
        at = workshop.create(embedder=server.spec(), embed_retries="0")
        workshop.bring(at, lore)
    campaign = workshop.ask(at)
    chunk_id = campaign.retrieve("whale oil", mode="lexical").results[0].chunk_id
    assert campaign.why(chunk_id, "whale oil", mode="hybrid").kept


def test_words_are_found_before_a_slow_server_is_asked(workshop: Workshop, server: Standin, lore: Path) -> None:
    """Also where it does not even say what it is."""
    found: list[str] = []

    def look(server: Standin, handler: object, texts: list[str]) -> bool:
        found.extend(passage.uri for passage in workshop.ask(at).retrieve("whale oil", mode="lexical").results)
        return False

    server.fault = look
    at = workshop.create(embedder=server.spec("openai"))
    workshop.bring(at, lore)
    assert found[0] == "lamp.md"


def test_a_deleted_text_leaves_no_trace_among_those_without_a_vector(
    workshop: Workshop, server: Standin, lore: Path, run_cli: Run
) -> None:
    server.fault = lambda server, handler, texts: (
        any("whale" in text for text in texts)
        and send(handler, 400, {"error": "the input length exceeds the context length"})
    )
    at = workshop.create(embedder=server.spec(), embed_batch="1")
    workshop.bring(at, lore)
    where = ("--data", workshop.data)
    assert "1 text without a vector, to be found by words alone: refused" in run_cli("status", *where)[1]
    assert run_cli("source", "delete", "lamp.md", "--yes", *where)[0] == 0
    parts = (at.chunks / "vectors").glob("*/*.parquet")
    assert not any(without_vector(schemas.made_from(part, schemas.EMBEDDING_CONTRACT)) for part in parts)
