"""Question sets as they are read: who asks, what surrounds it, which places are judged, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from canonry.context import QueryContext
from canonry.eligibility import Scope
from canonry.errors import UsageError
from eval.questions import Judgement, Question, QuestionSet, read_set

QUESTION = {"_id": "q1", "text": "who rings the bell?", "kind": "spoiler"}
JUDGEMENT = {"query_id": "q1", "source": "canon.md", "quote": "Nobody rings it", "relevance": 2}


def write_set(folder: Path, questions: list[object], judgements: list[object] = []) -> Path:  # noqa: B006
    for name, rows in (("queries", questions), ("judgements", judgements)):
        lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_a_question_says_who_asks_and_what_surrounds_it(tmp_path: Path) -> None:
    context = {
        "scene": "a storm", "location": "the mole", "mention": ["Mara", "顾三娘"], "thread": "The Ticket",
        "genre": "ghost story", "keywords": ["Sodden"],
    }  # fmt: skip
    row = QUESTION | {
        "role": "npc:mara", "spoiler_level": 2, "forbid_tags": ["ending"], "as_of": "2026-03-01", "context": context
    }  # fmt: skip
    (question,) = read_set(write_set(tmp_path, [row])).questions
    around = QueryContext("a storm", "the mole", ("Mara", "顾三娘"), "The Ticket", "ghost story", ("Sodden",))
    assert question == Question(
        "q1", "who rings the bell?", "spoiler", "npc:mara", 2, ("ending",), "2026-03-01", around
    )
    assert question.scope == Scope("npc:mara", 2, forbid_tags=("ending",), as_of="2026-03-01T23:59:59.999999+00:00")
    assert question.asked["context"] == around


def test_an_asker_who_is_not_described_is_a_player_at_the_safe_level(tmp_path: Path) -> None:
    (question,) = read_set(write_set(tmp_path, [QUESTION])).questions
    assert question.scope == Scope("player", 0)
    assert question.asked["context"] == QueryContext()


def test_a_judgement_names_a_quote_a_heading_or_lines_and_remembers_its_line(tmp_path: Path) -> None:
    rows = [
        JUDGEMENT,
        {"query_id": "q1", "source": "canon.md", "heading": "The Bell", "relevance": 1},
        {"query_id": "q1", "source": "canon.md", "heading": ["City", "The Bell"], "lines": [3, 4], "relevance": -1},
    ]
    found = read_set(write_set(tmp_path, [QUESTION], rows)).judgements
    assert [(one.quote, one.heading, one.lines, one.relevance) for one in found] == [
        ("Nobody rings it", (), None, 2),
        ("", ("The Bell",), None, 1),
        ("", ("City", "The Bell"), (3, 4), -1),
    ]
    assert [one.where for one in found] == [f"{tmp_path / 'judgements.jsonl'}:{line}" for line in (1, 2, 3)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ({"_id": "q1", "kind": "spoiler"}, "has no 'text'; add it"),
        (QUESTION | {"text": " "}, "text ' ' is not a text"),
        (QUESTION | {"kind": 3}, "kind 3 is not a text"),
        (QUESTION | {"spoiler_levl": 3}, "has 'spoiler_levl', which means nothing here"),
        (QUESTION | {"spoiler_level": "3"}, "spoiler_level '3' is not a whole number"),
        (QUESTION | {"spoiler_level": True}, "spoiler_level True is not a whole number"),
        (QUESTION | {"spoiler_level": -1}, "spoiler_level -1 is not a whole number from 0"),
        (QUESTION | {"role": "the boss"}, "role 'the boss' is not usable"),
        (QUESTION | {"as_of": "last week"}, "time 'last week' is not a date"),
        (QUESTION | {"forbid_tags": [1]}, "forbid_tags [1] is not a list of texts"),
        (QUESTION | {"context": "a storm"}, "context 'a storm' is not an object"),
        (QUESTION | {"context": {"place": "the mole"}}, "context: has 'place', which means nothing here"),
        (QUESTION | {"context": {"scene": ["a storm"]}}, "scene ['a storm'] is not a text"),
    ],
)
def test_a_question_that_cannot_be_meant_is_refused_with_its_line(tmp_path: Path, row: object, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_set(write_set(tmp_path, [QUESTION | {"_id": "q0"}, "", row]))
    assert str(refused.value).startswith(f"{tmp_path / 'queries.jsonl'}:3: ")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"quote": None}, "quote None is not a text"),
        ({"relevance": 0.5}, "relevance 0.5 is not a whole number"),
        ({"relevance": -2}, "relevance -2 is not a whole number from -1"),
        ({"lines": [4, 3]}, "lines [4, 3] is not [first, last]"),
        ({"lines": [0, 3]}, "lines [0, 3] is not [first, last]"),
        ({"lines": "3-4"}, "lines '3-4' is not [first, last]"),
        ({"heading": [""]}, "heading [''] is not a list of texts"),
        ({"chunk_id": "c1"}, "has 'chunk_id', which means nothing here"),
    ],
)
def test_a_judgement_that_cannot_be_meant_is_refused_with_its_line(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError) as refused:
        read_set(write_set(tmp_path, [QUESTION], [JUDGEMENT, JUDGEMENT | change]))
    assert str(refused.value).startswith(f"{tmp_path / 'judgements.jsonl'}:2: ")
    assert message in str(refused.value)


def test_a_judgement_needs_a_place(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"judgements\.jsonl:1: names no place in its source; add a 'quote'"):
        read_set(write_set(tmp_path, [QUESTION], [{"query_id": "q1", "source": "canon.md", "relevance": 2}]))


def test_an_id_is_asked_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"queries\.jsonl:2: question q1 is asked a second time"):
        read_set(write_set(tmp_path, [QUESTION, QUESTION | {"text": "another"}]))


def test_a_folder_that_is_no_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"queries\.jsonl: cannot be read .*a set has queries\.jsonl and"):
        read_set(tmp_path)


def test_a_set_in_another_encoding_is_refused(tmp_path: Path) -> None:
    write_set(tmp_path, [QUESTION])
    (tmp_path / "queries.jsonl").write_bytes('{"text": "café"}'.encode("latin-1"))
    with pytest.raises(UsageError, match=r"queries\.jsonl: is not UTF-8"):
        read_set(tmp_path)


def test_what_no_figure_can_count_is_named_with_its_number() -> None:
    questions = QuestionSet(
        (
            Question("q1", "judged", "mechanics"),
            Question("q2", "forgotten", "mechanics"),
            Question("q3", "without an answer on purpose", "unanswerable"),
        ),
        (
            Judgement("q1", "canon.md", "a", 2),
            Judgement("q8", "canon.md", "b", 2),
            Judgement("q8", "canon.md", "c", -1),
            Judgement("q9", "canon.md", "d", 1),
        ),
    )
    assert [question.query_id for question in questions.unjudged] == ["q2"]
    assert [judgement.quote for judgement in questions.unasked] == ["b", "c", "d"]
    assert questions.gaps == (
        "left out, asked but not judged (1): q2",
        "left out, judged but not asked (3 judgements): q8, q9",
    )
    assert QuestionSet(questions.questions[:1], questions.judgements[:1]).gaps == ()
