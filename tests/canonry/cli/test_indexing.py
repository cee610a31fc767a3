from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from canonry.embedders import register
from tests.fakes import WordBag

ROOT = Path(__file__).parents[3]
ANNOUNCED = "from canonry.cli import main\nimport sys\nprint('up', flush=True)\nsys.exit(main(sys.argv[1:]))"
Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def data(tmp_path: Path, run_cli: Cli) -> Path:
    """A data directory with the empty campaign `vell`."""
    assert run_cli("campaign", "create", "vell", "--data", tmp_path / "data", "--set", "embedder=none")[0] == 0
    return tmp_path / "data"


@pytest.fixture
def lore(tmp_path: Path) -> Path:
    """A folder of two notes."""
    folder = tmp_path / "lore"
    folder.mkdir()
    (folder / "lamp.md").write_text("# Lamp\n\nA brass lamp by the quay.\n")
    (folder / "gate.txt").write_text("A zinc gate stands open at dusk.\n")
    return folder


# import


def test_import_says_what_came_in(data: Path, lore: Path, run_cli: Cli) -> None:
    code, out, err = run_cli("import", "--data", data, lore, "--class", "canon")
    assert (code, err) == (0, "")
    assert "Imported 2 files (2 new): 2 canon." in out
    code, out, err = run_cli("import", "--data", data, lore)
    assert (code, err) == (0, "")
    assert "2 already here" in out


def test_import_in_json_is_one_document_with_notices_on_standard_error(data: Path, lore: Path, run_cli: Cli) -> None:
    (lore / "picture.png").write_bytes(b"\x89PNG")
    (lore / "empty.md").touch()
    code, out, err = run_cli("import", "--data", data, lore, "--json")
    told = json.loads(out)
    assert code == 1
    assert {entry["file"]: (entry["outcome"], entry["class"], entry["chunks"]) for entry in told["imported"]} == {
        "lamp.md": ("new", "reference", 1), "gate.txt": ("new", "reference", 1),
    }  # fmt: skip
    assert [entry["file"] for entry in told["rejected"]] == ["empty.md"]
    assert "1 .png" in told["ignored"]
    assert "Traceback" not in err


def test_every_option_of_an_import_is_kept(data: Path, lore: Path, run_cli: Cli) -> None:
    code, _, err = run_cli(
        "import", "--data", data, lore / "lamp.md", "--class", "inspiration", "--title", "The lamp", "--tags", "a, b,a", "--entities", "Mara",
        "--visibility", "hidden", "--spoiler-level", "2", "--spoiler-tags", "x,y", "--priority", "high", "--always-include",
    )  # fmt: skip
    assert (code, err) == (0, "")
    told = json.loads(run_cli("source", "show", "--data", data, "--json", "lamp.md")[1])
    expected = {
        "class": "inspiration", "title": "The lamp", "tags": ["a", "b"], "entities": ["Mara"], "visibility": "hidden", "spoiler_level": 2,
        "spoiler_tags": ["x", "y"], "priority": "high", "always_include": True,
    }  # fmt: skip
    assert {key: told[key] for key in expected} == expected


@pytest.mark.parametrize(
    "options", [("--spoiler-level", "-1"), ("--spoiler-level", "99999999999"), ("--encoding", "klingon")], ids=" ".join
)
def test_an_impossible_option_imports_nothing(data: Path, lore: Path, run_cli: Cli, options: tuple[str, ...]) -> None:
    code, out, err = run_cli("import", "--data", data, lore, *options)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert json.loads(run_cli("source", "list", "--data", data, "--json")[1]) == []


def test_one_title_for_several_paths_is_wrong_usage(data: Path, lore: Path, run_cli: Cli) -> None:
    code, _, err = run_cli("import", "--data", data, lore / "lamp.md", lore / "gate.txt", "--title", "T")
    assert code == 2
    assert "one by one" in err


def test_one_title_for_a_whole_folder_is_wrong_usage(data: Path, lore: Path, run_cli: Cli) -> None:
    assert run_cli("import", "--data", data, lore, "--title", "T")[0] == 2


