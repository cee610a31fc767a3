"""The demo set is true of the demo campaign: each place is there once, for the eyes it is judged for, and nothing leaks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import canonry
from canonry.eligibility import NARRATOR, Scope
from canonry.layout import Layout
from canonry.retrieval import Passage
from canonry.text import FUNCTION_WORDS, index_terms, parse_query
from eval.asking import ask_all, located
from eval.judge import Place, covered
from eval.questions import UNANSWERABLE, Question, QuestionSet, read_set
from tests.conftest import Workshop

ROOT = Path(__file__).parents[2]
SET = ROOT / "eval" / "sets" / "demo"
KINDS = {"exact-name", "paraphrase", "quest-state", "mechanics", "spoiler", "unanswerable", "chinese"}


@dataclass(frozen=True)
class Demo:
    """The set, the campaign it is about, and where its places lie."""

    set: QuestionSet
    at: Layout
    campaign: canonry.Campaign
    places: dict[str, list[Place]]
    seen: dict[Scope, list[Passage]] = field(default_factory=dict)

    def sees(self, scope: Scope) -> list[Passage]:
        if scope not in self.seen:
            self.seen[scope] = self.campaign.survey(scope, list)
        return self.seen[scope]

    def judged(self, question: Question, *, forbidden: bool) -> list[Place]:
        found = self.places.get(question.query_id, [])
        return [place for place in found if (place.relevance < 0) == forbidden]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    workshop = Workshop(tmp_path_factory.mktemp("demo"))
    at = workshop.create("tolleth")
    workshop.bring(at, ROOT / "canonry" / "demo_campaign")
    questions = read_set(SET)
    yield Demo(questions, at, workshop.ask(at), located(at, questions))
    workshop.close()


def test_every_judgement_is_about_a_place_in_the_shipped_files(demo: Demo) -> None:
    assert sum(map(len, demo.places.values())) == len(demo.set.judgements)
    for judgement in demo.set.judgements:
        text = (ROOT / "canonry" / "demo_campaign" / judgement.source).read_text(encoding="utf-8")
        if judgement.quote and not (judgement.heading or judgement.lines):
            assert text.count(judgement.quote) == 1, judgement.where


def test_no_question_stands_twice_and_nothing_is_left_out(demo: Demo) -> None:
    questions = demo.set.questions
    assert len({question.query_id for question in questions}) == len(questions) >= 160
    assert len({question.text.casefold() for question in questions}) == len(questions)
    assert demo.set.gaps == ()


def test_every_kind_has_enough_questions_for_a_figure_of_its_own(demo: Demo) -> None:
    counts = Counter(question.kind for question in demo.set.questions)
    assert set(counts) == KINDS
    assert min(counts.values()) >= 15


def test_the_readme_of_the_set_tells_its_kinds_and_counts(demo: Demo) -> None:
    readme = (SET / "README.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `([a-z-]+)` \| (\d+) \|", readme, re.MULTILINE))
    counts = Counter(question.kind for question in demo.set.questions)
    assert told == {kind: str(count) for kind, count in counts.items()}
    assert f"{len(demo.set.questions)} questions, {len(demo.set.judgements)} judgements" in readme


def test_a_place_that_answers_is_in_sight_of_its_asker(demo: Demo) -> None:
    for question in demo.set.questions:
        seen = demo.sees(question.scope)
        for place in demo.judged(question, forbidden=False):
            assert any(covered(passage, [place]) for passage in seen), (question.query_id, place)


def test_a_forbidden_place_is_out_of_sight_of_its_asker_but_not_of_everyone(demo: Demo) -> None:
    everything = demo.sees(Scope(NARRATOR, 99))
    for question in demo.set.questions:
        seen = demo.sees(question.scope)
        for place in demo.judged(question, forbidden=True):
            assert any(covered(passage, [place]) for passage in everything), (question.query_id, place)
            assert not any(touches(passage, place) for passage in seen), (question.query_id, place)


def touches(passage: Passage, place: Place) -> bool:
    """Whether a passage shares a single byte with a place."""
    apart = passage.end_byte <= place.start_byte or place.end_byte <= passage.start_byte
    return passage.source_id == place.source_id and not apart


def test_kinds_are_judged_as_they_promise(demo: Demo) -> None:
    for question in demo.set.questions:
        answers, forbidden = (demo.judged(question, forbidden=which) for which in (False, True))
        if question.kind == "spoiler":
            assert forbidden, question.query_id
        elif question.kind == UNANSWERABLE:
            assert not answers, question.query_id
            assert not forbidden, question.query_id
        else:
            assert answers, question.query_id


def test_secrets_are_kept_by_level_by_visibility_and_by_tag(demo: Demo) -> None:
    kept: Counter[str] = Counter()
    for question in demo.set.questions:
        for place in demo.judged(question, forbidden=True):
            (passage, *_) = (one for one in demo.sees(Scope(NARRATOR, 99)) if touches(one, place))
            kept["level"] += passage.spoiler_level > question.spoiler_level
            kept["hidden"] += passage.visibility == "hidden" and question.role != NARRATOR
            kept["tag"] += bool({*passage.spoiler_tags} & {*question.forbid_tags})
    assert min(kept[way] for way in ("level", "hidden", "tag")) >= 5


def test_askers_are_of_many_kinds(demo: Demo) -> None:
    questions = demo.set.questions
    assert {question.spoiler_level for question in questions} == {0, 1, 2, 3, 4}
    assert {question.role.partition(":")[0] for question in questions} == {"player", "narrator", "writer", "npc"}
    assert sum(1 for question in questions if question.context.entities or question.context.texts()) >= 10


def test_a_paraphrase_shares_no_word_of_substance_with_the_quotes_that_answer_it(demo: Demo) -> None:
    answers: dict[str, set[str]] = {}
    for judgement in demo.set.judgements:
        if judgement.relevance == 2:
            answers.setdefault(judgement.query_id, set()).update(index_terms(judgement.quote).split())
    for question in demo.set.questions:
        if question.kind == "paraphrase":
            asked = {*parse_query(question.text).terms} - FUNCTION_WORDS
            assert not asked & answers[question.query_id], question.query_id


def leaking(demo: Demo, questions: tuple[Question, ...]) -> list[str]:
    """Ids of the questions that are shown a place forbidden to their asker, searched by words."""
    forbidden = {question.query_id: demo.judged(question, forbidden=True) for question in demo.set.questions}
    results = ask_all(demo.at, questions, "lexical", 10, False)
    return [
        result.query_id
        for result in results
        if any(covered(passage, forbidden[result.query_id]) for passage in result.passages)
    ]


def test_nothing_leaks_when_the_set_is_asked_by_words(demo: Demo) -> None:
    assert leaking(demo, demo.set.questions) == []


def test_the_forbidden_places_are_what_one_who_may_see_them_would_find(demo: Demo) -> None:
    all_seeing = tuple(
        replace(question, role=NARRATOR, spoiler_level=99, forbid_tags=()) for question in demo.set.questions
    )
    guarded = sum(1 for question in demo.set.questions if demo.judged(question, forbidden=True))
    assert len(leaking(demo, all_seeing)) > guarded / 2
