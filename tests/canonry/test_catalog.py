from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from canonry import catalog as catalog_module
from canonry import database
from canonry.catalog import Catalog
from canonry.errors import DamagedData, NotFound, UsageError
from canonry.migrations import MIGRATIONS
from canonry.records import Document, Draft, SourceFacts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "vell" / "catalog.sqlite"
    Catalog.create(path, "vell").close()
    return path


@pytest.fixture
def catalog(path: Path) -> Catalog:
    return Catalog.open(path, write=True)


def draft(source_id: str = "mill-1", number: int = 1, content: str = "a", **facts: object) -> Draft:
    document = Document("key", f"{source_id}@{number}", source_id, content * 64, "markdown", (), "mill", (0, source_id))
    stated = SourceFacts(**({"title": "The mill"} | facts))  # type: ignore[arg-type]
    return Draft(document, stated, "mill.md", f"/lore/{source_id}.md", 10, "utf-8", content * 64, "[]", number == 1)


def add(catalog: Catalog, *drafts: Draft) -> list[str]:
    return catalog.add(list(drafts), parser_version="1", chunking_version="1")


BAD_ROWS = {
    "class": "UPDATE knowledge_source SET class = 'gospel'",
    "visibility": "UPDATE knowledge_source SET visibility = 'secret'",
    "negative level": "UPDATE knowledge_source SET spoiler_level = -1",
    "level in words": "UPDATE knowledge_source SET spoiler_level = 'high'",
    "enabled twice": "UPDATE knowledge_source SET enabled = 2",
    "priority": "UPDATE knowledge_source SET priority = 'urgent'",
    "scope": "UPDATE knowledge_source SET scope = 'galactic'",
    "rules that are no JSON": "UPDATE knowledge_source SET heading_rules = '['",
    "extra that is no JSON": "UPDATE knowledge_source SET extra = '{'",
    "no title": "UPDATE knowledge_source SET title = NULL",
    "an id with a blank": "UPDATE knowledge_source SET source_id = 'a b'",
    "an id with a tab": "UPDATE knowledge_source SET source_id = 'a' || char(9)",
    "an empty id": "UPDATE knowledge_source SET source_id = ''",
    "a short hash": "UPDATE knowledge_source_version SET content_hash = 'abc'",
    "a negative size": "UPDATE knowledge_source_version SET file_size = -1",
    "version 0": "UPDATE knowledge_source_version SET number = 0",
    "a foreign type": "UPDATE knowledge_source_version SET mime_type = 'image/png'",
    "an end before its beginning": "UPDATE knowledge_source_version SET valid_to = '0'",
    "a version of nothing": "UPDATE knowledge_source_version SET source_id = 'nothing'",
    "a label of no kind": "INSERT INTO source_label VALUES ('mill-1', 'mood', 'grim', 'grim')",
    "an empty label": "INSERT INTO source_label VALUES ('mill-1', 'tag', '', '')",
    "a label of nothing": "INSERT INTO source_label VALUES ('nothing', 'tag', 'x', 'x')",
    "two live versions": "INSERT INTO knowledge_source_version SELECT 'mill-1@2', source_id, 2, content_hash, original_hash, "
    "file_size, mime_type, encoding, text_title, parser_version, chunking_version, imported_at, valid_from, NULL, "
    "stated_level, stated_hidden, stated_tags, stated_roles, heading_rules, '', '{}' FROM knowledge_source_version",
    "a record that is no JSON": "INSERT INTO knowledge_retrieval_record (created_at, role, query, supplied) VALUES ('t', 'player', 'q', '[')",
}


@pytest.mark.parametrize("statement", BAD_ROWS.values(), ids=BAD_ROWS)
def test_the_schema_refuses_what_cannot_be_meant(catalog: Catalog, statement: str) -> None:
    add(catalog, draft())
    with pytest.raises(sqlite3.IntegrityError):
        catalog.connection.execute(statement)


def test_every_table_is_strict(catalog: Catalog) -> None:
    tables = catalog.connection.execute(
        "SELECT name, strict FROM pragma_table_list WHERE type = 'table' AND schema = 'main'"
    )
    assert [name for name, strict in tables if not strict and not name.startswith("sqlite_")] == []


def test_the_migrations_are_numbered_from_the_first(path: Path) -> None:
    """The first migration is never edited once released: the version stored is the number of migrations that ran."""
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
        assert db.execute("PRAGMA application_id").fetchone()[0] == catalog_module.APPLICATION_ID


