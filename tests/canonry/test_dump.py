"""The rows of a catalog as lines, and lines as rows."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from canonry import database
from canonry.catalog import Catalog
from canonry.dump import count_rows, dump_rows, load_rows, newest_version
from tests.conftest import Workshop


def test_lines_are_ordered_by_table_and_key(workshop: Workshop) -> None:
    at = workshop.create(mode="hybrid")
    workshop.bring(at, workshop.write("b.md", "B.\n"), workshop.write("a.md", "A.\n"), tags=("z", "a"))
    catalog = Catalog.open(at.catalog)
    said = [json.loads(line) for line in dump_rows(catalog)]
    tables = [one["table"] for one in said]
    assert tables == sorted(tables)
    ids = [one["row"]["source_id"] for one in said if one["table"] == "knowledge_source"]
    assert ids == sorted(ids)
    assert len(said) == sum(count_rows(catalog).values())


def test_an_older_export_is_taken_forward() -> None:
    """Rows of the first schema come into a catalog of today's, with the defaults that a migration gives."""
    lines = [
        b'{"table": "meta", "row": {"key": "campaign_id", "value": "vell"}}',
        b'{"table": "meta", "row": {"key": "created_at", "value": "2026-01-01T00:00:00.000000+00:00"}}',
        b'{"table": "meta", "row": {"key": "sequence", "value": "3"}}',
        json.dumps({
            "table": "knowledge_source",
            "row": {
                "source_id": "lamp-1", "campaign_id": "vell", "title": "Lamp", "original_filename": "lamp.md",
                "original_path": "/lamp.md", "class": "canon", "enabled": 1, "visibility": "normal", "spoiler_level": 0,
                "priority": "normal", "always_include": 0, "trust": None, "edition": None, "uri": None, "notes": None,
                "source_type": None, "chapter": None, "reading_order": None, "scope": None, "heading_rules": "[]",
                "extra": "{}", "edited": "[]", "imported_at": "2026-01-01", "updated_at": "2026-01-01",
            },
        }).encode(),
    ]  # fmt: skip
    with closing(Catalog(sqlite3.connect(":memory:", isolation_level=None), Path("memory"))) as catalog:
        with database.transaction(catalog.connection):
            counts = load_rows(catalog, lines, 1, "vell", "other")
        db = catalog.connection
        assert db.execute("PRAGMA user_version").fetchone()[0] == newest_version() > 1
        assert db.execute("SELECT campaign_id, class, locked FROM knowledge_source").fetchall() == [
            ("other", "canon", 0)
        ]
        assert (counts["meta"], counts["knowledge_source"]) == (3, 1)
        assert "proposal" not in counts


def test_a_schema_is_that_of_a_new_catalog(workshop: Workshop, tmp_path: Path) -> None:
    """No statement of an export is ever run: what it makes differs in nothing but rows."""
    at = workshop.create()
    made = Catalog(sqlite3.connect(":memory:", isolation_level=None), Path("memory"))
    with database.transaction(made.connection):
        load_rows(made, list(dump_rows(Catalog.open(at.catalog))), newest_version(), "vell", "vell")
    new = Catalog.create(tmp_path / "new.sqlite", "new")
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"
    assert made.connection.execute(query).fetchall() == new.connection.execute(query).fetchall()
    made.close()
    new.close()


def test_labels_are_folded_anew(workshop: Workshop) -> None:
    """What an export says of a label's folded form is not believed: secrecy is compared by it."""
    at = workshop.create()
    workshop.bring(at, workshop.write("a.md", "A.\n"), spoiler_tags=("Ending",))
    lines = [line.replace(b'"folded": "ending"', b'"folded": "else"') for line in dump_rows(Catalog.open(at.catalog))]
    made = Catalog(sqlite3.connect(":memory:", isolation_level=None), Path("memory"))
    with database.transaction(made.connection):
        load_rows(made, lines, newest_version(), "vell", "vell")
    assert made.connection.execute("SELECT label, folded FROM source_label").fetchall() == [("Ending", "ending")]
    made.close()
