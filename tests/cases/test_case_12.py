"""Case 12: equal scores are ordered by a key, so every process and every rebuild gives the same answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from canonry import fuse
from canonry.cli import main

CASE = Path(__file__).parents[1] / "fixtures" / "cases" / "12-ties-after-fusion"
TWINS = CASE / "twins"


def canonry_says(*arguments: str | Path, seed: int = 0) -> str:
    """Standard output of `python -m canonry` in a process of its own; it must end well."""
    done = subprocess.run(
        [sys.executable, "-m", "canonry", *map(str, arguments)],
        env={**os.environ, "PYTHONHASHSEED": str(seed)}, cwd=Path(__file__).parents[2],
        capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def make(data: Path, embedder: str, *imports: Sequence[Path]) -> None:
    assert main(["campaign", "create", "toll", "--data", str(data), "--set", f"embedder={embedder}"]) == 0
    for paths in imports:
        assert main(["import", "--data", str(data), "--on-duplicate", "separate", *map(str, paths)]) == 0


def rebuild(data: Path) -> None:
    assert main(["reindex", "--data", str(data), "--full", "--in-process"]) == 0


def ask(data: Path, *options: str, limit: int = 3, seed: int = 0) -> list[dict[str, object]]:
    out = canonry_says("query", "--data", data, "--json", "--limit", str(limit), *options, "toll keeper", seed=seed)
    results = json.loads(out)["results"]
    assert isinstance(results, list)
    return results


@pytest.mark.parametrize("swapped", [False, True], ids=["lexical first", "vector first"])
def test_rank_fusion_gives_the_expected_scores_and_groups(swapped: bool) -> None:
    legs, expect = (json.loads((CASE / name).read_text()) for name in ("legs.json", "expect.json"))
    lists = [legs["lexical"], legs["vector"]]
    fused = fuse.rrf(lists[::-1] if swapped else lists, k=legs["k"])
    assert [item for item, _ in fused] == [item for group in expect["groups_in_order"] for item in group]
    assert dict(fused) == pytest.approx(expect["scores"], abs=1e-15)


@pytest.mark.parametrize("processes", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_many_processes_and_a_rebuild_give_one_answer(tmp_path: Path, processes: int) -> None:
    make(tmp_path, "none", [TWINS])
    answers = [ask(tmp_path, "--copies", limit=3, seed=seed) for seed in range(processes)]
    assert all(answer == answers[0] for answer in answers)
    rebuild(tmp_path)
    assert ask(tmp_path, "--copies", limit=3, seed=7) == answers[0]


@pytest.mark.parametrize("options", [("--copies",), ()], ids=["all copies", "one for all"])
def test_a_smaller_limit_is_the_beginning_of_a_larger_one(tmp_path: Path, options: tuple[str, ...]) -> None:
    make(tmp_path, "none", [TWINS])
    one, three, ten = (ask(tmp_path, *options, limit=limit) for limit in (1, 3, 10))
    assert one == three[:1]
    assert three == ten[:3]


def test_the_import_order_does_not_decide_the_answer(tmp_path: Path) -> None:
    """Copies imported one by one, the last first, are ordered as those imported together."""
    make(tmp_path / "together", "none", [TWINS])
    make(tmp_path / "apart", "none", *([TWINS / f"t{i}.md"] for i in (7, 2, 9)), [TWINS])
    together, apart = (
        [passage["source_id"] for passage in ask(tmp_path / folder, "--copies", limit=10)]
        for folder in ("together", "apart")
    )
    assert together == apart


def test_ten_equal_texts_are_one_passage_unless_copies_are_asked_for(tmp_path: Path) -> None:
    make(tmp_path, "none", [TWINS])
    (only,) = ask(tmp_path, limit=10)
    assert "stands for 9 more passages with the same text" in only["reasons"]
    assert len({passage["source_id"] for passage in ask(tmp_path, "--copies", limit=10)}) == 10


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_equal_meanings_are_ordered_the_same_in_every_process_and_after_a_rebuild(tmp_path: Path, mode: str) -> None:
    make(tmp_path, "static", *([TWINS / f"t{i}.md"] for i in (7, 2)), [TWINS])
    answers = [ask(tmp_path, "--copies", "--mode", mode, limit=10, seed=seed) for seed in range(3)]
    assert all(answer == answers[0] for answer in answers)
    assert answers[0][:3] == ask(tmp_path, "--copies", "--mode", mode, limit=3)
    rebuild(tmp_path)
    assert ask(tmp_path, "--copies", "--mode", mode, limit=10, seed=5) == answers[0]
