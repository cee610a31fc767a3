"""Where nothing is restored: what is there stays, limits hold, and what is no export is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from canonry.archive import Limits
from canonry.errors import Busy, NotFound, RefusedArchive, UsageError
from canonry.export import export_campaign
from canonry.layout import Layout, list_campaigns, passing
from canonry.locking import writing
from flows.restore import restore
from tests.archives import tree
from tests.conftest import Workshop


def build_lamp(workshop: Workshop) -> Layout:
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "A lamp.\n"))
    export_campaign(at, workshop.root / "lamp.zip")
    return at


@pytest.fixture
def lamp(workshop: Workshop) -> Path:
    """A small export."""
    workshop.once(build_lamp)
    return workshop.root / "lamp.zip"


def test_a_campaign_that_is_there_is_not_touched(workshop: Workshop, lamp: Path) -> None:
    def there() -> dict[str, bytes | None]:
        """All but what SQLite leaves beside a catalog that was read."""
        return {name: data for name, data in tree(workshop.data).items() if not name.endswith(("-shm", "-wal"))}

    before = there()
    with pytest.raises(UsageError, match="--as ID"):
        restore(lamp, workshop.data)
    assert there() == before


def test_files_without_a_catalog_are_not_overwritten(lamp: Path, tmp_path: Path) -> None:
    (tmp_path / "data2" / "raw" / "vell" / "files").mkdir(parents=True)
    (tmp_path / "data2" / "raw" / "vell" / "files" / "kept.md").write_text("mine")
    before = tree(tmp_path / "data2")
    with pytest.raises(
        UsageError, match=r"its catalog is missing; delete it first \(`canonry campaign delete vell`\), then restore"
    ):
        restore(lamp, tmp_path / "data2")
    assert tree(tmp_path / "data2") == before


def test_what_a_dead_writer_left_is_swept(lamp: Path, tmp_path: Path) -> None:
    at = Layout(tmp_path / "data2", "vell")
    left = [
        passing(at.raw, "restored"),
        passing(at.chunks, "restored"),
        passing(at.index, "deleted"),
        at.chunks / "vectors",
    ]
    for folder in left:
        folder.mkdir(parents=True)
        (folder / "half").write_text("half")
    other = passing(Layout(at.root, "a-vell").raw, "restored")  # of another campaign, whose writer may be at work
    other.mkdir()
    at.raw.mkdir()
    restore(lamp, at.root)
    assert [folder for folder in left if folder.exists()] == []
    assert other.exists()


def test_one_writer_at_a_time(lamp: Path, tmp_path: Path) -> None:
    at = Layout(tmp_path / "data2", "vell")
    with writing(at), pytest.raises(Busy):
        restore(lamp, at.root, wait_s=0.1)
    assert list_campaigns(at.root) == []


@pytest.mark.parametrize(
    ("limits", "option"), [(Limits(bytes=100), "--max-bytes"), (Limits(members=1), "--max-members")]
)
def test_limits_hold_and_name_the_option_that_raises_them(
    lamp: Path, tmp_path: Path, limits: Limits, option: str
) -> None:
    with pytest.raises(RefusedArchive, match=option):
        restore(lamp, tmp_path / "data2", limits=limits)
    assert not (tmp_path / "data2").exists()


def test_limits_let_nothing_below_one_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="let nothing in"):
        Limits(bytes=0)


def test_limits_that_no_archive_reaches_are_refused() -> None:
    """Python read no list of entries that could be so long: it ended in an OverflowError."""
    for limits in ({"bytes": 10**20}, {"members": 10**20}):
        with pytest.raises(UsageError, match="more than any archive has"):
            Limits(**limits)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda path: path.mkdir(), "is not a file"),
        (lambda path: None, "no such file"),
        (lambda path: path.write_bytes(b""), "not a zip file"),
        (lambda path: path.write_bytes(b"PK\x03\x04" + b"x" * 500), "not a zip file"),
    ],
)
def test_what_is_no_zip_is_refused(tmp_path: Path, make: Callable[[Path], object], error: str) -> None:
    make(tmp_path / "odd.zip")
    with pytest.raises((RefusedArchive, NotFound, UsageError), match=error):
        restore(tmp_path / "odd.zip", tmp_path / "data2")
    assert not (tmp_path / "data2").exists()


def test_text_that_shrinks_a_thousandfold_comes_back(workshop: Workshop, tmp_path: Path) -> None:
    """A bomb by its ratio, but honest: an export stores it unpacked, and a restore takes it."""
    at = workshop.create()
    workshop.bring(at, workshop.write("dull.txt", "dull dull dull dull\n" * 80_000))
    export_campaign(at, tmp_path / "dull.zip")
    there = restore(tmp_path / "dull.zip", tmp_path / "data2", with_index=False).at
    assert tree(there.files) == tree(at.files)
