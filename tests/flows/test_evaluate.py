from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.questions import read_set
from eval.report import markdown
from flows.evaluate import Request, in_process, run
from tests.conftest import Workshop


@pytest.mark.slow
def test_the_flow_finds_what_the_steps_find_without_it(
    workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real Prefect flow, on its temporary server; what it found is an artifact there."""
    from prefect.artifacts import Artifact

    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "# Lamp\n\nA brass lamp hangs here.\n"))
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "brass lamp", "kind": "name"}) + "\n")
    (tmp_path / "judgements.jsonl").write_text(
        json.dumps({"query_id": "q", "source": "lamp.md", "quote": "brass lamp", "relevance": 1}) + "\n"
    )
    wanted = Request(read_set(tmp_path), "set", ("lexical",), report=tmp_path / "report", rules={"leaks": {"most": 0}})
    with pytest.raises(Exception, match="needs the modes"):
        in_process(at, wanted)
    wanted = Request(read_set(tmp_path), "set", ("lexical",), report=tmp_path / "report")
    flowed, plain = run(at, wanted), in_process(at, wanted)
    assert flowed.evaluation.modes["lexical"].means == plain.evaluation.modes["lexical"].means
    assert flowed.evaluation.modes["lexical"].means["Recall@1"] == 1.0
    assert (tmp_path / "report" / "report.html").exists()
    artifact = Artifact.get("canonry-eval-vell")
    assert artifact is not None
    assert artifact.data == markdown(flowed.evaluation)
    assert artifact.description == "Evaluation of campaign vell on set"
