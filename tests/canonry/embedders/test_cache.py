"""Files made once for a user."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from canonry.embedders.cache import cache_folder, kept
from canonry.errors import EmbedderError


class Maker:
    """Makes the same bytes and counts how often."""

    def __init__(self, content: bytes = b"layers" * 100) -> None:
        self.content = content
        self.calls = 0

    def __call__(self) -> bytes:
        self.calls += 1
        return self.content


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_a_file_is_made_once(tmp_path: Path) -> None:
    make = Maker()
    assert [kept(tmp_path / "new", "model", ".onnx", make) for _ in range(3)] == [make.content] * 3
    assert make.calls == 1
    (path,) = files(tmp_path / "new")
    assert path.read_bytes() == make.content


@pytest.mark.parametrize("damage", ["missing", "cut short", "changed", "empty"])
def test_a_file_that_is_missing_or_damaged_is_made_again(tmp_path: Path, damage: str) -> None:
    make = Maker()
    kept(tmp_path, "model", ".onnx", make)
    (path,) = files(tmp_path)
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes({"cut short": make.content[:-1], "changed": b"L" + make.content[1:], "empty": b""}[damage])
    assert kept(tmp_path, "model", ".onnx", make) == make.content
    assert make.calls == 2
    assert [path.read_bytes() for path in files(tmp_path)] == [make.content]


def test_another_name_is_another_file(tmp_path: Path) -> None:
    kept(tmp_path, "model-1", ".onnx", Maker(b"one"))
    assert kept(tmp_path, "model-2", ".onnx", Maker(b"two")) == b"two"
    assert kept(tmp_path, "model-1", ".onnx", Maker(b"not asked")) == b"one"


def test_many_at_the_same_time_leave_one_whole_file(tmp_path: Path) -> None:
    make = Maker()
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: kept(tmp_path, "model", ".onnx", make), range(16)))
    assert made == [make.content] * 16
    (path,) = files(tmp_path)
    assert path.read_bytes() == make.content


def test_what_a_dead_process_left_goes_and_what_a_live_one_writes_stays(tmp_path: Path) -> None:
    dead, live = tmp_path / ".tmp-dead-model.onnx", tmp_path / ".tmp-live-model.onnx"
    dead.touch()
    os.utime(dead, (0, 0))
    live.touch()
    kept(tmp_path, "model", ".onnx", Maker())
    assert live.exists()
    assert not dead.exists()


def test_what_vanishes_while_it_is_looked_at_is_somebody_elses_finished_file(tmp_path: Path) -> None:
    (tmp_path / ".tmp-gone-model.onnx").symlink_to(tmp_path / "nowhere")
    assert kept(tmp_path, "model", ".onnx", Maker()) == Maker().content


def test_a_folder_that_cannot_be_written_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbedderError, match=r"file.cache: .*make it writable, or name another folder in CANONRY_CACHE"):
        kept(tmp_path / "file" / "cache", "model", ".onnx", Maker())


def test_the_folder_is_the_one_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANONRY_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path


@pytest.mark.skipif(os.name != "posix", reason="the rule of another system")
def test_without_a_name_the_folder_is_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CANONRY_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder().is_relative_to(tmp_path)
    assert cache_folder().name == "canonry"
