from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Once

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def data(tmp_path: Path, run_cli: Cli, once: Once) -> Path:
    """A campaign with four approved entries, one of them hidden and one at level 2, and a chapter."""

    def build(folder: Path) -> None:
        data, lines = folder / "data", folder / "list.jsonl"
        entries = (
            {"title": "林晚", "type": "character", "content": "灯塔看守人。", "importance": 5, "sourceChapterId": 3},
            {"title": "旧灯", "type": "foreshadow", "content": "从不熄灭。" * 200, "lastMentionChapterId": 8},
            {"title": "密室", "type": "location", "content": "国王已死。", "visibility": "hidden"},
            {"title": "结局", "type": "fact", "content": "灯灭了。", "spoiler_level": 2},
        )
        lines.write_text("\n".join(json.dumps({"status": "approved", **entry}) for entry in entries), encoding="utf-8")
        (folder / "one.md").write_text("---\ntitle: Chapter One\norder: 1\n---\nIt rained.\n")
        run_cli("campaign", "create", "vell", "--data", data, "--set", "embedder=none")
        assert run_cli("entry", "add", lines, "--data", data)[0] == 0
        assert run_cli("import", folder / "one.md", "--data", data)[0] == 0

    once(build)
    return tmp_path / "data"


@pytest.fixture
def binding(data: Path, run_cli: Cli, tmp_path: Path) -> Path:
    path = tmp_path / "binding.json"
    assert run_cli("suggest", "--data", data, "--chapter", "9", "--binding", path, "-q")[0] == 0
    return path


def test_suggestions_for_a_person(data: Path, run_cli: Cli) -> None:
    code, out, _ = run_cli("suggest", "--data", data, "--chapter", "9", "--goal", "林晚的灯塔")
    first, why, second, also_why = out.splitlines()
    assert code == 0
    assert first.startswith(" 140  林晚 · 角色  source-")
    assert why == "      重要度 100 + 章节 10 + 目标 30: 高重要度, 与当前章相关, 匹配章节目标"
    assert second.startswith(" 105  旧灯 · 伏笔")
    assert also_why.endswith("重要度 60 + 章节 20 + 伏笔 25: 与当前章相关, 伏笔待回收")
    english = run_cli("suggest", "--data", data, "--chapter", "9", "--goal", "find 林晚", "--lang", "en")[1]
    assert (
        "importance 100 + chapter 10 + goal 15: of high importance, near the current chapter, matches the goal"
        in english
    )


def test_an_npc_is_asked_about_at_its_story_time(data: Path, run_cli: Cli, tmp_path: Path) -> None:
    duel = tmp_path / "duel.jsonl"
    duel.write_text(
        '{"title": "Duel", "type": "fact", "content": "It was fixed.", "status": "approved", "known_from": 4}'
    )
    assert run_cli("entry", "add", duel, "--data", data)[0] == 0
    path = tmp_path / "perrin.json"
    perrin = ("--data", data, "--role", "npc:perrin", "--story-time")
    assert "Duel" not in run_cli("suggest", *perrin, "3")[1]
    assert "Duel" in run_cli("suggest", *perrin, "4", "--binding", path)[1]
    assert run_cli("context", "build", "--binding", path, *perrin, "3")[0] == 1
    assert "It was fixed." in run_cli("context", "build", "--binding", path, *perrin, "4")[1]
    assert json.loads(run_cli("context", "list", *perrin, "3", "--json")[1]) == []
    assert json.loads(run_cli("context", "list", *perrin, "4", "--json")[1])[0]["story_time"] == 4


