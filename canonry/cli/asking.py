"""`canonry query`."""

from __future__ import annotations

import argparse
import json
import sys

from canonry.campaign import Campaign
from canonry.cli.show import bold, chosen, dim, note, print_json, printable
from canonry.context import QueryContext
from canonry.eligibility import NARRATOR
from canonry.retrieval import Answer, Asked, Passage

DEGRADED = 3


def query(given: argparse.Namespace) -> int:
    with Campaign(chosen(given)) as campaign:
        answer = campaign.retrieve(question(given), **_asked(given))
    if given.json:
        print_json(answer.as_json())
    else:
        print_answer(answer)
        if not answer.results:
            note(given, who_asked(given.role, given.spoiler_level))
    for line in answer.notices:
        note(given, line)
    if answer.degraded:
        note(given, f"degraded: {answer.degraded}")
    return DEGRADED if answer.degraded else 0


def who_asked(role: str, level: int) -> str:
    """What a person may have overlooked where nothing came; the same whatever there is to see."""
    return f"Asked as {role} at spoiler level {level}; --role and --spoiler-level ask as someone else."


def question(given: argparse.Namespace) -> str:
    """The question as typed, or from standard input."""
    return sys.stdin.read() if given.text == "-" else given.text


def context_of(given: argparse.Namespace) -> QueryContext:
    return QueryContext(given.scene, given.location, given.mention, given.thread, given.genre, given.keywords)


def _asked(given: argparse.Namespace) -> Asked:
    return Asked(
        spoiler_level=given.spoiler_level, role=given.role, mode=given.mode, limit=given.limit, classes=given.classes,
        source_types=given.source_types, tags=given.tags, entities=given.entities, sources=given.sources,
        forbid_tags=given.forbid_tags, as_of=given.as_of, story_time=given.story_time, context=context_of(given),
        rerank=not given.no_rerank, copies=given.copies, explain=getattr(given, "explain", False),
        judge=getattr(given, "judge", False),
    )  # fmt: skip


def why(given: argparse.Namespace) -> None:
    with Campaign(chosen(given)) as campaign:
        verdict = campaign.why(given.chunk, question(given), as_narrator=given.viewer == NARRATOR, **_asked(given))
    if given.json:
        print_json(verdict.as_json())
        return
    print(f"{'kept' if verdict.kept else f'left out ({verdict.step})'}: {printable(verdict.reason)}")
    if verdict.change:
        print(f"what would change that: {printable(verdict.change)}")
    if verdict.reasons:
        print(dim(f"why there: {printable('; '.join(verdict.reasons))}"))


def print_answer(answer: Answer) -> None:
    if not answer.results:
        print("Nothing here answers that.")
    for number, passage in enumerate(answer.results, 1):
        print_passage(number, passage)


def print_passage(number: int, passage: Passage) -> None:
    """A passage for a person: where it is from, what it is, its text, why it is here."""
    where = " > ".join(passage.heading_path) or passage.title
    place = f"{passage.uri}:{passage.start_line}–{passage.end_line}" + (
        f", page {passage.page}" if passage.page is not None else ""
    )
    marks = "".join(
        (
            f", spoiler level {passage.spoiler_level}" if passage.spoiler_level else "",
            f" ({', '.join(passage.spoiler_tags)})" if passage.spoiler_tags else "",
            ", hidden" if passage.visibility == "hidden" else "",
        )
    )
    print(f"{number}. {bold(printable(where))}")
    print(dim(printable(f"   {passage.class_}{marks} · {place} · {passage.chunk_id}")))
    for line in printable(passage.exact_text).splitlines():
        print(f"   {line}".rstrip())
    print(dim(f"   why: {printable('; '.join(passage.reasons))}"))
    if passage.explain is not None:
        print(dim(f"   score: {json.dumps(passage.explain, ensure_ascii=False)}"))
    print()
