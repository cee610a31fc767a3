"""Campaigns that are there and whose catalog cannot be read: listed, and deleted when a person says so."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from canonry import database, upgrade
from canonry.errors import Busy, DamagedData, LaterCatalog, NoSpace
from canonry.layout import TEMPORARY_PREFIX, Layout, is_campaign_id


def catalog_damage(at: Layout) -> str:
    """What is wrong with the catalog of a campaign, in words that follow "its catalog"; empty where it can be read.

    Empty too where there is no such campaign, where a later canonry can read the catalog, and where this user may not.
    """
    if not at.catalog.exists():
        return "is missing" if _holds_files(at.raw) else ""
    if not os.access(at.catalog, os.R_OK):
        return ""
    try:
        with database.plain_errors(at.catalog, ""), closing(database.open_reader(at.catalog)) as db:
            upgrade.version_of(db, at.catalog)
            db.execute("SELECT count(*) FROM knowledge_source").fetchone()
    except (LaterCatalog, Busy, NoSpace):
        return ""
    except DamagedData as error:
        cause = error.__cause__
        return f"cannot be read ({cause})" if isinstance(cause, sqlite3.Error) else "is no catalog of canonry"
    return ""


def list_without_catalog(root: Path) -> list[str]:
    """Ids of campaigns in a data directory that hold files, but no catalog; sorted."""
    folders = (path for path in (root / "raw").glob("*") if is_campaign_id(path.name) and path.is_dir())
    return sorted(
        path.name
        for path in folders
        if os.access(path, os.R_OK | os.X_OK) and not (path / "catalog.sqlite").exists() and _holds_files(path)
    )


def _holds_files(folder: Path) -> bool:
    """Whether there is a file in it that is not in the making."""
    return any(
        path.is_file() and not any(part.startswith(TEMPORARY_PREFIX) for part in path.relative_to(folder).parts)
        for path in folder.rglob("*")
    )
