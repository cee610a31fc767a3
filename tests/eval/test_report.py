from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import ir_measures
import pytest
from ir_measures import R

from canonry.errors import UsageError
from canonry.layout import Layout
from eval.asking import ask_all, located
from eval.evaluation import Evaluation, evaluate, summed_up
from eval.gate import Check
from eval.plots import plots
from eval.questions import QuestionSet, read_set
from eval.report import FILES, failures, html, markdown, write_report
from eval.reports import compared, read_report
from tests.conftest import Workshop, built_once

ATTACK = "<script>alert(1)</script> & the brass lamp"
QUESTIONS = [
    {"_id": "q1", "text": "brass lamp", "kind": "exact-name"},
    {"_id": "q2", "text": "which woman rows wagons", "kind": "paraphrase"},
    {"_id": "q3", "text": "how many moons", "kind": "unanswerable"},
    {"_id": "q4", "text": "the drowned bell", "kind": "spoiler"},
]
JUDGEMENTS = [
    {"query_id": "q1", "source": "lamp.md", "quote": ATTACK, "relevance": 2},
    {"query_id": "q2", "source": "ferry.md", "quote": "Odile takes carts over the water", "relevance": 2},
    {"query_id": "q4", "source": "bell.md", "quote": "The drowned bell tolls", "relevance": -1},
]


@built_once
def at(workshop: Workshop) -> Layout:
    at = workshop.create()
    workshop.bring(
        at,
        workshop.write("lamp.md", f"# Lamp\n\nHere hangs {ATTACK}.\n"),
        workshop.write("ferry.md", "# Ferry\n\nOdile takes carts over the water.\n"),
        workshop.write("bell.md", "---\nspoiler_level: 3\n---\n# Bell\n\nThe drowned bell tolls.\n"),
    )
    return at


