"""The catalog as lines of JSON, one row a line, and back: how an export carries it.

An older export is taken forward by the same migrations as an older catalog.

The campaign's secret (`canonry.secret`) is not among the rows, and one that an export brings is not taken: whoever is
given an export could otherwise write lore that closes the frames of the campaign it came from. A restored campaign makes
its own with its first pack.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from canonry import row_lines, upgrade
from canonry.catalog import Catalog
from canonry.config import Settings
from canonry.eligibility import HIGHEST_LEVEL
from canonry.errors import CanonryError
from canonry.migrations import MIGRATIONS
from canonry.records import SourceFacts
from canonry.row_lines import BadRows
from canonry.secret import KEPT_AS as SECRET
from canonry.text import fold

_JSON_SHAPES = {
    ("knowledge_source", "heading_rules"): "rules",
    ("knowledge_source", "extra"): "mapping",
    ("knowledge_source", "edited"): "fields",
    ("knowledge_source_version", "heading_rules"): "rules",
    ("knowledge_source_version", "stated_known"): "mapping",
    ("knowledge_source_version", "stated_tags"): "words",
    ("knowledge_source_version", "stated_roles"): "words",
    ("knowledge_retrieval_record", "supplied"): "mapping",
    ("context_payload", "spoiler_tags"): "words",
    ("context_payload", "binding"): "mapping",
    ("context_payload", "details"): "mapping",
}


def dump_rows(catalog: Catalog) -> Iterator[bytes]:
    """Every row in the order of tables and keys, as the connection's transaction sees it; each line ends with a line feed."""
    return row_lines.dump_rows(
        catalog.connection, catalog.path, lambda table, row: None if _is_secret(table, row) else row
    )


def count_rows(catalog: Catalog) -> dict[str, int]:
    """How many rows `dump_rows` gives of each table."""
    counts = row_lines.count_rows(catalog.connection)
    counts["meta"] -= bool(catalog.meta(SECRET))
    return counts


def load_rows(catalog: Catalog, lines: Iterable[bytes], version: int, came_as: str, campaign: str) -> dict[str, int]:
    """Fill an empty catalog with the rows of an export of that schema version, as campaign `campaign`, and bring it up to date.

    Inside the caller's transaction. `came_as` is the campaign's id in the export. Returns the rows read of each table;
    BadRows where a line is no row, or the rows together are no catalog.
    """
    db = catalog.connection
    upgrade.migrate(db, version)

    def adopted(table: str, row: row_lines.Row) -> row_lines.Row | None:
        if _is_secret(table, row):
            return None
        _adopt(table, row, came_as, campaign)
        return row

    counts = row_lines.load_rows(db, lines, adopted, of="a catalog", ignored_twice=("source_label",))
    _check_whole(catalog, campaign)
    upgrade.migrate(db)
    return counts


def _is_secret(table: str, row: Mapping[str, object]) -> bool:
    return (table, row.get("key")) == ("meta", SECRET)


def _adopt(table: str, row: dict[str, object], came_as: str, campaign: str) -> None:
    """Check what the tables do not check themselves, and put the campaign's new id in place of the old."""
    for column in row:
        shape = _JSON_SHAPES.get((table, column))
        if shape and not _SHAPES[shape](json.loads(str(row[column]))):
            raise ValueError(f"{column} holds something else")
        if column.endswith("_level") and int(str(row[column])) > HIGHEST_LEVEL:
            raise ValueError(f"{column} is above {HIGHEST_LEVEL}")
    if "campaign_id" in row:
        if row["campaign_id"] != came_as:
            raise ValueError(f"of another campaign than {came_as!r}")
        row["campaign_id"] = campaign
    if table == "meta" and row["key"] == "campaign_id":
        if row["value"] != came_as:
            raise ValueError(f"of another campaign than {came_as!r}")
        row["value"] = campaign
    if table == "source_label":
        row["folded"] = fold(str(row["label"]))


def _check_whole(catalog: Catalog, campaign: str) -> None:
    if catalog.meta("campaign_id") != campaign or not catalog.meta("created_at"):
        raise BadRows("the row that says which campaign it is, and since when, is missing")
    if not catalog.meta("sequence").isdecimal():
        raise BadRows("the row that counts the catalog's changes is missing")
    broken = catalog.connection.execute("PRAGMA foreign_key_check").fetchone()
    if broken:
        raise BadRows(f"a row of {broken[0]} belongs to a row of {broken[2]} that is not there")
    try:
        Settings.parse(catalog.settings())
    except CanonryError as error:
        raise BadRows(str(error)) from error


def _is_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _is_rule(value: object) -> bool:
    return isinstance(value, list) and [type(part) for part in value] == [str, int, list, bool] and _is_words(value[2])


_SHAPES: dict[str, Callable[[Any], bool]] = {
    "words": _is_words,
    "mapping": lambda value: isinstance(value, dict),
    "fields": lambda value: _is_words(value) and set(value) <= set(SourceFacts.__dataclass_fields__),
    "rules": lambda value: isinstance(value, list) and all(map(_is_rule, value)),
}


def newest_version() -> int:
    """The schema version that this canonry writes, and the latest that it restores."""
    return len(MIGRATIONS)
