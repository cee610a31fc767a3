"""Deleting a source leaves nothing of it anywhere, and everything else as it was."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from canonry import passing_files, schemas
from canonry.catalog import Catalog
from canonry.embedders import register
from canonry.errors import CanonryError
from canonry.layout import Layout
from canonry.locking import writing
from canonry.timestamps import now
from flows.pipeline import InProcess, run_plan
from flows.plan import make_plan
from flows.removal import delete_source
from tests.conftest import Workshop, set_lock
from tests.fakes import WordBag


@pytest.fixture
def bag() -> WordBag:
    bag = WordBag()
    register(bag)
    return bag


def harbour(workshop: Workshop) -> tuple[Layout, dict[str, str]]:
    """A campaign of three sources in one part: file name -> source id."""
    at = workshop.create(embedder="wordbag")
    report = workshop.bring(
        at,
        *(
            workshop.write(f"{name}.md", f"# The {name}\n\nA zinc {name} by the wall, seen at dusk.\n")
            for name in ("lamp", "gate", "well")
        ),
    )
    return at, {file.name: file.source_id for file in report.imported}


def remove(at: Layout, source_id: str) -> None:
    with writing(at):
        delete_source(at, source_id)


def bytes_everywhere(root: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file())


def test_a_deleted_source_is_found_in_no_mode_and_the_others_are(workshop: Workshop, bag: WordBag) -> None:
    at, ids = harbour(workshop)
    remove(at, ids["lamp.md"])
    for mode in ("lexical", "semantic", "hybrid"):
        answer = workshop.ask(at).retrieve("zinc lamp gate well wall dusk", mode=mode)
        assert {passage.uri for passage in answer.results} == {"gate.md", "well.md"}
        assert answer.degraded is None


def test_its_rows_and_files_are_gone_from_every_store(workshop: Workshop, bag: WordBag) -> None:
    at, ids = harbour(workshop)
    remove(at, ids["lamp.md"])
    assert len(list(at.files.iterdir())) == 2
    for part in at.chunks.glob("*.parquet"):
        assert not [row for row in schemas.read(part, schemas.CHUNK_CONTRACT).to_pylist() if "lamp" in row["text"]]


def test_no_vector_of_it_stays(workshop: Workshop, bag: WordBag) -> None:
    at, ids = harbour(workshop)
    (part,) = at.embeddings(bag.fingerprint).glob("*.parquet")
    assert schemas.read(part, schemas.EMBEDDING_CONTRACT).num_rows == 3
    remove(at, ids["lamp.md"])
    assert (
        sum(
            schemas.read(p, schemas.EMBEDDING_CONTRACT).num_rows
            for p in at.embeddings(bag.fingerprint).glob("*.parquet")
        )
        == 2
    )


def test_its_words_stand_on_no_page_of_the_data_directory(workshop: Workshop) -> None:
    """SQLite keeps deleted rows in its free pages unless it is told otherwise."""
    at = workshop.create()
    report = workshop.bring(
        at, workshop.write("a.md", "The xylophonist of Quvarnheim.\n"), workshop.write("b.md", "A gate.\n")
    )
    assert b"quvarnheim" in bytes_everywhere(at.root).lower()
    remove(at, report.imported[0].source_id)
    assert b"quvarnheim" not in bytes_everywhere(at.root).lower()


def test_a_content_that_another_source_shares_stays(workshop: Workshop) -> None:
    at = workshop.create()
    report = workshop.bring(
        at, workshop.write("a.md", "A zinc lamp.\n"), workshop.write("b.md", "A zinc lamp.\n"), decide="separate"
    )
    remove(at, report.imported[0].source_id)
    (passage,) = workshop.ask(at).retrieve("zinc lamp").results
    assert passage.source_id == report.imported[1].source_id


def test_its_older_versions_go_too_and_an_old_question_finds_nothing(workshop: Workshop) -> None:
    at = workshop.create()
    report = workshop.bring(at, workshop.write("a.md", "A zinc lamp.\n"), workshop.write("b.md", "A gate.\n"))
    between = now()
    workshop.bring(at, workshop.write("a.md", "A brass lamp.\n"))
    assert len(workshop.ask(at).retrieve("lamp", as_of=between).results) == 1
    remove(at, report.imported[0].source_id)
    assert workshop.ask(at).retrieve("lamp", as_of=between).results == []
    assert len(list(at.files.iterdir())) == 1


def test_the_last_source_can_be_deleted_and_others_be_imported_afterwards(workshop: Workshop, bag: WordBag) -> None:
    at, ids = harbour(workshop)
    for source_id in ids.values():
        remove(at, source_id)
    assert workshop.ask(at).retrieve("zinc", mode="hybrid").results == []
    assert list(at.files.iterdir()) == []
    workshop.bring(at, workshop.write("oil.md", "A jar of oil.\n"))
    assert len(workshop.ask(at).retrieve("jar oil", mode="hybrid").results) == 1


def test_a_deleted_file_can_be_imported_again(workshop: Workshop) -> None:
    at = workshop.create()
    path = workshop.write("a.md", "A zinc lamp.\n")
    for _ in range(2):
        report = workshop.bring(at, path)
        assert [file.outcome for file in report.imported] == ["new"]
        remove(at, report.imported[0].source_id)


def test_no_row_of_it_stays_among_the_vectors_in_use(workshop: Workshop, bag: WordBag) -> None:
    at, ids = harbour(workshop)
    remove(at, ids["lamp.md"])
    generation = json.loads(at.manifest.read_text())["generation"]
    assert [path.name for path in at.index.glob("vectors-*")] == [at.vectors(generation).name]
    with duckdb.connect(str(at.vectors(generation)), read_only=True) as store:
        assert store.execute("SELECT count(*) FROM knowledge_embedding").fetchone() == (2,)


def test_a_locked_source_is_not_deleted_until_it_is_unlocked(workshop: Workshop) -> None:
    at = workshop.create()
    source_id = workshop.bring(at, workshop.write("a.md", "A zinc lamp.\n")).imported[0].source_id
    set_lock(at, source_id, True)
    with pytest.raises(CanonryError, match="unlock"):
        remove(at, source_id)
    assert len(workshop.ask(at).retrieve("lamp").results) == 1
    set_lock(at, source_id, False)
    remove(at, source_id)
    assert workshop.ask(at).retrieve("lamp").results == []


def test_a_text_that_waits_goes_with_its_source(workshop: Workshop) -> None:
    at = workshop.create()
    source_id = workshop.bring(at, workshop.write("a.md", "A zinc lamp.\n")).imported[0].source_id
    set_lock(at, source_id, True)
    workshop.bring(at, workshop.write("a.md", "The xylophonist of Quvarnheim.\n"))
    assert b"quvarnheim" in bytes_everywhere(at.root).lower()
    set_lock(at, source_id, False)
    remove(at, source_id)
    assert b"quvarnheim" not in bytes_everywhere(at.root).lower()
    assert list(at.proposed.iterdir()) == []


@pytest.mark.parametrize("which", ["older", "foreign"])
def test_a_catalog_that_does_not_know_the_files_takes_none_of_them_away(workshop: Workshop, which: str) -> None:
    """An older copy of the catalog was put back, or another campaign's: the texts must outlive that."""
    at = workshop.create()
    workshop.bring(at, workshop.write("a.md", "A lamp.\n"))
    other = at if which == "older" else workshop.create("other")
    copy = workshop.root / "copy.sqlite"
    with closing(Catalog.open(other.catalog)) as catalog, closing(sqlite3.connect(copy)) as to:
        catalog.connection.backup(to)
    workshop.bring(at, workshop.write("b.md", "A bell.\n"), workshop.write("c.md", "A coin.\n"))
    kept = sorted(path.name for path in at.files.iterdir())
    for leftover in at.raw.glob("catalog.sqlite*"):
        leftover.unlink()
    shutil.copy(copy, at.catalog)
    with writing(at):
        run_plan(at, make_plan(at, full=True), InProcess())
    assert sorted(path.name for path in at.files.iterdir()) == kept
    with writing(at):
        for source in Catalog.open(at.catalog).sources():
            delete_source(at, source.source_id)
    gone = 0 if which == "foreign" else 1
    assert len(list(at.files.iterdir())) == len(kept) - gone


def test_what_a_stopped_import_stored_is_removed_by_the_next_run(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("a.md", "A lamp.\n"))
    stray = at.file(hashlib.sha256(b"stray").hexdigest(), "md")
    stray.write_bytes(b"stray")
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        passing_files.announce_now(catalog.connection, [stray.stem])
    assert make_plan(at).litter
    with writing(at):
        run_plan(at, make_plan(at), InProcess())
    assert not stray.exists()
    assert make_plan(at).is_empty
