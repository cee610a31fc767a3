"""A set is asked as its questions say: by whom, at what level and time, in what surroundings."""

from __future__ import annotations

from pathlib import Path

import pytest

from canonry.context import QueryContext
from canonry.errors import UsageError
from eval.asking import RERANK, ask_all, ask_cold, located
from eval.judge import covered
from eval.questions import Judgement, Question, QuestionSet
from tests.conftest import Workshop
from tests.servers import Standin, grades

LORE = """# Harbour

## The lamp

The lamp burns over the harbour wall.

## The lamp's keeper {visibility=hidden}

The lamp is kept by Mara.

## The lamp's end {spoiler=2 tags=ending}

The lamp goes out in the last chapter.
"""


@pytest.mark.parametrize(
    ("asker", "headings"),
    [
        ({}, ["The lamp"]),
        ({"role": "narrator"}, ["The lamp", "The lamp's keeper"]),
        ({"spoiler_level": 2}, ["The lamp", "The lamp's end"]),
        ({"spoiler_level": 2, "forbid_tags": ("ending",)}, ["The lamp"]),
        ({"as_of": "2001-01-01"}, []),
        ({"context": QueryContext(entities=("Brill",))}, ["Brill", "The lamp"]),
    ],
)
def test_a_question_is_asked_as_its_asker(workshop: Workshop, asker: dict[str, object], headings: list[str]) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("harbour.md", LORE), workshop.write("brill.md", "# Brill\n\nBrill sells eels.\n"))
    question = Question("q1", "the lamp", "mechanics", **asker)  # type: ignore[arg-type]
    (result,) = ask_all(at, [question], "lexical", 10, False)
    assert sorted(passage.heading_path[-1] for passage in result.passages) == headings


def test_a_section_is_located_by_its_heading_in_an_imported_file(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("harbour.md", LORE))
    asked = Question("q1", "the lamp goes out", "spoiler", spoiler_level=2)
    judged = Judgement("q1", "harbour.md", "", 2, ("Harbour", "The lamp's end"))
    places = located(at, QuestionSet((asked,), (judged,)))
    (result,) = ask_all(at, [asked], "lexical", 10, False)
    assert "last chapter" in result.passages[0].exact_text
    assert [bool(covered(passage, places["q1"])) for passage in result.passages][:2] == [True, False]


def test_a_place_that_a_new_version_does_not_hold_is_named(workshop: Workshop, tmp_path: Path) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("harbour.md", LORE))
    asked = Question("q1", "the lamp", "mechanics")
    questions = QuestionSet((asked,), (Judgement("q1", "harbour.md", "burns over the harbour wall", 2),))
    assert located(at, questions)
    workshop.bring(at, workshop.write("harbour.md", LORE.replace("burns", "hangs")), decide="replace")
    with pytest.raises(UsageError, match=r"harbour\.md does not hold 'burns over the harbour wall', which question q1"):
        located(at, questions)


def test_a_process_of_its_own_asks_the_judge_too(workshop: Workshop, server: Standin) -> None:
    at = workshop.create(judge_url=server.url)
    workshop.bring(at, workshop.write("lamp.md", "A lamp.\n"), workshop.write("wick.md", "The wick of a lamp.\n"))
    server.write = grades(lambda passage: 1)
    assert ask_cold(at, [Question("q1", "lamp", "mechanics")] * 2, RERANK, 1) is not None
    assert len(server.chats) == 1
