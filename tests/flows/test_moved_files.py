"""Files that were moved keep their source; what only looks so does not."""

from __future__ import annotations

from contextlib import closing

import pytest

from canonry.catalog import Catalog
from canonry.embedders import register
from canonry.locking import writing
from flows.correction import add_correction
from tests.conftest import Workshop
from tests.fakes import WordBag
from tests.flows.importing import edit, one_source, outcomes


def test_a_moved_file_is_the_same_source_and_costs_nothing(workshop: Workshop) -> None:
    bag = WordBag("for-moves")
    register(bag)
    at = workshop.create(embedder="for-moves")
    path = workshop.write("draft.md", "# Lamp\n\nA brass lamp.\n")
    workshop.bring(at, path)
    before, parts, embedded = one_source(at), sorted(at.chunks.rglob("*.parquet")), len(bag.embedded)
    moved = path.rename(workshop.root / "lore" / "lamp.md")
    report = workshop.bring(at, moved)
    after = one_source(at)
    assert outcomes(report) == [("lamp.md", "renamed")]
    assert (after.source_id, after.version_id) == (before.source_id, before.version_id)
    assert (after.original_path, after.original_filename, after.facts.title) == (str(moved), "lamp.md", "lamp")
    assert (sorted(at.chunks.rglob("*.parquet")), len(bag.embedded)) == (parts, embedded)
    assert outcomes(workshop.bring(at, moved)) == [("lamp.md", "unchanged")]
    moved.write_text("# Lamp\n\nA zinc lamp.\n")
    assert outcomes(workshop.bring(at, moved)) == [("lamp.md", "updated")]


@pytest.mark.parametrize("stated", [True, False], ids=["by its front matter", "by an edit"])
def test_a_title_that_was_given_stays_when_the_file_is_moved(workshop: Workshop, stated: bool) -> None:
    at = workshop.create()
    front = "---\ntitle: The lamp\n---\n" if stated else ""
    path = workshop.write("draft.md", f"{front}A brass lamp.\n")
    workshop.bring(at, path)
    if not stated:
        edit(at, "draft.md", title="The lamp")
    workshop.bring(at, path.rename(workshop.root / "lore" / "lamp.md"))
    assert one_source(at).facts.title == "The lamp"


def test_a_file_that_was_moved_under_stricter_rules_is_hidden_at_once(workshop: Workshop) -> None:
    at = workshop.create()
    path = workshop.write("lamp.md", "A brass lamp.\n")
    workshop.bring(at, path)
    workshop.write("secret/canonry.toml", '[defaults]\nvisibility = "hidden"\n')
    assert outcomes(workshop.bring(at, path.rename(workshop.root / "lore/secret/lamp.md"))) == [("lamp.md", "renamed")]
    assert workshop.ask(at).retrieve("lamp").results == []


def test_a_copy_whose_original_is_still_there_is_a_duplicate(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("a.md", "A lamp.\n"))
    assert [error.name for error in workshop.bring(at, workshop.write("b.md", "A lamp.\n")).rejected] == ["b.md"]


def test_a_file_that_was_moved_and_changed_is_new(workshop: Workshop) -> None:
    at = workshop.create()
    path = workshop.write("a.md", "A lamp.\n")
    workshop.bring(at, path)
    path.unlink()
    assert outcomes(workshop.bring(at, workshop.write("b.md", "A gate.\n"))) == [("b.md", "new")]


def test_equal_files_that_were_moved_keep_a_source_each_and_by_name_where_they_can(workshop: Workshop) -> None:
    at = workshop.create()
    report = workshop.bring(
        at, *(workshop.write(f"{name}.md", "A lamp.\n") for name in ("one", "two")), decide="separate"
    )
    ids = {file.name: file.source_id for file in report.imported}
    (workshop.root / "lore").rename(workshop.root / "moved")
    moved = workshop.bring(at, workshop.root / "moved" / "two.md", workshop.root / "moved" / "one.md")
    assert {file.name: (file.source_id, file.outcome) for file in moved.imported} == {
        name: (source_id, "renamed") for name, source_id in ids.items()
    }


def test_a_text_file_that_became_markdown_is_asked_about_because_it_is_cut_otherwise(workshop: Workshop) -> None:
    at = workshop.create()
    path = workshop.write("a.txt", "A lamp.\n")
    workshop.bring(at, path)
    assert [error.name for error in workshop.bring(at, path.rename(path.with_suffix(".md"))).rejected] == ["a.md"]


def test_a_correction_and_a_file_of_the_same_words_stay_apart(workshop: Workshop) -> None:
    """Neither has the other's original: a correction is typed, and a file that went is no correction."""
    at = workshop.create()
    path = workshop.write("lamp.md", "The lamp is zinc.\n")
    workshop.bring(at, path)
    path.unlink()
    with writing(at):
        ids = [add_correction(at, "The lamp is zinc.", (), {}) for _ in range(2)]
    with closing(Catalog.open(at.catalog)) as catalog:
        assert len({source.source_id for source in catalog.sources()} - {*ids}) == 1
    assert outcomes(workshop.bring(at, workshop.write("again.md", "The lamp is zinc.\n"))) == [("again.md", "renamed")]
    with closing(Catalog.open(at.catalog)) as catalog:
        assert [catalog.source(source_id).original_path for source_id in ids] == ["", ""]
