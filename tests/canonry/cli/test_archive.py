from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.archives import append
from tests.conftest import Once

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def vell(tmp_path: Path, run_cli: Cli, once: Once) -> Path:
    """A data directory with the campaign `vell`, which has one source."""

    def build(folder: Path) -> None:
        (folder / "lamp.md").write_text("A lamp of brass.\n")
        run_cli("campaign", "create", "vell", "--data", folder / "data", "--set", "embedder=none")
        assert run_cli("import", "--data", folder / "data", folder / "lamp.md")[0] == 0

    once(build)
    return tmp_path / "data"


def test_export_names_what_it_wrote_and_how_to_bring_it_back(vell: Path, run_cli: Cli, tmp_path: Path) -> None:
    code, out, err = run_cli("export", "--data", vell, tmp_path / "vell.zip")
    assert code == 0
    assert "1 source, 1 version, 0 past packs" in out
    assert f"canonry restore {tmp_path / 'vell.zip'}" in out
    assert "not for players" in err


def test_sessions_and_notes_are_counted_where_there_are_any(vell: Path, run_cli: Cli, tmp_path: Path) -> None:
    found = json.loads(run_cli("query", "--data", vell, "--json", "lamp")[1])["results"][0]["chunk_id"]
    assert run_cli("memory", "add", "--data", vell, "The lamp is old.", "--of", found)[0] == 0
    assert "0 past packs, 1 note." in run_cli("export", "--data", vell, tmp_path / "vell.zip")[1]
    assert "0 past packs, 1 note." in run_cli("restore", "--data", tmp_path / "there", tmp_path / "vell.zip")[1]
    assert "The lamp is old." in run_cli("memory", "list", "--data", tmp_path / "there")[1]


def test_restore_makes_a_campaign_that_answers(vell: Path, run_cli: Cli, tmp_path: Path) -> None:
    run_cli("export", "--data", vell, tmp_path / "vell.zip")
    code, out, err = run_cli("restore", "--data", tmp_path / "there", tmp_path / "vell.zip")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("Restored campaign vell from")
    assert "1 chunk can be found by words" in out
    here, there = (run_cli("query", "--data", data, "--json", "lamp") for data in (vell, tmp_path / "there"))
    assert here == there
    assert len(json.loads(there[1])["results"]) == 1


def test_both_speak_json(vell: Path, run_cli: Cli, tmp_path: Path) -> None:
    code, out, _ = run_cli("export", "--data", vell, tmp_path / "vell.zip", "--json")
    exported = json.loads(out)
    assert (code, exported["campaign_id"], exported["rows"]["knowledge_source"]) == (0, "vell", 1)
    assert (exported["bytes"], exported["restore_needs"]) == ((tmp_path / "vell.zip").stat().st_size, [])
    code, out, err = run_cli("restore", "--data", vell, tmp_path / "vell.zip", "--as", "other", "--json")
    restored = json.loads(out)
    assert (code, err) == (0, "")
    assert (restored["campaign_id"], restored["exported_as"], restored["index"]["rows"]) == ("other", "vell", 1)
    assert restored["rows"] == exported["rows"]


def test_quiet_says_nothing_of_success(vell: Path, run_cli: Cli, tmp_path: Path) -> None:
    assert run_cli("export", "--data", vell, tmp_path / "vell.zip", "-q") == (0, "", "")
    assert run_cli("restore", "--data", tmp_path / "there", tmp_path / "vell.zip", "-q") == (0, "", "")


def test_without_an_index_the_next_command_is_named(vell: Path, run_cli: Cli, tmp_path: Path) -> None:
    run_cli("export", "--data", vell, tmp_path / "vell.zip")
    code, _, err = run_cli("restore", "--data", tmp_path / "there", tmp_path / "vell.zip", "--no-index")
    assert code == 0
    assert "canonry reindex -c vell" in err
    assert run_cli("reindex", "--data", tmp_path / "there", "--in-process")[0] == 0
    assert run_cli("query", "--data", tmp_path / "there", "lamp")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["export", "vell.zip"], 2, "--force"),
        (["export", "."], 2, "is a folder"),
        (["export", "-c", "ghost", "other.zip"], 1, "does not exist here"),
        (["restore", "vell.zip"], 2, "--as ID"),
        (["restore", "vell.zip", "--as", "../up"], 2, "is not usable"),
        (["restore", "ghost.zip", "--as", "other"], 1, "no such file"),
        (["restore", "lamp.md", "--as", "other"], 1, "not a zip file"),
        (["restore", "evil.zip", "--as", "other"], 1, "'../evil.md': leaves its folder"),
        (["restore", "vell.zip", "--as", "other", "--max-bytes", "10"], 1, "--max-bytes N raises it"),
        (["restore", "vell.zip", "--as", "other", "--max-bytes", "0"], 2, "let nothing in"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    vell: Path,
    run_cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    run_cli("export", "--data", vell, "vell.zip")
    append(Path("vell.zip"), Path("evil.zip"), "../evil.md", "out")
    done, out, err = run_cli(*arguments, "--data", vell)
    assert (done, out, len(err.splitlines())) == (code, "", 1)
    assert says in err
    assert [row["campaign_id"] for row in json.loads(run_cli("campaign", "list", "--data", vell, "--json")[1])] == [
        "vell"
    ]


def test_a_restore_without_its_embedder_is_degraded(vell: Path, run_cli: Cli, tmp_path: Path) -> None:
    from canonry.catalog import Catalog

    catalog = Catalog.open(vell / "raw" / "vell" / "catalog.sqlite", write=True)
    catalog.set_settings({"embedder": "from-elsewhere"})
    catalog.close()
    run_cli("export", "--data", vell, tmp_path / "vell.zip")
    code, out, err = run_cli("restore", "--data", tmp_path / "there", tmp_path / "vell.zip")
    assert code == 3
    assert "Restored campaign vell" in out
    assert "indexed by words alone" in err
