from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Once

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def lamp(tmp_path: Path) -> Path:
    """A note that a campaign was made of."""
    path = tmp_path / "lamp.md"
    path.write_text("A brass lamp.\n")
    return path


@pytest.fixture
def data(tmp_path: Path, lamp: Path, run_cli: Cli, once: Once) -> Path:
    """A campaign of one locked source."""

    def build(folder: Path) -> None:
        data = folder / "data"
        shutil.copy(lamp, folder)
        run_cli("campaign", "create", "vell", "--data", data, "--set", "embedder=none")
        run_cli("import", "--data", data, folder / lamp.name)
        assert run_cli("source", "lock", "lamp.md", "--data", data)[0] == 0

    once(build)
    return tmp_path / "data"


def propose(run_cli: Cli, data: Path, lamp: Path) -> None:
    lamp.write_text("A zinc lamp\x1b[31m.\n")
    run_cli("import", "--data", data, lamp)


def test_an_import_of_a_locked_source_says_what_waits(data: Path, lamp: Path, run_cli: Cli) -> None:
    lamp.write_text("A zinc lamp.\n")
    code, out, err = run_cli("import", "--data", data, lamp)
    assert (code, out) == (0, "")
    assert "proposal 1 is waiting" in err
    assert "canonry proposals accept 1" in err
    code, out, _ = run_cli("import", "--data", data, "--json", lamp)
    assert (code, json.loads(out)["imported"][0]["outcome"], json.loads(out)["imported"][0]["proposal"]) == (
        0,
        "proposed",
        1,
    )


def test_an_edit_of_a_locked_source_says_what_holds_at_once_and_what_waits(data: Path, run_cli: Cli) -> None:
    code, out, _ = run_cli("source", "edit", "lamp.md", "--data", data, "--class", "canon", "--visibility", "hidden")
    assert code == 0
    assert "visibility: normal → hidden" in out
    assert "class" not in out.splitlines()[0]
    assert "proposal 1 is waiting" in out
    told = json.loads(run_cli("source", "edit", "lamp.md", "--data", data, "--class", "canon", "--json")[1])
    assert (told["proposal"], told["changed"], told["class"], told["locked"]) == (1, {}, "reference", True)


def test_list_shows_what_waits_and_with_all_what_was_decided(data: Path, lamp: Path, run_cli: Cli) -> None:
    assert "No proposal waits" in run_cli("proposals", "list", "--data", data)[1]
    propose(run_cli, data, lamp)
    assert "text" in run_cli("proposals", "list", "--data", data)[1]
    run_cli("proposals", "reject", "1", "--note", "no", "--data", data)
    assert json.loads(run_cli("proposals", "list", "--data", data, "--json")[1]) == []
    (told,) = json.loads(run_cli("proposals", "list", "--all", "--data", data, "--json")[1])
    assert (told["state"], told["note"], told["kind"]) == ("rejected", "no", "text")


def test_show_has_the_diff_and_sends_no_control_characters(data: Path, lamp: Path, run_cli: Cli) -> None:
    propose(run_cli, data, lamp)
    code, out, _ = run_cli("proposals", "show", "1", "--data", data)
    assert code == 0
    assert "-A brass lamp." in out
    assert "+A zinc lamp\\x1b[31m." in out
    assert "\x1b" not in out
    told = json.loads(run_cli("proposals", "show", "1", "--data", data, "--json")[1])
    assert "-A brass lamp." in told["diff"]
    assert told["does_not_fit"] is None


def test_show_has_the_facts_before_and_after(data: Path, run_cli: Cli) -> None:
    run_cli("source", "edit", "lamp.md", "--data", data, "--class", "canon", "--tags", "a,b")
    out = run_cli("proposals", "show", "1", "--data", data)[1]
    assert "class: reference → canon" in out
    assert "tags: none → a, b" in out
    told = json.loads(run_cli("proposals", "show", "1", "--data", data, "--json")[1])
    assert told["changes"] == {"class": {"from": "reference", "to": "canon"}, "tags": {"from": [], "to": ["a", "b"]}}
    assert told["diff"] is None


@pytest.mark.parametrize("action", ["accept", "reject"])
def test_a_decided_text_can_still_be_looked_at(data: Path, lamp: Path, run_cli: Cli, action: str) -> None:
    propose(run_cli, data, lamp)
    run_cli("proposals", action, "1", "--data", data)
    code, out, _ = run_cli("proposals", "show", "1", "--data", data)
    assert code == 0
    assert ("-A brass lamp." in out) is (action == "accept")
    assert ("no longer kept" in out) is (action == "reject")


def test_accept_says_which_version_is_live(data: Path, lamp: Path, run_cli: Cli) -> None:
    propose(run_cli, data, lamp)
    code, out, _ = run_cli("proposals", "accept", "1", "--data", data, "--json", "--note", "yes")
    told = json.loads(out)
    assert (code, told["state"], told["note"]) == (0, "accepted", "yes")
    assert told["source_version_id"].endswith("@2")
    assert json.loads(run_cli("query", "zinc", "--data", data, "--json")[1])["results"]


def test_a_proposal_that_does_not_fit_any_more_is_shown_as_such_and_refused(
    data: Path, lamp: Path, run_cli: Cli
) -> None:
    propose(run_cli, data, lamp)
    lamp.write_text("An iron lamp.\n")
    run_cli("import", "--data", data, lamp)
    run_cli("proposals", "accept", "1", "--data", data)
    assert "does not fit" in run_cli("proposals", "list", "--data", data)[1]
    code, out, err = run_cli("proposals", "accept", "2", "--data", data)
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert "reject it" in err


@pytest.mark.parametrize("action", ["show", "accept", "reject"])
@pytest.mark.parametrize(("number", "code"), [("7", 1), ("x", 2)], ids=["unknown", "no number"])
def test_a_proposal_that_is_not_there_is_one_line(
    data: Path, run_cli: Cli, action: str, number: str, code: int
) -> None:
    found, out, err = run_cli("proposals", action, number, "--data", data)
    assert (found, out) == (code, "")
    assert "Traceback" not in err


def test_a_decision_twice_is_one_line_with_the_first(data: Path, lamp: Path, run_cli: Cli) -> None:
    propose(run_cli, data, lamp)
    run_cli("proposals", "accept", "1", "--data", data)
    for action in ("accept", "reject"):
        code, out, err = run_cli("proposals", action, "1", "--data", data)
        assert (code, out, len(err.splitlines())) == (1, "", 1)
        assert "was accepted on" in err
