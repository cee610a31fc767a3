from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from canonry.embedders import register
from canonry.layout import Layout
from tests.conftest import Workshop
from tests.fakes import WordBag
from tests.servers import Standin, grades

Run = Callable[..., tuple[int, str, str]]
PLACES = ("harbour", "tower", "market", "bridge", "cellar", "garden", "temple", "forge")


def build(workshop: Workshop) -> Layout:
    at = workshop.create(embedder="wordbag")
    for name in PLACES:
        workshop.write(f"{name}.md", f"# The {name}\n\nA lamp burns in the {name} of Vell all night.\n")
    workshop.write("crypt.md", "---\nspoiler_level: 4\n---\n# Crypt\n\nA lamp burns in the crypt.\n")
    workshop.bring(at, workshop.root / "lore")
    return at


@pytest.fixture
def at(workshop: Workshop) -> Layout:
    register(WordBag())
    return workshop.once(build)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "questions"
    folder.mkdir()
    queries = [{"_id": name, "text": f"lamp {name}", "kind": "exact-name"} for name in PLACES]
    judged = [
        {"query_id": name, "source": f"{name}.md", "quote": f"in the {name} of Vell", "relevance": 2} for name in PLACES
    ]
    queries.append({"_id": "crypt", "text": "crypt", "kind": "spoiler"})
    judged.append({"query_id": "crypt", "source": "crypt.md", "quote": "lamp burns in the crypt", "relevance": -1})
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    (folder / "judgements.jsonl").write_text("".join(json.dumps(row) + "\n" for row in judged))
    return folder


@pytest.fixture
def run(run_cli: Run, at: Layout) -> Run:
    return lambda *arguments: run_cli("--data", at.root, "eval", *arguments)


def test_every_mode_is_measured_and_nothing_changes(run: Run, folder: Path, run_cli: Run, at: Layout) -> None:
    code, out, _ = run("run", folder, "--in-process")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()[2:5]] == ["lexical", "semantic", "hybrid"]
    assert "8 questions have a place to find; 1 have none" in out
    assert json.loads(run_cli("--data", at.root, "query", "lamp", "--json")[1])["mode"] == "lexical"


def test_json_holds_every_question_in_every_mode(run: Run, folder: Path) -> None:
    code, out, _ = run("run", folder, "--in-process", "--json", "--modes", "lexical,hybrid", "-k", "1,2")
    found = json.loads(out)
    assert (code, list(found["modes"]), found["ks"]) == (0, ["lexical", "hybrid"], [1, 2])
    assert set(found["modes"]["hybrid"]["questions"]) == {*PLACES, "crypt"}
    assert found["modes"]["lexical"]["cold_ms"] is None
    assert found["passed"] is False


def test_the_judge_is_measured_as_a_mode(run: Run, folder: Path, run_cli: Run, at: Layout, server: Standin) -> None:
    code, _, err = run("run", folder, "--in-process", "--modes", "lexical,rerank")
    assert (code, "--set judge.url" in err) == (2, True)
    run_cli("--data", at.root, "campaign", "settings", "vell", "--set", f"judge.url={server.url}")

    def is_asked_for(passage: str) -> int:
        question = server.chats[-1]["messages"][-1]["content"].splitlines()[-1]
        return 0 if any(f"lamp {name}" in question and f"in the {name} of" in passage for name in PLACES) else 3

    server.write = grades(is_asked_for)  # the worst of judges
    asked = ("run", folder, "--in-process", "--json", "--modes", "lexical,hybrid,rerank")
    code, out, _ = run(*asked)
    found = json.loads(out)
    assert (code, list(found["modes"])) == (0, ["lexical", "hybrid", "rerank"])
    recall = {mode: figures["means"]["Recall@1"] for mode, figures in found["modes"].items()}
    assert recall == {"lexical": 1.0, "hybrid": 1.0, "rerank": 0.0}
    assert found["evidence"]["judge"] == f"at {server.url}"
    server.write = lambda passages: "no"
    code, out, _ = run(*asked)
    figures = json.loads(out)["modes"]["rerank"]
    assert (code, figures["degraded"], figures["means"]["Recall@1"]) == (3, 9, 1.0)
    server.write = lambda passages: "no" if len(server.chats) % 2 else grades(lambda passage: 0)(passages)
    code, out, _ = run("run", folder, "--in-process", "--no-packs", "--modes", "rerank")
    assert (code, "questions not judged; the order is that of hybrid there" in out) == (3, True)


def test_a_first_question_can_be_timed_in_a_process_of_its_own(run: Run, folder: Path) -> None:
    found = json.loads(
        run("run", folder, "--in-process", "--json", "--modes", "lexical", "--cold", "1", "--no-packs")[1]
    )
    assert found["modes"]["lexical"]["cold_ms"] > found["modes"]["lexical"]["p50_ms"]


