"""Ask a whole set in several modes, over the same campaign, and put the figures side by side."""

from __future__ import annotations

import time
from collections.abc import Sequence

from canonry.campaign import Campaign
from canonry.catalog import Catalog
from canonry.layout import Layout
from eval.judge import Place, locate
from eval.metrics import Figures, Result, measure
from eval.questions import Question, QuestionSet

LIMIT = 10


def compare_modes(at: Layout, questions: QuestionSet, modes: Sequence[str]) -> dict[str, Figures]:
    """Mode -> its figures over the whole set."""
    places = located(at, questions)
    return {mode: measure(ask_all(at, questions.questions, mode), places) for mode in modes}


def located(at: Layout, questions: QuestionSet) -> dict[str, list[Place]]:
    """The judged places of a set in a campaign's live versions."""
    catalog = Catalog.open(at.catalog)
    sources = {}
    for source in catalog.sources():
        path = at.file(source.content_hash, "md" if source.mime_type == "text/markdown" else "txt")
        sources[source.original_filename] = (source.source_id, path.read_bytes())
    catalog.close()
    return locate(questions.judgements, sources)


def ask_all(at: Layout, questions: Sequence[Question], mode: str) -> list[Result]:
    """Each question once, in order, after one that is not counted (models load then)."""
    results = []
    with Campaign(at) as campaign:
        if questions:
            campaign.retrieve(questions[0].text, mode=mode)
        for question in questions:
            start = time.perf_counter()
            answer = campaign.retrieve(
                question.text, mode=mode, role=question.role, spoiler_level=question.spoiler_level, limit=LIMIT
            )
            results.append(Result(question.query_id, answer.results, (time.perf_counter() - start) * 1000))
    return results
