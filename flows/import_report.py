"""What an import did, file by file."""

from __future__ import annotations

from dataclasses import dataclass, field

from canonry.errors import RejectedFile
from flows.progress import Report


@dataclass(frozen=True, slots=True)
class Imported:
    """One file that is in the campaign. `outcome` is new, updated, unchanged, renamed or reused.

    A new text of a locked source is proposed, or declined where it was rejected before. `proposal` waits for a decision.
    """

    name: str
    source_id: str
    outcome: str
    class_: str
    chunks: int
    proposal: int | None = None


@dataclass(slots=True)
class ImportReport:
    """What an import did, file by file."""

    imported: list[Imported] = field(default_factory=list)
    rejected: list[RejectedFile] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    index: Report = field(default_factory=Report)

    def count(self, outcome: str) -> int:
        return sum(1 for file in self.imported if file.outcome == outcome)

    @property
    def waiting(self) -> list[int]:
        """The numbers of the proposals that wait for a decision."""
        return [file.proposal for file in self.imported if file.proposal is not None]
