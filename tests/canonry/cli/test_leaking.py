from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from canonry.embedders import register
from canonry.layout import Layout
from tests.conftest import Workshop
from tests.fakes import WordBag

Run = Callable[..., tuple[int, str, str]]
OPEN = "# Harbour\n\nThe lamp burns over the wall. Nobody here trusts the Brass Widow.\n"
SECRET = "---\ntitle: Brass Widow\nspoiler_level: 3\n---\n# Her house\n\nThe Brass Widow keeps the drowned bell under her bed.\n"


def build(workshop: Workshop) -> Layout:
    at = workshop.create(embedder="wordbag")
    workshop.bring(at, workshop.write("harbour.md", OPEN), workshop.write("widow.md", SECRET))
    return at


@pytest.fixture
def at(workshop: Workshop) -> Layout:
    register(WordBag())
    return workshop.once(build)


@pytest.fixture
def run(run_cli: Run, at: Layout) -> Run:
    return lambda *arguments: run_cli("--data", at.root, "eval", "leaks", "--in-process", *arguments)


def test_no_leak_is_said_with_what_was_tried(run: Run) -> None:
    code, out, err = run()
    assert (code, err) == (0, "")
    assert out.splitlines()[1].split() == ["player", "at", "level", "0", "1", "1", "1"]
    assert "questions by lexical, semantic, hybrid showed" in out
    assert "No leak." in out


def test_a_secret_name_in_sight_is_told_and_is_no_failure(run: Run) -> None:
    code, out, _ = run("--modes", "lexical")
    assert code == 0
    (line,) = [line for line in out.splitlines() if line.startswith("Brass Widow")]
    assert "title of" in line
    assert "player at level 0" in line


def test_json_has_everything_and_is_the_same_again(run: Run, tmp_path: Path) -> None:
    first, again = (json.loads(run("--json", "--seed", "4", "--report", tmp_path / name)[1]) for name in ("a", "b"))
    assert first | {"created_at": ""} == again | {"created_at": ""}
    assert (first["contract"], first["leaks"], first["counts"]["secret passages"]) == ("canonry/leaks/1", [], 1)
    assert json.loads((tmp_path / "a" / "report.json").read_text(encoding="utf-8")) == first


def test_a_leak_is_a_failure_and_shown_without_control_characters(run: Run, at: Layout, workshop: Workshop) -> None:
    """A label of a role that was damaged in the catalog lets a player see what is for writers."""
    text = "---\nallowed_roles: [writer]\n---\n# Plan\n\nThe author means to burn the harbour\x1b[31m before the feast of lamps.\n"
    workshop.bring(at, workshop.write("plan.md", text))
    catalog = sqlite3.connect(at.catalog)
    with catalog:
        catalog.execute("UPDATE source_label SET folded = 'player' WHERE kind = 'allowed_role'")
    catalog.close()
    code, out, _ = run("--modes", "lexical", "--roles", "player")
    assert code == 1
    assert "No leak." not in out
    assert re.search(r"player at level 0, lexical, results: passage of plan-\w+ line \d+, asked ", out)
    found = json.loads(run("--modes", "lexical", "--roles", "player", "--json")[1])
    assert {leak["where"] for leak in found["leaks"]} == {"results", "pack", "why", "pin"}
    assert "\x1b" not in out


def test_levels_roles_modes_and_samples_can_be_chosen(run: Run) -> None:
    found = json.loads(
        run("--levels", "2,1", "--roles", "writer", "--modes", "hybrid", "--max-chunks", "all", "--json")[1]
    )
    assert list(found["askers"]) == ["writer at level 1", "writer at level 2"]
    assert (found["wanted"]["modes"], found["wanted"]["max_chunks"]) == (["hybrid"], None)


def test_nothing_secret_is_nothing_to_try(run: Run) -> None:
    code, out, _ = run("--levels", "3")
    assert code == 0
    assert out.startswith("Nothing is kept from these askers.")


def test_a_sample_says_that_it_is_one(run: Run, at: Layout, workshop: Workshop) -> None:
    workshop.bring(at, workshop.write("bell.md", "---\nspoiler_level: 3\n---\n# Bell\n\nThe bell tolls in the deep.\n"))
    code, _, err = run("--max-chunks", "1", "--modes", "lexical")
    assert code == 0
    assert "1 of 2 secret passages were tried (seed 1); --max-chunks all" in err


def test_a_campaign_without_a_model_is_asked_by_words(run_cli: Run, workshop: Workshop) -> None:
    at = workshop.create("plain")
    workshop.bring(at, workshop.write("widow.md", SECRET))
    leaks = ("--data", at.root, "-c", "plain", "eval", "leaks", "--in-process")
    code, out, _ = run_cli(*leaks)
    assert (code, "questions by lexical showed" in out) == (0, True)
    code, _, err = run_cli(*leaks, "--modes", "semantic")
    assert (code, "less was searched than was asked for" in err) == (3, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--modes", "telepathy"], "mode 'telepathy' is unknown"),
        (["--roles", "GOD"], "role 'GOD' is not usable"),
        (["--levels", "-1"], "spoiler level -1 must lie between"),
        (["--levels", "one"], "neither a list of levels such as 0,2 nor all"),
        (["--max-chunks", "0"], "neither a number from 1 upwards nor all"),
        (["--roles", ","], "nobody to ask as"),
    ],
)
def test_what_cannot_be_tried_is_one_clear_line(run: Run, arguments: list[str], message: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err
