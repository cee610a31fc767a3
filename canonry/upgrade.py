"""Catalogs of other versions: an older one is brought up to date, a newer one is refused and left as it is.

What an older catalog was stays beside it as catalog-v<version>.sqlite, one file a version, until something is deleted
from the campaign. The upgrade itself is one transaction: whatever stops it, the catalog is the old or the new one.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from canonry import database
from canonry.errors import DamagedData, LaterCatalog, NoSpace
from canonry.files import whole_file
from canonry.layout import Layout
from canonry.migrations import APPLICATION_ID, MIGRATIONS

_REPAIR = "restore the campaign from an export, or check the data directory"


def version_of(db: sqlite3.Connection, path: Path) -> int:
    """The version of a catalog, 1 or higher; DamagedData for a file that is none, or one of a later canonry."""
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise DamagedData(f"{path}: not a canonry catalog; restore the campaign from an export")
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if not 0 < version <= len(MIGRATIONS):
        raise (LaterCatalog if version > 0 else DamagedData)(
            f"{path}: catalog version {version}, this canonry reads {len(MIGRATIONS)}; nothing was changed; "
            f"install {_writer_of(db)}, or a later one"
        )
    return version


def _writer_of(db: sqlite3.Connection) -> str:
    """The canonry that last brought a catalog up to date, as far as the catalog says so."""
    from canonry import __version__

    try:
        row = db.execute("SELECT value FROM meta WHERE key = 'written_by'").fetchone()
    except sqlite3.Error:
        row = None
    return f"canonry {row[0]}" if row and row[0] != __version__ else "the canonry that wrote it"


def migrate(db: sqlite3.Connection, to: int = len(MIGRATIONS)) -> None:
    """Take the schema forward to version `to`, inside a transaction of the caller's."""
    done = int(db.execute("PRAGMA user_version").fetchone()[0])
    for script in MIGRATIONS[done:to]:
        for statement in script.split(";\n"):
            if statement.strip():
                db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {max(done, to)}")


def sign(db: sqlite3.Connection) -> None:
    """Note which canonry brought the catalog to its version, for one that is too old to read it."""
    from canonry import __version__

    db.execute("INSERT OR REPLACE INTO meta VALUES ('written_by', ?)", (__version__,))


def is_older(path: Path) -> bool:
    """Whether there is a catalog of an earlier version; False for anything else, which whoever opens it will name."""
    if not path.exists():
        return False
    try:
        with closing(database.open_reader(path)) as db:
            return version_of(db, path) < len(MIGRATIONS)
    except (sqlite3.Error, DamagedData):
        return False


def upgrade(path: Path) -> None:
    """Bring an older catalog up to date, after a copy of what it was; for the holder of the campaign's lock."""
    import logging

    with database.plain_errors(path, _REPAIR):
        with closing(database.open_reader(path)) as db:
            version = version_of(db, path)
            kept = path.with_name(f"catalog-v{version}.sqlite")
            _copy(db, kept)
        with closing(database.open_writer(path)) as db, database.transaction(db):
            migrate(db)
            sign(db)
    logging.getLogger("canonry").warning(
        "campaign %s: its catalog was of version %d and is of version %d now; what it was is kept as raw/%s/%s",
        path.parent.name, version, len(MIGRATIONS), path.parent.name, kept.name,
    )  # fmt: skip


def bring_up_to_date(path: Path, *, locked: bool) -> None:
    """Upgrade an older catalog; without the campaign's lock, take it first (which does it)."""
    from canonry.locking import writing

    if locked:
        upgrade(path)
        return
    try:
        with writing(Layout(path.parents[2], path.parent.name)):
            pass
    except NoSpace as error:
        raise NoSpace(
            f"{path}: was written by an earlier canonry and cannot be brought up to date ({error.__cause__ or error}); "
            "free some space or make the folder writable, then run `canonry status` once"
        ) from error


def _copy(db: sqlite3.Connection, to: Path) -> None:
    """The whole database as it is now, its log included, in one file."""
    with whole_file(to) as temporary, closing(sqlite3.connect(temporary, isolation_level=None)) as copy:
        db.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")


def forget_copies(raw: Path) -> None:
    """Remove the copies of older catalogs in a campaign's folder: they name what is being deleted."""
    for kept in raw.glob("catalog-v*.sqlite"):
        kept.unlink(missing_ok=True)
