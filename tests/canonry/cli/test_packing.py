from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from canonry.layout import Layout
from canonry.locking import writing
from tests.conftest import Once, Workshop

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def data(tmp_path: Path, run_cli: Cli, once: Once) -> Path:
    """A campaign of four notes without an embedder: a rule, a lamp, a gate at level 2, a hidden cellar."""

    def build(folder: Path) -> None:
        data, lore = folder / "data", folder / "lore"
        lore.mkdir()
        (lore / "rule.md").write_text("---\nclass: canon\nalways_include: true\n---\nNo one returns from death.\n")
        (lore / "lamp.md").write_text("---\nclass: canon\ntags: [light]\n---\n# Lamp\n\nA brass lamp by the quay.\n")
        (lore / "gate.md").write_text("# Gate {spoiler=2}\n\nThe lamp behind the gate.\n")
        (lore / "cellar.md").write_text("---\nvisibility: hidden\n---\nA hidden lamp.\x1b[31m\n")
        run_cli("campaign", "create", "vell", "--data", data, "--set", "embedder=none")
        assert run_cli("import", "--data", data, lore)[0] == 0

    once(build)
    return tmp_path / "data"


def uris(run_cli: Cli, data: Path, *options: str | Path) -> list[str]:
    code, out, _ = run_cli("pack", "--data", data, "--json", "lamp", *options)
    assert code == 0
    return [item["uri"] for item in json.loads(out)["items"]]


def test_standard_output_is_the_pack_and_nothing_else(data: Path, run_cli: Cli) -> None:
    code, out, err = run_cli("pack", "--data", data, "lamp", "--role", "narrator")
    assert code == 0
    assert out.startswith("Imported lore follows")
    assert out.endswith("]\n")
    assert "A brass lamp by the quay." in out
    assert "\x1b" not in out
    assert err.startswith("pack 1: ")
    assert run_cli("pack", "--data", data, "lamp", "-q")[2] == ""


