"""What an export may not decide for the machine where it is restored: which servers are called, which files are read.

An export may come from anyone. The model behind an address that it names, its judge and its consent to remote addresses
are taken out of the settings; of the addresses a remark stays, which says how the user turns them on. The originals of its
sources are read again where the user names the source, or after the user has imported a newer version of it.
"""

from __future__ import annotations

from shlex import quote

from canonry import database
from canonry.catalog import Catalog
from canonry.embedders import NO_EMBEDDER
from canonry.servers.address import is_served
from canonry.timestamps import now

RESTORED_AT, EMBEDDER, JUDGE = "restored_at", "restored_embedder", "restored_judge"  # in meta
_TAKEN_OUT = ("embed.allow_remote", "judge.allow_remote", "judge.url")


def distrust(catalog: Catalog) -> None:
    """Take from a catalog that was just restored what is the user's to decide."""
    with database.transaction(catalog.connection) as db:
        settings = catalog.settings()
        (latest,) = db.execute("SELECT max(valid_from) FROM knowledge_source_version").fetchone()
        kept = {RESTORED_AT: max(now(), latest or "")}  # whatever an export says of when, it was before
        if is_served(settings.get("embedder", "")):
            kept[EMBEDDER] = settings["embedder"]
            db.execute("UPDATE setting SET value = ? WHERE key = 'embedder'", (NO_EMBEDDER,))
        if settings.get("judge.url"):
            kept[JUDGE] = settings["judge.url"]
        db.executemany("DELETE FROM setting WHERE key = ?", [(key,) for key in _TAKEN_OUT])
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", kept.items())


def embedder_remark(catalog: Catalog) -> str:
    """How the model that the export named is turned on, while there is no other; else empty."""
    spec = catalog.meta(EMBEDDER)
    if not is_served(spec) or catalog.settings().get("embedder") != NO_EMBEDDER:
        return ""
    return (
        f"the export names {spec}, a model behind an address, which nothing was sent to; "
        f"`canonry embed use {quote(spec)}` turns it on"
    )


def judge_remark(catalog: Catalog) -> str:
    """How the judge that the export named is turned on, while there is no other; else empty."""
    url = catalog.meta(JUDGE)
    if not url or catalog.settings().get("judge.url"):
        return ""
    command = f"canonry campaign settings {catalog.meta('campaign_id')} --set {quote(f'judge.url={url}')}"
    return f"the export names a judge at {url}, which nothing was sent to; `{command}` turns it on"


def unread_originals(catalog: Catalog) -> set[str]:
    """Sources whose live version came with an export: no one here has said that their originals may be read."""
    restored_at = catalog.meta(RESTORED_AT)
    if not restored_at:
        return set()
    rows = catalog.connection.execute(
        "SELECT source_id FROM knowledge_source_version WHERE valid_to IS NULL AND valid_from <= ?", (restored_at,)
    )
    return {source_id for (source_id,) in rows}
