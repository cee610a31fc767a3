from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from canonry.layout import Layout

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def vell(data: Path, run_cli: Cli) -> Path:
    """A data directory with the campaign `vell`."""
    assert run_cli("campaign", "create", "vell", "--data", data, "--set", "embedder=none")[0] == 0
    return data


def test_create_makes_a_campaign_and_names_the_next_step(data: Path, run_cli: Cli) -> None:
    code, out, err = run_cli("campaign", "create", "vell", "--data", data)
    assert (code, err) == (0, "")
    assert "canonry import -c vell" in out


def test_create_in_json_is_one_document(data: Path, run_cli: Cli) -> None:
    code, out, err = run_cli("campaign", "create", "vell", "--data", data, "--json")
    assert (code, err, json.loads(out)) == (0, "", {"campaign_id": "vell", "data": str(data)})


def test_quiet_says_nothing_of_success(data: Path, run_cli: Cli) -> None:
    assert run_cli("campaign", "create", "vell", "--data", data, "-q") == (0, "", "")


def test_a_campaign_is_not_made_twice(vell: Path, run_cli: Cli) -> None:
    code, out, err = run_cli("campaign", "create", "vell", "--data", vell)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "exists already" in err


@pytest.mark.parametrize("setting", ["chunk.target=0", "embedder=gpt", "colour=blue", "nonsense"])
def test_an_impossible_setting_makes_no_campaign(data: Path, run_cli: Cli, setting: str) -> None:
    code, out, err = run_cli("campaign", "create", "vell", "--data", data, "--set", setting)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert json.loads(run_cli("campaign", "list", "--data", data, "--json")[1]) == []


def test_list_shows_every_campaign(vell: Path, run_cli: Cli) -> None:
    run_cli("campaign", "create", "abbey", "--data", vell)
    rows = json.loads(run_cli("campaign", "list", "--data", vell, "--json")[1])
    assert [(row["campaign_id"], row["sources"]) for row in rows] == [("abbey", 0), ("vell", 0)]
    assert all(row["bytes"] > 0 for row in rows)
    code, out, _ = run_cli("campaign", "list", "--data", vell)
    assert code == 0
    assert "abbey" in out
    assert "vell" in out


def test_list_without_a_campaign_names_the_command_that_makes_one(data: Path, run_cli: Cli) -> None:
    code, out, _ = run_cli("campaign", "list", "--data", data)
    assert code == 0
    assert "campaign create" in out
    assert not data.exists()


def test_list_goes_on_beside_a_folder_that_is_no_campaign(vell: Path, run_cli: Cli) -> None:
    (vell / "raw" / ".tmp-deleted-old").mkdir()
    (vell / "raw" / ".tmp-deleted-old" / "catalog.sqlite").write_bytes((vell / "raw/vell/catalog.sqlite").read_bytes())
    code, out, _ = run_cli("campaign", "list", "--data", vell, "--json")
    assert code == 0
    assert [row["campaign_id"] for row in json.loads(out)] == ["vell"]
    assert run_cli("status", "--data", vell)[0] == 0


def test_show_tells_the_settings_and_when_it_was_made(vell: Path, run_cli: Cli) -> None:
    told = json.loads(run_cli("campaign", "show", "vell", "--data", vell, "--json")[1])
    assert told["settings"]["embedder"] == "none"
    assert told["sources"] == 0
    assert told["created_at"].endswith("+00:00")
    code, out, err = run_cli("campaign", "show", "vell", "--data", vell)
    assert (code, err) == (0, "")
    assert "chunk.target" in out


def test_settings_are_shown_and_changed(vell: Path, run_cli: Cli) -> None:
    code, out, _ = run_cli(
        "campaign", "settings", "vell", "--data", vell, "--json", "--set", "chunk.target=300", "--set", "mode=hybrid"
    )
    assert code == 0
    assert (json.loads(out)["chunk.target"], json.loads(out)["mode"]) == ("300", "hybrid")
    assert json.loads(run_cli("campaign", "settings", "vell", "--data", vell, "--json")[1]) == json.loads(out)
    assert "canonry reindex" in run_cli("campaign", "settings", "vell", "--data", vell, "--set", "chunk.target=200")[1]