def test_a_passed_gate_makes_hybrid_the_default_and_keeps_its_evidence(
    run: Run, folder: Path, run_cli: Run, at: Layout, tmp_path: Path
) -> None:
    gate = tmp_path / "gate.toml"
    gate.write_text("[leaks]\nmost = 0\n[recall]\nall = 0.5\n")
    code, out, _ = run("run", folder, "--in-process", "--gate", gate, "--report", tmp_path / "report")
    assert (code, "Passed: hybrid is the default mode" in out) == (0, True)
    assert (tmp_path / "report" / "report.html").exists()
    assert json.loads(run_cli("--data", at.root, "query", "lamp", "--json")[1])["mode"] == "hybrid"
    shown = json.loads(run_cli("--data", at.root, "campaign", "show", at.campaign, "--json")[1])
    assert shown["gate"]["evidence"]["set"] == "questions"
    assert shown["gate"]["holds"] is True


def test_a_gate_that_does_not_hold_changes_nothing(
    run: Run, folder: Path, run_cli: Run, at: Layout, tmp_path: Path
) -> None:
    gate = tmp_path / "gate.toml"
    gate.write_text("[recall]\nall = 1.1\n")
    code, out, _ = run("run", folder, "--in-process", "--gate", gate)
    assert (code, "Not passed: nothing was changed." in out) == (1, True)
    assert json.loads(run_cli("--data", at.root, "query", "lamp", "--json")[1])["mode"] == "lexical"


def test_demo_is_the_gate_that_comes_along_unless_a_file_has_that_name(
    run: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("run", folder, "--in-process", "--gate", "demo")
    assert (code, "nDCG@10 against lexical" in out, "Not passed" in out) == (1, True, True)  # as good, and not better
    (tmp_path / "demo").write_text("[leaks]\nmost = 0\n")
    code, out, _ = run("run", folder, "--in-process", "--gate", "demo")
    assert (code, "Passed" in out) == (0, True)


def test_a_leak_is_a_failure(run: Run, folder: Path, run_cli: Run, at: Layout) -> None:
    """A judgement that forbids what its asker may see stands for a leak."""
    row = {"query_id": "tower", "source": "forge.md", "quote": "in the forge of Vell", "relevance": -1}
    with (folder / "judgements.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")
    code, out, _ = run("run", folder, "--in-process", "--modes", "lexical")
    assert (code, "leaks in results" in out) == (1, True)


def test_two_reports_can_be_compared(run: Run, folder: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert run("run", folder, "--in-process", "--modes", "lexical", "--report", tmp_path / name)[0] == 0
    code, out, _ = run("compare", tmp_path / "a", tmp_path / "b" / "report.json")
    assert (code, "Recall@5" in out, "worse in B" in out) == (0, True, False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nowhere"], "nowhere/queries.jsonl: cannot be read"),
        (["run", "demo", "--modes", "telepathy"], "mode 'telepathy' is unknown"),
        (["run", "demo", "--gate", "nowhere.toml"], "nowhere.toml: cannot be read"),
        (["run", "demo", "--in-process"], "which the campaign does not have; import it"),
        (["compare", "nowhere", "nowhere"], "nowhere: cannot be read"),
    ],
)
def test_what_cannot_be_evaluated_is_one_clear_line(run: Run, arguments: list[str], message: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_help_names_every_field_of_a_question_set(run: Run, folder: Path) -> None:
    """They are those that are named where a line has another one."""
    _, out, _ = run("run", "--help")
    for name in ("queries", "judgements"):
        (folder / f"{name}.jsonl").write_text('{"colour": "red"}\n')
        fields = run("run", folder)[2].strip().partition("the keys are ")[2].split(", ")
        assert len(fields) > 5
        assert [field for field in fields if not re.search(rf"\b{field}\b", out)] == []
        (folder / "queries.jsonl").write_text("")


def test_a_campaign_into_which_nothing_was_imported_is_told_so(run_cli: Run, tmp_path: Path) -> None:
    run_cli("--data", tmp_path, "campaign", "create", "vell")
    code, _, err = run_cli("--data", tmp_path, "eval", "run", "demo", "--in-process")
    assert (code, "which the campaign does not have; import it" in err) == (2, True)


@pytest.mark.parametrize("ks", ["0", "x", "", "1001"])
def test_cut_offs_are_numbers(run: Run, ks: str) -> None:
    assert run("run", "demo", "-k", ks)[0] == 2


def test_small_cutoffs_leave_rr_and_ndcg_what_they_are(run: Run, folder: Path) -> None:
    """All eight passages answer alike, so most of the right ones stand below the first place, which alone would be 1/8."""
    queries = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    for query in queries[:8]:
        query["text"] = "lamp Vell night"
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    asked = ("run", folder, "--in-process", "--json", "--modes", "lexical")
    small, usual = (
        json.loads(run(*asked, *cut)[1])["modes"]["lexical"]["means"] for cut in (("-k", "1"), ("-k", "1,10"))
    )
    assert {name: small[name] for name in ("nDCG@10", "RR@10")} == {name: usual[name] for name in ("nDCG@10", "RR@10")}
    assert (small["Recall@1"], usual["Recall@10"]) == (0.125, 1.0)
    assert small["RR@10"] > 0.3
