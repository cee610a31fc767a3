"""An archive from anyone: it calls no server and has no file of this machine read, until the user says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from canonry.catalog import Catalog
from canonry.layout import Layout
from flows.refresh import find_originals
from flows.restore import restore
from tests.archives import Members, change_rows, rewrite
from tests.conftest import Workshop
from tests.servers import Standin

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def archive(workshop: Workshop, run_cli: Cli, tmp_path: Path) -> Path:
    """An export of a campaign with one source."""
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "A lamp of brass.\n"))
    assert run_cli("export", "--data", at.root, tmp_path / "good.zip")[0] == 0
    return tmp_path / "good.zip"


def with_settings(good: Path, to: Path, **settings: str) -> Path:
    """The archive with other settings, `__` for their `.`."""

    def change(members: Members) -> None:
        lines = [line for line in members["catalog.jsonl"].splitlines() if json.loads(line)["table"] != "setting"]
        for key, value in settings.items():
            lines.append(
                json.dumps({"table": "setting", "row": {"key": key.replace("__", "."), "value": value}}).encode()
            )
        members["catalog.jsonl"] = b"".join(line + b"\n" for line in lines)

    return rewrite(good, to, change)


@pytest.fixture
def foreign(archive: Path, server: Standin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive that names a server of its own, and consents to others; this machine has a key in the environment."""
    monkeypatch.setenv("CANONRY_API_KEY", "sesame")
    spec = server.spec("openai")
    return with_settings(
        archive, tmp_path / "foreign.zip", embedder=spec, embed__allow_remote="true", mode="hybrid",
        judge__url=server.url, judge__allow_remote="true",
    )  # fmt: skip


def test_the_server_that_it_names_is_not_called(foreign: Path, server: Standin, run_cli: Cli, tmp_path: Path) -> None:
    where = ("--data", tmp_path / "there")
    code, _, err = run_cli("restore", *where, foreign)
    assert code == 3
    assert f"indexed by words alone: the export names {server.spec('openai')}" in err
    assert f"canonry embed use {server.spec('openai')}" in err
    (tmp_path / "gate.md").write_text("A gate of brass.\n")
    run_cli("import", *where, tmp_path / "gate.md")
    for command in (
        ("reindex", "--in-process"),
        ("reindex", "--full", "--in-process"),
        ("refresh",),
        ("embed", "status"),
    ):
        run_cli(*command, *where)
    for mode in ("hybrid", "semantic", "lexical"):
        run_cli("query", "lamp", "--mode", mode, *where)
    assert json.loads(run_cli("query", "lamp", "--json", *where)[1])["results"]
    assert "canonry embed use" in run_cli("status", *where)[2]
    run_cli("doctor", *where)
    assert server.paths == []


def test_it_is_called_with_the_key_once_the_user_names_it(
    foreign: Path, server: Standin, run_cli: Cli, tmp_path: Path
) -> None:
    where = ("--data", tmp_path / "there")
    run_cli("restore", *where, foreign)
    assert run_cli("embed", "use", server.spec("openai"), *where)[0] == 0
    assert {headers["Authorization"] for headers in server.headers} == {"Bearer sesame"}
    assert run_cli("query", "lamp", "--mode", "hybrid", *where)[0] == 0
    assert "canonry embed use" not in run_cli("status", *where)[2]


def test_its_judge_is_off_until_the_user_names_it(foreign: Path, server: Standin, run_cli: Cli, tmp_path: Path) -> None:
    where = ("--data", tmp_path / "there")
    _, _, err = run_cli("restore", *where, foreign)
    turn_on = ("campaign", "settings", "vell", "--set", f"judge.url={server.url}")
    assert f"`canonry {' '.join(turn_on)}` turns it on" in err
    for command in ("query", "pack"):
        assert run_cli(command, "lamp", "--judge", *where)[0] == 2
    assert server.paths == []
    assert run_cli(*turn_on, *where)[0] == 0
    (tmp_path / "gate.md").write_text("A lamp at the gate.\n")
    run_cli("import", *where, tmp_path / "gate.md")
    run_cli("query", "lamp", "--judge", *where)
    assert server.paths == ["/v1/chat/completions"]


