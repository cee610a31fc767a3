"""Files that canonry makes once for a user from installed packages, and makes again when they are missing or damaged."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from canonry.errors import EmbedderError, NoSpace
from canonry.files import whole_file
from canonry.layout import TEMPORARY_PREFIX

_ABANDONED_S = 3600.0  # a temporary file that is older was left by a process that died


def cache_folder() -> Path:
    """$CANONRY_CACHE, else canonry's folder where the system keeps a user's caches."""
    if named := os.environ.get("CANONRY_CACHE"):
        return Path(named)
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "canonry" / "Cache"
        if sys.platform == "darwin":
            return Path.home() / "Library/Caches/canonry"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "canonry"
    except RuntimeError as error:
        raise EmbedderError(
            f"there is no home folder to keep a cache in ({error}): name one in CANONRY_CACHE"
        ) from error


def kept(folder: Path, name: str, suffix: str, make: Callable[[], bytes]) -> bytes:
    """The bytes that `make` gave once under that name; they are made again unless a file holds them whole.

    A file's name ends with the SHA-256 of its content, so processes that make it at the same time do not disturb each
    other, and a damaged one is seen for what it is.
    """
    for path in sorted(folder.glob(f"{name}-*{suffix}")):
        try:
            content = path.read_bytes()
        except OSError:
            continue
        if path == _path(folder, name, suffix, content):
            return content
    content = make()
    _keep(_path(folder, name, suffix, content), f"{name}-*{suffix}", content)
    return content


def _path(folder: Path, name: str, suffix: str, content: bytes) -> Path:
    return folder / f"{name}-{hashlib.sha256(content).hexdigest()}{suffix}"


def _is_abandoned(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > _ABANDONED_S
    except FileNotFoundError:  # another process has finished with it
        return False


def _keep(path: Path, pattern: str, content: bytes) -> None:
    try:
        with whole_file(path) as temporary:
            temporary.write_bytes(content)
        for other in path.parent.glob(pattern):  # damaged, or the same made by another version of a library
            if other != path:
                other.unlink(missing_ok=True)
        for left in path.parent.glob(f"{TEMPORARY_PREFIX}*"):
            if _is_abandoned(left):
                left.unlink(missing_ok=True)
    except (OSError, NoSpace) as error:
        cause = error.__cause__ if isinstance(error, NoSpace) else error
        reason = (getattr(cause, "strerror", None) or str(cause)).lower()
        raise EmbedderError(
            f"{path.parent}: {reason}, so what the embedder needs cannot be kept there "
            f"({len(content) / 1e6:.0f} MB): make it writable, or name another folder in CANONRY_CACHE"
        ) from error
