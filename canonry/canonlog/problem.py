"""What is wrong with a document, and where: reported all at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from canonry.errors import CanonryError


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong: the file as the user knows it, the JSON pointer in it ("" is the whole), what."""

    file: str
    pointer: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}{'#' if self.pointer else ''}{self.pointer}: {self.message}"


class InvalidData(CanonryError):
    """Content, an origin, an event or a save that its schema or the world refuses. The text has a line for each."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems), key=_place))
        lines = list(map(str, self.problems))
        super().__init__(lines[0] if len(lines) == 1 else "\n  ".join((f"{len(lines)} problems:", *lines)))

    def __reduce__(self) -> tuple[type[InvalidData], tuple[tuple[Problem, ...]]]:
        return InvalidData, (self.problems,)


def _place(problem: Problem) -> list[str | int]:
    """By file, pointer and message, where line 10 comes after line 9."""
    parts = re.split(r"(\d{1,18})", f"{problem.file}\0{problem.pointer}\0{problem.message}")
    return [int(part) if at % 2 else part for at, part in enumerate(parts)]
