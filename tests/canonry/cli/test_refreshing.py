from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from canonry.embedders import register
from tests.fakes import WordBag

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def lore(tmp_path: Path) -> Path:
    """A folder of three notes."""
    folder = tmp_path / "lore"
    folder.mkdir()
    for name in ("lamp", "gate", "well"):
        (folder / f"{name}.md").write_text(f"A brass {name}.\n")
    return folder


@pytest.fixture
def data(tmp_path: Path, lore: Path, run_cli: Cli) -> Path:
    """A campaign of them, of which one changed since, one went and one is no text any more."""
    data = tmp_path / "data"
    run_cli("campaign", "create", "vell", "--data", data, "--set", "embedder=none")
    assert run_cli("import", "--data", data, lore)[0] == 0
    (lore / "lamp.md").write_text("A zinc lamp.\n")
    (lore / "gate.md").unlink()
    (lore / "well.md").write_bytes(b"\xff\xfe\xfd")
    return data


@pytest.mark.parametrize("dry", [True, False], ids=["dry run", "in earnest"])
def test_refresh_tells_what_became_of_every_original(data: Path, run_cli: Cli, dry: bool) -> None:
    code, out, _ = run_cli("refresh", "--data", data, "--json", *(["--dry-run"] if dry else []))
    told = json.loads(out)
    assert code == 1
    assert {what: count for what, count in told["counts"].items() if count} == {
        "updated": 1,
        "missing": 1,
        "refused": 1,
    }
    assert [(file["file"], file["outcome"]) for file in told["files"]] == [("lamp.md", "updated")]
    assert [entry["file"] for entry in told["missing"]] == ["gate.md"]
    assert [entry["file"] for entry in told["refused"]] == ["well.md"]
    assert (told["dry_run"], told["index"] is None) == (dry, dry)
    assert bool(json.loads(run_cli("query", "zinc", "--data", data, "--json")[1])["results"]) is not dry


def test_a_person_reads_the_same(data: Path, run_cli: Cli) -> None:
    code, out, err = run_cli("refresh", "--data", data)
    assert code == 1
    assert "Read 3 originals: 1 updated, 1 missing, 1 refused." in out
    assert "updated: lamp.md" in out
    assert "missing: gate.md" in out
    assert "the source stays" in out
    assert "well.md: is not" in err
    assert "Nothing was changed" in run_cli("refresh", "--dry-run", "--data", data)[1]


def test_an_original_that_is_gone_fails_only_where_it_was_asked_for(data: Path, lore: Path, run_cli: Cli) -> None:
    (lore / "well.md").write_text("A brass well.\n")
    assert run_cli("refresh", "--data", data)[0] == 0
    assert run_cli("refresh", "--data", data, "gate.md")[0] == 1
    assert len(json.loads(run_cli("source", "list", "--data", data, "--json")[1])) == 3


def test_a_locked_source_is_asked_about(data: Path, run_cli: Cli) -> None:
    run_cli("source", "lock", "lamp.md", "--data", data)
    assert (
        json.loads(run_cli("refresh", "--data", data, "--json", "--dry-run", "lamp.md")[1])["counts"]["proposed"] == 1
    )
    code, out, err = run_cli("refresh", "--data", data, "lamp.md")
    assert code == 0
    assert "proposed: lamp.md" in out
    assert "canonry proposals accept 1" in err


def test_an_unknown_source_is_one_line_and_nothing_is_read(data: Path, run_cli: Cli) -> None:
    code, out, err = run_cli("refresh", "--data", data, "lamp.md", "nothing")
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    assert not json.loads(run_cli("query", "zinc", "--data", data, "--json")[1])["results"]


def test_a_campaign_without_sources_has_nothing_to_read(tmp_path: Path, run_cli: Cli) -> None:
    run_cli("campaign", "create", "vell", "--data", tmp_path, "--set", "embedder=none")
    code, out, err = run_cli("refresh", "--data", tmp_path)
    assert (code, err) == (0, "")
    assert "nothing to read" in out


def test_quiet_prints_failures_alone(data: Path, run_cli: Cli) -> None:
    code, out, err = run_cli("refresh", "--data", data, "-q")
    assert (code, out) == (1, "")
    assert "well.md" in err


def test_an_embedder_that_is_away_is_exit_code_3_and_no_embed_does_without(
    tmp_path: Path, lore: Path, run_cli: Cli
) -> None:
    register(WordBag("away-at-refresh", failures=99))
    data = tmp_path / "other"
    run_cli("campaign", "create", "vell", "--data", data, "--set", "embedder=away-at-refresh")
    run_cli("import", "--data", data, "--no-embed", lore)
    (lore / "lamp.md").write_text("A zinc lamp.\n")
    assert run_cli("refresh", "--data", data, "--no-embed")[0] == 0
    (lore / "lamp.md").write_text("An iron lamp.\n")
    assert run_cli("refresh", "--data", data)[0] == 3
    assert json.loads(run_cli("query", "iron", "--data", data, "--json", "--mode", "lexical")[1])["results"]
