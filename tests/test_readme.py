"""The README is true: its commands parse, and every command is in it."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from canonry.cli.parser import build_parser
from eval.gate import read_rules
from eval.questions import read_set

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = sorted(set(re.findall(r"^\$ canonry (.+)$", README, re.MULTILINE)))


def commands(parser: argparse.ArgumentParser, name: str = "canonry") -> Iterator[str]:
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for group in groups:
        for word, below in group.choices.items():
            yield from commands(below, f"{name} {word}")
    if not groups:
        yield name


@pytest.mark.parametrize("line", SHOWN)
def test_a_command_that_is_shown_can_be_given(line: str) -> None:
    given, rest = build_parser().parse_known_args(shlex.split(line, comments=True))
    assert not rest
    assert given.run


@pytest.mark.parametrize("command", sorted(commands(build_parser())))
def test_every_command_is_in_the_readme(command: str) -> None:
    words = command.split()[1:]
    row = next((line for line in README.splitlines() if line.startswith(f"| `canonry {words[0]}")), "")
    assert row, command
    assert all(word in row for word in words)


def test_the_first_commands_are_the_two_of_the_makefile() -> None:
    makefile = (Path(__file__).parent.parent / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"$ make {target}" in README
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_the_commands_are_one_table_with_a_row_for_each() -> None:
    table = README.split("\n## Commands\n\n")[1].split("\n\n")[0].splitlines()
    assert table[:2] == ["| command | does |", "|---|---|"]
    first_words = [row.split("`")[1].split()[1] for row in table[2:]]
    assert sorted(first_words) == sorted(set(first_words))
    assert set(first_words) == {command.split()[1] for command in commands(build_parser())}


def test_the_set_and_the_gate_that_are_shown_can_be_read(tmp_path: Path) -> None:
    for name, text in files_shown():
        if name.startswith("questions/"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_set(tmp_path / "questions").gaps == ()
    (gate,) = (text for text in re.findall(r"```toml\n(.*?)```", README, re.DOTALL) if "[recall]" in text)
    (tmp_path / "gate.toml").write_text(gate, encoding="utf-8")
    assert read_rules(tmp_path / "gate.toml") == read_rules(Path(str(files("eval") / "gate.toml")))


@pytest.mark.slow
def test_what_is_shown_happens_in_order_in_one_empty_folder(tmp_path: Path) -> None:
    """Numbers, ids and marks aside. The demo and its evaluation are left to `make demo`."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    folder = tmp_path / "empty"
    for name, text in (
        ("bin/canonry", f'#!/bin/sh\nexec {sys.executable} -m canonry "$@"\n'),
        ("bin/python", f'#!/bin/sh\nexec {sys.executable} "$@"\n'),
        *((f"empty/{name}", text) for name, text in files_shown()),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        said = "".join(line + "\n" for line in block.splitlines() if line.startswith('{"call"'))
        for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, shown = command.partition("\n")
            if line.startswith("make ") or "demo-data" in line:
                continue
            done = subprocess.run(
                ["bash", "-c", line], cwd=folder, env=environment, input=said, text=True, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            got = {plain(one) for one in done.stdout.splitlines()}
            missing = [
                one for one in shown.splitlines()
                if one.strip("…") and not one.startswith('{"call"') and not any(plain(one) in real for real in got)
            ]  # fmt: skip
            assert not missing, f"{line}\n{done.stdout}"
            assert done.returncode in (0, 1 if shown else 0), f"{line}\n{done.stdout}"


def files_shown() -> list[tuple[str, str]]:
    """(name, text) of the files of JSON lines, each named in the paragraph before it."""
    return re.findall(r"`([^`\s]+\.jsonl)`(?:(?!\n\n|`[^`\s]+\.jsonl`).)*\n\n```jsonl\n(.*?)```", README, re.DOTALL)


def plain(line: str) -> str:
    """A line without what differs from one run to the next, and without what is cut off behind …"""
    return re.sub(r"\b(?=[0-9a-f]*\d)[0-9a-f]+\b|\b[a-z]{16}\b|\d+|\s+", "#", line.removesuffix(" …").rstrip())
