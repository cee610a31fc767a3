"""Question sets: what is asked, by whom, and which places answer it or must never be shown.

A set is a folder with queries.jsonl and judgements.jsonl. A place is a verbatim quote in a source, so that judgements
outlive every change of chunking. Relevance 2 answers, 1 helps, -1 is forbidden to this asker.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from canonry.errors import UsageError
from canonry.retrieval import Asked

FORBIDDEN = -1


@dataclass(frozen=True, slots=True)
class Question:
    """One question and who asks it."""

    query_id: str
    text: str
    kind: str
    role: str = "player"
    spoiler_level: int = 0

    @property
    def asked(self) -> Asked:
        """The options of `Campaign.retrieve` that say who asks."""
        return Asked(role=self.role, spoiler_level=self.spoiler_level)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A place that answers a question (relevance above 0) or must not be shown for it (below 0)."""

    query_id: str
    source: str  # original file name, as imported
    quote: str
    relevance: int


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions in file order, with their judgements."""

    questions: tuple[Question, ...]
    judgements: tuple[Judgement, ...]


def read_set(folder: Path) -> QuestionSet:
    """The set in `folder`; UsageError that names the line where it cannot be understood."""
    questions = tuple(
        Question(row["_id"], row["text"], row["kind"], row.get("role", "player"), row.get("spoiler_level", 0))
        for row in _rows(folder / "queries.jsonl", ("_id", "text", "kind"))
    )
    judgements = tuple(
        Judgement(row["query_id"], row["source"], row["quote"], row["relevance"])
        for row in _rows(folder / "judgements.jsonl", ("query_id", "source", "quote", "relevance"))
    )
    known = {question.query_id for question in questions}
    for judgement in judgements:
        if judgement.query_id not in known:
            raise UsageError(
                f"{folder}: a judgement is about question {judgement.query_id}, which is not asked; add it"
            )
    return QuestionSet(questions, judgements)


def _rows(path: Path, needed: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}); a set has queries.jsonl and judgements.jsonl"
        ) from error
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UsageError(f"{path}:{number}: not JSON ({error}); write one object a line") from error
        for key in needed:
            if key not in row:
                raise UsageError(f"{path}:{number}: has no {key!r}; add it")
        yield row
