"""The catalog: whether it is whole, and of this campaign. What it says is what the other checks hold the files against."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from canonry.catalog import Catalog
from canonry.config import Settings
from flows.checks.findings import BROKEN, RESTORE, Examination, Finding, reason, told
from flows.checks.sqlite_files import damage
from flows.plan import all_documents, live_documents


def check(look: Examination) -> Iterator[Finding]:
    """Findings about the catalog; fills in what the look knows of the campaign."""
    path = look.at.catalog
    where = look.named(path)
    if not path.exists():
        yield Finding("catalog-missing", "the campaign has no catalog", where, RESTORE)
        return
    try:
        with closing(Catalog.open(path)) as catalog:
            yield from _whole(look, catalog, where)
            yield from _known(look, catalog, where)
    except BROKEN as error:
        what, do = told(error, RESTORE)
        yield Finding("catalog-damaged", f"cannot be read ({what})", where, do)


def _whole(look: Examination, catalog: Catalog, where: str) -> Iterator[Finding]:
    db = catalog.connection
    if damaged := damage(db):
        yield Finding("catalog-damaged", damaged, where, RESTORE)
    broken = db.execute('SELECT "table", count(*) FROM pragma_foreign_key_check GROUP BY 1').fetchall()
    for table, count in broken:
        yield Finding("catalog-inconsistent", f"{count} rows of {table} belong to a row that is gone", where, RESTORE)
    named = catalog.meta("campaign_id")
    if named != look.at.campaign:
        yield Finding(
            "catalog-foreign", f"is the catalog of campaign {named!r}, not of {look.at.campaign!r}", where,
            f"put it back under {named!r}, or {RESTORE}",
        )  # fmt: skip


def _known(look: Examination, catalog: Catalog, where: str) -> Iterator[Finding]:
    try:
        look.settings = Settings.parse(catalog.settings())
    except BROKEN as error:
        do = f"`canonry campaign settings {look.at.campaign} --set KEY=VALUE` corrects it"
        yield Finding("settings-invalid", reason(error), where, do)
        return
    every = all_documents(catalog, look.settings)
    live = live_documents(catalog, look.settings)
    look.versions = {document.version_id: document for document in (*every, *live)}
    look.live = {document.version_id: document for document in live}
    look.documents = {document.key: document for document in (*every, *live)}
    look.checked["sources"] = len({document.source_id for document in every})
    look.checked["versions"] = len(look.versions)
