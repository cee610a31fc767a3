from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from stages.copy import copy_text
from stages.hash import hash_file


@pytest.mark.parametrize(("kind", "ending"), [("markdown", "md"), ("text", "txt")])
def test_the_file_takes_the_name_of_its_content(tmp_path: Path, kind: str, ending: str) -> None:
    content_hash, path = hash_file(copy_text(b"The mill.\n", tmp_path), kind)
    assert content_hash == hashlib.sha256(b"The mill.\n").hexdigest()
    assert path == tmp_path / f"{content_hash}.{ending}"
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"The mill.\n"


def test_equal_contents_share_one_file(tmp_path: Path) -> None:
    first = hash_file(copy_text(b"a", tmp_path), "text")
    assert hash_file(copy_text(b"a", tmp_path), "text") == first
    assert len(list(tmp_path.iterdir())) == 1


def test_the_hash_is_of_what_stands_on_the_disk(tmp_path: Path) -> None:
    copied = copy_text(b"as it was meant", tmp_path)
    copied.write_bytes(b"as it was written")
    assert hash_file(copied, "text")[0] == hashlib.sha256(b"as it was written").hexdigest()
