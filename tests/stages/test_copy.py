from __future__ import annotations

from pathlib import Path

import pytest

from stages.copy import copy_text


def test_the_copy_holds_the_bytes_under_a_temporary_name(tmp_path: Path) -> None:
    path = copy_text(b"The mill.\r\n", tmp_path / "files")
    assert path.read_bytes() == b"The mill.\r\n"
    assert path.parent == tmp_path / "files"
    assert path.name.startswith(".tmp-")


def test_two_copies_never_share_a_name(tmp_path: Path) -> None:
    assert copy_text(b"a", tmp_path) != copy_text(b"a", tmp_path)


def test_a_folder_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("a file stands where the folder should")
    with pytest.raises(OSError, match=r"files"):
        copy_text(b"a", tmp_path / "files")
    assert [path.name for path in tmp_path.iterdir()] == ["files"]
