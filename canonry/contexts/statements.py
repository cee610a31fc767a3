"""What the catalog says of sources that their passages say as items: whether they are locked, for whom, and who knows them."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass

from canonry.catalog import Catalog
from canonry.layout import Layout


@dataclass(frozen=True, slots=True)
class Statement:
    """Of one source, as it stands today. A `known_from` in words names a chapter that has no place in story order."""

    protected: bool = False
    roles: tuple[str, ...] = ()
    known_by: tuple[str, ...] | None = None
    known_from: int | str | None = None


NOTHING_SAID = Statement()
_SAID = """
SELECT s.source_id, s.locked, json_extract(s.extra, '$.known_by'), json_extract(s.extra, '$.known_from'),
       (SELECT max(h.reading_order) FROM knowledge_source h WHERE h.chapter = json_extract(s.extra, '$.known_from')),
       (SELECT json_group_array(label) FROM (SELECT label FROM source_label l
        WHERE l.source_id = s.source_id AND l.kind = 'allowed_role' ORDER BY l.folded))
FROM knowledge_source s
WHERE s.locked = 1 OR json_type(s.extra, '$.known_by') IS NOT NULL OR json_type(s.extra, '$.known_from') IS NOT NULL
   OR EXISTS (SELECT 1 FROM source_label l WHERE l.source_id = s.source_id AND l.kind = 'allowed_role')
"""


def read_statements(at: Layout) -> dict[str, Statement]:
    """Source id -> what is said, in one query; a source of which nothing is said is absent."""
    with closing(Catalog.open(at.catalog)) as catalog:
        rows = catalog.connection.execute(_SAID).fetchall()
    return {
        source_id: Statement(
            bool(locked), tuple(json.loads(roles)), None if by is None else tuple(json.loads(by)),
            order if isinstance(since, str) and order is not None else since,
        )
        for source_id, locked, by, since, order, roles in rows
    }  # fmt: skip
