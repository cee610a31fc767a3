"""What a campaign holds already, and where its originals lie."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from canonry.catalog import Catalog
from canonry.errors import NotFound
from canonry.holdings import Contents, Hashes, Twin, fill_normal_hashes, has_moved, is_gone, normal_hash, stored_text
from canonry.layout import Layout
from tests.conftest import Workshop

LAMP = Hashes("file", "text", "form")


@pytest.fixture
def contents() -> Contents:
    """Of a campaign without sources."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(
            "CREATE TABLE knowledge_source_version (source_id, original_hash, content_hash, normal_hash, valid_to)"
        )
        return Contents(db)


@pytest.mark.parametrize(
    ("other", "twin"),
    [
        (Hashes("file", "x", "y"), Twin("a", True)),
        (Hashes("x", "text", "y"), Twin("a", True)),
        (Hashes("x", "y", "form"), Twin("a", False)),
        (Hashes("x", "y", "z"), None),
    ],
    ids=["file", "text", "form", "another"],
)
def test_a_text_is_known_by_its_file_its_bytes_or_its_form(
    contents: Contents, other: Hashes, twin: Twin | None
) -> None:
    contents.hold("a", LAMP)
    assert contents.twin(other) == twin


def test_the_very_bytes_come_before_the_same_text(contents: Contents) -> None:
    contents.hold("a", Hashes("x", "y", "form"))
    contents.hold("b", LAMP)
    assert contents.twin(LAMP) == Twin("b", True)


def test_a_source_that_holds_something_else_now_is_no_twin_of_what_it_held(contents: Contents) -> None:
    contents.hold("a", LAMP)
    contents.hold("a", Hashes("other", "other", "other"))
    assert contents.twin(LAMP) is None
    contents.forget("a")
    assert contents.twin(Hashes("other", "other", "other")) is None
    contents.forget("a")


def test_versions_of_an_older_canonry_have_no_form_and_are_no_twins_of_each_other(contents: Contents) -> None:
    contents.hold("a", Hashes("1", "1", ""))
    assert contents.twin(Hashes("2", "2", "")) is None


def test_a_missing_form_is_made_from_the_stored_text(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("a.md", "A lamp.\n"), workshop.write("b.txt", "A gate.\n"))
    with closing(sqlite3.connect(at.catalog)) as db, db:
        db.execute("UPDATE knowledge_source_version SET normal_hash = ''")
    next(at.files.glob("*.txt")).unlink()
    with closing(Catalog.open(at.catalog, write=True)) as catalog:
        fill_normal_hashes(catalog.connection, at.file)
        found = {row[0] for row in catalog.connection.execute("SELECT normal_hash FROM knowledge_source_version")}
    assert found == {"", normal_hash(b"A lamp.\n")}


def test_the_text_of_every_version_can_be_read(workshop: Workshop) -> None:
    at = workshop.create()
    for text in ("A lamp.\n", "\ufeffA zinc lamp.\n"):
        source_id = workshop.bring(at, workshop.write("a.md", text)).imported[0].source_id
    with closing(Catalog.open(at.catalog)) as catalog:
        texts = [stored_text(at, catalog.connection, f"{source_id}@{number}") for number in (1, 2)]
        with pytest.raises(NotFound, match="source history"):
            stored_text(at, catalog.connection, f"{source_id}@3")
    assert texts == ["A lamp.\n", "A zinc lamp.\n"]


def test_an_original_is_gone_only_when_nothing_is_there(tmp_path: Path) -> None:
    there = tmp_path / "a.md"
    there.touch()
    (tmp_path / "link.md").symlink_to("nowhere.md")
    assert not is_gone(str(there))
    assert not is_gone(str(tmp_path / "link.md"))
    assert is_gone(str(tmp_path / "b.md"))
    assert is_gone(str(there / "b.md"))
    assert is_gone("")


def test_an_original_that_cannot_be_reached_is_not_gone(tmp_path: Path) -> None:
    assert not is_gone(str(tmp_path / ("long" * 200)))


def test_a_copy_is_not_a_move(tmp_path: Path) -> None:
    for name in ("a.md", "A.MD"):
        (tmp_path / name).write_text(name)
    assert not has_moved(str(tmp_path / "a.md"), str(tmp_path / "A.MD")) or (tmp_path / "a.md").samefile(
        tmp_path / "A.MD"
    )
    assert has_moved(str(tmp_path / "b.md"), str(tmp_path / "a.md"))


def test_layout_keeps_proposed_texts_beside_the_catalog(tmp_path: Path) -> None:
    at = Layout(tmp_path, "vell")
    assert at.proposed_file("a" * 64, "md").parent == at.proposed
    assert at.proposed.parent == at.catalog.parent
