"""What is told of a run: how far a step is while it runs, how long each took, and what the DAG did in the end."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Protocol


class Progress(Protocol):
    """Told what is going on: the step, how much of it is done, of how much."""

    def __call__(self, step: str, done: int, total: int) -> None: ...


def silent(step: str, done: int, total: int) -> None:
    """Progress for nobody."""


@dataclass(slots=True)
class Report:
    """What a run of the DAG did. Times are seconds by step; `lexical_only_reasons` counts texts that get no vector.
    `degraded` says why semantic search is off or incomplete.
    """

    chunked_documents: int = 0
    chunks: int = 0
    rows_added: int = 0
    rows_removed: int = 0
    rows: int = 0
    embedded_texts: int = 0
    vectors: int = 0
    vectors_missing: int = 0
    lexical_only_texts: int = 0
    lexical_only_reasons: dict[str, int] = field(default_factory=dict)
    generation: str = ""
    degraded: str | None = None
    notes: list[str] = field(default_factory=list)
    rejected: list[tuple[str, str]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        return asdict(self)


class Timed(Protocol):
    """A report with the seconds that each step took."""

    seconds: dict[str, float]


class timed:  # noqa: N801 - reads as a verb
    """Adds the seconds that a block takes to the report."""

    def __init__(self, report: Timed, step: str) -> None:
        self._report, self._step = report, step

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        spent = time.perf_counter() - self._start
        self._report.seconds[self._step] = self._report.seconds.get(self._step, 0.0) + spent