def test_suggestions_for_a_program(data: Path, run_cli: Cli) -> None:
    document = json.loads(run_cli("suggest", "--data", data, "--chapter", "9", "--json", "--lang", "en")[1])
    first = document["suggestions"][0]
    assert (document["role"], document["spoiler_level"], document["language"]) == ("player", 0, "en")
    assert (first["score"], first["components"]) == (
        110,
        {"importance": 100, "chapter": 10, "foreshadow": 0, "goal": 0},
    )
    assert first["reasons"] == ["knowledge.reason.highImportance", "knowledge.reason.chapterRelevant"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ["旧灯", "林晚"]),
        (("--spoiler-level", "2"), ["旧灯", "林晚", "结局"]),
        (("--role", "narrator"), ["密室", "旧灯", "林晚"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_who_asks_decides_what_is_suggested(
    data: Path, run_cli: Cli, options: tuple[str, ...], expected: list[str]
) -> None:
    out = run_cli("suggest", "--data", data, "--json", *options)[1]
    assert sorted(one["title"] for one in json.loads(out)["suggestions"]) == expected


def test_suggestions_are_joined_to_a_binding(data: Path, run_cli: Cli, binding: Path) -> None:
    first = json.loads(binding.read_text(encoding="utf-8"))
    assert len(first["knowledgeIds"]) == 2
    binding.write_text(json.dumps({"knowledgeIds": first["knowledgeIds"][1:], "settingIds": ["mine"]}))
    _, _, err = run_cli("suggest", "--data", data, "--binding", binding)
    joined = json.loads(binding.read_text(encoding="utf-8"))
    assert joined["knowledgeIds"] == first["knowledgeIds"][::-1]
    assert joined["settingIds"] == ["mine"]
    assert "next: canonry context build --binding" in err
    binding.write_text("[]")
    assert run_cli("suggest", "--data", data, "--binding", binding)[0] == 1
    assert binding.read_text() == "[]"


def test_the_next_command_is_for_the_same_chapter_goal_and_reader(data: Path, run_cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "the binding.json"
    stated = ("--chapter", "9", "--goal", "旧灯; it's $HOME\nat dusk", "--role", "narrator", "--spoiler-level", "2")
    stated += ("--story-time", "4", "--forbid-tags", "a,b", "--lang", "en")
    err = run_cli("suggest", "--data", data, "--binding", path, *stated)[2]
    program, *arguments = shlex.split(err.partition("next: ")[2])
    assert program == "canonry"
    assert arguments[:4] == ["context", "build", "--binding", str(path)]
    code, out, _ = run_cli(*arguments, "--data", data, "--json")
    made = json.loads(out)
    assert (code, made["chapter"], made["goal"]) == (0, "9", "旧灯; it's $HOME at dusk")
    assert (made["role"], made["spoiler_level"], made["story_time"], made["language"]) == ("narrator", 2, 4, "en")
    assert {"--forbid-tags", "a,b"} < {*arguments}
    scores = {
        one["entry_id"]: one["score"]
        for one in json.loads(run_cli("suggest", "--data", data, "--json", *stated)[1])["suggestions"]
    }
    assert {item["id"]: item["score"] for item in made["preview"]} == scores
    plain = run_cli("suggest", "--data", data, "--binding", tmp_path / "b.json", "--goal=-5 x")[2]
    assert plain.endswith(f"next: canonry context build --binding {tmp_path / 'b.json'} --goal='-5 x'\n")


def test_a_campaign_without_approved_entries_says_so(run_cli: Cli, tmp_path: Path) -> None:
    run_cli("campaign", "create", "vell", "--data", tmp_path, "--set", "embedder=none")
    code, out, _ = run_cli("suggest", "--data", tmp_path, "--goal", "x", "--chapter", "1")
    assert (code, out) == (0, "No approved entry that player sees at spoiler level 0.\n")
    assert json.loads(run_cli("suggest", "--data", tmp_path, "--json")[1])["suggestions"] == []


def test_standard_output_is_the_prompt_which_is_kept(data: Path, run_cli: Cli, binding: Path) -> None:
    code, out, err = run_cli(
        "context", "build", "--data", data, "--binding", binding, "--chapter", "9", "--goal", "灯塔"
    )
    assert code == 0
    assert "\n【知识·角色】林晚\n> 灯塔看守人。\n" in out
    assert "cut: 旧灯" in err
    assert "context 1: 2知识, " in err
    assert run_cli("context", "show", "1", "--data", data)[1] == out
    document = json.loads(run_cli("context", "show", "1", "--data", data, "--json")[1])
    assert document["systemPrompt"] + "\n" == out
    assert document["binding"] == json.loads(binding.read_text(encoding="utf-8"))
    assert [item["kind"] for item in document["preview"]] == ["knowledge", "knowledge"]
    assert "2知识" in run_cli("context", "list", "--data", data)[1]
    assert json.loads(run_cli("context", "list", "--data", data, "--json")[1]) == [document]
    assert run_cli("context", "build", "--data", data, "--binding", binding, "-q")[2] == ""


def test_a_preview_keeps_nothing(data: Path, run_cli: Cli, binding: Path) -> None:
    code, out, err = run_cli("context", "build", "--data", data, "--binding", binding, "--preview")
    assert code == 0
    assert "灯塔看守人。" in out
    assert "【" not in out
    assert "preview, not kept" in err
    document = json.loads(run_cli("context", "build", "--data", data, "--binding", binding, "--preview", "--json")[1])
    assert (document["context_id"], len(document["preview"])) == (None, 2)
    assert json.loads(run_cli("context", "list", "--data", data, "--json")[1]) == []


def test_what_finds_no_room_is_named(data: Path, run_cli: Cli, binding: Path) -> None:
    code, out, err = run_cli(
        "context", "build", "--data", data, "--binding", binding, "--budget-knowledge", "100", "--lang", "en"
    )
    assert (code, out.count("【Knowledge")) == (0, 1)
    assert "left out: 旧灯" in err
    assert "above its 100; it has the lowest score" in err


@pytest.mark.parametrize(
    ("text", "options", "code", "said"),
    [
        ('{"knowledgeIds": ["none-1", "none-2"]}', (), 1, "2 ids of the binding cannot be used:"),
        ('{"settingIds": [1], "mood": []}', (), 1, "2 problems:"),
        ("{}", (), 2, "names no source"),
        (None, (), 2, "no such file"),
        ("", ("--budget", "0"), 2, "budget whole 0 leaves no room"),
        ("", ("--budget-knowledge", "-5"), 2, "budget knowledge -5 leaves no room"),
        ("", ("--budget", "20"), 1, "nothing fits into these budgets"),
        ("", ("--chapter", "nowhere"), 2, "chapter 'nowhere' is neither"),
        ("", ("--role", "No One"), 2, "role 'No One' is not usable"),
    ],
)
def test_bad_input_is_refused_and_keeps_nothing(
    data: Path, run_cli: Cli, binding: Path, text: str | None, options: tuple[str, ...], code: int, said: str
) -> None:
    if text is None:
        binding.unlink()
    elif text:
        binding.write_text(text)
    found, out, err = run_cli("context", "build", "--data", data, "--binding", binding, *options)
    assert (found, out) == (code, "")
    assert said in err
    assert json.loads(run_cli("context", "list", "--data", data, "--json")[1]) == []


def test_a_narrators_binding_gives_a_player_nothing(data: Path, run_cli: Cli, binding: Path) -> None:
    run_cli("suggest", "--data", data, "--role", "narrator", "--binding", binding, "-q")
    code, out, err = run_cli("context", "build", "--data", data, "--binding", binding)
    assert (code, out) == (1, "")
    assert not any(secret in err for secret in ("密室", "国王", "hidden"))
    assert run_cli("context", "build", "--data", data, "--binding", binding, "--role", "narrator")[0] == 0
    assert run_cli("context", "show", "1", "--data", data)[0] == 1
    assert run_cli("context", "list", "--data", data, "--limit", "0")[0] == 2


def test_an_id_that_is_named_twice_is_taken_once(data: Path, run_cli: Cli, binding: Path) -> None:
    ids = json.loads(binding.read_text(encoding="utf-8"))["knowledgeIds"]
    binding.write_text(json.dumps({"knowledgeIds": ids * 2}))
    code, out, err = run_cli("context", "build", "--data", data, "--binding", binding)
    assert (code, out.count("【知识")) == (0, 2)
    assert err.count("named more than once, taken once") == 2
