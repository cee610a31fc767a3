"""What happened in sessions, as events that are only ever added, and the notes and texts that belong to them.

One SQLite file beside the catalog. It needs no campaign lock: an event is one row of its own transaction, on the disk
before the call that made it is answered. Deleting the file loses sessions and notes, and nothing of the knowledge.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from canonry import database
from canonry.contexts.failures import SessionClosed
from canonry.errors import DamagedData, NotFound
from canonry.files import room_for
from canonry.layout import Layout
from canonry.timestamps import now

APPLICATION_ID = 0x63736573  # "cses"
_REPAIR = "move it away; sessions and notes in it are lost, the knowledge is not"
_STEPS = (
    (
        """CREATE TABLE session (
        session_id TEXT PRIMARY KEY CHECK (session_id <> ''),
        created_at TEXT NOT NULL,
        role TEXT NOT NULL,
        spoiler_level INTEGER NOT NULL,
        story_time INTEGER NOT NULL, -- -1 before all
        forbid_tags TEXT NOT NULL CHECK (json_valid(forbid_tags))
        ) STRICT""",
        """CREATE TABLE event (
        session_id TEXT NOT NULL REFERENCES session,
        number INTEGER NOT NULL CHECK (number >= 1),
        recorded_at TEXT NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL CHECK (json_valid(body)),
        PRIMARY KEY (session_id, number)
        ) STRICT, WITHOUT ROWID""",
        "CREATE TRIGGER event_stays BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'events are never changed'); END",
        "CREATE TRIGGER event_remains BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END",
        "CREATE TABLE artifact (hash TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT",
        """CREATE TABLE note (
        note_id INTEGER PRIMARY KEY,
        created_at TEXT NOT NULL,
        author TEXT NOT NULL,
        text TEXT NOT NULL CHECK (text <> ''),
        refs TEXT NOT NULL CHECK (json_valid(refs)), -- the passages that it was derived from, as they were
        role TEXT NOT NULL, -- what its author could see, and so what it could tell
        spoiler_level INTEGER NOT NULL,
        story_time INTEGER NOT NULL,
        forbid_tags TEXT NOT NULL CHECK (json_valid(forbid_tags)),
        readers TEXT NOT NULL CHECK (json_valid(readers)), -- further roles, by the owner of the campaign
        withdrawn_at TEXT,
        withdrawn_why TEXT NOT NULL DEFAULT ''
        ) STRICT""",
    ),
)


@dataclass(frozen=True, slots=True)
class Event:
    """What happened, numbered from 1 within its session."""

    number: int
    recorded_at: str
    kind: str
    body: Mapping[str, Any]

    def as_json(self) -> dict[str, object]:
        return {"number": self.number, "recorded_at": self.recorded_at, "kind": self.kind, **self.body}


@dataclass(frozen=True, slots=True)
class Opened:
    """A session as it was begun: for whom it was."""

    session_id: str
    created_at: str
    role: str
    spoiler_level: int
    story_time: int
    forbid_tags: tuple[str, ...]


class Journal:
    """Reads and writes the file of one campaign."""

    def __init__(self, at: Layout, connection: sqlite3.Connection) -> None:
        self.at = at
        self.connection = connection

    def close(self) -> None:
        self.connection.close()

    def begin(self, session: Opened) -> None:
        with self.writing() as db:
            values = (session.session_id, session.created_at, session.role, session.spoiler_level, session.story_time)
            db.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", (*values, json.dumps(session.forbid_tags)))

    def append(self, session_id: str, number: int, kind: str, body: Mapping[str, Any]) -> Event:
        """The event, on the disk; SessionClosed where another process has added one of that number meanwhile."""
        event = Event(number, now(), kind, body)
        said = json.dumps(body, ensure_ascii=False)
        try:
            with self.writing() as db:
                db.execute(
                    "INSERT INTO event VALUES (?, ?, ?, ?, ?)", (session_id, number, event.recorded_at, kind, said)
                )
        except sqlite3.IntegrityError:
            raise SessionClosed(
                f"session {session_id} goes on in another process; `canonry context select --session {session_id}` takes it "
                "from there"
            ) from None
        return event

    def sessions(self, where: str, parameters: Sequence[object], limit: int) -> list[Opened]:
        """Sessions, the latest first."""
        rows = self.connection.execute(
            f"SELECT * FROM session WHERE {where} ORDER BY created_at DESC, session_id LIMIT ?", (*parameters, limit)
        )
        return [
            Opened(session_id, created_at, role, level, story_time, tuple(json.loads(tags)))
            for session_id, created_at, role, level, story_time, tags in rows
        ]

    def events(self, session_id: str, since: int = 1) -> list[Event]:
        """Events of a session from that number on, in order."""
        rows = self.connection.execute(
            "SELECT number, recorded_at, kind, body FROM event WHERE session_id = ? AND number >= ? ORDER BY number",
            (session_id, since),
        )
        return [Event(number, at, kind, json.loads(body)) for number, at, kind, body in rows]

    def last_checkpoint(self, session_id: str) -> int:
        """The number of the last checkpoint; 1 where there is none."""
        row = self.connection.execute(
            "SELECT max(number) FROM event WHERE session_id = ? AND kind = 'checkpoint'", (session_id,)
        ).fetchone()
        return int(row[0] or 1)

    def put(self, content: str) -> str:
        """Keep a text; returns its SHA-256."""
        name = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
        with self.writing() as db:
            db.execute("INSERT OR IGNORE INTO artifact VALUES (?, ?)", (name, content))
        return name

    def has_artifact(self, name: str) -> bool:
        return self.connection.execute("SELECT 1 FROM artifact WHERE hash = ?", (name,)).fetchone() is not None

    def artifact(self, name: str) -> str:
        row = self.connection.execute("SELECT content FROM artifact WHERE hash = ?", (name,)).fetchone()
        if row is None:
            raise DamagedData(f"{self.at.sessions}: artifact {name} is missing; {_REPAIR}")
        return str(row[0])

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        with room_for(self.at.sessions), database.transaction(self.connection) as db:
            yield db


@contextmanager
def open_journal(at: Layout, *, write: bool = False, make: bool = False) -> Iterator[Journal]:
    """The campaign's journal, to be read or written; with `make`, made where it is not there. Else NotFound."""
    path, write = at.sessions, write or make
    if not at.catalog.exists() or not (make or path.exists()):
        raise NotFound(f"campaign {at.campaign!r} has no sessions and no notes yet; `canonry context select` makes one")
    with room_for(path), database.plain_errors(path, _REPAIR):
        journal = Journal(at, database.open_writer(path) if write else database.open_reader(path))
        try:
            _migrate(journal.connection, path, write=write)
            yield journal
        finally:
            journal.close()


def newest_version() -> int:
    """The version of the tables that this canonry writes, and the latest that it restores."""
    return len(_STEPS)


def make_tables(db: sqlite3.Connection, version: int) -> None:
    """The tables of that version, in an empty database or one of an earlier version; inside the caller's transaction."""
    made = int(db.execute("PRAGMA user_version").fetchone()[0])
    for statement in (statement for step in _STEPS[made:version] for statement in step):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {version}")


def _migrate(db: sqlite3.Connection, path: object, *, write: bool) -> None:
    identity, version = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if identity not in (0, APPLICATION_ID) or (identity == 0 and version):
        raise DamagedData(f"{path}: is no file of sessions; {_REPAIR}")
    if version > len(_STEPS) or (version < len(_STEPS) and not write):
        raise DamagedData(f"{path}: sessions of version {version}, this canonry reads {len(_STEPS)}; {_REPAIR}")
    if version < len(_STEPS):
        with database.transaction(db):
            make_tables(db, len(_STEPS))
