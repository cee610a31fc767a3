"""An export is whole, of one moment, and the same for the same campaign."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from canonry.archive import Limits
from canonry.catalog import Catalog
from canonry.dump import newest_version
from canonry.errors import DamagedData, NotFound, UsageError
from canonry.export import export_campaign
from canonry.layout import Layout
from canonry.secret import campaign_secret
from flows.removal import delete_source
from flows.restore import restore
from tests.archives import read_members, tree
from tests.conftest import Workshop, built_once


@built_once
def vell(workshop: Workshop) -> Layout:
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "A lamp.\n"), workshop.write("jar.txt", "A jar.\n"))
    workshop.bring(at, workshop.write("lamp.md", "A lamp of brass.\n"))
    return at


def source_id(at: Layout, name: str) -> str:
    return Catalog.open(at.catalog).source(name).source_id


def test_the_manifest_names_every_member_with_its_size_and_checksum(vell: Layout, tmp_path: Path) -> None:
    exported = export_campaign(vell, tmp_path / "vell.zip")
    members = read_members(tmp_path / "vell.zip")
    said = json.loads(members.pop("manifest.json"))
    assert said["contract"] == "canonry/export/1"
    assert (said["campaign_id"], said["catalog_version"]) == ("vell", newest_version())
    assert said["rows"]["knowledge_source"] == 2
    assert said["rows"]["knowledge_source_version"] == 3
    assert [(m["name"], m["bytes"], m["sha256"]) for m in said["members"]] == [
        (name, len(data), hashlib.sha256(data).hexdigest()) for name, data in members.items()
    ]
    assert sorted(data for name, data in members.items() if name.startswith("files/")) == sorted(
        path.read_bytes() for path in vell.files.iterdir()
    )
    assert exported.file_bytes == (tmp_path / "vell.zip").stat().st_size


def test_the_same_campaign_gives_the_same_members_in_the_same_order(vell: Layout, tmp_path: Path) -> None:
    archives = [tmp_path / "one.zip", tmp_path / "two.zip"]
    for archive in archives:
        export_campaign(vell, archive)
    one, two = ([*read_members(archive).items()][:-1] for archive in archives)
    assert one == two
    assert {info.date_time for info in zipfile.ZipFile(archives[0]).infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_nothing_of_the_campaign_is_changed(vell: Layout, tmp_path: Path) -> None:
    before = tree(vell.root)
    export_campaign(vell, tmp_path / "vell.zip")
    after = tree(vell.root)
    assert {name for name in before.keys() ^ after.keys() if not name.endswith(("-wal", "-shm"))} == set()
    assert all(before[name] == after[name] for name in before if not name.endswith(("-wal", "-shm")))


def test_the_secret_is_not_in_it(vell: Layout, tmp_path: Path) -> None:
    secret, _ = campaign_secret(vell)
    export_campaign(vell, tmp_path / "vell.zip")
    assert not any(
        secret.encode() in data or b"frame_secret" in data for data in read_members(tmp_path / "vell.zip").values()
    )


def test_a_file_that_is_there_is_overwritten_on_demand_alone(vell: Layout, tmp_path: Path) -> None:
    (tmp_path / "vell.zip").write_text("mine")
    with pytest.raises(UsageError, match="--force"):
        export_campaign(vell, tmp_path / "vell.zip")
    assert (tmp_path / "vell.zip").read_text() == "mine"
    export_campaign(vell, tmp_path / "vell.zip", replace=True)
    assert zipfile.is_zipfile(tmp_path / "vell.zip")


@pytest.mark.parametrize(
    "place", ["raw/vell/files/vell.zip", "raw/vell.zip", "chunks/vell/x.zip", "index/../raw/x.zip"]
)
def test_it_is_not_put_among_the_campaign_s_own_files(vell: Layout, place: str) -> None:
    with pytest.raises(UsageError, match="own files"):
        export_campaign(vell, vell.root / place)


def test_a_folder_is_no_file_to_write(vell: Layout, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"vell\.zip"):
        export_campaign(vell, tmp_path)


def test_no_campaign_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        export_campaign(Layout(tmp_path / "data", "ghost"), tmp_path / "ghost.zip")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"A lump.\n")])
def test_a_campaign_that_is_damaged_is_not_exported(vell: Layout, tmp_path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    damage(sorted(vell.files.iterdir())[0])
    with pytest.raises(DamagedData, match="import the source again"):
        export_campaign(vell, tmp_path / "out" / "vell.zip")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_writer_beside_it_does_not_show(workshop: Workshop, vell: Layout, tmp_path: Path) -> None:
    """While the files are written, a new version comes: the export is of the moment before it."""

    def write(step: str, done: int, total: int) -> None:
        workshop.bring(vell, workshop.write("lamp.md", f"A lamp of gold, the {done}th.\n"))

    exported = export_campaign(vell, tmp_path / "vell.zip", progress=write)
    assert exported.manifest.rows["knowledge_source_version"] == 3
    there = restore(tmp_path / "vell.zip", tmp_path / "elsewhere").at
    assert [p.exact_text.strip() for p in workshop.ask(there).retrieve("lamp").results] == ["A lamp of brass."]


def test_a_deletion_beside_it_lets_it_begin_again(workshop: Workshop, vell: Layout, tmp_path: Path) -> None:
    """While the files are written, all of a source go: the export is of the moment after that."""
    jar = source_id(vell, "jar.txt")
    last = sorted(vell.files.iterdir())[-1]

    def delete(step: str, done: int, total: int) -> None:
        if last.exists():
            delete_source(vell, jar if last.suffix == ".txt" else source_id(vell, "lamp.md"))

    exported = export_campaign(vell, tmp_path / "vell.zip", progress=delete)
    assert exported.manifest.rows["knowledge_source"] == 1
    assert restore(tmp_path / "vell.zip", tmp_path / "elsewhere").at.catalog.exists()
    assert [path.name for path in tmp_path.glob(".tmp-*")] == []


def test_what_a_killed_export_left_is_swept_by_the_next(vell: Layout, tmp_path: Path) -> None:
    (tmp_path / ".tmp-0123456789ab-vell.zip").write_bytes(b"half")
    (tmp_path / ".tmp-0123456789ab-other.zip").write_bytes(b"half")
    export_campaign(vell, tmp_path / "vell.zip")
    assert [path.name for path in tmp_path.glob(".tmp-*")] == [".tmp-0123456789ab-other.zip"]


def test_it_says_what_a_restore_needs_where_the_default_limits_are_too_small(vell: Layout, tmp_path: Path) -> None:
    exported = export_campaign(vell, tmp_path / "vell.zip")
    assert exported.needs(Limits()) == []
    total = exported.manifest.total_bytes
    assert exported.needs(Limits(bytes=10, members=2)) == [f"--max-bytes {total}", "--max-members 4"]
    restore(tmp_path / "vell.zip", tmp_path / "elsewhere", limits=Limits(bytes=total, members=4))
