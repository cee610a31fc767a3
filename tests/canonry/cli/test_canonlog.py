"""`canonry canon`: what it prints, what it writes, its exit codes."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import canonry
from canonry.tokens import count_tokens

RunCli = Callable[..., tuple[int, str, str]]
WORLD = Path(canonry.__file__).parent / "demo_world"
ALDRIC = ("--content", WORLD, "--origin", "unredeemed", "--name", "Aldric", "--class", "sellsword", "--seed", "7")


@pytest.fixture
def game(tmp_path: Path, run_cli: RunCli) -> Path:
    path = tmp_path / "game.json"
    assert run_cli("canon", "new-game", *ALDRIC, "--out", path)[0] == 0
    return path


def lines(path: Path, *events: Any) -> Path:
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    return path


def test_content_in_order_is_counted(run_cli: RunCli) -> None:
    code, out, _ = run_cli("canon", "check", WORLD)
    assert (code, out) == (0, "Tolleth: 8 locations, 11 npcs, 6 quests, 22 items, 3 origins. All is in order.\n")


def test_demo_is_the_world_that_comes_along_unless_a_folder_has_that_name(
    tmp_path: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_cli("canon", "check", "demo") == run_cli("canon", "check", WORLD)
    assert run_cli("canon", "new-game", "--content", "demo", *ALDRIC[2:], "--out", "game.json")[0] == 0
    (tmp_path / "demo").mkdir()
    code, _, err = run_cli("canon", "check", "demo")
    assert (code, "demo: has no folder `world`" in err) == (1, True)


def test_content_with_problems_lists_them_all(tmp_path: Path, run_cli: RunCli) -> None:
    at = Path(shutil.copytree(WORLD, tmp_path / "content"))
    (at / "world/items/chalk.json").write_text('{"id": "chalk", "name": "chalk", "weight": 1}')
    (at / "origins/broken.json").write_text("{")
    code, out, err = run_cli("canon", "check", at)
    assert code == 1
    assert [line.split(":")[0] for line in out.splitlines()] == [
        "origins/broken.json",
        "world/items/chalk.json#/weight",
    ]
    assert "2 problems" in err
    code, out, _ = run_cli("canon", "check", at, "--json")
    assert (code, len(json.loads(out)["problems"])) == (1, 2)
    code, _, err = run_cli("canon", "new-game", "--content", at, *ALDRIC[2:], "--out", tmp_path / "game.json")
    assert code == 1
    assert "2 problems:" in err
    assert not (tmp_path / "game.json").exists()


def test_a_seed_gives_the_same_save_to_the_byte(game: Path, tmp_path: Path, run_cli: RunCli) -> None:
    code, out, _ = run_cli("canon", "new-game", *ALDRIC, "--out", tmp_path / "b.json", "--json")
    assert code == 0
    assert json.loads(out)["log"]["player"]["luck_descriptor"] == "Fortune looks the other way"
    assert (tmp_path / "b.json").read_bytes() == game.read_bytes()


def test_without_a_seed_the_save_says_which_it_was(tmp_path: Path, run_cli: RunCli) -> None:
    _, out, _ = run_cli("canon", "new-game", *ALDRIC[:-2], "--out", tmp_path / "a.json", "--json")
    run_cli("canon", "new-game", *ALDRIC[:-1], str(json.loads(out)["seed"]), "--out", tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_a_game_is_never_written_over_unasked(game: Path, run_cli: RunCli) -> None:
    before = game.read_bytes()
    code, _, err = run_cli("canon", "new-game", *ALDRIC[:-1], "8", "--out", game)
    assert (code, game.read_bytes()) == (2, before)
    assert "--force" in err
    assert run_cli("canon", "new-game", *ALDRIC[:-1], "8", "--out", game, "--force")[0] == 0
    assert game.read_bytes() != before
    assert run_cli("canon", "new-game", *ALDRIC, "--out", game.parent, "--force")[0] == 2


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"--class": "bard"}, 2, "build_constraints"),
        ({"--origin": "x"}, 1, "no origin 'x'"),
        ({"--name": " "}, 2, "blank"),
        ({"--seed": "-1"}, 2, "out of range"),
        ({"--content": "/nowhere"}, 1, "no folder `world`"),
    ],
)
def test_a_game_that_cannot_start_writes_nothing(
    tmp_path: Path, run_cli: RunCli, change: dict[str, str], code: int, message: str
) -> None:
    options = dict(zip(map(str, ALDRIC[::2]), ALDRIC[1::2], strict=True)) | change
    given = [part for option in options.items() for part in option]
    got, _, err = run_cli("canon", "new-game", *given, "--out", tmp_path / "game.json")
    assert got == code
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_applied_events_are_told_and_dropped_ones_with_their_reason(game: Path, run_cli: RunCli) -> None:
    events = lines(
        game.with_name("e.jsonl"),
        {"type": "say", "by": "narrator", "turn": 1, "text": "[FACT: the tide is out] [FACT: The tide is out.]"},
        {"type": "move", "location_id": "moon"},
    )
    code, out, err = run_cli("canon", "apply", game, events)
    assert (code, out) == (3, "1. fact: the tide is out\n")
    assert "1. refused: known already: The tide is out." in err
    assert f"dropped: {events}:2#/location_id: names location 'moon'" in err
    assert "1 of 2 events applied, 1 dropped." in err


def test_where_all_is_dropped_the_save_is_unchanged(game: Path, run_cli: RunCli) -> None:
    before = game.read_bytes()
    events = lines(game.with_name("e.jsonl"), {"type": "beat", "text": ""}, "beat")
    code, out, err = run_cli("canon", "apply", game, events)
    assert (code, out, game.read_bytes()) == (1, "", before)
    assert "The save is unchanged." in err
    code, out, _ = run_cli("canon", "apply", game, events, "--json")
    assert [one["file"] for one in json.loads(out)["dropped"]] == [f"{events}:1", f"{events}:2"]


def test_events_are_read_from_standard_input(game: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b'{"type": "beat", "text": "one"}'))
    monkeypatch.setattr("sys.stdin", stdin)
    code, out, _ = run_cli("canon", "apply", game, "-", "--json")
    assert (code, json.loads(out)["applied"][0]["changes"]) == (0, ["beat: one"])


def test_an_injection_is_the_same_bytes_and_says_what_it_costs(game: Path, run_cli: RunCli) -> None:
    code, text, err = run_cli("canon", "inject", game, "--role", "npc:ouseley")
    assert code == 0
    assert run_cli("canon", "inject", game, "--role", "npc:ouseley")[1] == text
    said = json.loads(run_cli("canon", "inject", game, "--role", "npc:ouseley", "--json")[1])
    assert (said["text"], said["tokens"], said["over_by"]) == (text, count_tokens(text), 0)
    assert f"{count_tokens(text)} tokens" in err


def test_over_the_budget_nothing_is_cut_and_what_to_summarise_is_said(game: Path, run_cli: RunCli) -> None:
    whole = run_cli("canon", "inject", game, "--role", "narrator")[1]
    code, text, err = run_cli("canon", "inject", game, "--role", "narrator", "--budget", "100")
    assert (code, text) == (3, whole)
    assert "summarise log.established_facts (5 entries" in err
    code, out, _ = run_cli("canon", "inject", game, "--role", "narrator", "--budget", "100", "--json")
    assert code == 3
    assert json.loads(out)["summarise"][0]["part"] == "log.established_facts"
    assert json.loads(out)["over_by"] == count_tokens(whole) - 100
    assert run_cli("canon", "inject", game, "--role", "narrator", "--budget", "0")[0] == 2


def test_the_log_says_who_changed_what_and_undo_takes_it_back(game: Path, run_cli: RunCli) -> None:
    events = lines(
        game.with_name("e.jsonl"),
        {"type": "say", "by": "npc:mother_keddle", "text": "[ADJUST_DISPOSITION: +5]", "turn": 4},
        {"type": "luck", "change": -4, "turn": 5},
    )
    before = run_cli("canon", "inject", game, "--role", "npc:mother_keddle")[1]
    run_cli("canon", "apply", game, events)
    rows = run_cli("canon", "log", game)[1].splitlines()
    assert rows[1].split()[:2] == ["1", "4"]
    assert "npc:mother_keddle" in rows[1]
    assert "disposition of Mother Keddle: 25 → 30" in rows[1]
    assert "luck: 8 → 4 (Fortune spits on you)" in rows[2]
    code, out, _ = run_cli("canon", "undo", game, "2", "--json")
    assert (code, json.loads(out)["undone"]) == (0, [2, 1])
    assert run_cli("canon", "inject", game, "--role", "npc:mother_keddle")[1] == before
    said = json.loads(run_cli("canon", "log", game, "--json")[1])
    assert [(one["number"], bool(one["undone_at"]), one["changes"]) for one in said] == [(1, True, []), (2, True, [])]
    code, _, err = run_cli("canon", "undo", game)
    assert code == 2
    assert "there are none" in err


@pytest.mark.parametrize("arguments", [("inject", "--role", "narrator"), ("log",), ("undo",), ("apply", "-")])
def test_a_save_that_is_not_there_leaves_nothing_behind(
    tmp_path: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    code, _, err = run_cli("canon", arguments[0], tmp_path / "saves" / "game.json", *arguments[1:])
    assert (code, list(tmp_path.iterdir())) == (1, [])
    assert "there is no such file" in err


@pytest.mark.parametrize(
    "arguments", [("inject", "--role", "narrator"), ("log",), ("undo",), ("apply", "e.jsonl")], ids=lambda a: a[0]
)
def test_a_save_that_was_given_a_number_of_luck_is_refused(
    game: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(game.parent)
    lines(Path("e.jsonl"), {"type": "beat", "text": "one"})
    said = json.loads(game.read_text(encoding="utf-8"))
    said["log"]["player"]["luck"] = 8
    game.write_text(json.dumps(said), encoding="utf-8")
    before = game.read_bytes()
    code, out, err = run_cli("canon", arguments[0], game, *arguments[1:])
    assert (code, out) == (1, "")
    assert f"{game}#/log/player/luck: has no place here" in err
    assert game.read_bytes() == before


def test_a_terminal_is_sent_no_control_characters(game: Path, run_cli: RunCli) -> None:
    events = lines(game.with_name("e.jsonl"), {"type": "\x1b[31m", "text": "a"}, {"type": "beat", "text": "a\u202eb"})
    _, out, err = run_cli("canon", "apply", game, events)
    assert "\x1b" not in err
    assert "\u202e" not in out


def test_the_example_of_the_readme_is_what_happens(
    tmp_path: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = WORLD.parent.parent
    section = (root / "README.md").read_text(encoding="utf-8").split("## Keep a running game consistent")[1]
    blocks = re.findall(r"```(console|jsonl)\n(.*?)```", section.split("\n## ")[0], re.DOTALL)
    monkeypatch.chdir(tmp_path)
    commands = 0
    for kind, block in blocks:
        if kind == "jsonl":
            Path("events.jsonl").write_text(block, encoding="utf-8")
            continue
        for command in block.split("$ canonry ")[1:]:
            line, _, shown = command.partition("\n")
            code, out, err = run_cli(*shlex.split(line))
            assert code == 0
            assert (out + err).endswith(shown.removeprefix("…\n"))
            commands += 1
    assert commands == 4
