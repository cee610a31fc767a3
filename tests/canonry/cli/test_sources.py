from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Once

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def data(tmp_path: Path, run_cli: Cli, once: Once) -> Path:
    """A campaign of two sources, one with Windows line ends and a mark."""

    def build(folder: Path) -> None:
        data, lore = folder / "data", folder / "lore"
        lore.mkdir()
        (lore / "lamp.md").write_bytes("\ufeff# Lamp {spoiler=1}\r\n\r\nA brass lamp — 5 €.\r\n".encode())
        (lore / "gate.txt").write_text("A zinc gate.\n")
        run_cli("campaign", "create", "vell", "--data", data, "--set", "embedder=none")
        assert run_cli("import", "--data", data, lore)[0] == 0

    once(build)
    return tmp_path / "data"


def as_json(run_cli: Cli, data: Path, *arguments: str) -> object:
    code, out, err = run_cli("source", *arguments, "--data", data, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_list_shows_every_source(data: Path, run_cli: Cli) -> None:
    told = as_json(run_cli, data, "list")
    assert isinstance(told, list)
    assert [(source["original_filename"], source["chunks"], source["enabled"]) for source in told] == [
        ("gate.txt", 1, True),
        ("lamp.md", 1, True),
    ]
    code, out, _ = run_cli("source", "list", "--data", data)
    assert code == 0
    assert "gate" in out


def test_list_of_an_empty_campaign_names_the_next_step(tmp_path: Path, run_cli: Cli) -> None:
    run_cli("campaign", "create", "vell", "--data", tmp_path)
    code, out, _ = run_cli("source", "list", "--data", tmp_path)
    assert code == 0
    assert "canonry import -c vell" in out
    assert json.loads(run_cli("source", "list", "--data", tmp_path, "--json")[1]) == []


def test_show_tells_everything_and_where_the_source_stands(data: Path, run_cli: Cli) -> None:
    told = as_json(run_cli, data, "show", "lamp.md")
    assert isinstance(told, dict)
    assert (told["class"], told["chunks"], told["encoding"], told["mime_type"]) == (
        "reference",
        1,
        "utf-8",
        "text/markdown",
    )
    assert list(told["lifecycle"]) == ["imported", "validated", "classified", "chunked", "indexed", "available"]
    code, out, _ = run_cli("source", "show", "lamp.md", "--data", data)
    assert code == 0
    assert "available" in out


def test_text_is_the_text_as_it_was_imported(data: Path, run_cli: Cli) -> None:
    told = as_json(run_cli, data, "text", "lamp.md")
    assert isinstance(told, dict)
    assert told["text"] == "# Lamp {spoiler=1}\r\n\r\nA brass lamp — 5 €.\r\n"
    assert run_cli("source", "text", "gate.txt", "--data", data) == (0, "A zinc gate.\n", "")


def test_chunks_are_slices_with_their_marks(data: Path, run_cli: Cli) -> None:
    (chunk,) = as_json(run_cli, data, "chunks", "lamp.md")  # type: ignore[misc]
    assert chunk["text"].strip() == "A brass lamp — 5 €."
    assert (chunk["heading_path"], chunk["spoiler_level"], chunk["start_line"]) == (["Lamp"], 1, 3)
    code, out, _ = run_cli("source", "chunks", "lamp.md", "--data", data)
    assert code == 0
    assert "spoiler level 1" in out


def test_history_lists_the_versions(data: Path, run_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "lore" / "gate.txt").write_text("An iron gate.\n")
    run_cli("import", "--data", data, tmp_path / "lore" / "gate.txt")
    told = as_json(run_cli, data, "history", "gate.txt")
    assert isinstance(told, list)
    assert [version["valid_to"] is None for version in told] == [False, True]
    assert told[0]["valid_to"] == told[1]["valid_from"]
    assert "live" in run_cli("source", "history", "gate.txt", "--data", data)[1]


def test_disable_and_enable_are_in_force_at_the_next_question(data: Path, run_cli: Cli) -> None:
    for action, enabled in (("disable", False), ("disable", False), ("enable", True)):
        told = as_json(run_cli, data, action, "gate.txt")
        assert isinstance(told, dict)
        assert told["enabled"] is enabled
        assert bool(json.loads(run_cli("query", "--data", data, "--json", "gate")[1])["results"]) is enabled
    code, out, err = run_cli("source", "disable", "gate.txt", "--data", data)
    assert (code, err) == (0, "")
    assert "disabled" in out


def test_edit_changes_what_is_named_and_nothing_else(data: Path, run_cli: Cli) -> None:
    before = as_json(run_cli, data, "show", "gate.txt")
    after = as_json(
        run_cli,
        data,
        "edit",
        "gate.txt",
        "--class",
        "canon",
        "--title",
        "The gate",
        "--tags",
        "a,b",
        "--spoiler-level",
        "2",
        "--visibility",
        "hidden",
    )
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    changed = {key for key in before if key in after and before[key] != after[key]}
    assert changed - {"chunks"} == {"class", "title", "tags", "spoiler_level", "visibility", "updated_at"}
    assert (
        json.loads(run_cli("query", "--data", data, "--json", "gate", "--spoiler-level", "2", "--role", "narrator")[1])[
            "results"
        ][0]["class"]
        == "canon"
    )


def test_edit_may_open_a_secret_again(data: Path, run_cli: Cli) -> None:
    """On a terminal the user has the last word: only statements of files and imports are combined by strictness."""
    as_json(run_cli, data, "edit", "gate.txt", "--visibility", "hidden", "--spoiler-level", "3", "--spoiler-tags", "x")
    as_json(run_cli, data, "edit", "gate.txt", "--visibility", "normal", "--spoiler-level", "0", "--spoiler-tags", "")
    assert json.loads(run_cli("query", "--data", data, "--json", "gate", "--forbid-tags", "x")[1])["results"]


@pytest.mark.parametrize(
    "options",
    [(), ("--spoiler-level", "-1"), ("--title", ""), ("--title", " \t\u200b")],
    ids=["nothing", "impossible", "no title", "a blank title"],
)
def test_an_edit_of_nothing_or_of_the_impossible_is_wrong_usage(
    data: Path, run_cli: Cli, options: tuple[str, ...]
) -> None:
    code, out, err = run_cli("source", "edit", "gate.txt", "--data", data, *options)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert {source["title"] for source in as_json(run_cli, data, "list")} == {"gate", "lamp"}  # type: ignore[attr-defined]


def test_delete_wants_yes_and_leaves_the_others(data: Path, run_cli: Cli) -> None:
    assert run_cli("source", "delete", "gate.txt", "--data", data)[0] == 2
    assert as_json(run_cli, data, "delete", "gate.txt", "--yes")
    assert [source["original_filename"] for source in as_json(run_cli, data, "list")] == ["lamp.md"]  # type: ignore[attr-defined]
    code, _, err = run_cli("source", "show", "gate.txt", "--data", data)
    assert (code, len(err.splitlines())) == (1, 1)


def test_an_edit_says_what_was_before_so_that_it_can_be_undone(data: Path, run_cli: Cli) -> None:
    code, out, err = run_cli("source", "edit", "gate.txt", "--data", data, "--class", "canon", "--tags", "a,b")
    assert (code, err) == (0, "")
    assert "class: reference → canon" in out
    assert "tags: none → a, b" in out
    assert "so already" in run_cli("source", "edit", "gate.txt", "--data", data, "--class", "canon")[1]
    told = as_json(run_cli, data, "edit", "gate.txt", "--class", "reference")
    assert isinstance(told, dict)
    assert (told["changed"], told["proposal"]) == ({"class": {"from": "canon", "to": "reference"}}, None)


def test_lock_and_unlock_are_shown_and_say_what_waits(data: Path, run_cli: Cli) -> None:
    assert as_json(run_cli, data, "lock", "gate.txt") == {
        "source_id": as_json(run_cli, data, "show", "gate.txt")["source_id"],  # type: ignore[index]
        "locked": True,
        "waiting": [],
    }
    assert "locked" in run_cli("source", "list", "--data", data)[1]
    as_json(run_cli, data, "edit", "gate.txt", "--class", "canon")
    assert as_json(run_cli, data, "show", "gate.txt")["locked"] is True  # type: ignore[index]
    code, out, err = run_cli("source", "unlock", "gate.txt", "--data", data)
    assert code == 0
    assert "unlocked" in out
    assert "proposal 1 is waiting" in err


def test_a_locked_source_can_be_disabled_and_is_not_deleted(data: Path, run_cli: Cli) -> None:
    run_cli("source", "lock", "gate.txt", "--data", data)
    assert run_cli("source", "disable", "gate.txt", "--data", data)[0] == 0
    code, out, err = run_cli("source", "delete", "gate.txt", "--yes", "--data", data)
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert "source unlock" in err
    assert len(as_json(run_cli, data, "list")) == 2  # type: ignore[arg-type]


def test_what_supersedes_a_locked_source_is_not_changed(data: Path, run_cli: Cli) -> None:
    run_cli("source", "lock", "gate.txt", "--data", data)
    code, out, err = run_cli(
        "source", "edit", "gate.txt", "--superseded-by", "lamp.md", "--class", "canon", "--data", data
    )
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert "source unlock" in err
    told = as_json(run_cli, data, "show", "gate.txt")
    assert (told["superseded_by"], told["class"]) == (None, "reference")  # type: ignore[index]
    assert json.loads(run_cli("proposals", "list", "--data", data, "--json")[1]) == []


def test_an_earlier_text_can_be_read(data: Path, run_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "lore" / "gate.txt").write_text("An iron gate.\n")
    run_cli("import", "--data", data, tmp_path / "lore" / "gate.txt")
    assert run_cli("source", "text", "gate.txt", "--data", data)[1] == "An iron gate.\n"
    assert run_cli("source", "text", "gate.txt", "--version", "1", "--data", data)[1] == "A zinc gate.\n"
    told = as_json(run_cli, data, "text", "gate.txt", "--version", "1")
    first = as_json(run_cli, data, "history", "gate.txt")[0]  # type: ignore[index]
    assert isinstance(told, dict)
    assert (told["source_version_id"], told["content_hash"]) == (first["source_version_id"], first["content_hash"])
    code, out, err = run_cli("source", "text", "gate.txt", "--version", "3", "--data", data)
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert "source history" in err


@pytest.mark.parametrize(
    "action", ["show", "text", "chunks", "history", "enable", "disable", "lock", "unlock", "delete", "edit"]
)
def test_a_source_that_is_not_there_is_one_line(data: Path, run_cli: Cli, action: str) -> None:
    options = {"delete": ("--yes",), "edit": ("--title", "T")}.get(action, ())
    code, out, err = run_cli("source", action, "nothing", "--data", data, *options)
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert "source list" in err


@pytest.mark.parametrize("action", ["show", "list", "chunks"])
def test_a_damaged_index_is_one_line(data: Path, run_cli: Cli, action: str) -> None:
    for path in (data / "index/vell").glob("lexical.sqlite*"):
        path.unlink()
    (data / "index/vell/lexical.sqlite").write_bytes(b"no database" * 500)
    code, _, err = run_cli("source", action, *(["lamp.md"] if action != "list" else []), "--data", data)
    assert code == 1
    assert len(err.splitlines()) == 1
    assert "canonry reindex" in err
