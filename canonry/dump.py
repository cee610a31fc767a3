"""The catalog as lines of JSON, one row a line, and back: how an export carries it.

No database of another machine is ever opened. Rows are values: they go into tables that this canonry's own migrations
made, under the checks of these tables, and an older export is taken forward by the same migrations as an older catalog.

The campaign's secret (`canonry.secret`) is not among the rows, and one that an export brings is not taken: whoever is
given an export could otherwise write lore that closes the frames of the campaign it came from. A restored campaign makes
its own with its first pack.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from canonry import upgrade
from canonry.catalog import Catalog
from canonry.config import Settings
from canonry.eligibility import HIGHEST_LEVEL
from canonry.errors import CanonryError
from canonry.migrations import MIGRATIONS
from canonry.records import SourceFacts
from canonry.secret import KEPT_AS as SECRET
from canonry.text import fold

MAX_LINE_BYTES = 128 << 20  # one row: a pack of the history, or the whole text of a proposal
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


class BadRows(CanonryError):
    """Lines that are no catalog; the text says which line and why."""


def dump_rows(catalog: Catalog) -> Iterator[bytes]:
    """Every row in the order of tables and keys, as the connection's transaction sees it; each line ends with a line feed."""
    db = catalog.connection
    for table, columns in _tables(db).items():
        keys = [row[1] for row in sorted(db.execute(f"PRAGMA table_info({table})"), key=lambda r: r[5]) if row[5]] or [
            "rowid"
        ]
        for values in db.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {', '.join(keys)}"):
            row = dict(zip(columns, values, strict=True))
            if (table, row.get("key")) == ("meta", SECRET):
                continue
            line = json.dumps({"table": table, "row": row}, ensure_ascii=False).encode() + b"\n"
            if len(line) > MAX_LINE_BYTES:
                raise BadRows(
                    f"{catalog.path}: the row {keys[0]}={values[0]!r} of {table} is larger than {MAX_LINE_BYTES >> 20} "
                    "MiB; remove what it describes, then export again"
                )
            yield line


def count_rows(catalog: Catalog) -> dict[str, int]:
    """How many rows `dump_rows` gives of each table."""
    db = catalog.connection
    counts = {table: int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for table in _tables(db)}
    counts["meta"] -= bool(catalog.meta(SECRET))
    return counts


def load_rows(catalog: Catalog, lines: Iterable[bytes], version: int, came_as: str, campaign: str) -> dict[str, int]:
    """Fill an empty catalog with the rows of an export of that schema version, as campaign `campaign`, and bring it up to date.

    Inside the caller's transaction. `came_as` is the campaign's id in the export. Returns the rows read of each table;
    BadRows where a line is no row, or the rows together are no catalog.
    """
    db = catalog.connection
    upgrade.migrate(db, version)
    tables = _tables(db)
    inserts = {
        table: f"INSERT {'OR IGNORE ' if table == 'source_label' else ''}INTO {table} VALUES ({', '.join('?' * len(columns))})"
        for table, columns in tables.items()
    }
    db.execute("PRAGMA defer_foreign_keys = ON")  # rows come by table, before those that they refer to
    counts: Counter[str] = Counter(dict.fromkeys(tables, 0))
    for number, line in enumerate(lines, 1):
        try:
            table, row = _read(line, tables)
            counts[table] += 1
            if table == "meta" and row["key"] == SECRET:
                continue
            _adopt(table, row, came_as, campaign)
            db.execute(inserts[table], tuple(row[column] for column in tables[table]))
        except (ValueError, TypeError, OverflowError, RecursionError, sqlite3.Error) as error:
            raise BadRows(f"line {number} is no row of a catalog ({_in_words(error)})") from error
    _check_whole(catalog, campaign)
    upgrade.migrate(db)
    return dict(counts)


def _tables(db: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """Columns of every table, by name."""
    names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
    return {
        name: tuple(column[1] for column in db.execute(f"PRAGMA table_info({name})")) for (name,) in names.fetchall()
    }


def _read(line: bytes, tables: Mapping[str, tuple[str, ...]]) -> tuple[str, dict[str, object]]:
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"longer than {MAX_LINE_BYTES >> 20} MiB")
    said = json.loads(line)
    if not isinstance(said, dict) or said.keys() != {"table", "row"}:
        raise ValueError("not a table and a row")
    table, row = said["table"], said["row"]
    if table not in tables:
        raise ValueError(f"there is no table {str(table)[:60]!r}")
    if not isinstance(row, dict) or row.keys() != set(tables[table]):
        raise ValueError(f"other columns than {table} has")
    return str(table), row


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


def _in_words(error: Exception) -> str:
    return str(error)[:200] or type(error).__name__


def newest_version() -> int:
    """The schema version that this canonry writes, and the latest that it restores."""
    return len(MIGRATIONS)
