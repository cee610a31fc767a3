"""The leak tests as a flow: who sees what, then one task a mode, and the counts as an artifact.

python -m flows.leaks DATA CAMPAIGN [REPORT]        or, on a schedule, a deployment of this flow
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from canonry.campaign import Campaign
from canonry.layout import Layout
from eval.leak_report import leak_markdown, write_leak_report
from eval.leaks import LeakReport, Progress, Wanted, find_leaks, plain_step
from eval.report import check_folder
from flows.evaluate import as_flow, silent


def in_process(at: Layout, wanted: Wanted, report: Path | None = None, progress: Progress = silent) -> LeakReport:
    """The steps of the flow without Prefect."""
    return _steps(at, wanted, report, plain_step, progress)


def run(at: Layout, wanted: Wanted, report: Path | None = None, progress: Progress = silent) -> LeakReport:
    """The leak tests as a Prefect flow."""
    description = f"Leak tests of campaign {at.campaign}"
    return as_flow("leaks", at, lambda step: _steps(at, wanted, report, step, progress), leak_markdown, description)


def _steps(at: Layout, wanted: Wanted, report: Path | None, step: Any, progress: Progress) -> LeakReport:
    if report is not None:
        check_folder(report)
    with Campaign(at) as campaign:
        found = find_leaks(campaign, wanted, progress, step)
    if report is not None:
        step("report", write_leak_report, report, found)
    return found


if __name__ == "__main__":
    data, name, *folder = sys.argv[1:]
    print(leak_markdown(run(Layout(Path(data), name), Wanted(), Path(folder[0]) if folder else None)))  # noqa: T201 - its one output
