"""The evaluation flow: a question set asked in each mode, one task a mode, and its figures as an artifact.

python -m flows.evaluate DATA CAMPAIGN QUESTIONS REPORT        or, on a schedule, a deployment of this flow

Modes run one after the other, so that none is timed beside another.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from canonry.layout import Layout
from eval.asking import ask_all, ask_cold, located
from eval.evaluation import Evaluation, Progress, asked_for, summed_up
from eval.gate import Check, check
from eval.judge import Place
from eval.metrics import KS
from eval.questions import QuestionSet, read_set
from eval.report import markdown, write_report
from flows import server_errors

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be evaluated, and how."""

    questions: QuestionSet
    set_name: str
    modes: tuple[str, ...]
    ks: tuple[int, ...] = KS
    cold: int = 0  # processes a mode, to time a first question
    packs: bool = True
    report: Path | None = None
    rules: Mapping[str, dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The figures, and the lines of the gate where there was one."""

    evaluation: Evaluation
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every line of the gate holds; there must be one."""
        return bool(self.checks) and all(one.holds for one in self.checks)


def silent(step: str, done: int, total: int) -> None:
    """No progress."""


def in_process(at: Layout, wanted: Request, progress: Progress = silent) -> Outcome:
    """The steps of the flow without Prefect."""
    return _steps(at, wanted, lambda name, function, *arguments: function(*arguments), progress)


def run(at: Layout, wanted: Request, progress: Progress = silent) -> Outcome:
    """The evaluation as a Prefect flow: on the server of PREFECT_API_URL where there is one, else on a temporary one."""
    return as_flow(
        "evaluate", at, lambda step: _steps(at, wanted, step, progress),
        lambda found: markdown(found.evaluation, found.checks), f"Evaluation of campaign {at.campaign} on {wanted.set_name}",
    )  # fmt: skip


def as_flow(
    name: str, at: Layout, steps: Callable[[Any], Found], told: Callable[[Found], str], description: str
) -> Found:
    """What `steps` finds, run as the flow canonry-<name>; `told` makes its artifact of it.

    `steps` gets a function (name, function, *arguments), which runs one of them as a task.
    """
    from prefect import flow, task
    from prefect.artifacts import create_markdown_artifact

    done: list[Found] = []

    @flow(name=f"canonry-{name}", flow_run_name=f"{name} {at.campaign}")
    def body() -> None:
        def step(name: str, function: Any, *arguments: Any) -> Any:
            return task(name=name, persist_result=False)(function)(*arguments)

        done.append(steps(step))
        key = f"canonry-{'eval' if name == 'evaluate' else name}-{at.campaign.replace('_', '-')}"
        create_markdown_artifact(told(done[0]), key=key, description=description)

    with server_errors():
        body()
    return done[0]


def _steps(at: Layout, wanted: Request, step: Any, progress: Progress) -> Outcome:
    questions = wanted.questions
    places: dict[str, list[Place]] = step("judge", located, at, questions)
    results = {
        mode: step(f"ask {mode}", ask_all, at, questions.questions, mode, asked_for(wanted.ks), wanted.packs, progress)
        for mode in wanted.modes
    }
    cold = {
        mode: step(f"ask cold {mode}", ask_cold, at, questions.questions, mode, wanted.cold) for mode in wanted.modes
    }
    found: Evaluation = step("sum up", summed_up, at, questions, wanted.set_name, places, results, cold, wanted.ks)
    checks: Sequence[Check] = step("gate", check, found, wanted.rules) if wanted.rules else ()
    if wanted.report is not None:
        step("report", write_report, wanted.report, found, questions, places, checks)
    return Outcome(found, tuple(checks))


if __name__ == "__main__":
    data, campaign, folder, report = sys.argv[1:5]
    asked = Request(read_set(Path(folder)), Path(folder).name, ("lexical", "semantic", "hybrid"), report=Path(report))
    print(markdown(run(Layout(Path(data), campaign), asked).evaluation))  # noqa: T201 - its one output
