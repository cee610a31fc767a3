from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Once

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def data(tmp_path: Path, run_cli: Cli, once: Once) -> Path:
    """A campaign of three notes without an embedder."""

    def build(folder: Path) -> None:
        data, lore = folder / "data", folder / "lore"
        lore.mkdir()
        (lore / "lamp.md").write_text(
            "---\nclass: canon\ntags: [light]\nentities: [Mara]\ntype: place\n---\n# Lamp\n\nA brass lamp by the quay.\n"
        )
        (lore / "gate.md").write_text("# Gate {spoiler=2 tags=ending}\n\nThe lamp behind the gate.\n")
        (lore / "cellar.md").write_text("---\nvisibility: hidden\n---\nA hidden lamp.\x1b[31m\n")
        run_cli("campaign", "create", "vell", "--data", data, "--set", "embedder=none")
        assert run_cli("import", "--data", data, lore)[0] == 0

    once(build)
    return tmp_path / "data"


def found(run_cli: Cli, data: Path, *options: str) -> set[str]:
    code, out, err = run_cli("query", "--data", data, "--json", "lamp", *options)
    assert (code, err) == (0, "")
    return {passage["uri"] for passage in json.loads(out)["results"]}


@pytest.mark.parametrize(
    ("options", "uris"),
    [
        ((), {"lamp.md"}),
        (("--spoiler-level", "2"), {"lamp.md", "gate.md"}),
        (("--spoiler-level", "2", "--forbid-tags", "ending,x"), {"lamp.md"}),
        (("--role", "narrator"), {"lamp.md", "cellar.md"}),
        (("--role", "writer"), {"lamp.md"}),
        (("--class", "canon"), {"lamp.md"}),
        (("--class", "reference,inspiration"), set()),
        (("--tags", "light"), {"lamp.md"}),
        (("--tags", "dark"), set()),
        (("--entities", "Mara,Ravel"), {"lamp.md"}),
        (("--source-types", "place"), {"lamp.md"}),
        (("--source-types", "rules"), set()),
        (("--as-of", "2001-01-01"), set()),
        (("--as-of", "2999-01-01"), {"lamp.md"}),
        (("--limit", "1", "--spoiler-level", "2"), {"lamp.md"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_every_filter_reaches_the_search(data: Path, run_cli: Cli, options: tuple[str, ...], uris: set[str]) -> None:
    assert found(run_cli, data, *options) == uris


def test_a_source_is_named_by_its_id(data: Path, run_cli: Cli) -> None:
    (source,) = {p["source_id"] for p in json.loads(run_cli("query", "--data", data, "--json", "quay")[1])["results"]}
    assert found(run_cli, data, "--source", source) == {"lamp.md"}


def test_an_answer_for_a_person_says_where_why_and_what(data: Path, run_cli: Cli) -> None:
    code, out, err = run_cli("query", "--data", data, "brass lamp", "--spoiler-level", "2")
    assert (code, err) == (0, "")
    assert "1. Lamp" in out
    assert "canon" in out
    assert "lamp.md:9" in out
    assert "A brass lamp by the quay." in out
    assert "why: holds brass, lamp" in out
    assert "spoiler level 2 (ending)" in out


def test_control_characters_of_a_source_never_reach_the_terminal(data: Path, run_cli: Cli) -> None:
    out = run_cli("query", "--data", data, "hidden", "--role", "narrator")[1]
    assert "\x1b" not in out
    assert r"\x1b[31m" in out


def test_an_explanation_is_shown_where_it_is_asked_for(data: Path, run_cli: Cli) -> None:
    assert "score:" in run_cli("query", "--data", data, "lamp", "--explain")[1]
    assert "score:" not in run_cli("query", "--data", data, "lamp")[1]
    (passage,) = json.loads(run_cli("query", "--data", data, "--json", "lamp", "--explain")[1])["results"]
    assert passage["explain"]["legs"]["lexical"]["rank"] == 1


def test_where_nothing_matches_it_says_so(data: Path, run_cli: Cli) -> None:
    assert run_cli("query", "--data", data, "zeppelin") == (
        0, "Nothing here answers that.\n",
        "Asked as player at spoiler level 0; --role and --spoiler-level ask as someone else.\n",
    )  # fmt: skip
    assert json.loads(run_cli("query", "--data", data, "--json", "zeppelin")[1])["results"] == []


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_less_than_was_asked_for_is_exit_code_3_with_the_reason_on_standard_error(
    data: Path, run_cli: Cli, mode: str
) -> None:
    code, out, err = run_cli("query", "--data", data, "--json", "lamp", "--mode", mode)
    assert code == 3
    assert json.loads(out)["degraded"] in err
    assert run_cli("query", "--data", data, "-q", "lamp", "--mode", mode)[2] == ""


@pytest.mark.parametrize(
    "options",
    [
        ("--limit", "0"),
        ("--limit", "5000"),
        ("--spoiler-level", "-1"),
        ("--role", "The King"),
        ("--class", "gospel"),
        ("--as-of", "yesterday"),
    ],
    ids=" ".join,
)
def test_an_impossible_option_is_exit_code_2_with_one_line(data: Path, run_cli: Cli, options: tuple[str, ...]) -> None:
    code, out, err = run_cli("query", "--data", data, "lamp", *options)
    assert (code, out, len(err.splitlines())) == (2, "", 1)


def test_a_question_is_read_from_standard_input(data: Path, run_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("brass\nlamp\n"))
    assert json.loads(run_cli("query", "--data", data, "--json", "-")[1])["query"] == "brass\nlamp\n"