@pytest.mark.parametrize(("choice", "code"), [("ask", 1), ("reuse", 0), ("separate", 0), ("cancel", 1)])
def test_a_duplicate_is_what_was_chosen_and_without_a_terminal_refused(
    data: Path, lore: Path, run_cli: Cli, choice: str, code: int
) -> None:
    run_cli("import", "--data", data, lore)
    (lore / "copy.md").write_bytes((lore / "lamp.md").read_bytes())
    found, _, err = run_cli("import", "--data", data, lore / "copy.md", "--on-duplicate", choice)
    assert found == code
    assert ("same content" in err) is (code == 1)
    sources = json.loads(run_cli("source", "list", "--data", data, "--json")[1])
    assert len(sources) == (3 if choice == "separate" else 2)


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no pseudo-terminals")
@pytest.mark.parametrize(
    ("typed", "code", "sources"), [("x\nr\n", 0, 2), ("s\n", 0, 3), ("c\n", 1, 2)], ids=["reuse", "separate", "cancel"]
)
def test_on_a_terminal_a_duplicate_is_asked_about(
    data: Path, lore: Path, run_cli: Cli, typed: str, code: int, sources: int
) -> None:
    import pty

    run_cli("import", "--data", data, lore)
    (lore / "copy.md").write_text("# Lamp \r\n\r\nA brass lamp by the quay.")
    person, terminal = pty.openpty()
    os.write(person, typed.encode())
    done = subprocess.run(
        [sys.executable, "-m", "canonry", "import", "--data", str(data), str(lore / "copy.md")],
        stdin=terminal, stderr=terminal, stdout=subprocess.PIPE, cwd=ROOT, check=False, timeout=120,
    )  # fmt: skip
    shown = os.read(person, 100_000).decode()
    os.close(person)
    os.close(terminal)
    assert done.returncode == code
    assert "copy.md has the same text as source lamp-" in shown
    assert shown.count("[r]euse") == typed.count("\n")
    assert len(json.loads(run_cli("source", "list", "--data", data, "--json")[1])) == sources


def test_impossible_rules_of_the_folder_are_wrong_usage_and_import_nothing(
    data: Path, lore: Path, run_cli: Cli
) -> None:
    (lore / "canonry.toml").write_text("[defaults]\nvisibility = 'secret'\n")
    code, _, err = run_cli("import", "--data", data, lore)
    assert code == 2
    assert "canonry.toml" in err
    assert len(err.splitlines()) == 1
    assert json.loads(run_cli("source", "list", "--data", data, "--json")[1]) == []
    assert not (data / "raw/vell/files").exists() or list((data / "raw/vell/files").iterdir()) == []


def test_quiet_prints_failures_alone(data: Path, lore: Path, run_cli: Cli) -> None:
    assert run_cli("import", "--data", data, lore, "-q") == (0, "", "")
    (lore / "empty.md").touch()
    code, out, err = run_cli("import", "--data", data, lore, "-q")
    assert (code, out) == (1, "")
    assert "empty.md" in err


def test_verbose_names_every_file(data: Path, lore: Path, run_cli: Cli) -> None:
    out = run_cli("import", "--data", data, lore, "-v")[1]
    assert "lamp.md" in out
    assert "gate.txt" in out


def test_an_embedder_that_is_away_is_exit_code_3_and_everything_is_found_by_words(
    data: Path, lore: Path, run_cli: Cli
) -> None:
    register(WordBag("away", failures=1_000))
    run_cli("campaign", "settings", "vell", "--data", data, "--set", "embedder=away")
    code, _, err = run_cli("import", "--data", data, lore)
    assert code == 3
    assert "the word bag is away" in err
    code, out, _ = run_cli("query", "--data", data, "--json", "lamp", "--mode", "hybrid")
    assert (code, len(json.loads(out)["results"])) == (3, 1)
    assert run_cli("query", "--data", data, "lamp", "--mode", "lexical")[0] == 0


def test_no_embed_leaves_the_vectors_to_the_next_reindex(data: Path, lore: Path, run_cli: Cli) -> None:
    bag = WordBag("later")
    register(bag)
    run_cli("campaign", "settings", "vell", "--data", data, "--set", "embedder=later")
    assert run_cli("import", "--data", data, lore, "--no-embed")[0] == 0
    assert bag.embedded == []
    assert run_cli("reindex", "--data", data, "--in-process")[0] == 0
    assert len(bag.embedded) == 2
    assert run_cli("query", "--data", data, "lamp", "--mode", "semantic")[0] == 0


# reindex and status


def test_with_nothing_to_do_reindex_ends_at_once(data: Path, lore: Path, run_cli: Cli) -> None:
    run_cli("import", "--data", data, lore)
    assert run_cli("reindex", "--data", data) == (0, "Everything is up to date.\n", "")
    assert json.loads(run_cli("reindex", "--data", data, "--json")[1]) == {"up_to_date": True}


def test_reindex_in_json_is_one_document(data: Path, lore: Path, run_cli: Cli) -> None:
    run_cli("import", "--data", data, lore)
    code, out, err = run_cli("reindex", "--data", data, "--full", "--in-process", "--json")
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert (told["up_to_date"], told["rows"], told["rows_added"]) == (False, 2, 2)