@pytest.fixture
def questions(tmp_path: Path) -> QuestionSet:
    folder = tmp_path / "set"
    folder.mkdir()
    for name, rows in (("queries", QUESTIONS), ("judgements", JUDGEMENTS)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_set(folder)


@pytest.fixture
def found(at: Layout, questions: QuestionSet) -> Evaluation:
    return evaluate(at, questions, "set", ["lexical"], ks=(1, 5))


def test_an_evaluation_counts_what_it_leaves_out_and_what_deserved_nothing(found: Evaluation) -> None:
    assert found.counts == {
        "questions": 4, "judgements": 3, "judged": 2, "without_answer": 2, "excluded": ["q3", "q4"], "gaps": [],
    }  # fmt: skip
    figures = found.modes["lexical"]
    assert (figures.unanswerable, figures.empty, figures.leaks, figures.pack_leaks) == (1, 1, 0, 0)
    assert figures.means["Recall@1"] == 0.5
    assert figures.by_kind["exact-name"]["nDCG@10"] == 1.0
    assert figures.pack_tokens > 0


def test_a_report_says_what_was_left_out_of_every_figure(at: Layout, questions: QuestionSet) -> None:
    """Questions that nobody judged, and judgements of questions that nobody asks."""
    from dataclasses import replace

    unknown = replace(questions.judgements[0], query_id="<q9>")
    torn = replace(questions, judgements=(*questions.judgements[1:], unknown))
    found = evaluate(at, torn, "set", ["lexical"], ks=(1, 5))
    assert "left out, " not in markdown(evaluate(at, questions, "set", ["lexical"], ks=(1, 5)))
    for told in (markdown(found), unescape(html(found, torn))):
        assert "left out, asked but not judged (1): q1" in told
        assert "left out, judged but not asked (1 judgement): <q9>" in told
    assert "<q9>" not in html(found, torn)


def test_a_leak_is_counted_in_results_and_in_packs(at: Layout, questions: QuestionSet) -> None:
    """A result as a defect would give it: the passage that the asker may not see."""
    from dataclasses import replace

    results = ask_all(at, questions.questions, "lexical", 5, True)
    seen = ask_all(at, [replace(questions.questions[3], spoiler_level=3)], "lexical", 5, True)
    found = summed_up(at, questions, "set", located(at, questions), {"lexical": [*results[:3], *seen]}, {}, (1, 5))
    assert (found.modes["lexical"].leaks, found.modes["lexical"].pack_leaks) == (1, 1)


def test_leaks_are_a_plot_and_none_are_a_line(at: Layout, questions: QuestionSet) -> None:
    from dataclasses import replace

    seen = ask_all(at, [replace(questions.questions[3], spoiler_level=3)], "lexical", 5, True)
    results = [*ask_all(at, questions.questions[:3], "lexical", 5, True), *seen]
    leaking = summed_up(at, questions, "set", located(at, questions), {"lexical": results}, {}, (1, 5))
    clean = evaluate(at, questions, "set", ["lexical"], ks=(1, 5))
    for found, plotted in ((leaking, True), (clean, False)):
        page = html(found, questions)
        assert ("Leaks" in [title for title, _, _ in plots(found)]) is plotted
        assert ("No leaks:" in page, '<h2 class="bad">Leaks</h2>' in page) == (not plotted, plotted)


def test_a_kind_is_shown_with_the_number_of_questions_that_its_mean_is_over(at: Layout, questions: QuestionSet) -> None:
    """Of two by name one is judged; of the one by spoiler none is."""
    from dataclasses import replace

    also = replace(questions.questions[0], query_id="q5")
    found = evaluate(at, replace(questions, questions=(*questions.questions, also)), "set", ["lexical"], ks=(1, 5))
    assert (found.kinds["exact-name"], found.judged("exact-name"), found.judged("spoiler")) == (2, 1, 0)
    assert "| exact-name | 2 | 1 | 1.000 |" in markdown(found)
    assert "<td>exact-name</td><td>2</td><td>1</td>" in html(found, questions)
    (bars,) = (svg for title, _, svg in plots(found) if title == "By kind of question")
    assert ("(1)" in bars, "(2)" in bars) == (True, False)


def test_a_report_is_one_folder_that_stands_alone(
    found: Evaluation, at: Layout, questions: QuestionSet, tmp_path: Path
) -> None:
    folder = tmp_path / "report"
    checks = [Check("leaks, lexical", "at most 0", "0", True)]
    write_report(folder, found, questions, located(at, questions), checks)
    assert sorted(path.name for path in folder.iterdir()) == sorted([*FILES, "run-lexical.trec"])
    page = (folder / "report.html").read_text()
    assert "<script" not in page.lower()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" not in page  # q1 was found, so nothing is quoted of it
    assert not re.findall(r'(?:src|href)="(?!#)[^"]*"', page)
    assert page.count("<svg") == page.count("</svg>") == 4
    assert "which woman rows wagons" in page
    HTMLParser().feed(page)
    document = read_report(folder)
    assert document["gate"] == [{"name": "leaks, lexical", "wanted": "at most 0", "found": "0", "holds": True}]
    assert document["modes"]["lexical"]["means"]["Recall@1"] == 0.5
    assert "| lexical |" in (folder / "report.md").read_text()


def test_what_a_source_says_is_escaped_on_the_page(at: Layout, questions: QuestionSet, tmp_path: Path) -> None:
    """A failure quotes what came instead, whatever that is."""
    from dataclasses import replace

    wrong = replace(
        questions,
        judgements=tuple(
            replace(one, query_id="q2") if one.query_id == "q1" else one for one in questions.judgements[:1]
        ),
    )
    asked = replace(wrong, questions=(replace(questions.questions[1], text="Odile water"),))
    found = evaluate(at, asked, "set", ["lexical"], ks=(1, 5))
    write_report(tmp_path / "report", found, asked, located(at, asked))
    page = (tmp_path / "report" / "report.html").read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in page.lower()


def test_failures_say_what_was_wanted_and_what_came_instead(found: Evaluation, questions: QuestionSet) -> None:
    (missed,) = failures(found, questions, "lexical")
    assert (missed["query_id"], missed["wanted"]) == ("q2", ["Odile takes carts over the water"])
    assert [passage["title"] for passage in missed["instead"]] == []


def test_the_trec_files_give_the_same_figures_in_ir_measures(
    found: Evaluation, at: Layout, questions: QuestionSet, tmp_path: Path
) -> None:
    write_report(tmp_path / "r", found, questions, located(at, questions))
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "r" / "qrels.trec")))
    run = list(ir_measures.read_trec_run(str(tmp_path / "r" / "run-lexical.trec")))
    assert {row.query_id for row in qrels} == {"q1", "q2"}
    assert ir_measures.calc_aggregate([R @ 5], qrels, run)[R @ 5] == found.modes["lexical"].means["Recall@5"]


def test_a_folder_that_holds_something_else_is_left_alone(
    found: Evaluation, questions: QuestionSet, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(UsageError, match="holds no report"):
        write_report(tmp_path, found, questions, {})
    assert (tmp_path / "mine.txt").read_text() == "keep"


def test_a_report_may_be_written_again(found: Evaluation, questions: QuestionSet, tmp_path: Path) -> None:
    for _ in range(2):
        write_report(tmp_path / "report", found, questions, {})
    assert [path.name for path in tmp_path.glob(".tmp*")] == []


def test_two_reports_side_by_side_name_the_questions_that_changed(
    found: Evaluation, at: Layout, questions: QuestionSet, workshop: Workshop
) -> None:
    workshop.bring(
        at, workshop.write("ferry.md", "# Ferry\n\nWhich woman rows wagons? Odile takes carts over the water.\n")
    )
    after = evaluate(at, questions, "set", ["lexical"], ks=(1, 5))
    sides = compared(json.loads(json.dumps(found.as_json())), json.loads(json.dumps(after.as_json())))
    assert sides["questions"]["lexical"] == {"better": ["q2"], "worse": []}
    assert sides["modes"]["lexical"]["Recall@1"] == (0.5, 1.0)
    assert sides["evidence"] == {}


@pytest.mark.parametrize(
    ("text", "message"), [("{", "is not JSON"), ("{}", "is no evaluation report"), ("[]", "is no evaluation report")]
)
def test_what_is_no_report_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_report(tmp_path)


def test_figures_as_markdown_are_tables(found: Evaluation) -> None:
    tables = [line for line in markdown(found).splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in tables)
    assert len(tables) == 3 + 2 + len(found.kinds)
