"""What a check says, and what the checks of one look share."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa

from canonry.config import Settings
from canonry.errors import CanonryError, DamagedData
from canonry.layout import Layout
from canonry.records import Document
from flows.checks.cutting import Cut
from flows.progress import Progress

PROBLEM, ADVICE = "problem", "advice"
FIX = "`canonry doctor --fix` makes it anew"
FIX_REMOVES = "`canonry doctor --fix` removes it"
RESTORE = "restore the campaign from an export"
# what reading a file of another kind, or a part of one, can raise
BROKEN = (
    CanonryError, OSError, sqlite3.Error, pa.ArrowException, duckdb.Error, ValueError, LookupError, TypeError,
    AttributeError, AssertionError, OverflowError, RecursionError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what, where, what to do, under a code that stays the same from one canonry to the next.

    `where` is relative to the data directory. `fixable` is what `doctor --fix` can heal; `remove` are the derived files
    that must go for that. `text` is the passage itself, which is shown to an owner who asks for it.
    """

    code: str
    what: str
    where: str
    do: str
    severity: str = PROBLEM
    fixable: bool = False
    remove: tuple[Path, ...] = ()
    text: str = ""

    def as_json(self) -> dict[str, str]:
        return {"code": self.code, "what": self.what, "where": self.where, "do": self.do}


@dataclass(slots=True)
class Examination:
    """One look at a campaign: what was counted, and what earlier checks found out for later ones."""

    at: Layout
    progress: Progress
    checked: Counter[str] = field(default_factory=Counter)
    settings: Settings | None = None
    live: dict[str, Document] = field(default_factory=dict)  # by version
    versions: dict[str, Document] = field(default_factory=dict)  # every version, superseded ones too
    documents: dict[str, Document] = field(default_factory=dict)  # by key
    bad_contents: set[str] = field(default_factory=set)  # whose stored file is missing or changed
    cuts: dict[str, Cut | None] = field(default_factory=dict)  # by document key
    stale_documents: int = 0  # in the parts, cut with other settings or by an older chunker
    bad_parts: set[Path] = field(default_factory=set)  # of vectors, that cannot be read or are not right
    wordless: dict[str, set[str]] = field(default_factory=dict)  # fingerprint -> texts that are to have no vector
    dead_vectors: int = 0  # of passages that are gone

    def named(self, path: Path) -> str:
        """A path as findings show it."""
        try:
            return path.relative_to(self.at.root).as_posix()
        except ValueError:
            return str(path)

    def damaged(self, code: str, path: Path, error: Exception, *, also: tuple[Path, ...] = ()) -> Finding:
        """A derived file that cannot be read."""
        return Finding(
            code, f"cannot be read ({reason(error)})", self.named(path), FIX, fixable=True, remove=(path, *also)
        )


Check = Callable[[Examination], Iterator[Finding]]


def reason(error: Exception) -> str:
    """What an error says, in one short line, without the path and what to do."""
    return told(error, "")[0]


def told(error: Exception, otherwise: str) -> tuple[str, str]:
    """(what an error says, what it says to do, or else `otherwise`)."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    line, do = " ".join(str(text).split()), otherwise
    if isinstance(error, DamagedData):  # path: what; what to do
        what, _, told_to = line.partition("; ")
        line, do = what.partition(": ")[2] or what, told_to or otherwise
    return line[:160] or type(error).__name__, do
