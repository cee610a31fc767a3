"""Case 03: a file is decoded exactly or refused with its name, the byte and the reason; the others are imported."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

CASE = Path(__file__).parents[1] / "fixtures" / "cases" / "03-legacy-encodings-and-nul" / "in"
Cli = Callable[..., tuple[int, str, str]]
TEXT = (CASE / "good.md").read_text(encoding="utf-8")
TAKEN = {"good.md", "utf16be-bom.md", "utf16le-bom.txt"}
REFUSED = {
    "bom-only.md": "empty",
    "empty.md": "empty",
    "only-spaces.txt": "white space",
    "cp1252.txt": "byte 5",
    "shiftjis.txt": "byte 2",
    "cut-utf8.md": "byte 105",
    "nul-inside.md": "byte 25",
    "utf16le-nobom.txt": "byte 10",
    "picture-named.txt": "PNG",
}


@pytest.fixture
def data(tmp_path: Path, run_cli: Cli) -> Path:
    """A data directory with an empty campaign `bytes`."""
    assert run_cli("campaign", "create", "bytes", "--data", tmp_path / "data", "--set", "embedder=none")[0] == 0
    return tmp_path / "data"


def everything_about(data: Path) -> tuple[int, int, int, int]:
    """Rows of sources and of versions, stored files, rows of the lexical store."""
    with sqlite3.connect(data / "raw/bytes/catalog.sqlite") as db:
        sources, versions = (
            db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("knowledge_source", "knowledge_source_version")
        )
    store = data / "index/bytes/lexical.sqlite"
    rows = sqlite3.connect(store).execute("SELECT count(*) FROM knowledge_chunk").fetchone()[0] if store.exists() else 0
    return sources, versions, len(list((data / "raw/bytes/files").glob("*"))), rows


def test_the_folder_is_imported_but_for_what_is_no_text(data: Path, run_cli: Cli) -> None:
    code, out, err = run_cli("import", "--data", data, "--json", "--on-duplicate", "separate", CASE)
    told = json.loads(out)
    assert code == 1
    assert {entry["file"] for entry in told["imported"]} == TAKEN
    assert {entry["file"] for entry in told["rejected"]} == set(REFUSED)
    assert "Traceback" not in err


@pytest.mark.parametrize("name", sorted(TAKEN))
def test_a_decodable_file_alone_is_stored_whole_and_exact(data: Path, run_cli: Cli, name: str) -> None:
    assert run_cli("import", "--data", data, CASE / name)[0] == 0
    code, out, _ = run_cli("source", "text", "--data", data, "--json", name)
    assert code == 0
    assert json.loads(out)["text"] == TEXT


@pytest.mark.parametrize(("name", "reason"), sorted(REFUSED.items()), ids=sorted(REFUSED))
def test_a_refused_file_is_named_with_the_reason_and_leaves_nothing(
    data: Path, run_cli: Cli, tmp_path: Path, name: str, reason: str
) -> None:
    original = tmp_path / name
    shutil.copyfile(CASE / name, original)
    code, _, err = run_cli("import", "--data", data, original)
    lines = [line for line in err.splitlines() if name in line]
    assert code == 1
    assert len(lines) == 1
    assert reason in lines[0]
    assert everything_about(data) == (0, 0, 0, 0)
    assert original.read_bytes() == (CASE / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "encoding", "text"),
    [
        ("cp1252.txt", "cp1252", TEXT),
        ("shiftjis.txt", "shift_jis", None),
        ("utf16le-nobom.txt", "utf-16-le", TEXT),
    ],
    ids=["cp1252", "shift_jis", "utf-16-le"],
)
def test_an_encoding_that_is_named_is_converted_exactly(
    data: Path, run_cli: Cli, name: str, encoding: str, text: str | None
) -> None:
    assert run_cli("import", "--data", data, "--encoding", encoding, CASE / name)[0] == 0
    told = json.loads(run_cli("source", "show", "--data", data, "--json", name)[1])
    stored = json.loads(run_cli("source", "text", "--data", data, "--json", name)[1])["text"]
    assert stored == (text if text is not None else (CASE / name).read_bytes().decode(encoding))
    assert told["encoding"].replace("-", "_") == encoding.replace("-", "_")


def test_naming_an_encoding_leaves_files_that_are_utf_8_as_they_are(data: Path, run_cli: Cli) -> None:
    """`--encoding` is for the files that are not UTF-8; good.md must not become mojibake beside cp1252.txt."""
    run_cli(
        "import",
        "--data",
        data,
        "--encoding",
        "cp1252",
        "--on-duplicate",
        "separate",
        CASE / "good.md",
        CASE / "cp1252.txt",
    )
    for name in ("good.md", "cp1252.txt"):
        assert json.loads(run_cli("source", "text", "--data", data, "--json", name)[1])["text"] == TEXT


def test_nothing_stored_holds_mojibake_a_replacement_or_a_nul(data: Path, run_cli: Cli) -> None:
    run_cli("import", "--data", data, "--on-duplicate", "separate", CASE)
    for path in (data / "raw/bytes/files").iterdir():
        text = path.read_bytes().decode("utf-8")
        assert not any(sign in text for sign in ("â€", "\ufffd", "\0"))