@pytest.mark.parametrize("option", [("--json",), ("--format", "json")], ids=" ".join)
def test_json_is_one_document_with_the_same_pack(data: Path, run_cli: Cli, option: tuple[str, ...]) -> None:
    document = json.loads(run_cli("pack", "--data", data, "lamp", *option)[1])
    assert document["items"][0]["section"] == "always"
    assert document["items"][1]["exact_text"] == "A brass lamp by the quay."
    assert document["pack_id"] == 1
    assert run_cli("history", "show", "1", "--data", data)[1] == document["text"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ["rule.md", "lamp.md"]),
        (("--spoiler-level", "2"), ["rule.md", "lamp.md", "gate.md"]),
        (("--role", "narrator"), ["rule.md", "lamp.md", "cellar.md"]),
        (("--class", "reference"), []),
        (("--tags", "light"), ["lamp.md"]),
        (("--as-of", "2001-01-01"), []),
        (("--budget-canon", "0", "--spoiler-level", "2"), ["gate.md"]),
        (("--budget-reference", "0", "--spoiler-level", "2"), ["rule.md", "lamp.md"]),
        (("--budget", "20"), []),
        (("--mode", "lexical"), ["rule.md", "lamp.md"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_every_option_reaches_the_pack(data: Path, run_cli: Cli, options: tuple[str, ...], expected: list[str]) -> None:
    assert uris(run_cli, data, *options) == expected


def test_a_question_is_read_from_standard_input_and_its_context_is_kept(
    data: Path, run_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for options in ((), ("--diff", "player,narrator")):
        monkeypatch.setattr(sys, "stdin", io.StringIO("lamp\n"))
        document = json.loads(run_cli("pack", "--data", data, "--json", "-", "--scene", "At night.", *options)[1])
        assert document["query"] == "lamp\n"
    settings = json.loads(run_cli("history", "show", "1", "--data", data, "--json")[1])["settings"]
    assert settings["context"]["scene"] == "At night."
    assert document["both"] == 2


def test_pins_and_the_state_decide_too(data: Path, run_cli: Cli, tmp_path: Path) -> None:
    gate = json.loads(run_cli("query", "--data", data, "--json", "gate", "--spoiler-level", "2")[1])["results"][0][
        "chunk_id"
    ]
    (tmp_path / "state.txt").write_text("\ufeffHere: a brass lamp by the quay.", encoding="utf-8")
    assert uris(run_cli, data, "--state", tmp_path / "state.txt") == ["rule.md"]
    assert uris(run_cli, data, "--state", tmp_path / "state.txt", "--spoiler-level", "2", "--pin", gate) == [
        "rule.md",
        "gate.md",
    ]
    code, out, err = run_cli("pack", "--data", data, "lamp", "--pin", gate)
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    code, out, err = run_cli("pack", "--data", data, "lamp", "--pin", gate, "--spoiler-level", "2", "--budget", "30")
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert gate in err
    assert "tokens short" in err


def test_what_was_left_out_and_every_warning_is_on_standard_error(data: Path, run_cli: Cli) -> None:
    code, out, err = run_cli("pack", "--data", data, "lamp", "--budget", "60")
    assert (code, out) == (0, "")
    assert "Nothing fits" in err
    assert "warning: left out for want of room, although always included: rule (" in err
    assert "left out: lamp > Lamp (canon, " in err
    assert "over the whole budget" in err
    assert "Nothing here answers that" in run_cli("pack", "--data", data, "zeppelin", "--class", "reference")[2]


@pytest.mark.parametrize(
    "options",
    [
        ("--budget", "-1"),
        ("--budget-canon", "-1"),
        ("--spoiler-level", "-1"),
        ("--role", "The King"),
        ("--state", "nowhere.txt"),
        ("--diff", "player"),
        ("--diff", ","),
        ("--diff", "player,narrator", "--role", "player"),
        ("--diff", "player,narrator", "--role", "narrator"),
    ],
    ids=" ".join,
)
def test_an_impossible_option_is_exit_code_2_with_one_line(data: Path, run_cli: Cli, options: tuple[str, ...]) -> None:
    code, out, err = run_cli("pack", "--data", data, "lamp", *options)
    assert (code, out, len(err.splitlines())) == (2, "", 1)


def test_a_state_that_is_not_utf8_is_refused(data: Path, run_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "state.txt").write_bytes(b"caf\xe9")
    assert run_cli("pack", "--data", data, "lamp", "--state", tmp_path / "state.txt")[0] == 2


def test_less_than_was_asked_for_is_exit_code_3_with_the_reason(data: Path, run_cli: Cli) -> None:
    code, out, err = run_cli("pack", "--data", data, "lamp", "--mode", "hybrid")
    assert code == 3
    assert "A brass lamp" in out
    assert "degraded: " in err


def test_a_difference_lists_what_only_one_role_gets_and_is_not_recorded(data: Path, run_cli: Cli) -> None:
    code, out, _ = run_cli("pack", "--data", data, "lamp", "--diff", "player,narrator")
    assert code == 0
    assert out.splitlines()[:2] == ["only player: nothing", "only narrator:"]
    assert "cellar" in out.splitlines()[2]
    document = json.loads(run_cli("pack", "--data", data, "--json", "lamp", "--diff", "narrator,player")[1])
    assert [item["title"] for item in document["only"]["narrator"]] == ["cellar"]
    assert (document["only"]["player"], document["both"]) == ([], 2)
    assert json.loads(run_cli("history", "list", "--data", data, "--json", "--role", "narrator")[1]) == []


# history


def records(run_cli: Cli, data: Path, *options: str) -> list[int]:
    return [
        record["pack_id"] for record in json.loads(run_cli("history", "list", "--data", data, "--json", *options)[1])
    ]


def test_a_past_pack_is_shown_in_full_after_its_sources_went(data: Path, run_cli: Cli) -> None:
    text = run_cli("pack", "--data", data, "lamp")[1]
    for name in ("rule.md", "lamp.md"):
        assert run_cli("source", "delete", name, "--yes", "--data", data)[0] == 0
    assert "A brass lamp" not in run_cli("pack", "--data", data, "lamp", "--no-record")[1]
    assert run_cli("history", "show", "1", "--data", data)[1] == text
    record = json.loads(run_cli("history", "show", "1", "--data", data, "--json")[1])
    assert record["items"][1]["exact_text"] == "A brass lamp by the quay."
    assert record["items"][1]["source_version_id"]
    assert record["created_at"]


def test_a_record_is_shown_to_its_role_and_above_players_alone(data: Path, run_cli: Cli) -> None:
    for options in ((), ("--role", "narrator"), ("--role", "npc:mara"), ("--spoiler-level", "2")):
        assert run_cli("pack", "--data", data, "lamp", *options)[0] == 0
    assert records(run_cli, data) == [1]
    assert records(run_cli, data, "--spoiler-level", "2") == [4, 1]
    assert records(run_cli, data, "--role", "narrator") == [2, 1]
    assert records(run_cli, data, "--role", "npc:mara") == [3, 1]
    assert records(run_cli, data, "--role", "narrator", "--spoiler-level", "9", "--limit", "2") == [4, 2]
    hidden, missing = (run_cli("history", "show", number, "--data", data) for number in ("2", "99"))
    assert hidden[0] == missing[0] == 1
    assert hidden[1] == missing[1] == ""
    assert hidden[2].replace("2", "99") == missing[2].replace("2", "99")
    assert "hidden lamp" in run_cli("history", "show", "2", "--data", data, "--role", "narrator")[1]
    assert "narrator" not in run_cli("history", "list", "--data", data)[1]


def test_the_history_for_a_person_is_a_table(data: Path, run_cli: Cli) -> None:
    run_cli("pack", "--data", data, "who keeps\nthe lamp?")
    out = run_cli("history", "list", "--data", data)[1]
    assert "QUESTION" in out
    assert "who keeps the lamp?" in out


def test_a_pack_that_cannot_be_recorded_is_given_with_a_warning(data: Path, run_cli: Cli) -> None:
    with writing(Layout(data, "vell")):
        code, out, err = run_cli("pack", "--data", data, "lamp", "--class", "reference", "--spoiler-level", "2")
    assert code == 0
    assert "The lamp behind the gate." in out
    assert "warning: this pack is not in the history: campaign 'vell' is being written by" in err
    assert records(run_cli, data, "--spoiler-level", "2") == []


def test_a_pack_can_be_kept_out_of_the_history(data: Path, run_cli: Cli) -> None:
    assert "not recorded" in run_cli("pack", "--data", data, "lamp", "--no-record")[2]
    assert records(run_cli, data) == []


def test_a_source_says_in_how_many_packs_it_was_supplied(
    workshop: Workshop, run_cli: Callable[..., tuple[int, str, str]]
) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "A brass lamp.\n"), workshop.write("gate.md", "An iron gate.\n"))
    for _ in range(2):
        assert run_cli("pack", "lamp", "--data", at.root)[0] == 0
    for name, count in (("lamp.md", 2), ("gate.md", 0)):
        _, out, _ = run_cli("source", "show", name, "--data", at.root, "--json")
        assert json.loads(out)["used_in_packs"] == count
