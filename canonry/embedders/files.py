"""Finds a model's files inside installed packages, without running any code of theirs, and checks them."""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from canonry.embedders.models import Model, PinnedFile
from canonry.errors import DamagedData, EmbedderError

FindPackage = Callable[[str], Path | None]


def find_package(package: str) -> Path | None:
    """The folder of an installed top-level package, or None. The package is not imported."""
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return Path(folders[0]) if folders else None


def locate(model: Model, file: PinnedFile, find: FindPackage = find_package) -> Path:
    """The path of a model's file, which has the pinned size."""
    folder = find(file.package)
    if folder is None:
        raise EmbedderError(
            f'the embedder {model.spec} needs the package {file.package}: pip install "{model.requirement}"'
        )
    path = folder / file.name
    try:
        size = path.stat().st_size
    except OSError as error:
        raise _foreign(path, "cannot be read", model) from error
    if size != file.size_bytes:
        raise _foreign(path, f"has {size} bytes instead of {file.size_bytes}", model)
    return path


def read_checked(model: Model, file: PinnedFile, find: FindPackage = find_package) -> bytes:
    """The bytes of a model's file, whose SHA-256 is the pinned one."""
    path = locate(model, file, find)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _foreign(path, "cannot be read", model) from error
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise _foreign(path, "does not have the pinned SHA-256", model)
    return content


def map_checked(model: Model, file: PinnedFile, find: FindPackage = find_package) -> mmap.mmap:
    """A large file of a model, mapped for reading, whose SHA-256 is the pinned one."""
    path = locate(model, file, find)
    try:
        with path.open("rb") as opened:
            mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise _foreign(path, "cannot be read", model) from error
    if hashlib.sha256(mapped).hexdigest() != file.sha256:
        raise _foreign(path, "does not have the pinned SHA-256", model)
    return mapped


def _foreign(path: Path, fault: str, model: Model) -> DamagedData:
    return DamagedData(
        f"{path} {fault}, so the embedder {model.spec} does not use it: "
        f'pip install --force-reinstall "{model.requirement}"'
    )
