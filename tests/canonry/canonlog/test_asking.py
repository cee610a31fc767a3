"""Lore beside a running game: the log stands around the question, and holds over the canon that it has overtaken."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from canonry.canonlog.accepted import AcceptedState, accepted_state
from canonry.canonlog.asking import context_of, statements_of
from canonry.canonlog.save import read_save
from canonry.context import QueryContext
from canonry.layout import Layout
from tests.conftest import Workshop, built_once

WORLD = Path(__file__).parents[3] / "canonry" / "demo_world"
CLERKS = "Its clerks weigh coin until dusk, and the ledgers go back a century."
Run = Callable[..., tuple[int, str, str]]
STATE = AcceptedState(
    "the Cinder Steps", ("Pim Tallow",), ("The Ticket",), ("Find the man in grey",), ("the Cinder Steps", "Pim Tallow", "horn lantern"),
    ("the north gate is collapsed", "Is it over?"), ("Pim fell.",), (),
)  # fmt: skip


def test_the_log_stands_around_the_question() -> None:
    assert context_of(STATE, QueryContext()) == QueryContext(
        "Find the man in grey", "the Cinder Steps", ("Pim Tallow",), "The Ticket", "",
        ("the Cinder Steps", "Pim Tallow", "horn lantern"),
    )  # fmt: skip


def test_what_is_stated_of_a_question_goes_first() -> None:
    stated = QueryContext("a chase", "the roof", ("Mara", "Pim Tallow"), "escape", "noir", ("rain",))
    assert context_of(STATE, stated) == QueryContext(
        "a chase",
        "the roof",
        ("Mara", "Pim Tallow"),
        "escape",
        "noir",
        ("rain", "the Cinder Steps", "Pim Tallow", "horn lantern"),
    )


def test_each_statement_is_a_sentence() -> None:
    assert statements_of(STATE) == "the north gate is collapsed.\nIs it over?\nPim fell.\n"


@pytest.fixture
def save(run_cli: Run, tmp_path: Path) -> Path:
    """A game on the demo world in which the counting house has burned."""
    path, events = tmp_path / "game.json", tmp_path / "events.jsonl"
    made = run_cli(
        "canon",
        "new-game",
        "--content",
        WORLD,
        "--origin",
        "unredeemed",
        "--name",
        "Aldric",
        "--class",
        "sellsword",
        "--seed",
        7,
        "--out",
        path,
    )
    assert made[0] == 0, made
    said = {
        "turn": 1,
        "type": "say",
        "by": "npc:mother_keddle",
        "text": "Look! [FACT: The counting house is destroyed.]",
    }
    events.write_text(json.dumps(said) + "\n")
    assert run_cli("canon", "apply", path, events)[0] == 0
    return path


@built_once
def at(workshop: Workshop) -> Layout:
    at = workshop.create()
    front = "---\nclass: canon\nscope: initial\n---\n"
    workshop.bring(
        at,
        workshop.write(
            "house.md",
            f"{front}# House\n\nThe counting house is intact. {CLERKS}\n",
        ),
        workshop.write("ticket.md", f"{front}# Ticket\n\nThe player does not know their own name.\n"),
    )
    return at


def test_a_fact_of_the_game_holds_over_initial_canon_and_the_pack_says_which(
    run_cli: Run, at: Layout, save: Path
) -> None:
    pack = json.loads(run_cli("--data", at.root, "pack", "the counting house", "--save", save, "--json")[1])
    assert [(one["statement"], one["state"], one["holds"]) for one in pack["disagreements"]] == [
        ("The counting house is intact.", "The counting house is destroyed.", "state")
    ]
    (item,) = pack["items"]
    assert item["chunk_id"] == pack["disagreements"][0]["chunk_id"]
    assert pack["settings"]["context"]["location"] == accepted_state(read_save(save)).location


def test_what_the_log_says_is_not_said_again(run_cli: Run, at: Layout, save: Path) -> None:
    pack = json.loads(run_cli("--data", at.root, "pack", "player name ticket", "--save", save, "--json")[1])
    assert [(left["title"], left["reason"]) for left in pack["omitted"]] == [("ticket", "is in the current state")]


def test_what_an_npc_knows_is_state_for_it_alone(run_cli: Run, workshop: Workshop, at: Layout, save: Path) -> None:
    knowledge = next(npc.knowledge[0] for npc_id, npc in read_save(save).world.npcs.items() if npc_id == "perrin_dray")
    workshop.bring(at, workshop.write("buttons.md", f"# Buttons\n\n{knowledge.capitalize()}.\n"))
    told = {
        role: json.loads(run_cli("--data", at.root, "pack", knowledge, "--save", save, "--role", role, "--json")[1])
        for role in ("player", "npc:perrin_dray", "npc:mother_keddle")
    }
    held = {role: any(item["title"] == "buttons" for item in pack["items"]) for role, pack in told.items()}
    assert held == {"player": True, "npc:perrin_dray": False, "npc:mother_keddle": True}


def test_a_save_that_is_none_is_one_clear_line(run_cli: Run, at: Layout, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    for name in ("bad.json", "nowhere.json"):
        code, out, err = run_cli("--data", at.root, "pack", "house", "--save", tmp_path / name)
        assert code in (1, 2)
        assert out == ""
        assert name in err.splitlines()[0]
