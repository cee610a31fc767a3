"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path

from canonry.errors import DamagedData, NoSpace
from canonry.layout import TEMPORARY_PREFIX

_NO_ROOM = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`; what the block writes there takes its place at the end, or vanishes on an error."""
    with room_for(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_beside(path)
        try:
            yield temporary
            sync_file(temporary)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(path.parent)


def temporary_beside(path: Path) -> Path:
    return path.parent / f"{TEMPORARY_PREFIX}{secrets.token_hex(6)}-{path.name[-80:]}"


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Turn a full disk or a folder that cannot be written into one line."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise NoSpace(
                f"{path}: {os.strerror(error.errno or 0).lower()}; nothing was left half-written; "
                "free some space or make the folder writable, then run the command again"
            ) from error
        raise


def sync_file(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make renames in a folder last (where the system can)."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_stored(path: Path) -> bytes:
    """The bytes of a stored file, which the catalog says is there."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedData(
            f"{path}: {(error.strerror or '').lower()}; import the source again from its original"
        ) from error


def sweep(*folders: Path) -> int:
    """Remove what an interrupted writer left right in these folders; for the holder of the lock. Returns how much went."""
    swept = 0
    for folder in folders:
        for left in folder.glob(f"{TEMPORARY_PREFIX}*"):
            remove(left)
            swept += 1
    return swept


def sweep_beside(path: Path) -> None:
    """Remove what an interrupted writer of this very file left beside it."""
    for left in path.parent.glob(f"{TEMPORARY_PREFIX}{'[0-9a-f]' * 12}-{escape(path.name[-80:])}"):
        remove(left)


def remove(*paths: Path) -> None:
    """Remove files and whole folders, as far as they are there; a link goes, and what it leads to stays."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
