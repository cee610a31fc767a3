from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from canonry.embedders import register
from canonry.layout import Layout
from eval.tune import halves
from tests.conftest import Workshop
from tests.fakes import WordBag

Run = Callable[..., tuple[int, str, str]]
NAMES = [f"{letter}orn" for letter in "bdfghjklmnpqrstvwxyz"]
CURRENT = "convex α=0.1"


def build(workshop: Workshop) -> Layout:
    at = workshop.create(embedder="wordbag", **{"fusion.method": "convex", "fusion.alpha": "0.1"})
    for name in NAMES:
        workshop.write(f"{name}-words.md", f"{name} {name} {name} lights light light\n")
        workshop.write(f"{name}-meaning.md", f"{name}s lighting near quays where boats lie moored\n")
    workshop.bring(at, workshop.root / "lore")
    return at


@pytest.fixture
def at(workshop: Workshop) -> Layout:
    """For each name one file that wins by words (the stem, three times) and one that wins by meaning (the very words)."""
    register(WordBag())
    return workshop.once(build)


def write_set(folder: Path, answers: dict[str, str]) -> Path:
    """A question a name; `answers`: which of its files answers."""
    folder.mkdir()
    queries = [{"_id": name, "text": f"{name}s lighting", "kind": "exact-name"} for name in answers]
    judged = [
        {"query_id": name, "source": f"{name}-{kind}.md", "lines": [1, 1], "relevance": 2}
        for name, kind in answers.items()
    ]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    (folder / "judgements.jsonl").write_text("".join(json.dumps(row) + "\n" for row in judged))
    return folder


@pytest.fixture
def by_meaning(tmp_path: Path) -> Path:
    return write_set(tmp_path / "by-meaning", dict.fromkeys(NAMES, "meaning"))


@pytest.fixture
def run(run_cli: Run, at: Layout) -> Run:
    return lambda *arguments: run_cli("--data", at.root, *arguments)


def settings(run: Run, at: Layout) -> dict[str, str]:
    found: dict[str, str] = json.loads(run("campaign", "settings", at.campaign, "--json")[1])
    return found


def test_the_choice_is_shown_with_the_command_that_sets_it(run: Run, at: Layout, by_meaning: Path) -> None:
    code, out, err = run("eval", "tune", by_meaning)
    assert code == 0
    assert "Chosen on 10 questions, held out 10 (seed 0): rrf k=5 w=0.25" in out
    assert f"against {CURRENT}" in out
    assert (
        f"canonry campaign settings {at.campaign} --set fusion.method=rrf --set fusion.k=5 --set fusion.weight=0.25`"
        in out
    )
    assert "10 held-out questions tell large differences alone" in err
    assert settings(run, at)["fusion.method"] == "convex"


def test_apply_sets_the_choice_and_keeps_the_evidence(run: Run, at: Layout, by_meaning: Path) -> None:
    code, out, _ = run("eval", "tune", by_meaning, "--apply")
    assert (code, "Set: fusion.method=rrf fusion.k=5 fusion.weight=0.25." in out) == (0, True)
    assert settings(run, at)["fusion.method"] == "rrf"
    shown = json.loads(run("campaign", "show", at.campaign, "--json")[1])["tuning"]
    assert shown["holds"]
    assert (shown["evidence"]["set"], shown["evidence"]["held out"]) == ("by-meaning", "10 questions")
    assert "which is set" in run("campaign", "show", at.campaign)[1]
    assert run("campaign", "settings", at.campaign, "--set", "fusion.method=convex")[0] == 0
    assert "which is not set any more" in run("campaign", "show", at.campaign)[1]
    again = json.loads(run("eval", "tune", by_meaning, "--apply", "--json")[1])
    assert (again["current_label"], again["applied"]) == (CURRENT, True)
    same = json.loads(run("eval", "tune", by_meaning, "--apply", "--json")[1])
    assert (same["is_new"], same["applied"]) == (False, False)


