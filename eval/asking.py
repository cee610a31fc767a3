"""Asking a whole set: warm in this process, packs included, and cold in processes of their own."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing

from canonry import config, database
from canonry.campaign import Campaign
from canonry.catalog import Catalog
from canonry.errors import CanonryError
from canonry.layout import Layout
from canonry.pack import build_pack
from canonry.retrieval import Asked, Passage, Request, make_request
from eval.judge import Place, SourceText, Stretch, locate
from eval.metrics import Result
from eval.questions import Question, QuestionSet

RERANK = "rerank"  # hybrid search, ordered by the campaign's judge
MODES = (*config.MODES, RERANK)


def asked_in(mode: str) -> tuple[str, bool]:
    """(the mode of search, whether the judge orders what it finds) of a mode of an evaluation."""
    return ("hybrid", True) if mode == RERANK else (mode, False)


def located(at: Layout, questions: QuestionSet) -> dict[str, list[Place]]:
    """The judged places of a set in a campaign's live versions; UsageError names one that is not there."""
    stretches = _stretches(at)
    sources = {}
    with closing(Catalog.open(at.catalog)) as catalog:
        for source in catalog.sources():
            path = at.file(source.content_hash, "md" if source.mime_type == "text/markdown" else "txt")
            sources[source.original_filename] = SourceText(
                source.source_id, path.read_bytes(), tuple(stretches.get(source.version_id, ()))
            )
    return locate(questions.judgements, sources)


def _stretches(at: Layout) -> dict[str, list[Stretch]]:
    """Version id -> what stands under its headings, in the order of the file; empty where nothing was imported yet."""
    if not at.lexical.exists():
        return {}
    with closing(database.open_reader(at.lexical)) as db:
        found: dict[str, list[Stretch]] = {}
        for version_id, path, start, end in db.execute(
            "SELECT version_id, heading_path, start_byte, end_byte FROM knowledge_chunk ORDER BY version_id, start_byte"
        ):
            found.setdefault(version_id, []).append(Stretch(tuple(json.loads(path)), start, end))
        return found


def ask_all(
    at: Layout,
    questions: Sequence[Question],
    mode: str,
    limit: int,
    packs: bool,
    progress: Callable[[str, int, int], None] = lambda step, done, total: None,
) -> list[Result]:
    """Each question once, in order, after one that is not counted (models load then); then a pack for each."""
    results = []
    with Campaign(at) as campaign:
        if questions:
            searched, judge = asked_in(mode)
            campaign.retrieve(f"{questions[0].text} and?", mode=searched, judge=judge)  # the last one is remembered
        for done, question in enumerate(questions, 1):
            start = time.perf_counter()
            answer = campaign.retrieve(question.text, **_options(question, mode, limit))
            took = (time.perf_counter() - start) * 1000
            if packs:
                results.append(_with_pack(campaign, question, mode, answer.results, took, answer.degraded))
            else:
                results.append(Result(question.query_id, answer.results, took, answer.degraded))
            progress(f"ask {mode}", done, len(questions))
    return results


def _options(question: Question, mode: str, limit: int) -> Asked:
    options = question.asked
    options["mode"], options["judge"] = asked_in(mode)
    options["limit"] = limit
    return options


def _with_pack(
    campaign: Campaign, question: Question, mode: str, passages: Sequence[Passage], took: float, degraded: str | None
) -> Result:
    request: Request = make_request(question.text, **question.asked)
    start = time.perf_counter()
    searched, judge = asked_in(mode)
    pack = build_pack(campaign, question.text, scope=request.scope, context=request.context, mode=searched, judge=judge)
    by_class: dict[str, int] = {}
    for item in pack.items:
        by_class[item.section] = by_class.get(item.section, 0) + item.tokens
    return Result(
        question.query_id, passages, took, degraded, [item.passage for item in pack.items], pack.text, pack.total_tokens,
        (time.perf_counter() - start) * 1000, by_class,
    )  # fmt: skip


def ask_cold(at: Layout, questions: Sequence[Question], mode: str, processes: int) -> float | None:
    """Median milliseconds of whole `canonry query` processes, each with the next question; None for no process."""
    times = []
    searched, judge = asked_in(mode)
    for question in questions[:processes]:
        command = [
            sys.executable, "-m", "canonry", "--data", str(at.root), "-c", at.campaign, "query", "--mode", searched, "--json",
            "--role", question.role, "--spoiler-level", str(question.spoiler_level), question.text,
            *(["--judge"] if judge else []),
        ]  # fmt: skip
        start = time.perf_counter()
        done = subprocess.run(  # noqa: S603 - our own interpreter, arguments as a list
            command, capture_output=True, text=True, env=os.environ, check=False
        )
        times.append((time.perf_counter() - start) * 1000)
        if done.returncode not in (0, 3):
            raise CanonryError(f"a question in a process of its own failed: {done.stderr.strip()}")
    return statistics.median(times) if times else None
