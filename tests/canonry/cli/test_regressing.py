from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).parents[3]
STORED = ROOT / "eval" / "baselines" / "demo.json"


@pytest.mark.parametrize(("text", "message"), [(None, "cannot be read"), ("{}", "is no baseline of this canonry")])
def test_a_baseline_that_cannot_be_read_is_one_clear_line(
    run_cli: Run, tmp_path: Path, text: str | None, message: str
) -> None:
    path = tmp_path / "baseline.json"
    if text is not None:
        path.write_text(text)
    code, out, err = run_cli("eval", "regression", "--baseline", path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert "`canonry eval regression --write` stores a new baseline" in err


@pytest.mark.slow
def test_search_is_what_the_stored_baseline_says_and_a_better_one_is_missed(run_cli: Run, tmp_path: Path) -> None:
    """One baseline that asks for more than search gives, in three questions that it does not answer."""
    code, out, _ = run_cli("eval", "regression")
    assert (code, "Nothing is worse than the baseline beyond noise." in out) == (0, True)
    baseline = json.loads(STORED.read_text(encoding="utf-8"))
    questions = baseline["modes"]["lexical"]["questions"]
    missed = [query for query, values in questions.items() if values == [0.0, 0.0]][:3]
    questions |= {query: [1.0, 1.0] for query in missed}
    better = tmp_path / "better.json"
    better.write_text(json.dumps(baseline))
    code, out, _ = run_cli("eval", "regression", "--baseline", better)
    assert code == 1
    assert "lexical, all: Recall@5 fell by 0.016, as much as 3.0 of 189 questions" in out
    for query in missed:
        assert f"\n{query} " in out
    assert "  wanted: " in out
    assert "  came:   " in out


@pytest.mark.slow
def test_a_baseline_of_another_model_says_how_to_renew_it_and_can_be_renewed(run_cli: Run, tmp_path: Path) -> None:
    baseline = json.loads(STORED.read_text(encoding="utf-8"))
    baseline["evidence"]["embedder"] = "another model"
    path = tmp_path / "other.json"
    path.write_text(json.dumps(baseline))
    code, out, err = run_cli("eval", "regression", "--baseline", path)
    assert (code, out) == (1, "")
    assert "the baseline is of something else: embedder (another model, now minilm" in err
    assert run_cli("eval", "regression", "--baseline", path, "--write")[0] == 0
    assert json.loads(path.read_text(encoding="utf-8"))["evidence"]["embedder"].startswith("minilm")
