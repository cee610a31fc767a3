"""Bad input: each problem is one clear line, nothing is half imported, the other files of the batch are."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from canonry.layout import Layout
from tests.flows.importing import import_, names_in, run_in_process, the_line

ROOT = Path(__file__).parents[2]
Cli = Callable[..., tuple[int, str, str]]
GOOD = "# The mill\n\nThe miller counts sacks of barley at dusk.\n"


@pytest.fixture
def at(tmp_path: Path, run_cli: Cli) -> Layout:
    """An empty campaign without an embedder."""
    assert run_cli("campaign", "create", "vell", "--data", tmp_path / "data", "--set", "embedder=none")[0] == 0
    return Layout(tmp_path / "data", "vell")


@pytest.fixture
def lore(tmp_path: Path) -> Path:
    """A folder that holds one good file."""
    folder = tmp_path / "lore"
    folder.mkdir()
    (folder / "good.md").write_text(GOOD)
    return folder


BAD_FILES: dict[str, tuple[str, bytes, str]] = {
    "empty": ("bad.md", b"", "empty"),
    "white space alone": ("bad.md", b" \n\t\r\n", "white space"),
    "mark alone": ("bad.md", b"\xef\xbb\xbf", "empty"),
    "binary": ("bad.txt", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "PNG"),
    "a zip with the wrong ending": ("bad.md", b"PK\x03\x04" + bytes(60), "zip"),
    "wrong encoding": ("bad.txt", "Café".encode("cp1252") + b" de la gare\n", "byte 3 (0xe9)"),
    "NUL": ("bad.md", b"before\0after\n", "NUL at byte 6"),
    "UTF-16 without its mark": ("bad.txt", "The mill.\n".encode("utf-16-le"), "UTF-16"),
    "UTF-16 with its mark, cut short": ("bad.txt", b"\xff\xfe" + "The mill.\n".encode("utf-16-le")[:-1], "utf-16"),
    "UTF-8 cut short": ("bad.md", "Zoë".encode()[:-1], "cut short"),
    "too large": ("bad.md", b"barley " * 200, "limit"),
    "a secret that cannot be read": ("bad.md", b"---\nspoiler: very\n---\nText.\n", "spoiler"),
    "a mark that cannot be read": ("bad.md", b"# Crypt {spoiler=high}\n\nThe king lives.\n", "line 1"),
}


@pytest.mark.parametrize(("name", "data", "reason"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_one_line_with_the_reason_and_its_neighbour_is_imported(
    at: Layout, lore: Path, run_cli: Cli, name: str, data: bytes, reason: str
) -> None:
    run_cli("campaign", "settings", at.campaign, "--data", at.root, "--set", "max_file_bytes=1000")
    (lore / name).write_bytes(data)
    code, lines = import_(run_cli, at, lore)
    assert code == 1
    assert reason in the_line(lines, name)
    assert names_in(at) == ["good.md"]
    assert (lore / name).read_bytes() == data


@pytest.mark.parametrize(("name", "data", "reason"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_alone_leaves_the_campaign_empty(
    at: Layout, tmp_path: Path, run_cli: Cli, name: str, data: bytes, reason: str
) -> None:
    run_cli("campaign", "settings", at.campaign, "--data", at.root, "--set", "max_file_bytes=1000")
    (tmp_path / name).write_bytes(data)
    code, lines = import_(run_cli, at, tmp_path / name)
    assert code == 1
    assert reason in the_line(lines, name)
    assert names_in(at) == []


def test_utf_16_with_its_mark_is_text(at: Layout, lore: Path, run_cli: Cli) -> None:
    (lore / "wide.txt").write_bytes(b"\xff\xfe" + "The weir is dry.\n".encode("utf-16-le"))
    assert import_(run_cli, at, lore) == (0, [])
    assert names_in(at) == ["good.md", "wide.txt"]


def test_a_path_that_does_not_exist_is_one_line(at: Layout, lore: Path, run_cli: Cli) -> None:
    code, lines = import_(run_cli, at, lore / "nowhere.md", lore)
    assert code == 1
    assert "does not exist" in the_line(lines, "nowhere.md")
    assert names_in(at) == ["good.md"]


def test_a_folder_named_like_a_file_is_searched_like_any_folder(at: Layout, lore: Path, run_cli: Cli) -> None:
    (lore / "chapter.md").mkdir()
    (lore / "chapter.md" / "one.md").write_text("# One\n\nThe first bell.\n")
    assert import_(run_cli, at, lore) == (0, [])
    assert names_in(at) == ["chapter.md/one.md", "good.md"]


def test_an_empty_folder_is_said_to_hold_nothing(at: Layout, tmp_path: Path, run_cli: Cli) -> None:
    (tmp_path / "hollow").mkdir()
    code, lines = import_(run_cli, at, tmp_path / "hollow")
    assert code == 1
    assert "holds no .md or .txt file" in the_line(lines, "hollow")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("alone", [False, True], ids=["in a folder", "named"])
def test_a_pipe_is_refused_without_waiting_for_a_writer(at: Layout, lore: Path, run_cli: Cli, alone: bool) -> None:
    os.mkfifo(lore / "pipe.md")
    code, lines = import_(run_cli, at, *([lore / "pipe.md"] if alone else [lore]))
    assert code == 1
    assert "not a regular file" in the_line(lines, "pipe.md")
    assert names_in(at) == ([] if alone else ["good.md"])


LINKS: dict[str, str] = {
    "out of the folder": "../secret.md",
    "to a neighbour": "good.md",
    "broken": "gone.md",
    "to itself": "link.md",
    "to a folder": "..",
    "to its own folder": ".",
}


@pytest.mark.parametrize("target", LINKS.values(), ids=LINKS)
def test_a_link_in_a_folder_is_not_followed(at: Layout, lore: Path, run_cli: Cli, target: str) -> None:
    (lore.parent / "secret.md").write_text("# Secret\n\nThe king lives.\n")
    (lore / "link.md").symlink_to(target)
    code, lines = import_(run_cli, at, lore)
    assert code == 1
    assert "link" in the_line(lines, "link.md")
    assert names_in(at) == ["good.md"]


def test_a_loop_of_folders_ends(at: Layout, lore: Path, run_cli: Cli) -> None:
    (lore / "deeper").mkdir()
    (lore / "deeper" / "back").symlink_to(lore, target_is_directory=True)
    _, lines = import_(run_cli, at, lore)
    assert names_in(at) == ["good.md"]
    assert "link" in the_line(lines, "deeper/back")


@pytest.mark.parametrize("target", ["gone.md", "link.md"], ids=["broken", "loop"])
def test_a_named_link_that_leads_nowhere_is_one_line(at: Layout, lore: Path, run_cli: Cli, target: str) -> None:
    (lore / "link.md").symlink_to(target)
    code, lines = import_(run_cli, at, lore / "link.md")
    assert code == 1
    assert the_line(lines, "link.md")
    assert names_in(at) == []


def test_a_named_link_is_followed_because_a_person_named_it(at: Layout, lore: Path, run_cli: Cli) -> None:
    (lore / "link.md").symlink_to("good.md")
    assert import_(run_cli, at, lore / "link.md") == (0, [])
    assert names_in(at) == ["link.md"]


def test_a_file_named_twice_is_imported_once(at: Layout, lore: Path, run_cli: Cli) -> None:
    code, lines = import_(run_cli, at, lore / "good.md", lore, lore / ".." / "lore" / "good.md")
    assert (code, lines) == (0, [])
    assert names_in(at) == ["good.md"]


def test_a_file_that_changes_while_it_is_read_is_refused_or_taken_at_one_moment(
    at: Layout, lore: Path, run_cli: Cli
) -> None:
    """A writer appends all the while; what is stored, if anything, is the file as it stood at one instant."""
    line = b"The tide clerk writes on and on.\n"
    diary = lore / "diary.md"
    diary.write_bytes(line * 60_000)
    done = threading.Event()

    def append() -> None:
        with diary.open("ab", buffering=0) as file:
            while not done.is_set():
                file.write(line)

    writer = threading.Thread(target=append)
    writer.start()
    try:
        code, lines = import_(run_cli, at, "--no-embed", lore)
    finally:
        done.set()
        writer.join()
    assert "good.md" in names_in(at)
    if code == 1:
        assert "changed each time it was read" in the_line(lines, "diary.md")
    else:
        (stored,) = (path for path in at.files.iterdir() if path.stat().st_size > 1_000)
        assert diary.read_bytes().startswith(stored.read_bytes())
        assert stored.stat().st_size % len(line) == 0


@pytest.mark.parametrize("opener", ["> ", "- ", "* > ", "1. "], ids=["quotes", "lists", "lists of quotes", "numbers"])
def test_ten_thousand_levels_of_nesting_are_text(at: Layout, lore: Path, run_cli: Cli, opener: str) -> None:
    (lore / "deep.md").write_text(opener * 10_000 + "the bottom holds a pearl\n")
    started = time.monotonic()
    assert import_(run_cli, at, lore) == (0, [])
    assert time.monotonic() - started < 30
    assert names_in(at) == ["deep.md", "good.md"]
    found = json.loads(run_cli("query", "--data", at.root, "--json", "pearl")[1])["results"]
    assert [passage["uri"] for passage in found] == ["deep.md"]


@pytest.mark.slow
def test_a_line_of_fifty_megabytes_is_cut_into_passages(at: Layout, lore: Path) -> None:
    """In a process of its own, to bound its memory; figures are printed with -s."""
    words = " ".join(f"barley{number % 9973} sack" for number in range(3_000_000))[: 50_000_000 - 6]
    (lore / "line.md").write_text(words + " pearl")
    started = time.monotonic()
    done = run_in_process("import", "--data", str(at.root), str(lore))
    seconds, peak = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"50 MB line: {seconds:.0f} s, {peak:.0f} MB")
    assert (done.returncode, done.stderr) == (0, "")
    assert names_in(at) == ["good.md", "line.md"]
    assert peak < 2_500
    with sqlite3.connect(at.lexical) as db:
        assert db.execute("SELECT max(token_count) FROM knowledge_chunk").fetchone()[0] <= 800


@pytest.mark.parametrize(
    "campaign",
    ["../x", "A B", "", "con", "x" * 64, "x" * 65, "é", "Vell", ".", "-x", "a/b", "a\n", "com1", "a.b", "\udcff"],
    ids=repr,
)
@pytest.mark.parametrize("command", ["create", "query", "import"])
def test_an_id_with_odd_characters_is_wrong_usage_and_makes_nothing(
    tmp_path: Path, run_cli: Cli, campaign: str, command: str
) -> None:
    data = tmp_path / "data"
    arguments = {
        "create": ("campaign", "create", "--data", data, "--", campaign),
        "query": ("query", "--data", data, f"--campaign={campaign}", "barley"),
        "import": ("import", "--data", data, f"--campaign={campaign}", tmp_path),
    }[command]
    code, out, err = run_cli(*arguments)
    assert out == ""
    assert len(err.splitlines()) == 1
    assert code == (2 if campaign or command == "create" else 1)  # an empty -c names no campaign, and there is none
    assert not data.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "barley"), ("import", "."), ("status",), ("reindex",), ("source", "list"), ("source", "show", "x"),
        ("source", "disable", "x"), ("source", "delete", "x", "--yes"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_campaign_that_does_not_exist_is_one_line_and_makes_nothing(
    tmp_path: Path, run_cli: Cli, arguments: tuple[str, ...]
) -> None:
    code, out, err = run_cli(*arguments, "--data", tmp_path / "data", "-c", "nowhere")
    assert (code, out) == (1, "")
    assert err.splitlines() == [err.strip()]
    assert "nowhere" in err
    assert "campaign create" in err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("action", ["show", "delete", "settings"])
def test_no_campaign_action_makes_a_campaign_that_was_not_there(tmp_path: Path, run_cli: Cli, action: str) -> None:
    code, _, err = run_cli("campaign", action, "nowhere", "--data", tmp_path / "data")
    assert code == 1
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "data").exists()


# what a shell may hand over


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "\udcff"), ("query", "--tags", "\udcff", "barley"), ("source", "show", "\udcff"),
        ("query", "--as-of", "\udcff", "barley"), ("query", "--role", "npc:\udcff", "barley"), ("query", "--source", "\udcff", "barley"),
        ("import", "\udcff.md"), ("query", "--spoiler-level", "99999999999999999999", "barley"),
        ("query", "--as-of", "0001-01-01T00:00+14:00", "barley"), ("query", "--limit", "99999999999999999999", "barley"),
        ("query", "barley " * 15_000), ("import", "--encoding", "undefined", "."), ("import", "--encoding", "idna", "."),
        ("import", "--encoding", "\udcff", "."), ("import", "--tags", "\udcff", "."), ("import", "x" * 5_000),
    ],
    ids=lambda arguments: repr(" ".join(arguments))[:60],
)  # fmt: skip
def test_odd_arguments_end_in_an_exit_code_and_no_traceback(
    at: Layout, lore: Path, run_cli: Cli, arguments: tuple[str, ...]
) -> None:
    import_(run_cli, at, lore)
    done = run_in_process(*arguments, "--data", str(at.root), "--json", cwd=lore)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 1, 2)
    if done.stdout:
        json.loads(done.stdout)


def test_an_answer_is_printed_on_a_terminal_that_knows_no_unicode(at: Layout, lore: Path, run_cli: Cli) -> None:
    (lore / "zoe.md").write_text("# Zoë\n\nThe clerk’s barley — 5 € a sack.\n", encoding="utf-8")
    import_(run_cli, at, lore)
    for options in ([], ["--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "canonry", "query", "--data", at.root, *options, "Zoë"],
            capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert "sack" in done.stdout


def test_a_missing_stored_file_is_named_with_the_way_out(at: Layout, lore: Path, run_cli: Cli) -> None:
    import_(run_cli, at, lore)
    (stored,) = at.files.iterdir()
    stored.unlink()
    for command in (("query", "barley"), ("source", "text", "good.md"), ("source", "chunks", "good.md")):
        code, _, err = run_cli(*command, "--data", at.root)
        assert code == 1
        assert len(err.splitlines()) == 1
        assert stored.name in err
        assert "import" in err
