from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Once

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def data(tmp_path: Path, run_cli: Cli, once: Once) -> Path:
    """A campaign with four entries: a man, a lamp that waits for review, a rejected bell, a tower; and a plain note."""

    def build(folder: Path) -> None:
        data, lore = folder / "data", folder / "lore"
        lore.mkdir()
        for name, type_, importance, status in (
            ("kael", "character", 5, "approved"), ("lamp", "foreshadow", 4, "pending"), ("bell", "foreshadow", 2, "rejected"),
            ("tower", "location", 1, "approved"),
        ):  # fmt: skip
            (lore / f"{name}.md").write_text(
                f"---\ntype: {type_}\nimportance: {importance}\nstatus: {status}\n---\nThe {name} of the quay.\n"
            )
        (lore / "note.md").write_text("A note.\n")
        run_cli("campaign", "create", "vell", "--data", data, "--set", "embedder=none")
        assert run_cli("import", "--data", data, lore)[0] == 0

    once(build)
    return tmp_path / "data"


def listed(run_cli: Cli, data: Path, *options: str) -> list[str]:
    code, out, _ = run_cli("entry", "list", "--data", data, "--json", *options)
    assert code == 0
    return sorted(entry["title"] for entry in json.loads(out))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ["bell", "kael", "lamp", "tower"]),
        (("--type", "character,location"), ["kael", "tower"]),
        (("--status", "pending,rejected"), ["bell", "lamp"]),
        (("--foreshadow-state", "buried"), ["bell", "lamp"]),
        (("--importance", "4"), ["kael", "lamp"]),
        (("--type", "foreshadow", "--status", "approved"), []),
    ],
    ids=" ".join,
)
def test_entries_are_listed_by_what_they_are(
    data: Path, run_cli: Cli, options: tuple[str, ...], expected: list[str]
) -> None:
    assert listed(run_cli, data, *options) == expected


def test_the_list_for_a_person(data: Path, run_cli: Cli, tmp_path: Path) -> None:
    rows = [line.split()[1:] for line in run_cli("entry", "list", "--data", data)[1].splitlines()]
    assert ["kael", "character", "5", "approved"] in rows
    assert ["lamp", "foreshadow", "4", "pending", "buried"] in rows
    assert "None of the 4 entries" in run_cli("entry", "list", "--data", data, "--type", "fact")[1]
    run_cli("source", "disable", "kael.md", "--data", data)
    assert "approved, disabled" in run_cli("entry", "list", "--data", data)[1]
    code, _, err = run_cli("entry", "list", "--data", data, "--status", "open")
    assert (code, "--status 'open' is unknown; choose from approved, pending, rejected" in err) == (2, True)
    run_cli("campaign", "create", "empty", "--data", tmp_path / "other")
    assert "has no entries yet" in run_cli("entry", "list", "--data", tmp_path / "other")[1]


def test_a_review_of_several_is_in_force_at_once(data: Path, run_cli: Cli) -> None:
    code, out, _ = run_cli("entry", "review", "--data", data, "lamp.md", "bell.md", "lamp", "--approve")
    assert code == 0
    assert [line.partition(": ")[2] for line in out.splitlines()] == ["pending → approved", "rejected → approved"]
    assert len(json.loads(run_cli("suggest", "--data", data, "--json")[1])["suggestions"]) == 4
    document = json.loads(run_cli("entry", "review", "--data", data, "lamp.md", "--reject", "--json")[1])
    assert (document[0]["before"], document[0]["status"], document[0]["proposal"]) == ("approved", "rejected", None)
    assert listed(run_cli, data, "--status", "rejected") == ["lamp"]


def test_a_review_of_what_is_no_entry_changes_nothing(data: Path, run_cli: Cli) -> None:
    code, _, err = run_cli("entry", "review", "--data", data, "lamp.md", "note.md", "nothing", "--approve")
    assert code == 1
    assert "2 names are no entries; nothing was changed" in err
    assert "is no knowledge entry; `canonry entry list`" in err
    assert listed(run_cli, data, "--status", "pending") == ["lamp"]
    assert run_cli("entry", "review", "--data", data, "lamp.md")[0] == 2
    assert run_cli("entry", "review", "--data", data, "lamp.md", "--approve", "--reject")[0] == 2


def test_a_locked_entry_waits(data: Path, run_cli: Cli) -> None:
    run_cli("source", "lock", "lamp.md", "--data", data)
    assert "is locked; proposal 1 waits" in run_cli("entry", "review", "lamp.md", "--approve", "--data", data)[1]
    assert "pending → approved" in run_cli("proposals", "show", "1", "--data", data)[1]
    assert run_cli("proposals", "accept", "1", "--data", data)[0] == 0
    assert "lamp" in listed(run_cli, data, "--status", "approved")


def test_an_entry_is_typed_in(data: Path, run_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = ["entry", "add", "--data", data, "--type", "relationship", "--title", "Kael and Mara"]
    options = [
        "--importance",
        "4",
        "--source-chapter",
        "3",
        "--tags",
        "sea,love",
        "--spoiler-level",
        "2",
        "--class",
        "canon",
    ]
    code, out, err = run_cli(*typed, "--text", "They were married.", *options)
    assert (code, out.splitlines()[0]) == (0, "Entries: 1 new.")
    assert "1 to be reviewed" in err
    shown = json.loads(run_cli("source", "show", "Kael and Mara", "--data", data, "--json")[1])
    assert {
        "type": "relationship", "importance": 4, "status": "pending", "source_chapter": "3", "tags": ["love", "sea"], "spoiler_level": 2,
        "class": "canon", "original_path": "entry:kael-and-mara",
    }.items() <= shown.items()  # fmt: skip
    monkeypatch.setattr(sys, "stdin", io.StringIO("They are.\n"))
    document = json.loads(run_cli(*typed, "--text", "-", "--json", "--status", "approved")[1])
    assert (document["imported"][0]["outcome"], document["entries"][0]["status"]) == ("updated", "approved")


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ((), 2, "nothing to add"),
        (("--type", "fact"), 2, "give it with --text"),
        (("--id", "x"), 2, "give it with --text"),
        (("--text", "x"), 2, "needs --type and --title"),
        (("--text", "x", "--type", "fact"), 2, "needs --type and --title"),
        (("a.md", "--text", "x", "--type", "fact", "--title", "T"), 2, "--text is one entry, and files are others"),
        (("--text", "x", "--type", "fact", "--title", "T", "--importance", "6"), 1, "the entry: importance 6"),
        (("--text", " ", "--type", "fact", "--title", "T"), 1, "the entry: content is missing"),
        (
            ("--text", "x", "--type", "fact", "--title", "T", "--foreshadow-state", "buried"),
            1,
            "belongs to type foreshadow",
        ),
        (("--text", "x", "--type", "fact", "--title", "T", "--spoiler-level", "-1"), 1, "spoiler_level -1"),
        (("--text", "x", "--type", "fact", "--title", "…"), 2, "with --id"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_added_is_refused(
    data: Path, run_cli: Cli, options: tuple[str, ...], code: int, said: str
) -> None:
    found, out, err = run_cli("entry", "add", "--data", data, *options)
    assert (found, out) == (code, "")
    assert said in err
    assert len(listed(run_cli, data)) == 4