@pytest.mark.parametrize("write", [False, True], ids=["read", "write"])
@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda path: sqlite3.connect(path, isolation_level=None).execute("PRAGMA user_version = 99"), "version 99"),
        (
            lambda path: sqlite3.connect(path, isolation_level=None).execute("PRAGMA application_id = 7"),
            "not a canonry catalog",
        ),
        (lambda path: path.write_bytes(b"no database at all" * 100), "not a database"),
        (lambda path: path.write_bytes(b""), "not a canonry catalog"),
    ],
    ids=["newer", "foreign", "no database", "empty"],
)
def test_a_catalog_that_is_none_of_ours_is_refused_in_one_line(
    tmp_path: Path, spoil: object, word: str, write: bool
) -> None:
    path = tmp_path / "vell" / "catalog.sqlite"
    created = Catalog.create(path, "vell")
    created.connection.execute("PRAGMA journal_mode = DELETE")
    created.close()
    assert callable(spoil)
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(DamagedData, match=word) as caught:
        Catalog.open(path, write=write)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


def test_a_campaign_that_is_not_there_names_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="campaign create vell"):
        Catalog.open(tmp_path / "vell" / "catalog.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_a_new_source_has_one_live_version(catalog: Catalog) -> None:
    assert add(catalog, draft(class_="canon", tags=("salt",), order=3)) == []
    source = catalog.source("mill-1")
    assert (source.facts.class_, source.facts.tags, source.facts.order, source.enabled) == ("canon", ("salt",), 3, True)
    assert source.version_id == "mill-1@1"
    assert [version[4] for version in catalog.versions("mill-1")] == [None]


def test_a_second_version_supersedes_the_first_without_a_gap(catalog: Catalog) -> None:
    add(catalog, draft())
    assert add(catalog, draft(number=2, content="b")) == ["mill-1@1"]
    first, second = catalog.versions("mill-1")
    assert (first[0], second[0]) == ("mill-1@1", "mill-1@2")
    assert first[4] == second[3]
    assert second[4] is None
    assert [row[0] for row in catalog.live_versions()] == ["mill-1@2"]


def test_every_change_of_live_versions_is_counted_and_an_edit_is_not(catalog: Catalog) -> None:
    counted = [catalog.sequence()]
    for change in (
        lambda: add(catalog, draft()),
        lambda: add(catalog, draft(number=2, content="b")),
        lambda: catalog.set_enabled("mill-1", False),
        lambda: catalog.delete("mill-1"),
    ):
        change()
        counted.append(catalog.sequence())
    assert counted == [0, 1, 2, 2, 3]


def test_a_batch_is_made_live_whole_or_not_at_all(catalog: Catalog) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        add(catalog, draft("mill-1"), draft("weir-1", class_="gospel"))
    assert catalog.sources() == []
    assert catalog.sequence() == 0


def test_deleting_a_source_names_the_contents_that_nothing_holds_any_more(catalog: Catalog) -> None:
    add(catalog, draft("mill-1", content="a"), draft("weir-1", content="b"))
    add(catalog, draft("mill-1", 2, content="b"))
    assert catalog.delete("mill-1") == ["a" * 64]
    assert [source.source_id for source in catalog.sources()] == ["weir-1"]
    assert catalog.connection.execute("SELECT count(*) FROM source_label WHERE source_id = 'mill-1'").fetchone()[0] == 0


@pytest.mark.parametrize("name", ["mill-1", "mill", "m", "mill.md", "The mill"])
def test_a_source_is_known_by_id_beginning_file_name_or_title(catalog: Catalog, name: str) -> None:
    add(catalog, draft())
    assert catalog.source(name).source_id == "mill-1"


def test_a_name_that_fits_several_sources_is_refused_and_one_that_fits_none_is_not_found(catalog: Catalog) -> None:
    add(catalog, draft("mill-1"), draft("mill-2"))
    with pytest.raises(UsageError, match="mill-1, mill-2"):
        catalog.source("mill")
    assert catalog.source("mill-2").source_id == "mill-2"
    with pytest.raises(NotFound, match="source list"):
        catalog.source("weir")


@pytest.mark.parametrize("name", ["%", "_", "mill*", "'; DROP TABLE knowledge_source; --"])
def test_a_name_is_no_pattern_and_no_sql(catalog: Catalog, name: str) -> None:
    add(catalog, draft())
    with pytest.raises(NotFound):
        catalog.source(name)


def test_a_deleted_source_leaves_the_file_while_someone_has_it_open(catalog: Catalog) -> None:
    """The log is brought into the file by whoever deletes, not by the last reader that goes."""
    add(catalog, draft(title="The walnut chest"))
    database.empty_log(catalog.connection)
    assert b"walnut" in catalog.path.read_bytes()
    reader = Catalog.open(catalog.path)
    assert reader.sources()
    catalog.delete("mill-1")
    assert b"walnut" not in catalog.path.read_bytes()
    reader.close()
