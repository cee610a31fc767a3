"""`canonry embed`: the embedder of a campaign, and its vectors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from canonry.embedders import register
from flows.pipeline import loaded
from tests.conftest import Once
from tests.fakes import WordBag

Cli = Callable[..., tuple[int, str, str]]


class Backwards(WordBag):
    """Puts what is unrelated before what is meant."""

    def embed_query(self, text: str) -> np.ndarray:
        return -super().embed_query(text)


@pytest.fixture
def data(tmp_path: Path, run_cli: Cli, once: Once) -> Path:
    """A campaign of two files with the vectors of the embedder `one_bag`; `two_bags` is there too."""
    register(WordBag("one_bag"))
    register(WordBag("two_bags", dimensions=32))
    loaded.cache_clear()

    def build(folder: Path) -> None:
        for name in ("lamp", "gate"):
            path = folder / "lore" / f"{name}.md"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"# The {name}\n\nAn old {name} by the harbour.\n")
        data = folder / "data"
        run_cli("campaign", "create", "vell", "--data", data, "--set", "embedder=one_bag")
        run_cli("import", "--data", data, folder / "lore")

    once(build)
    return tmp_path / "data"


def sets(data: Path, run_cli: Cli) -> dict[str, dict[str, object]]:
    told = json.loads(run_cli("embed", "status", "--data", data, "--json")[1])
    return {one["spec"]: one for one in told["sets"]}


def test_status_lists_the_sets_of_vectors_and_their_use(data: Path, run_cli: Cli) -> None:
    run_cli("embed", "use", "two_bags", "--data", data)
    code, out, _ = run_cli("embed", "status", "--data", data)
    assert code == 0
    one_bag, two_bags = (line.split() for line in out.splitlines()[2:])
    assert (one_bag[0], one_bag[1], one_bag[2], one_bag[-1]) == ("one_bag", "one_bag-64", "2", "kept")
    assert (two_bags[0], two_bags[1], two_bags[2], two_bags[-2:]) == ("two_bags", "two_bags-32", "2", ["in", "use"])


def test_status_of_a_campaign_without_vectors_says_what_makes_them(tmp_path: Path, run_cli: Cli) -> None:
    run_cli("campaign", "create", "vell", "--data", tmp_path)
    assert "`canonry reindex` makes them" in run_cli("embed", "status", "--data", tmp_path)[1]
    assert run_cli("embed", "use", "none", "--data", tmp_path)[0] == 0
    assert "No vectors on disk." in run_cli("embed", "status", "--data", tmp_path)[1]


def test_use_makes_the_vectors_and_asks_them(data: Path, run_cli: Cli) -> None:
    code, out, _ = run_cli("embed", "use", "two_bags", "--data", data)
    assert code == 0
    assert "The campaign is set to two_bags." in out
    assert "2 vectors in the index; 2 texts newly embedded" in out
    assert run_cli("query", "lamp", "--mode", "semantic", "--data", data)[0] == 0
    assert (
        "The campaign uses two_bags already.\nEverything is up to date."
        in run_cli("embed", "use", "two_bags", "--data", data)[1]
    )


def test_use_later_leaves_the_vectors_to_the_next_reindex(data: Path, run_cli: Cli) -> None:
    told = run_cli("embed", "use", "two_bags", "--later", "--data", data, "--json")[1]
    assert json.loads(told) == {"embedder": "two_bags", "changed": True}
    assert list(sets(data, run_cli)) == ["one_bag"]
    code, out, _ = run_cli("query", "lamp", "--mode", "semantic", "--data", data, "--json")
    assert (code, "vectors of one_bag" in json.loads(out)["degraded"]) == (3, True)
    assert run_cli("reindex", "--in-process", "--data", data)[0] == 0
    assert sets(data, run_cli)["two_bags"]["live"]


@pytest.mark.parametrize("failing", ["gpt", "away"])
def test_an_embedder_that_does_not_answer_is_not_chosen(data: Path, run_cli: Cli, failing: str) -> None:
    class Away(WordBag):
        def embed_query(self, text: str) -> np.ndarray:
            from canonry.errors import EmbedderError

            raise EmbedderError("the word bag is away; wait for it")

    register(Away("away"))
    code, out, err = run_cli("embed", "use", failing, "--data", data)
    assert (code, out, len(err.splitlines())) == ({"gpt": 2, "away": 1}[failing], "", 1)
    assert json.loads(run_cli("embed", "status", "--data", data, "--json")[1])["embedder"] == "one_bag"


def test_purge_removes_what_is_not_in_use_and_nothing_else(data: Path, run_cli: Cli) -> None:
    run_cli("embed", "use", "two_bags", "--data", data)
    assert run_cli("embed", "purge", "two_bags", "--yes", "--data", data)[0] == 2
    assert run_cli("embed", "purge", "third", "--yes", "--data", data)[0] == 1
    code, _, err = run_cli("embed", "purge", "one_bag", "--data", data)
    assert (code, "--yes" in err) == (2, True)
    assert set(sets(data, run_cli)) == {"one_bag", "two_bags"}
    code, out, _ = run_cli("embed", "purge", "one_bag", "--yes", "--data", data)
    assert (code, out.startswith("Removed 2 vectors of one_bag-64")) == (0, True)
    assert set(sets(data, run_cli)) == {"two_bags"}
    assert run_cli("reindex", "--data", data)[1] == "Everything is up to date.\n"


def test_test_says_what_the_embedder_does(run_cli: Cli) -> None:
    register(WordBag("sound"))
    code, out, err = run_cli("embed", "test", "sound")
    assert (code, err) == (0, "")
    assert "sound answers: 64 dimensions, windows of 50 tokens" in out
    assert "English: a paraphrase" in out
    assert "Chinese: not a script of this model" in out
    told = json.loads(run_cli("embed", "test", "sound", "--json")[1])
    assert (told["sound"], told["not_known"], told["dimensions"]) == (True, ["Chinese"], 64)
    assert told["samples"][0]["paraphrase"] > told["samples"][0]["unrelated"]


def test_an_unsound_embedder_fails_its_test(run_cli: Cli) -> None:
    register(Backwards("backwards"))
    code, out, err = run_cli("embed", "test", "backwards")
    assert code == 1
    assert "NOT nearer" in out
    assert "choose another embedder" in err


@pytest.mark.parametrize("spec", ["none", "gpt"])
def test_what_is_no_embedder_cannot_be_tested(run_cli: Cli, spec: str) -> None:
    code, out, err = run_cli("embed", "test", spec)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