def test_a_choice_that_the_held_out_half_contradicts_is_not_set(run: Run, at: Layout, tmp_path: Path) -> None:
    first, second = halves(dict.fromkeys(NAMES, "exact-name"), 0)
    folder = write_set(tmp_path / "torn", dict.fromkeys(first, "meaning") | dict.fromkeys(second, "words"))
    code, out, _ = run("eval", "tune", folder, "--apply")
    assert (code, "The held-out half speaks against it: nothing was changed." in out) == (1, True)
    assert settings(run, at)["fusion.method"] == "convex"


def test_another_fusion_voids_the_gate_and_says_so(run: Run, at: Layout, by_meaning: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate.toml"
    gate.write_text("[leaks]\nmost = 0\n")
    assert run("eval", "run", by_meaning, "--in-process", "--no-packs", "--gate", gate)[0] == 0
    _, out, _ = run("eval", "tune", by_meaning, "--apply")
    assert "earns it anew" in out
    assert json.loads(run("campaign", "show", at.campaign, "--json")[1])["gate"]["voided_by"] == ["fusion"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tune", "nowhere"], "nowhere/queries.jsonl: cannot be read"),
        (["tune", "demo", "--measure", "charm"], "measure 'charm' is unknown"),
        (["tune", "demo", "--measure", "Recall@0"], "measure 'Recall@0' is unknown"),
        (["beir", "nowhere"], "nowhere: is no BEIR folder"),
        (["beir", "nowhere", "--modes", "telepathy"], "mode 'telepathy' is unknown"),
        (["beir", "nowhere", "--embedder", "none"], "add --modes lexical"),
    ],
)
def test_what_cannot_be_tried_is_one_clear_line(run: Run, arguments: list[str], message: str) -> None:
    code, out, err = run("eval", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_few_questions_are_refused(run: Run, at: Layout, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "few", dict.fromkeys(NAMES[:19], "meaning"))
    code, _, err = run("eval", "tune", folder)
    assert (code, "19 judged questions are too few" in err) == (2, True)


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    (folder / "qrels").mkdir(parents=True)
    corpus = [{"_id": f"d-{name}", "title": name, "text": f"A lamp for {name}."} for name in NAMES]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    queries = [{"_id": name, "text": f"lamp {name}"} for name in [*NAMES, "unjudged"]]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    rows = "".join(f"{name}\td-{name}\t1\n" for name in NAMES)
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + rows)
    return folder


def test_a_collection_is_measured_and_gone(run: Run, at: Layout, collection: Path, tmp_path: Path) -> None:
    code, out, err = run("eval", "beir", collection, "--embedder", "wordbag", "--tune", "--report", tmp_path / "report")
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines() if line.startswith("lexical")] == [["lexical", "1.000"]]
    assert "Chosen on 10 questions, held out 10 (seed 0): convex α=auto" in out
    assert "left out: 1 question has no relevant document" in err
    assert [one["campaign_id"] for one in json.loads(run("campaign", "list", "--json")[1])] == [at.campaign]
    written = {path.name for path in (tmp_path / "report").iterdir()}
    assert written == {
        "report.json",
        "report.md",
        "qrels.trec",
        *(f"run-{m}.trec" for m in ("lexical", "semantic", "hybrid")),
    }
    assert len((tmp_path / "report" / "qrels.trec").read_text().splitlines()) == len(NAMES)


def test_a_collection_can_be_kept_and_asked_as_a_campaign(run: Run, at: Layout, collection: Path) -> None:
    code, out, _ = run(
        "eval", "beir", collection, "--embedder", "none", "--modes", "lexical", "--keep", "tiny", "--json"
    )
    found = json.loads(out)
    assert (code, found["documents"], found["questions"]) == (0, 20, 20)
    assert found["modes"]["lexical"]["means"]["nDCG@10"] == 1
    assert found["published"] == []
    answer = json.loads(run("-c", "tiny", "query", "lamp born", "--json")[1])
    assert answer["results"][0]["uri"] == "d-born"
    assert run("eval", "beir", collection, "--keep", at.campaign)[0] == 2
