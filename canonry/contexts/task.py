"""The bounded task that a selection is for: what is to be done, for which role, by which searches, at what cost.

    {"task": "Write the scene at the quay.", "role": "writer", "spoiler_level": 1, "searches": ["lexical"],
     "budget": {"calls": 20, "tokens": 8000, "hot": 1000, "working": 3000}, "required": ["ID"]}

It is whoever starts the session who says all this; who drives the session cannot change it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from canonry.canonlog.document import parse_document, pointer_to
from canonry.canonlog.problem import Problem
from canonry.config import MODES
from canonry.contexts.assembly import Ref
from canonry.contexts.blocks import relevance_problem
from canonry.contexts.selection import read_refs, ref_problems, refuse
from canonry.contexts.tiers import Budgets
from canonry.eligibility import Scope
from canonry.errors import UsageError
from canonry.timestamps import parse_instant

MOST_BYTES = 1 << 20
_MOST = {"calls": 10_000, "tokens": 10_000_000, "hot": 10_000_000, "working": 10_000_000}
_LEAST = {"calls": 1, "tokens": 1, "hot": 0, "working": 0}
_LONGEST_TASK = 20_000


@dataclass(frozen=True, slots=True)
class Task:
    """`calls` and `tokens` are what driving it may cost; `budgets` what the assembled text may hold."""

    task: str
    scope: Scope
    searches: tuple[str, ...] = MODES
    calls: int = 20
    tokens: int = 8_000
    budgets: Budgets = field(default_factory=Budgets)
    required: tuple[Ref, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As `parse_task` reads it again."""
        scope = self.scope
        return {
            "task": self.task, "role": scope.role, "spoiler_level": scope.spoiler_level,
            "forbid_tags": list(scope.forbid_tags), "story_time": scope.story_time, "as_of": scope.as_of,
            "searches": list(self.searches), "budget": {"calls": self.calls, "tokens": self.tokens, **asdict(self.budgets)},
            "required": [asdict(ref) for ref in self.required],
        }  # fmt: skip


def parse_task(data: bytes, shown: str) -> Task:
    """A task from JSON; InvalidData with every problem. A budget of zero calls or tokens is one: nothing could be done."""
    said = parse_document(data, shown)
    refuse(list(_problems(said, shown)))
    return task_of(said)


def task_of(said: Mapping[str, Any]) -> Task:
    """A task of JSON without problems."""
    budget = said.get("budget", {})
    tiers = {name: budget[name] for name in ("hot", "working") if name in budget}
    costs = {name: budget[name] for name in ("calls", "tokens") if name in budget}
    as_of = said.get("as_of")
    scope = Scope(
        said.get("role", "player"), said.get("spoiler_level", 0), tuple(said.get("forbid_tags", ())),
        as_of=parse_instant(as_of) if as_of else None, story_time=said.get("story_time"),
    )  # fmt: skip
    required = tuple(read_refs(said.get("required", [])))
    searches = tuple(said.get("searches", MODES))
    return Task(said["task"], scope, searches, **costs, budgets=Budgets(**tiers), required=required)


def _problems(said: object, shown: str) -> Iterator[Problem]:
    if not isinstance(said, dict):
        yield Problem(shown, "", 'is no task; write {"task": "what is to be done"}')
        return
    if "task" not in said:
        yield Problem(shown, "", "has no task")
    for key, value in said.items():
        place = pointer_to(key)
        if key == "required":
            yield from ref_problems(value, shown, key)
        elif key == "budget":
            yield from _budget_problems(value, shown)
        elif key not in _FIELDS:
            unknown = Problem(shown, place, f"is none of {', '.join((*_FIELDS, 'budget', 'required'))}")
            yield relevance_problem(shown, place, key) or unknown
        elif problem := _FIELDS[key](value):
            yield Problem(shown, place, problem)


def _budget_problems(said: object, shown: str) -> Iterator[Problem]:
    if not isinstance(said, dict):
        yield Problem(shown, "/budget", f"is no object with {', '.join(_MOST)}")
        return
    for key, value in said.items():
        if key not in _MOST:
            yield Problem(shown, pointer_to("budget", key), f"is none of {', '.join(_MOST)}")
        elif not isinstance(value, int) or isinstance(value, bool) or not _LEAST[key] <= value <= _MOST[key]:
            why = f"is no whole number from {_LEAST[key]} to {_MOST[key]:,}"
            yield Problem(shown, pointer_to("budget", key), why)


def _is_task(value: object) -> str:
    good = isinstance(value, str) and value.strip() and len(value) <= _LONGEST_TASK
    return "" if good else f"is no text of at most {_LONGEST_TASK:,} characters"


def _in_scope(name: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        wanted = str if name == "role" else int
        if value is None and name == "story_time":
            return ""
        if not isinstance(value, wanted) or isinstance(value, bool):
            return "is no text" if wanted is str else "is no whole number"
        try:
            Scope(**{name: value})  # type: ignore[arg-type]
        except UsageError as error:
            return f"is wrong: {error}"
        return ""

    return check


def _are_words(value: object) -> str:
    good = isinstance(value, list) and all(isinstance(word, str) and word.strip() for word in value)
    return "" if good else "is no list of words"


def _are_searches(value: object) -> str:
    good = isinstance(value, list) and all(mode in MODES for mode in value)
    return "" if good else f"is no list of {', '.join(MODES)}; an empty one allows no search"


def _is_instant(value: object) -> str:
    try:
        return "" if value is None or (isinstance(value, str) and parse_instant(value)) else "is no date"
    except UsageError as error:
        return f"is wrong: {error}"


_FIELDS: dict[str, Callable[[object], str]] = {
    "task": _is_task, "role": _in_scope("role"), "spoiler_level": _in_scope("spoiler_level"), "forbid_tags": _are_words,
    "story_time": _in_scope("story_time"), "as_of": _is_instant, "searches": _are_searches,
}  # fmt: skip
