from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Workshop

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    "options",
    [
        ("--more-calls", "3"),
        ("--session", "x", "--role", "narrator"),
        ("--session", "x", "--write"),
        ("--session", "x", "--task", "y"),
        ("--role", "Bad Role"),
    ],
)
def test_options_that_cannot_stand_together_are_wrong_usage(
    workshop: Workshop, run_cli: Run, options: tuple[str, ...], tmp_path: Path
) -> None:
    workshop.create()
    assert run_cli("mcp", *options, "--data", workshop.data)[0] == 2
