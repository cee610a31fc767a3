"""Ask a whole set in several modes, over the same campaign, and put the figures side by side."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import closing

from canonry import database
from canonry.campaign import Campaign
from canonry.catalog import Catalog
from canonry.layout import Layout
from canonry.retrieval import Asked
from eval.judge import Place, SourceText, Stretch, locate
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
    stretches = _stretches(at)
    sources = {}
    for source in catalog.sources():
        path = at.file(source.content_hash, "md" if source.mime_type == "text/markdown" else "txt")
        sources[source.original_filename] = SourceText(
            source.source_id, path.read_bytes(), tuple(stretches.get(source.version_id, ()))
        )
    catalog.close()
    return locate(questions.judgements, sources)


def _stretches(at: Layout) -> dict[str, list[Stretch]]:
    """Version id -> what stands under its headings, in the order of the file."""
    with closing(database.open_reader(at.lexical)) as db:
        found: dict[str, list[Stretch]] = {}
        for version_id, path, start, end in db.execute(
            "SELECT version_id, heading_path, start_byte, end_byte FROM knowledge_chunk ORDER BY version_id, start_byte"
        ):
            found.setdefault(version_id, []).append(Stretch(tuple(json.loads(path)), start, end))
        return found


def ask_all(at: Layout, questions: Sequence[Question], mode: str) -> list[Result]:
    """Each question once, in order, after one that is not counted (models load then)."""
    results = []
    with Campaign(at) as campaign:
        if questions:
            campaign.retrieve(questions[0].text, mode=mode)
        for question in questions:
            start = time.perf_counter()
            options: Asked = {**question.asked, "mode": mode, "limit": LIMIT}
            answer = campaign.retrieve(question.text, **options)
            results.append(Result(question.query_id, answer.results, (time.perf_counter() - start) * 1000))
    return results