def test_reindex_says_why_before_it_works_and_what_it_did(data: Path, lore: Path, run_cli: Cli) -> None:
    run_cli("import", "--data", data, lore)
    run_cli("campaign", "settings", "vell", "--data", data, "--set", "chunk.target=50")
    code, out, err = run_cli("reindex", "--data", data, "--in-process")
    assert code == 0
    assert "2 sources cut with other settings" in err
    assert "2 rows added, 2 removed, 2 in all" in out
    assert run_cli("reindex", "--data", data)[1] == "Everything is up to date.\n"


def test_reindex_sets_the_embedder_that_is_named(data: Path, lore: Path, run_cli: Cli) -> None:
    register(WordBag("named"))
    run_cli("import", "--data", data, lore)
    assert run_cli("reindex", "--data", data, "--in-process", "--embedder", "named")[0] == 0
    assert json.loads(run_cli("campaign", "settings", "vell", "--data", data, "--json")[1])["embedder"] == "named"
    code, _, err = run_cli("reindex", "--data", data, "--embedder", "gpt")
    assert (code, len(err.splitlines())) == (2, 1)


def test_status_says_that_all_is_well(data: Path, lore: Path, run_cli: Cli) -> None:
    run_cli("import", "--data", data, lore)
    code, out, err = run_cli("status", "--data", data)
    assert (code, err) == (0, "")
    assert "2 sources, 2 chunks" in out
    assert "Up to date." in out


def test_status_says_what_is_stale_and_why_with_exit_code_3(data: Path, lore: Path, run_cli: Cli) -> None:
    run_cli("import", "--data", data, lore)
    run_cli("campaign", "settings", "vell", "--data", data, "--set", "chunk.target=50")
    code, out, _ = run_cli("status", "--data", data)
    assert code == 3
    assert "cut with other settings" in out
    code, out, err = run_cli("status", "--data", data, "--json")
    told = json.loads(out)
    assert (code, err) == (3, "")
    assert (told["campaign_id"], told["sources"], told["chunks"], told["plan"]["up_to_date"]) == ("vell", 2, 2, False)
    assert len(told["plan"]["reasons"]) == 1


def test_status_of_an_empty_campaign_is_up_to_date(data: Path, run_cli: Cli) -> None:
    assert run_cli("status", "--data", data)[0] == 0


def test_a_deleted_index_is_stale_and_comes_back(data: Path, lore: Path, run_cli: Cli) -> None:
    import shutil

    run_cli("import", "--data", data, lore)
    before = json.loads(run_cli("query", "--data", data, "--json", "lamp")[1])
    shutil.rmtree(data / "index")
    shutil.rmtree(data / "chunks")
    assert run_cli("status", "--data", data)[0] == 3
    code, _, err = run_cli("query", "--data", data, "lamp")
    assert (code, len(err.splitlines())) == (1, 1)
    assert "canonry reindex" in err
    assert run_cli("reindex", "--data", data, "--in-process")[0] == 0
    assert json.loads(run_cli("query", "--data", data, "--json", "lamp")[1]) == before


# the process


@pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")
def test_an_interrupt_is_exit_code_130_with_one_line(data: Path, lore: Path, run_cli: Cli) -> None:
    """While the command waits for its question."""
    run_cli("import", "--data", data, lore)
    process = subprocess.Popen(
        [sys.executable, "-c", ANNOUNCED, "query", "-", "--data", data],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where the tests run in the background
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert len(err.splitlines()) == 1
    assert "interrupted" in err


def test_a_closed_pipe_ends_quietly(data: Path, lore: Path, run_cli: Cli) -> None:
    for number in range(300):
        (lore / f"note{number}.md").write_text(f"# Note {number}\n\n{'A lamp. ' * 60}{number}\n")
    run_cli("import", "--data", data, lore)
    done = subprocess.run(
        f"{sys.executable} -m canonry query --data {data} lamp --limit 300 --copies | head -1",
        shell=True, capture_output=True, text=True, cwd=ROOT, env={**os.environ}, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


def test_output_to_a_file_has_no_colours_and_no_progress_bars(data: Path, lore: Path) -> None:
    for arguments in (("import", str(lore)), ("query", "lamp"), ("source", "list"), ("status",)):
        done = subprocess.run(
            [sys.executable, "-m", "canonry", *arguments, "--data", str(data)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        assert done.returncode == 0
        assert "\x1b" not in done.stdout + done.stderr
        assert done.stderr == ""
