"""Past packs, as they were supplied: readable after their sources changed or went.

A record is shown to whom it was made for, or who sees no less: asked as a role, up to a spoiler level, one finds the
records of that role and of player, made at that level or below, at that story time or before, that hold nothing with a
tag that is forbidden. A narrator's records are no player's to read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from canonry import readership
from canonry.catalog import Catalog
from canonry.database import plain_errors, transaction
from canonry.eligibility import Scope
from canonry.errors import CanonryError, NotFound
from canonry.layout import Layout
from canonry.locking import writing
from canonry.pack import Pack
from canonry.text import fold
from canonry.timestamps import now

_LOCK_WAIT_S = 1.0
_SETTING = "json_extract(supplied, '$.settings.{}')"
_UNTAGGED = (
    "NOT EXISTS (SELECT 1 FROM json_each(supplied, '$.items') i, json_each(i.value, '$.spoiler_tags') t "
    "WHERE folded(t.value) IN ({}))"
)


@dataclass(frozen=True, slots=True)
class Record:
    """A pack that was supplied. `supplied` is the pack's JSON document."""

    record_id: int
    created_at: str
    role: str
    query: str
    supplied: dict[str, object]

    def as_json(self) -> dict[str, object]:
        return {**self.supplied, "pack_id": self.record_id, "created_at": self.created_at}


def record_pack(at: Layout, pack: Pack) -> Pack:
    """The pack with the id of its record; where it cannot be recorded, with a warning that says why instead."""
    supplied = json.dumps(pack.as_json(), ensure_ascii=False)
    try:
        with (
            plain_errors(at.catalog, "restore the campaign from an export", wait_s=_LOCK_WAIT_S),
            writing(at, wait_s=_LOCK_WAIT_S),
            closing(Catalog.open(at.catalog, write=True, wait_s=_LOCK_WAIT_S)) as catalog,
        ):
            return replace(pack, pack_id=_add_record(catalog, pack.scope.role, pack.query, supplied))
    except CanonryError as error:
        return replace(pack, warnings=(*pack.warnings, f"this pack is not in the history: {error}"))


def _add_record(catalog: Catalog, role: str, query: str, supplied: str) -> int:
    """Keep what a question was given, as JSON; returns the record's id. It outlives its sources."""
    with transaction(catalog.connection) as db:
        cursor = db.execute(
            "INSERT INTO knowledge_retrieval_record (created_at, role, query, supplied) VALUES (?, ?, ?, ?)",
            (now(), role, query, supplied),
        )
    return int(cursor.lastrowid or 0)


def list_records(at: Layout, scope: Scope, limit: int) -> list[Record]:
    """The latest records that the scope's role may read at its spoiler level, the last first."""
    return _records(at, scope, "1", [], limit)


def show_record(at: Layout, record_id: int, scope: Scope) -> Record:
    """One of them; NotFound alike for a record that is not there and for one that the role may not read."""
    found = _records(at, scope, "record_id = ?", [record_id], 1)
    if not found:
        raise NotFound(
            f"record {record_id} is not in the history of campaign {at.campaign!r} for role {scope.role!r} at spoiler "
            f"level {scope.spoiler_level}; `canonry history list` shows what is"
        )
    return found[0]


def _records(at: Layout, scope: Scope, which: str, parameters: Sequence[object], limit: int) -> list[Record]:
    level, time = _SETTING.format("spoiler_level"), _SETTING.format("story_time")
    readable, values = readership.condition(scope, level=level, story_time=time)
    conditions, values = [readable, which], [*values, *parameters]
    if scope.forbid_tags:
        conditions.append(_UNTAGGED.format(", ".join("?" * len(scope.forbid_tags))))
        values += map(fold, scope.forbid_tags)
    with closing(Catalog.open(at.catalog)) as catalog:
        catalog.connection.create_function("folded", 1, fold, deterministic=True)
        rows = catalog.connection.execute(
            "SELECT record_id, created_at, role, query, supplied FROM knowledge_retrieval_record "
            f"WHERE {' AND '.join(conditions)} ORDER BY record_id DESC LIMIT ?",
            (*values, limit),
        ).fetchall()
    return [
        Record(record_id, created_at, role, query, json.loads(supplied))
        for record_id, created_at, role, query, supplied in rows
    ]


def packs_with(catalog: Catalog, source_id: str) -> int:
    """In how many recorded packs a source was supplied."""
    return int(
        catalog.connection.execute(
            "SELECT count(*) FROM knowledge_retrieval_record r WHERE EXISTS (SELECT 1 FROM "
            "json_each(r.supplied, '$.items') WHERE json_extract(value, '$.source_id') = ?)",
            (source_id,),
        ).fetchone()[0]
    )
