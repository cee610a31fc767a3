"""What an import did, file by file."""

from __future__ import annotations

from dataclasses import dataclass, field

from canonry.errors import RejectedFile
from flows.pipeline import Report


@dataclass(frozen=True, slots=True)
class Imported:
    """One file that is in the campaign now. `outcome` is new, updated, unchanged or reused."""

    name: str
    source_id: str
    outcome: str
    class_: str
    chunks: int


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
