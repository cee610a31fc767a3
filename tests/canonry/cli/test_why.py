from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Once

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def data(tmp_path: Path, run_cli: Cli, once: Once) -> Path:
    """A campaign of three notes without an embedder; one is hidden."""

    def build(folder: Path) -> None:
        data, lore = folder / "data", folder / "lore"
        lore.mkdir()
        (lore / "lamp.md").write_text("A brass lamp by the quay.\n")
        (lore / "gate.md").write_text("A lamp behind the gate.\n")
        (lore / "cellar.md").write_text("---\nvisibility: hidden\n---\nA hidden lamp.\n")
        run_cli("campaign", "create", "vell", "--data", data, "--set", "embedder=none")
        assert run_cli("import", "--data", data, lore)[0] == 0

    once(build)
    return tmp_path / "data"


def chunk(run_cli: Cli, data: Path, name: str) -> str:
    results = json.loads(run_cli("query", "--data", data, "--json", "--role", "narrator", "lamp")[1])["results"]
    return str(next(passage["chunk_id"] for passage in results if passage["uri"] == name))


def test_a_person_reads_what_became_of_a_chunk(data: Path, run_cli: Cli) -> None:
    code, out, err = run_cli("why", "--data", data, chunk(run_cli, data, "lamp.md"), "brass lamp")
    assert (code, err) == (0, "")
    assert out.startswith("kept: is in the answer, in place 1\n")
    assert "why there: holds brass, lamp" in out
    out = run_cli("why", "--data", data, chunk(run_cli, data, "gate.md"), "brass lamp", "--limit", "1")[1]
    assert out.startswith("left out (limit): is in place 2, beyond the limit of 1\n")
    assert "what would change that: --limit 2" in out


def test_a_program_reads_the_same(data: Path, run_cli: Cli) -> None:
    chunk_id = chunk(run_cli, data, "gate.md")
    code, out, _ = run_cli("why", "--data", data, "--json", chunk_id, "-brass", "--limit", "3")
    assert code == 0
    assert json.loads(out) == {
        "campaign_id": "vell", "chunk_id": chunk_id, "query": "-brass", "kept": False, "step": "match",
        "reason": "holds none of the words that were searched for", "place": None, "reasons": [],
        "change": "ask with words that it holds; --mode hybrid searches by meaning too",
    }  # fmt: skip


def test_a_player_hears_of_a_hidden_chunk_what_he_hears_of_none(data: Path, run_cli: Cli) -> None:
    hidden = chunk(run_cli, data, "cellar.md")
    code, out, err = run_cli("why", "--data", data, hidden, "lamp")
    assert (code, out) == (1, "")
    assert run_cli("why", "--data", data, "nothing", "lamp") == (1, "", err.replace(hidden, "nothing"))


def test_the_narrator_hears_why_a_player_does_not_get_it(data: Path, run_cli: Cli) -> None:
    hidden = chunk(run_cli, data, "cellar.md")
    code, out, _ = run_cli("why", "--data", data, hidden, "lamp", "--as", "narrator")
    assert code == 0
    assert out.startswith("left out (filter): is hidden: for the narrator alone\n")
    assert "--role narrator" in out
    assert run_cli("why", "--data", data, hidden, "lamp", "--role", "narrator")[1].startswith("kept")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--scene", "a quay at night"), "shares quay with the scene"),
        (("--location", "the quay"), "shares quay with the location"),
        (("--mention", "brass lamp,Mara"), "names brass lamp, who was mentioned"),
        (("--thread", "quay"), "shares quay with the thread"),
        (("--genre", "quay noir"), "shares quay with the genre"),
        (("--keywords", "quay,dusk"), "shares quay with the state keywords"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_every_part_of_the_context_reaches_the_order(
    data: Path, run_cli: Cli, options: tuple[str, ...], reason: str
) -> None:
    first = json.loads(run_cli("query", "--data", data, "--json", "lamp", *options)[1])["results"][0]
    assert first["uri"] == "lamp.md"
    assert reason in first["reasons"]


def test_the_order_of_words_alone_can_be_asked_for(data: Path, run_cli: Cli) -> None:
    for option, boosts in (((), False), (("--no-rerank",), True)):
        out = run_cli("query", "--data", data, "--json", "--explain", "lamp", *option)[1]
        assert (json.loads(out)["results"][0]["explain"]["boosts"] is None) is boosts
