"""The catalog of one campaign: its sources, their versions, and what the user says of them.

It is the truth beside the stored files. STRICT tables with CHECKs; migrations are appended, never edited.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from canonry import database, passing_files, retitled, upgrade
from canonry.errors import NotFound, UsageError
from canonry.migrations import APPLICATION_ID as APPLICATION_ID
from canonry.migrations import MIGRATIONS
from canonry.records import Draft, Source, SourceFacts
from canonry.source_rows import insert_source, insert_version, read_sources, write_facts
from canonry.timestamps import now

Also = Callable[[sqlite3.Connection], object]  # what belongs into the same commit


class VersionRow(NamedTuple):
    """What the plan needs of one version."""

    version_id: str
    source_id: str
    content_hash: str
    mime_type: str
    title: str  # of the source where the version is live, else what its text said
    heading_rules: str
    reading_order: int | None
    spoiler_level: int
    earlier_rules: str  # heading rules of the time when a superseded version was live


def nothing_else(db: sqlite3.Connection) -> None:
    """Commit what there is, and nothing beside it."""


class Catalog:
    """Reads and writes one catalog. Writing methods are for the holder of the campaign's lock."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        self.path = path

    @classmethod
    def create(cls, path: Path, campaign: str, settings: Mapping[str, str] | None = None) -> Catalog:
        """A new catalog, whole or not at all; the folder is made."""
        from canonry.files import whole_file

        with whole_file(path) as making, closing(database.open_writer(making)) as db:
            db.execute(
                "PRAGMA journal_mode = DELETE"
            )  # a log of its own would be left behind, with what is not in the file yet
            with database.transaction(db):
                upgrade.migrate(db)
                upgrade.sign(db)
                for key, value in (("campaign_id", campaign), ("created_at", now()), ("sequence", "0")):
                    db.execute("INSERT INTO meta VALUES (?, ?)", (key, value))
                db.executemany("INSERT INTO setting VALUES (?, ?)", (settings or {}).items())
        return cls(database.open_writer(path), path)

    @classmethod
    def open(cls, path: Path, *, write: bool = False, wait_s: float = database.BUSY_TIMEOUT_S) -> Catalog:
        """An existing catalog; one of an earlier canonry is brought up to date first, one of a later canonry is refused.

        `wait_s` is how long its writer waits for another program that holds the file.
        """
        if not path.exists():
            raise NotFound(
                f"campaign {path.parent.name!r} does not exist here; "
                f"`canonry campaign create {path.parent.name}` makes it, `canonry campaign list` shows what there is"
            )
        with database.plain_errors(
            path, "restore the campaign from an export, or check the data directory", wait_s=wait_s
        ):
            reader = database.open_reader(path)
            try:
                version = upgrade.version_of(reader, path)
                if version == len(MIGRATIONS) and not write:
                    return cls(reader, path)
            except BaseException:
                reader.close()
                raise
            reader.close()
            if version < len(MIGRATIONS):
                upgrade.bring_up_to_date(path, locked=write)
            return cls(database.open_writer(path, wait_s=wait_s) if write else database.open_reader(path), path)

    def close(self) -> None:
        self.connection.close()

    # settings

    def settings(self) -> dict[str, str]:
        return dict(self.connection.execute("SELECT key, value FROM setting ORDER BY key"))

    def set_settings(self, values: dict[str, str]) -> None:
        with database.transaction(self.connection) as db:
            db.executemany("INSERT OR REPLACE INTO setting VALUES (?, ?)", values.items())

    def meta(self, key: str) -> str:
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def set_meta(self, key: str, value: str) -> None:
        with database.transaction(self.connection) as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def keep_meta(self, key: str, value: str) -> str:
        """The value of that key, which is `value` unless there was one before."""
        with database.transaction(self.connection) as db:
            db.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (key, value))
        return self.meta(key)

    def sequence(self) -> int:
        """Counts the commits that change which versions are live."""
        return int(self.meta("sequence"))

    # sources

    def sources(self, *, where: str = "1", parameters: Iterable[object] = ()) -> list[Source]:
        """Sources with a live version, by reading order, title and id."""
        return read_sources(self.connection, where, parameters)

    def source(self, name: str) -> Source:
        """The source of that id, or the only one whose id begins so, or whose file name or title it is."""
        for where in (
            "s.source_id = ?1",
            "substr(s.source_id, 1, length(?1)) = ?1",
            "s.original_filename = ?1",
            "s.title = ?1",
        ):
            found = self.sources(where=where, parameters=(name,))
            if len(found) == 1:
                return found[0]
            if found:
                ids = ", ".join(source.source_id for source in found[:5])
                raise UsageError(f"source {name!r} could be any of {len(found)}: {ids}…; give one whole id")
        raise NotFound(
            f"source {name!r} is not in campaign {self.meta('campaign_id')!r}; `canonry source list` shows what is"
        )

    def add(
        self, drafts: Sequence[Draft], *, parser_version: str, chunking_version: str, also: Also = nothing_else
    ) -> list[str]:
        """Make the drafts' versions live, all in one commit with `also`; returns the ids of the versions they supersede."""
        instant = now()
        superseded: list[str] = []
        with database.transaction(self.connection) as db:
            for draft in drafts:
                start = self._start_of_next(db, draft.document.source_id, instant)
                superseded += self._add_source(db, draft, start)
                insert_version(db, draft, start, parser_version, chunking_version)
            also(db)
            self._advance(db)
        return superseded

    def _start_of_next(self, db: sqlite3.Connection, source_id: str, instant: str) -> str:
        """When a source's next version begins: now, or just after the latest one where the clock was put back since."""
        (latest,) = db.execute(
            "SELECT max(max(valid_from, ifnull(valid_to, ''))) FROM knowledge_source_version WHERE source_id = ?",
            (source_id,),
        ).fetchone()
        if latest is None or instant > latest:
            return instant
        return (datetime.fromisoformat(latest) + timedelta(microseconds=1)).isoformat(timespec="microseconds")

    def _add_source(self, db: sqlite3.Connection, draft: Draft, instant: str) -> list[str]:
        source_id, facts = draft.document.source_id, draft.facts
        superseded: list[str] = []
        if draft.is_new_source:
            insert_source(db, draft, instant)
        else:
            live = "FROM knowledge_source_version WHERE source_id = ? AND valid_to IS NULL"
            superseded = [row[0] for row in db.execute(f"SELECT version_id {live}", (source_id,))]
            db.execute(
                "UPDATE knowledge_source_version SET valid_to = max(?, valid_from) WHERE source_id = ? AND valid_to IS NULL",
                (instant, source_id),
            )
        write_facts(db, source_id, facts, instant)
        self._write_statement(db, source_id, draft.heading_rules_json, draft.stated)
        return superseded

    def _write_statement(
        self, db: sqlite3.Connection, source_id: str, heading_rules: str, edited: Iterable[str]
    ) -> None:
        names = json.dumps(sorted({*self.edited(source_id), *edited}))
        db.execute(
            "UPDATE knowledge_source SET heading_rules = ?, edited = ? WHERE source_id = ?",
            (heading_rules, names, source_id),
        )

    def restate(
        self,
        source_id: str,
        facts: SourceFacts,
        heading_rules: str,
        stated: Iterable[str],
        also: Also = nothing_else,
    ) -> None:
        """What is said of a source whose text stays, in one commit with `also`; with other heading rules it will be cut anew."""
        with database.transaction(self.connection) as db:
            also(db)
            retitled.note(db, source_id, facts.title)
            write_facts(db, source_id, facts, now())
            self._write_statement(db, source_id, heading_rules, stated)

    def heading_rules(self, source_id: str) -> str:
        row = self.connection.execute(
            "SELECT heading_rules FROM knowledge_source WHERE source_id = ?", (source_id,)
        ).fetchone()
        return str(row[0])

    def edit(self, source_id: str, facts: SourceFacts, edited: Iterable[str]) -> None:
        """Replace what is said of a source, in force at the next query; a later import leaves the `edited` fields alone."""
        with database.transaction(self.connection) as db:
            retitled.note(db, source_id, facts.title)
            write_facts(db, source_id, facts, now())
            names = sorted({*self.edited(source_id), *edited})
            db.execute("UPDATE knowledge_source SET edited = ? WHERE source_id = ?", (json.dumps(names), source_id))

    def edited(self, source_id: str) -> tuple[str, ...]:
        """The fields of SourceFacts that the user has changed after an import."""
        row = self.connection.execute(
            "SELECT edited FROM knowledge_source WHERE source_id = ?", (source_id,)
        ).fetchone()
        return tuple(json.loads(row[0])) if row else ()

    def set_enabled(self, source_id: str, enabled: bool) -> None:
        with database.transaction(self.connection) as db:
            db.execute(
                "UPDATE knowledge_source SET enabled = ?, updated_at = ? WHERE source_id = ?",
                (int(enabled), now(), source_id),
            )

    def detach(self, source_id: str, name: str) -> None:
        """Let a source have no original: its text came from the user, not from a file."""
        with database.transaction(self.connection) as db:
            db.execute(
                "UPDATE knowledge_source SET original_path = '', original_filename = ? WHERE source_id = ?",
                (name, source_id),
            )

    def supersede(self, source_id: str, successor: str | None) -> None:
        """Let another source hold in place of this one, from now on; None takes that back."""
        with database.transaction(self.connection) as db:
            at, seen = successor, {source_id}
            while at is not None:
                if at in seen:
                    raise UsageError(f"{source_id} and {successor} would supersede each other; name another source")
                seen.add(at)
                row = db.execute("SELECT superseded_by FROM knowledge_source WHERE source_id = ?", (at,)).fetchone()
                at = row[0] if row else None
            instant = now()
            db.execute(
                "UPDATE knowledge_source SET superseded_by = ?, superseded_at = ?, updated_at = ? WHERE source_id = ?",
                (successor, instant if successor else None, instant, source_id),
            )

    def delete(self, source_id: str) -> list[str]:
        """Forget a source and its versions; returns the hashes of contents that no other version holds."""
        with database.transaction(self.connection) as db:
            hashes = {
                row[0]
                for row in db.execute(
                    "SELECT content_hash FROM knowledge_source_version WHERE source_id = ?", (source_id,)
                )
            }
            proposed = db.execute(
                "SELECT json_extract(proposed, '$.text.content_hash') FROM proposal WHERE source_id = ? AND kind = 'text'",
                (source_id,),
            ).fetchall()
            db.execute("DELETE FROM knowledge_source WHERE source_id = ?", (source_id,))
            kept = {row[0] for row in db.execute("SELECT content_hash FROM knowledge_source_version")}
            passing_files.announce(db, {*(hashes - kept), *(row[0] for row in proposed)})
            self._advance(db)
        database.empty_log(self.connection)  # what was deleted stands in the file until then
        return sorted(hashes - kept)

    def _advance(self, db: sqlite3.Connection) -> None:
        db.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'sequence'")

    # versions

    def live_versions(self, as_of: str | None = None, *, every: bool = False) -> list[VersionRow]:
        """The versions that are live, or were at an instant, one a source; or every version there is."""
        when, values = "v.valid_to IS NULL", ()  # type: tuple[str, tuple[str, ...]]
        if as_of is not None:
            when, values = "v.valid_from <= ?1 AND (v.valid_to IS NULL OR v.valid_to > ?1)", (as_of,)
        if every:
            when, values = "1", ()
        rows = self.connection.execute(
            "SELECT v.version_id, v.source_id, v.content_hash, v.mime_type, "
            "CASE WHEN v.valid_to IS NULL THEN s.title ELSE v.text_title END, s.heading_rules, s.reading_order, s.spoiler_level, "
            " CASE WHEN v.valid_to IS NULL THEN '[]' ELSE v.heading_rules END "
            f"FROM knowledge_source_version v JOIN knowledge_source s USING (source_id) WHERE {when}",
            values,
        )
        return [VersionRow(*row) for row in rows]

    def superseded_at(self, as_of: str) -> bool:
        """Whether a version that was live at that instant has been superseded since."""
        return bool(
            self.connection.execute(
                "SELECT EXISTS (SELECT 1 FROM knowledge_source_version WHERE valid_from <= ?1 AND valid_to > ?1)",
                (as_of,),
            ).fetchone()[0]
        )

    def versions(self, source_id: str) -> list[tuple[str, str, int, str, str | None]]:
        """(version_id, content_hash, file_size, valid_from, valid_to) of one source, oldest first."""
        return self.connection.execute(
            "SELECT version_id, content_hash, file_size, valid_from, valid_to FROM knowledge_source_version "
            "WHERE source_id = ? ORDER BY number", (source_id,)
        ).fetchall()  # fmt: skip

    def content_hashes(self) -> set[str]:
        """The contents that any version holds."""
        return {row[0] for row in self.connection.execute("SELECT content_hash FROM knowledge_source_version")}

    def by_path(self) -> dict[str, tuple[str, str, int]]:
        """Original path -> (source_id, original_hash of the live version, its number)."""
        return {
            path: (source_id, original_hash, number)
            for path, source_id, original_hash, number in self.connection.execute(
                "SELECT original_path, source_id, original_hash, number FROM knowledge_source "
                "JOIN knowledge_source_version USING (source_id) WHERE valid_to IS NULL"
            )
        }
