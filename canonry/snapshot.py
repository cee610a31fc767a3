"""What a campaign's two stores held at one moment: a read transaction over the lexical index with the catalog attached.

Readers take no lock. A writer switches whole files meanwhile, so a reader opens the index again when it was replaced, and
asks again when what it found named a file that is gone by now.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from canonry import database, lexical
from canonry.config import Settings
from canonry.context import KnownNames
from canonry.eligibility import Scope, eligible_ranges
from canonry.errors import DamagedData, IndexMissing
from canonry.gate import Gate, read_gate
from canonry.layout import Layout

if TYPE_CHECKING:
    from canonry.lexical import Ranges

_Result = TypeVar("_Result")
_SNAPSHOT_TRIES = 200
_MISSING_FILE_TRIES = 20
_MISSING_FILE_WAIT_S = 0.01


@dataclass(slots=True)
class Snapshot:
    """One read transaction over the lexical store and the catalog, and what it was opened on."""

    db: sqlite3.Connection
    settings: Settings
    gate: Gate | None
    behind: int  # live versions that the index does not have yet


class Snapshots:
    """Takes snapshots of one campaign. Keeps its files open between them; `close` lets them go. Not for several threads at once.

    `forget` is called when what was read of these files before does not hold any more.
    """

    def __init__(self, at: Layout, forget: Callable[[], None]) -> None:
        self._at = at
        self._forget = forget
        self._db: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._ranges: dict[tuple[object, ...], Ranges] = {}
        self._names: dict[Scope, list[KnownNames]] = {}

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = None
        self._forget()

    def at_one_moment(self, work: Callable[[Snapshot], _Result]) -> _Result:
        """What `work` makes of one snapshot; done again when a writer switched generations between two of its reads."""
        with database.plain_errors(self._at.lexical, "`canonry reindex --full` builds the index anew"):
            for _ in range(_MISSING_FILE_TRIES):
                try:
                    with self._snapshot() as snapshot:
                        return work(snapshot)
                except FileNotFoundError as error:
                    missing = Path(error.filename)
                    self._forget()
                    time.sleep(_MISSING_FILE_WAIT_S)
        repair = (
            "import the source again" if missing.parent == self._at.files else "`canonry reindex --full` makes it anew"
        )
        raise DamagedData(f"{missing}: is missing; {repair}")

    @contextmanager
    def _snapshot(self) -> Iterator[Snapshot]:
        """Both stores as they were at one moment: the catalog first, then an index that asks for no later catalog."""
        for _ in range(_SNAPSHOT_TRIES):
            db = self.connection()
            db.execute("BEGIN")
            try:
                sequence = int(db.execute("SELECT value FROM cat.meta WHERE key = 'sequence'").fetchone()[0])
                if lexical.meta(db, "contract") != lexical.CONTRACT:
                    raise IndexMissing(
                        f"{self._at.lexical}: index of contract {lexical.meta(db, 'contract')}, this canonry reads {lexical.CONTRACT}; "
                        "`canonry reindex` builds it anew"
                    )
                indexed = int(lexical.meta(db, "catalog_sequence") or 0)
                if indexed > sequence:
                    continue
                settings = Settings.parse(dict(db.execute("SELECT key, value FROM cat.setting")))
                yield Snapshot(
                    db,
                    settings,
                    read_gate(db, "cat"),
                    self._behind(db) if indexed < sequence and not self._at.past else 0,
                )
                return
            finally:
                db.rollback()
        raise DamagedData(
            f"{self._at.lexical}: index of a later catalog than {self._at.catalog}; `canonry reindex --full` builds it anew"
        )

    def connection(self) -> sqlite3.Connection:
        """The lexical store with the catalog attached as `cat`; opened again when the file was replaced."""
        try:
            stat = self._at.lexical.stat()
        except FileNotFoundError:
            raise IndexMissing(
                f"campaign {self._at.campaign!r} has no index yet; `canonry import` or `canonry reindex` makes it"
            ) from None
        identity = (stat.st_dev, stat.st_ino)
        if self._db is None or self._opened != identity:
            self.close()
            self._db = database.open_reader(self._at.lexical)
            database.attach_reader(self._db, self._at.catalog, "cat")
            self._opened = identity
            self._ranges.clear()
            self._names.clear()
        return self._db

    def _behind(self, db: sqlite3.Connection) -> int:
        return int(
            db.execute(
                "SELECT count(*) FROM cat.knowledge_source_version v WHERE v.valid_to IS NULL "
                "AND NOT EXISTS (SELECT 1 FROM document d WHERE d.version_id = v.version_id)"
            ).fetchone()[0]
        )

    def eligible(self, db: sqlite3.Connection, scope: Scope) -> Ranges:
        """The rows that the scope may see; remembered until either store changes."""
        versions = tuple(db.execute(f"PRAGMA {schema}.data_version").fetchone()[0] for schema in ("main", "cat"))
        key = (versions, scope)
        if key not in self._ranges:
            if len(self._ranges) >= 64 or any(known[0] != versions for known in self._ranges):
                self._ranges.clear()
                self._names.clear()
            self._ranges[key] = eligible_ranges(db, scope)
        return self._ranges[key]

    def known_names(self, db: sqlite3.Connection, scope: Scope, ranges: Ranges) -> list[KnownNames]:
        """The entities and the tags of sources in sight; remembered as long as the rows that the scope may see."""
        if scope not in self._names:
            self._names[scope] = [KnownNames.in_sight(db, ranges, kind) for kind in ("entity", "tag")]
        return self._names[scope]