def test_without_an_index_the_model_is_named_too(foreign: Path, server: Standin, run_cli: Cli, tmp_path: Path) -> None:
    code, _, err = run_cli("restore", "--data", tmp_path / "there", foreign, "--no-index")
    assert (code, "canonry embed use" in err) == (0, True)
    assert server.paths == []


def test_its_consent_to_remote_addresses_is_not_ours(foreign: Path, run_cli: Cli, tmp_path: Path) -> None:
    run_cli("restore", "--data", tmp_path / "there", foreign)
    shown = json.loads(run_cli("campaign", "settings", "vell", "--data", tmp_path / "there", "--json")[1])
    assert (shown["embed.allow_remote"], shown["embedder"], shown["mode"]) == ("false", "none", "hybrid")


def test_a_model_of_this_machine_stays(archive: Path, tmp_path: Path) -> None:
    done = restore(with_settings(archive, tmp_path / "own.zip", embedder="minilm"), tmp_path / "there")
    assert done.index is not None
    assert (done.index.degraded, done.index.vectors, done.remarks) == (None, 1, ())


@pytest.mark.parametrize("valid_from", ["2026-01-01T00:00:00.000000+00:00", "2999-01-01T00:00:00.000000+00:00"])
def test_its_paths_are_read_only_by_name(
    archive: Path, workshop: Workshop, run_cli: Cli, tmp_path: Path, valid_from: str
) -> None:
    """A version that claims to be of the future is no newer than its archive."""
    private = workshop.write("private.txt", "The key is under the mat.\n").resolve()

    def point(members: Members) -> None:
        change_rows(members, "knowledge_source", original_path=str(private))
        change_rows(members, "knowledge_source_version", valid_from=valid_from, imported_at=valid_from)

    where = ("--data", tmp_path / "there")
    assert run_cli("restore", *where, rewrite(archive, tmp_path / "pointing.zip", point))[0] == 0
    code, out, _ = run_cli("refresh", *where)
    assert (code, "restored: lamp.md" in out, "name it to read its original here" in out) == (0, True, True)
    told = json.loads(run_cli("refresh", "--json", *where)[1])
    assert (told["counts"]["restored"], told["files"]) == (1, [])
    assert told["restored"][0]["original_path"] == str(private)
    assert json.loads(run_cli("query", "mat", "--json", *where)[1])["results"] == []
    run_cli("refresh", "lamp.md", *where)
    assert json.loads(run_cli("query", "mat", "--json", *where)[1])["results"] != []
    assert find_originals(Layout(tmp_path / "there", "vell")).restored == []


def test_what_is_imported_here_is_refreshed_as_ever(archive: Path, workshop: Workshop, tmp_path: Path) -> None:
    there = restore(archive, tmp_path / "there").at
    workshop.bring(there, workshop.write("gate.md", "A gate.\n"), workshop.write("lamp.md", "A lamp of zinc.\n"))
    originals = find_originals(there)
    assert ([file.name for file in originals.selection.files], originals.restored) == (["gate.md", "lamp.md"], [])


def test_a_restored_campaign_that_is_exported_again_is_as_foreign(
    foreign: Path, server: Standin, run_cli: Cli, tmp_path: Path
) -> None:
    run_cli("restore", "--data", tmp_path / "there", foreign)
    run_cli("export", "--data", tmp_path / "there", tmp_path / "again.zip")
    code, _, err = run_cli("restore", "--data", tmp_path / "elsewhere", tmp_path / "again.zip")
    assert (code, server.spec("openai") in err, server.paths) == (3, True, [])
    with closing(Catalog.open(Layout(tmp_path / "elsewhere", "vell").catalog)) as catalog:
        assert len(find_originals(Layout(tmp_path / "elsewhere", "vell")).restored) == len(catalog.sources()) == 1
