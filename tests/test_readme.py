"""The README is true: its commands parse, and every command is in it."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from canonry.cli.parser import build_parser

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
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
