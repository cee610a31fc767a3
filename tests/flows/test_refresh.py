"""Refresh: originals that changed become versions, what is gone stays, what is no text any more is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from canonry.catalog import Catalog
from canonry.embedders import register
from canonry.errors import NotFound
from canonry.layout import Layout
from canonry.locking import writing
from flows.correction import add_correction
from flows.import_report import ImportReport
from flows.refresh import find_originals, preview, refresh
from tests.conftest import Workshop, built_once, set_lock
from tests.fakes import WordBag


def read_again(at: Layout, *names: str) -> ImportReport:
    with writing(at):
        return refresh(at, find_originals(at, names))


def outcomes(report: ImportReport) -> dict[str, str]:
    return {file.name: file.outcome for file in report.imported}


def texts(workshop: Workshop, at: Layout, query: str) -> list[str]:
    return sorted(passage.exact_text.strip() for passage in workshop.ask(at).retrieve(query).results)


@built_once
def at(workshop: Workshop) -> Layout:
    """A campaign of a folder with two files, one of them in a folder below."""
    at = workshop.create()
    workshop.write("lamp.md", "A brass lamp.\n")
    workshop.write("deep/gate.txt", "A brass gate.\n")
    workshop.bring(at, workshop.root / "lore")
    return at


def test_what_changed_is_a_version_and_the_rest_is_as_it_was(workshop: Workshop, at: Layout) -> None:
    workshop.write("deep/gate.txt", "A zinc gate.\n")
    assert outcomes(read_again(at)) == {"lamp.md": "unchanged", "deep/gate.txt": "updated"}
    assert texts(workshop, at, "brass zinc") == ["A brass lamp.", "A zinc gate."]
    assert outcomes(read_again(at)) == {"lamp.md": "unchanged", "deep/gate.txt": "unchanged"}


def test_only_the_named_sources_are_read(workshop: Workshop, at: Layout) -> None:
    for name in ("lamp.md", "deep/gate.txt"):
        workshop.write(name, "Something of zinc.\n" + name)
    assert outcomes(read_again(at, "lamp.md", "lamp")) == {"lamp.md": "updated"}


def test_an_unknown_name_changes_nothing(workshop: Workshop, at: Layout) -> None:
    workshop.write("lamp.md", "A zinc lamp.\n")
    with pytest.raises(NotFound):
        read_again(at, "lamp.md", "nothing")
    assert texts(workshop, at, "zinc") == []


def test_a_new_file_of_the_folder_is_not_looked_for(workshop: Workshop, at: Layout) -> None:
    workshop.write("well.md", "A brass well.\n")
    assert "well.md" not in outcomes(read_again(at))


def test_a_source_whose_original_is_gone_is_named_and_stays(workshop: Workshop, at: Layout) -> None:
    (workshop.root / "lore/lamp.md").unlink()
    originals = find_originals(at)
    assert [source.original_filename for source in originals.missing] == ["lamp.md"]
    assert outcomes(read_again(at)) == {"deep/gate.txt": "unchanged"}
    assert texts(workshop, at, "brass") == ["A brass gate.", "A brass lamp."]


def test_a_correction_has_no_original_to_miss(workshop: Workshop, at: Layout) -> None:
    with writing(at):
        source_id = add_correction(at, "The lamp is zinc.", (), {})
    assert find_originals(at).missing == []
    assert [source.source_id for source in find_originals(at, [source_id]).missing] == [source_id]


REPLACEMENTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder": (lambda path: path.mkdir(), "directory"),
    "a picture": (lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20)), "PNG"),
    "another encoding": (lambda path: path.write_bytes("Zoë's lamp".encode("cp1252")), "UTF-8"),
    "nothing": (lambda path: path.touch(), "empty"),
    "a link": (lambda path: path.symlink_to("deep/gate.txt"), "leads to"),
    "a mark that cannot be read": (lambda path: path.write_text("# End {spoiler=high}\n\nText.\n"), "line 1"),
    "metadata that cannot be read": (lambda path: path.write_text("---\nspoiler: very\n---\nText.\n"), "spoiler"),
}


@pytest.mark.parametrize("locked", [False, True], ids=["free", "locked"])
@pytest.mark.parametrize(("put", "reason"), REPLACEMENTS.values(), ids=REPLACEMENTS)
def test_an_original_that_was_replaced_by_something_else_is_refused_and_the_version_stays(
    workshop: Workshop, at: Layout, put: Callable[[Path], object], reason: str, locked: bool
) -> None:
    path = workshop.root / "lore/lamp.md"
    path.unlink()
    put(path)
    with closing(Catalog.open(at.catalog)) as catalog:
        set_lock(at, catalog.source("lamp.md").source_id, locked)
    report = read_again(at)
    assert [(error.name, reason in error.reason) for error in report.rejected] == [("lamp.md", True)]
    assert outcomes(report) == {"deep/gate.txt": "unchanged"}
    assert texts(workshop, at, "brass") == ["A brass gate.", "A brass lamp."]
    assert not at.proposed.exists() or list(at.proposed.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_place_of_an_original_is_refused_without_waiting(workshop: Workshop, at: Layout) -> None:
    path = workshop.root / "lore/lamp.md"
    path.unlink()
    os.mkfifo(path)
    assert [error.name for error in read_again(at).rejected] == ["lamp.md"]


def test_rules_of_the_folders_hold_as_by_import(workshop: Workshop, at: Layout) -> None:
    workshop.write("canonry.toml", '[[files]]\nmatch = "deep/**"\nvisibility = "hidden"\n')
    assert outcomes(read_again(at))["deep/gate.txt"] == "unchanged"
    assert texts(workshop, at, "brass") == ["A brass lamp."]


def test_options_of_the_import_and_later_edits_stay(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "A brass lamp.\n"), class_="canon")
    workshop.write("lamp.md", "---\nclass: inspiration\n---\nA zinc lamp.\n")
    read_again(at)
    assert [passage.class_ for passage in workshop.ask(at).retrieve("zinc").results] == ["canon"]


def test_a_file_that_was_converted_is_read_in_the_same_encoding(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "Zoë's lamp.\n".encode("cp1252")), encoding="cp1252")
    workshop.write("lamp.md", "Zoë's gate.\n".encode("cp1252"))
    assert outcomes(read_again(at)) == {"lamp.md": "updated"}
    assert texts(workshop, at, "gate") == ["Zoë's gate."]


def test_a_dry_run_tells_the_same_and_writes_nothing(workshop: Workshop, at: Layout) -> None:
    before = {path: path.read_bytes() for path in at.root.rglob("*") if path.is_file()}
    workshop.write("lamp.md", "A zinc lamp.\n")
    workshop.write("deep/gate.txt", b"")
    report = preview(at, find_originals(at))
    assert (outcomes(report), [error.name for error in report.rejected]) == ({"lamp.md": "updated"}, ["deep/gate.txt"])
    after = {path: path.read_bytes() for path in at.root.rglob("*") if path.is_file()}
    assert {path: data for path, data in after.items() if path.suffix not in (".sqlite-shm", ".sqlite-wal")} == {
        path: data for path, data in before.items() if path.suffix not in (".sqlite-shm", ".sqlite-wal")
    }


def test_unchanged_passages_of_a_changed_file_are_not_embedded_again(workshop: Workshop) -> None:
    bag = WordBag("for-refresh")
    register(bag)
    at = workshop.create(embedder="for-refresh")
    workshop.bring(at, workshop.write("lamp.md", "# Lamp\n\nBrass.\n\n# Gate\n\nZinc.\n"))
    count = len(bag.embedded)
    workshop.write("lamp.md", "# Lamp\n\nBrass.\n\n# Gate\n\nIron.\n")
    read_again(at)
    assert [text for text in bag.embedded[count:] if "Iron" not in text] == []
    assert len(bag.embedded) == count + 1