def test_settings_changed_quietly_print_nothing(vell: Path, run_cli: Cli) -> None:
    asked = ("campaign", "settings", "vell", "--data", vell, "--quiet")
    assert run_cli(*asked, "--set", "chunk.target=300") == (0, "", "")
    code, out, _ = run_cli(*asked)
    assert (code, "chunk.target" in out) == (0, True)


def test_delete_asks_on_a_terminal_and_without_one_wants_yes(vell: Path, run_cli: Cli) -> None:
    code, _, err = run_cli("campaign", "delete", "vell", "--data", vell)
    assert code == 2
    assert "--yes" in err
    assert json.loads(run_cli("campaign", "list", "--data", vell, "--json")[1])


def test_delete_removes_the_campaign_and_nothing_of_another(vell: Path, run_cli: Cli, tmp_path: Path) -> None:
    run_cli("campaign", "create", "abbey", "--data", vell, "--set", "embedder=none")
    (tmp_path / "lamp.md").write_text("A lamp.\n")
    for campaign in ("vell", "abbey"):
        run_cli("import", "--data", vell, "-c", campaign, tmp_path / "lamp.md")
    code, out, _ = run_cli("campaign", "delete", "vell", "--data", vell, "--yes", "--json")
    assert (code, json.loads(out)) == (0, {"deleted": "vell"})
    assert [path for path in vell.rglob("*") if "vell" in path.name and path.suffix != ".lock"] == []
    assert len(json.loads(run_cli("query", "--data", vell, "--json", "lamp")[1])["results"]) == 1
    assert run_cli("campaign", "create", "vell", "--data", vell, "--set", "embedder=none")[0] == 0


def test_the_only_campaign_need_not_be_named_and_one_of_several_must(vell: Path, run_cli: Cli) -> None:
    assert run_cli("status", "--data", vell)[0] == 0
    run_cli("campaign", "create", "abbey", "--data", vell)
    code, _, err = run_cli("status", "--data", vell)
    assert code == 2
    assert "abbey, vell" in err
    assert "-c ID" in err


def test_a_deletion_that_was_stopped_is_finished_by_the_next_delete_or_create(vell: Path, run_cli: Cli) -> None:
    """The campaign is gone from the first step on; what is left of it must not lie about, nor come back with its id."""
    at = Layout(vell, "vell")
    for again in ("delete", "create"):
        at.index.mkdir(parents=True, exist_ok=True)
        (at.index / "lexical.sqlite").write_bytes(b"the quokka did it")
        at.raw.rename(at.raw.with_name(".tmp-deleted-vell"))  # and here the power went
        assert run_cli("campaign", "show", "vell", "--data", vell)[0] == 1
        assert run_cli("campaign", again, "vell", "--data", vell, *(("--yes",) if again == "delete" else ()))[0] == 0
        assert not any(b"quokka" in path.read_bytes() for path in vell.rglob("*") if path.is_file())
        assert not list(vell.rglob(".tmp-*"))
        assert at.catalog.exists() == (again == "create")
        if again == "delete":
            assert run_cli("campaign", "delete", "vell", "--yes", "--data", vell)[0] == 1
            assert run_cli("campaign", "create", "vell", "--data", vell)[0] == 0


def test_a_prefix_keeps_the_blank_at_its_end(vell: Path, run_cli: Cli) -> None:
    set_ = ("--set", "embed.query_prefix=ask: ", "--set", "mode = hybrid ")
    out = run_cli("campaign", "settings", "vell", "--data", vell, "--json", *set_)[1]
    assert (json.loads(out)["embed.query_prefix"], json.loads(out)["mode"]) == ("ask: ", "hybrid")
