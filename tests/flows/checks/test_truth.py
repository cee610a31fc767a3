"""Damage to the truth, stored files and the catalog: found, named, and cured by a new import or a restore alone."""

from __future__ import annotations

import shutil

import pytest

from canonry.layout import Layout
from flows.verify import verify
from tests.conftest import Workshop
from tests.flows.checks.conftest import FOREIGN, answers, change_sql, codes, cut_short, flip, mend


def test_a_flipped_byte_of_a_stored_file_is_found_and_cured_by_importing_it_again(
    workshop: Workshop, at: Layout
) -> None:
    before = answers(workshop, at)
    path = next(path for path in at.files.iterdir() if b"iron gate" in path.read_bytes())
    flip(path, 20)
    (found,) = verify(at).findings
    assert (found.code, found.fixable) == ("file-changed", False)
    assert path.name in found.where
    assert "gate.md again" in found.do
    assert mend(at) == ["file-changed"]
    workshop.bring(at, workshop.root / "lore" / "gate.md")
    assert codes(at) == []
    assert answers(workshop, at) == before


def test_a_missing_stored_file_is_found_and_cured_by_importing_it_again(workshop: Workshop, at: Layout) -> None:
    next(path for path in at.files.iterdir() if b"brass lamp" in path.read_bytes()).unlink()
    assert codes(at) == ["file-missing"]
    workshop.bring(at, workshop.root / "lore" / "lamp.md")
    assert codes(at) == []


def test_the_file_of_an_earlier_version_can_only_be_restored(at: Layout) -> None:
    next(path for path in at.files.iterdir() if b"is deep" in path.read_bytes()).unlink()
    (found,) = verify(at).findings
    assert (found.code, found.do) == ("file-missing", "restore the campaign from an export")


def test_a_damaged_source_takes_no_other_out_of_an_index_that_is_made_anew(workshop: Workshop, at: Layout) -> None:
    next(path for path in at.files.iterdir() if b"iron gate" in path.read_bytes()).unlink()
    at.lexical.write_bytes(FOREIGN["text"])
    shutil.rmtree(at.chunks)
    assert {"file-missing", "index-behind"} <= set(mend(at))
    assert [passage.uri for passage in workshop.ask(at).retrieve("brass lamp").results] == ["lamp.md"]


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_catalog_is_one_finding_and_nothing_is_repaired(at: Layout, kind: str) -> None:
    at.catalog.with_name("catalog.sqlite-wal").unlink(missing_ok=True)
    at.catalog.write_bytes(FOREIGN[kind])
    assert codes(at) == ["catalog-damaged"]
    before = sorted(at.root.rglob("*"))
    assert "catalog-damaged" in mend(at)
    assert sorted(at.root.rglob("*")) == before


def test_a_truncated_catalog_is_a_finding(at: Layout) -> None:
    change_sql(at.catalog, "VACUUM")
    cut_short(at.catalog)
    assert "catalog-damaged" in codes(at)


def test_a_missing_catalog_is_a_finding_and_the_files_are_still_hashed(at: Layout) -> None:
    at.catalog.unlink()
    flip(next(at.files.iterdir()), 3)
    assert codes(at) == ["catalog-missing", "file-changed"]


def test_a_row_of_the_catalog_without_its_source_is_a_finding(at: Layout) -> None:
    change_sql(at.catalog, "PRAGMA foreign_keys = OFF", "INSERT INTO source_label VALUES ('nobody', 'tag', 'x', 'x')")
    assert codes(at) == ["catalog-inconsistent"]


def test_the_catalog_of_another_campaign_is_a_finding(at: Layout) -> None:
    change_sql(at.catalog, "UPDATE meta SET value = 'other' WHERE key = 'campaign_id'")
    assert codes(at) == ["catalog-foreign"]


def test_settings_that_mean_nothing_are_a_finding(at: Layout) -> None:
    change_sql(at.catalog, "INSERT INTO setting VALUES ('chunk.goal', '7')")
    assert "settings-invalid" in codes(at)
