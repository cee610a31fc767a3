"""`canonry verify` and `canonry doctor` as a person and a program meet them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from canonry.layout import Layout
from canonry.locking import writing
from tests.conftest import Workshop, built_once

Run = Callable[..., tuple[int, str, str]]
SECRET = "The lighthouse keeper buried the silver crown beneath the ninth cypress."


@built_once
def at(workshop: Workshop) -> Layout:
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "# Lamp\n\nA brass lamp by the quay.\n"))
    return at


def test_a_whole_campaign_is_said_to_be_what_it_was(at: Layout, run_cli: Run) -> None:
    code, out, err = run_cli("verify", "--data", at.root)
    assert (code, err) == (0, "")
    assert out == "vell: is what it was. Checked 1 version, 1 chunk, 1 indexed row, 0 vectors.\n"
    assert run_cli("doctor", "--data", at.root)[0] == 0


def test_a_finding_is_one_line_with_its_code_and_exit_code_1(at: Layout, run_cli: Run) -> None:
    next(at.files.iterdir()).write_bytes(b"other")
    code, out, _ = run_cli("verify", "--data", at.root)
    assert code == 1
    assert out.splitlines()[0].startswith("problem file-changed: raw/vell/files/")
    assert "import " in out.splitlines()[0]
    code, out, _ = run_cli("verify", "--data", at.root, "--json")
    said = json.loads(out)
    assert code == 1
    assert set(said) == {"campaign_id", "checked", "findings"}
    assert [set(found) for found in said["findings"]] == [{"code", "what", "where", "do"}]
    assert said["checked"]["files"] == 1


def test_a_repair_says_what_was_fixed_and_what_remains(at: Layout, run_cli: Run) -> None:
    at.lexical.write_bytes(b"not ours")
    code, out, err = run_cli("verify", "--data", at.root)
    assert code == 1
    assert "doctor --fix" in err
    code, out, _ = run_cli("doctor", "--fix", "--data", at.root)
    assert code == 0
    assert out.startswith("fixed index-damaged: index/vell/lexical.sqlite: ")
    assert "1 fixed, 0 problems" in out
    at.manifest.unlink()
    next(at.files.iterdir()).unlink()
    code, out, _ = run_cli("doctor", "--fix", "--data", at.root, "--json")
    said = json.loads(out)
    assert code == 1
    assert [found["code"] for found in said["fixed"]] == ["manifest-missing"]
    assert [(found["code"], found["fixable"]) for found in said["findings"]] == [("file-missing", False)]


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_secret_is_shown_to_who_asks_for_it_alone(
    workshop: Workshop, at: Layout, run_cli: Run, form: tuple[str, ...]
) -> None:
    workshop.bring(at, workshop.write("secret.md", f"---\nvisibility: hidden\n---\n{SECRET}\n"))
    workshop.bring(at, workshop.write("open.md", f"They say: {SECRET}\n"))
    code, out, err = run_cli("doctor", "--data", at.root, *form)
    assert code == 1
    assert "secret-quoted" in out
    assert "crown" not in out + err
    assert "silver crown" in run_cli("doctor", "--data", at.root, "--show-text", *form)[1]


def test_the_help_says_that_it_is_not_for_players(run_cli: Run) -> None:
    assert "Never show its output to a player" in run_cli("doctor", "--help")[1]


@pytest.mark.parametrize("command", ["verify", "doctor"])
def test_a_campaign_that_is_not_there_is_said_so_and_nothing_is_made(at: Layout, run_cli: Run, command: str) -> None:
    before = sorted(at.root.rglob("*"))
    code, out, err = run_cli(command, "--data", at.root, "-c", "nobody")
    assert (code, out) == (1, "")
    assert err.startswith("canonry: campaign 'nobody' does not exist here")
    assert sorted(at.root.rglob("*")) == before


def test_questions_go_on_while_it_looks_and_a_second_look_waits(at: Layout, workshop: Workshop) -> None:
    from canonry.errors import Busy
    from canonry.locking import undisturbed

    with undisturbed(at):
        assert workshop.ask(at).retrieve("brass lamp").results
        with pytest.raises(Busy), writing(at, wait_s=0.05):
            pass
    with writing(at, wait_s=0.05):
        pass
