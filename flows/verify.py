"""verify: whether everything that a campaign holds is what it was. Reads, and changes nothing.

Truth first (catalog, stored files), then what was derived (parts, index, generation, manifest, indexes of earlier
times); a derived file that differs because the truth was damaged is not named a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from canonry.errors import NoSpace, NotFound
from canonry.layout import Layout
from flows.checks import catalog, embeddings, lexical, manifest, parts, past, raw, vectors
from flows.checks.findings import BROKEN, Check, Examination, Finding, reason
from flows.progress import Progress, silent

CHECKS: tuple[Check, ...] = (
    catalog.check, raw.check, parts.check, embeddings.check, lexical.check, vectors.check, manifest.check, past.check,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Health:
    """What a look found. `fixed` are findings that were there before a repair and are not any more."""

    campaign_id: str
    checked: dict[str, int]
    findings: list[Finding]
    fixed: list[Finding] = field(default_factory=list)


def verify(at: Layout, progress: Progress = silent) -> Health:
    """Check the whole campaign; the caller keeps writers out. NotFound where there is nothing of that id."""
    look, findings = examine(at, CHECKS, progress)
    return Health(at.campaign, dict(look.checked), findings)


def examine(at: Layout, checks: Sequence[Check], progress: Progress) -> tuple[Examination, list[Finding]]:
    """Run checks one after the other over one look."""
    if not at.raw.exists():
        raise NotFound(f"campaign {at.campaign!r} does not exist here; `canonry campaign list` shows what there is")
    look = Examination(at, progress)
    findings: list[Finding] = []
    for check in checks:
        findings += run_check(check, look)
    return look, findings


def run_check(check: Check, look: Examination) -> list[Finding]:
    """A check's findings; one that cannot go on says so as a finding, and the others still run."""
    found: list[Finding] = []
    try:
        found.extend(check(look))
    except NoSpace:
        raise
    except BROKEN as error:
        name = check.__module__.rpartition(".")[2]
        what = f"the check of {name} could not go on ({type(error).__name__}: {reason(error)})"
        found.append(
            Finding(
                "check-stopped", what, look.named(look.at.raw), "mend what the other findings name, then verify again"
            )
        )
    return found
