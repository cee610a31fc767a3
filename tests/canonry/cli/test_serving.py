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
        *(
            (*which, *stated)
            for which in (("--session", "x"), ("--task", "y"))
            for stated in (
                ("--role", "narrator"),
                ("--role", "player"),
                ("--spoiler-level", "0"),
                ("--spoiler-level", "2"),
                ("--forbid-tags", ""),
                ("--forbid-tags", "ending"),
                ("--story-time", "0"),
                ("--as-of", "2026-03-01"),
            )
        ),
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


def test_a_session_is_served_as_its_own_role_or_not_at_all(workshop: Workshop, run_cli: Run) -> None:
    workshop.create()
    code, out, err = run_cli(
        "mcp", "--role", "player", "--as-of", "2026-03-01", "--session", "x", "--data", workshop.data
    )
    assert (code, out) == (2, "")
    assert "leave --role, --as-of out" in err
    code, _, err = run_cli("mcp", "--session", "x", "--data", workshop.data)
    assert (code, "leave" in err) == (1, False), "nothing was stated, and the session is looked for"
