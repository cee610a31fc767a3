from __future__ import annotations

import errno
from pathlib import Path

import pytest

from canonry.errors import NoSpace
from canonry.files import room_for, sweep, whole_file


def test_the_file_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    with whole_file(tmp_path / "deep" / "a.txt") as temporary:
        temporary.write_text("whole")
        assert not (tmp_path / "deep" / "a.txt").exists()
    assert (tmp_path / "deep" / "a.txt").read_text() == "whole"
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    "error", [ValueError, KeyboardInterrupt, OSError(errno.ENOSPC, "full")], ids=["error", "interrupt", "full disk"]
)
def test_an_error_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises((ValueError, KeyboardInterrupt, NoSpace)), whole_file(path) as temporary:
        temporary.write_text("half")
        raise error
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["a.txt"]


def test_a_block_that_writes_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), whole_file(tmp_path / "a.txt"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_very_long_name_can_still_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 120 + ".txt")
    with whole_file(path) as temporary:
        temporary.write_text("whole")
    assert path.read_text() == "whole"


@pytest.mark.parametrize(
    "code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EFBIG], ids=errno.errorcode.get
)
def test_no_room_is_one_line_with_the_path_and_what_to_do(tmp_path: Path, code: int) -> None:
    with pytest.raises(NoSpace, match="free some space") as caught, room_for(tmp_path / "a.txt"):
        raise OSError(code, "as the system says it")
    assert str(tmp_path / "a.txt") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_errors_of_the_system_pass_unchanged(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError), room_for(tmp_path):
        tmp_path.read_bytes()


def test_the_sweep_removes_what_a_dead_writer_left_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in (".tmp-1-a", "deep/.tmp-2-b", "kept.txt", "deep/x.tmp-3"):
        (tmp_path / name).touch()
    (tmp_path / ".tmp-4-folder").mkdir()
    (tmp_path / ".tmp-4-folder" / "spilt").touch()
    assert sweep(tmp_path, tmp_path / "missing") == 2
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [".tmp-2-b", "kept.txt", "x.tmp-3"]
