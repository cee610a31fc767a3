from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from canonry.errors import UsageError
from eval.beir import MEASURES, absent, documents, measured, read_collection


def write(folder: Path, corpus: Sequence[object], queries: Sequence[object], qrels: str) -> Path:
    (folder / "qrels").mkdir(parents=True)
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text(qrels, encoding="utf-8")
    return folder


CORPUS = [{"_id": f"d{number}", "title": "", "text": f"text {number}"} for number in range(3)]
QUERIES = [{"_id": f"q{number}", "text": f"question {number}"} for number in range(3)]
HEAD = "query-id\tcorpus-id\tscore\n"


def test_judged_questions_are_asked_in_order_and_the_rest_is_counted(tmp_path: Path) -> None:
    qrels = f"{HEAD}q2\td0\t1\nq0\td1\t2\nq0\td2\t0\ngone\td1\t1\nq0\tnowhere\t1\n"
    found = read_collection(write(tmp_path / "tiny", CORPUS, QUERIES, qrels))
    assert (found.name, list(found.queries)) == ("tiny", ["q0", "q2"])
    assert found.gains == {"q0": {"d1": 2, "nowhere": 1}, "q2": {"d0": 1}}
    assert found.gaps == (
        "left out: 1 question has no relevant document",
        "left out: 1 judged question is not in queries.jsonl",
        "left out: 1 judgement says not relevant (a score of 0 or less)",
    )
    there = [document.document_id for document in documents(found.folder)]
    assert absent(found, there) == "left out: 1 relevant document is not in the index; they count as not found"
    assert absent(found, [*there, "nowhere"]) == ""


def test_the_first_questions_can_be_asked_alone(tmp_path: Path) -> None:
    found = read_collection(write(tmp_path / "t", CORPUS, QUERIES, f"{HEAD}q0\td0\t1\nq1\td1\t1\nq2\td2\t1\n"), most=2)
    assert list(found.queries) == ["q0", "q1"]
    assert found.gaps == ("asked: the first 2 of 3 judged questions",)


def test_measures_are_of_documents_with_their_gains(tmp_path: Path) -> None:
    qrels = f"{HEAD}q0\td0\t1\nq0\td1\t2\nq1\td2\t1\n"
    found = read_collection(write(tmp_path / "t", CORPUS, QUERIES, qrels))
    rows = measured(found, {"q0": ["d0", "d2"], "q1": []})
    ideal = 2 + 1 / math.log2(3)
    assert rows["q0"] == {
        "nDCG@10": pytest.approx(1 / ideal), "Recall@10": pytest.approx(0.5), "Recall@100": pytest.approx(0.5)
    }  # fmt: skip
    assert rows["q1"] == dict.fromkeys(MEASURES, 0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: (f / "corpus.jsonl").unlink(), "is no BEIR folder, it lacks corpus.jsonl"),
        (lambda f: (f / "qrels" / "test.tsv").rename(f / "qrels" / "dev.tsv"), "test.tsv: is not there; name one of dev"),
        (lambda f: (f / "qrels" / "test.tsv").write_text("q0 d0 1\n"), "test.tsv:1: is not query-id"),
        (lambda f: (f / "qrels" / "test.tsv").write_text(f"{HEAD}x\td0\t1\n"), "no question has a relevant document"),
        (lambda f: (f / "queries.jsonl").write_text("\n{}\n"), "queries.jsonl:2: has no text under '_id'"),
        (lambda f: (f / "queries.jsonl").write_text("[]\n"), "queries.jsonl:1: is not a JSON object"),
        (lambda f: (f / "queries.jsonl").write_text("nonsense\n"), "queries.jsonl:1: is not JSON"),
        (lambda f: (f / "queries.jsonl").write_bytes(b"\xff\n"), "queries.jsonl: is not UTF-8"),
        (lambda f: (f / "queries.jsonl").write_text('{"_id": "q0", "text": "a"}\n' * 2), "'q0' is asked a second time"),
    ],
)  # fmt: skip
def test_what_is_no_collection_is_named(tmp_path: Path, change: object, message: str) -> None:
    folder = write(tmp_path / "t", CORPUS, QUERIES, f"{HEAD}q0\td0\t1\n")
    change(folder)  # type: ignore[operator]
    with pytest.raises(UsageError, match=message):
        read_collection(folder)


def test_a_document_that_comes_twice_or_has_no_id_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "t", [*CORPUS, CORPUS[1]], QUERIES, HEAD)
    with pytest.raises(UsageError, match=r"corpus\.jsonl:4: document 'd1' is there a second time"):
        list(documents(folder))
    (folder / "corpus.jsonl").write_text('{"_id": 7, "text": ""}\n{"text": "a"}\n')
    rows = documents(folder)
    assert next(rows).document_id == "7"
    with pytest.raises(UsageError, match=r"corpus\.jsonl:2: has no text under '_id'"):
        next(rows)
