"""doctor: what is wrong with a campaign, what could be better, and the repair of everything that is derived.

A repair removes the derived files that a finding names and carries out the plan that makes them again; the stored files
and the catalog are never written. It is the owner's tool: it tells where a secret is told.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from canonry.errors import CanonryError
from canonry.layout import Layout
from flows.checks import facts, leaks, leftovers, likeness, names, texts
from flows.checks.findings import BROKEN, PROBLEM, Check, Finding, reason
from flows.housekeeping import purge
from flows.pipeline import InProcess, run_plan
from flows.plan import make_plan, part_names
from flows.progress import Progress, silent
from flows.verify import CHECKS, Health, examine, run_check
from stages import index_lexical

ADVICE: tuple[Check, ...] = (leftovers.check, facts.check, texts.check, likeness.check, leaks.check, names.check)
_UNREADABLE = ("catalog-", "settings-", "index-damaged", "index-missing", "check-stopped")
_NEEDS_PURGE = {"part-orphan", "part-stale"}


def diagnose(at: Layout, progress: Progress = silent) -> Health:
    """Everything that verify finds, and advice; no advice where the catalog or the index cannot be read."""
    look, findings = examine(at, CHECKS, progress)
    if at.lexical.exists() and not any(found.code.startswith(_UNREADABLE) for found in findings):
        for done, check in enumerate(ADVICE, 1):
            findings += run_check(check, look)
            progress("advice", done, len(ADVICE))
    return Health(at.campaign, dict(look.checked), findings)


def repair(at: Layout, progress: Progress = silent) -> Health:
    """Heal what is derived, then look again; the caller holds the campaign's lock, which has removed temporary files.

    What a plan of its own does not bring back is made again as a whole. The catalog must be readable.
    """
    before = diagnose(at, progress)
    after, stopped = before, []
    for full in (False, True, False):
        fixable = [found for found in after.findings if found.fixable and (found.severity == PROBLEM or not full)]
        if not fixable or any(found.code.startswith("catalog-") for found in after.findings):
            continue
        stopped = _carry_out(at, fixable, progress, full=full)
        after = diagnose(at, progress)
    remaining = {(found.code, found.where) for found in after.findings}
    fixed = [found for found in before.findings if (found.code, found.where) not in remaining]
    return Health(at.campaign, after.checked, [*stopped, *after.findings], fixed)


def _carry_out(at: Layout, fixable: Iterable[Finding], progress: Progress, *, full: bool) -> list[Finding]:
    """Remove what the findings name and run the plan; what stopped it, as a finding."""
    fixable = list(fixable)
    try:
        for path in dict.fromkeys(path for found in fixable for path in found.remove):
            _remove(at, path)
        plan = make_plan(at, full=full)
        if any(
            found.code == "vectors-dead" for found in fixable
        ):  # readers keep the old generation until the new one is there
            plan = replace(plan, vectors=plan.vectors or "vectors: without those of passages that are gone")
        report = run_plan(at, plan, InProcess(), progress)
        if any(found.code in _NEEDS_PURGE for found in fixable):
            purge(at)
            index_lexical.note_parts(at.lexical, part_names(at))
    except BROKEN as error:
        do = "mend what the other findings name, then run `canonry doctor --fix` again"
        return [Finding("repair-stopped", f"the repair could not go on ({reason(error)})", at.campaign, do)]
    if report.degraded:
        return [Finding("repair-degraded", report.degraded, at.campaign, "mend that, then run `canonry reindex`")]
    return []


def _remove(at: Layout, path: Path) -> None:
    """Remove a derived file or folder."""
    if not any(path.is_relative_to(folder) for folder in (at.chunks, at.index)):
        raise CanonryError(f"{path}: is not derived and is not removed")
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        with suppress(FileNotFoundError):
            path.unlink()
