from __future__ import annotations

from pathlib import Path

import pytest

from eval.leaks import Wanted
from flows.leaks import in_process, run
from tests.conftest import Workshop


@pytest.mark.slow
def test_the_flow_finds_what_the_steps_find_without_it(
    workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real Prefect flow, on its temporary server."""
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "# Lamp\n\nA brass lamp hangs over the well.\n"))
    workshop.bring(
        at, workshop.write("well.md", "---\nspoiler_level: 2\n---\n# Well\n\nThe well hides a drowned bell.\n")
    )
    wanted = Wanted(modes=("lexical",))
    flowed, plain = (how(at, wanted, tmp_path / "report").as_json() for how in (run, in_process))
    assert flowed | {"created_at": ""} == plain | {"created_at": ""}
    assert plain["counts"]["secret passages asked for"] == 1
    assert (tmp_path / "report" / "report.md").exists()
