"""hash: a copied file -> the same file under the name of its SHA-256, read back from the disk."""

from __future__ import annotations

import hashlib
from pathlib import Path

EXTENSIONS = {"markdown": "md", "text": "txt"}


def hash_file(copied: Path, kind: str) -> tuple[str, Path]:
    """(content hash, final path). Equal contents share one file; the temporary name is gone afterwards."""
    with copied.open("rb") as file:
        content_hash = hashlib.file_digest(file, "sha256").hexdigest()
    stored = copied.parent / f"{content_hash}.{EXTENSIONS[kind]}"
    copied.replace(stored)
    return content_hash, stored


def holds(stored: Path, content_hash: str) -> bool:
    """Whether a stored file is there and has the bytes that its name says."""
    try:
        with stored.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == content_hash
    except OSError:
        return False
