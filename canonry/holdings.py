"""What a campaign holds already: its live texts by their hashes, and the files they came from."""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from canonry import database
from canonry.authority import CORRECTION_TYPE
from canonry.errors import NotFound
from canonry.files import read_stored
from canonry.layout import Layout
from canonry.records import Source
from canonry.text import normal_form

ENTRY_ORIGIN = "entry:"  # in place of a path, before the id of an entry that is no file; no absolute path begins so
_GONE = {errno.ENOENT, errno.ENOTDIR}


@dataclass(frozen=True, slots=True)
class Hashes:
    """SHA-256 of a file's own bytes, of its text as UTF-8, and of that text in its normal form."""

    original: str
    content: str
    normal: str


@dataclass(frozen=True, slots=True)
class Twin:
    """A source that holds a text already; `exact` is byte for byte, else in the normal form of `canonry.text`."""

    source_id: str
    exact: bool

    def __str__(self) -> str:
        if self.exact:
            return f"the same content as source {self.source_id}"
        return (
            f"the same text as source {self.source_id} but for line ends, trailing blanks, blank lines or Unicode form"
        )


def normal_hash(data: bytes) -> str:
    """SHA-256 of a stored text (UTF-8) in its normal form."""
    return hashlib.sha256(normal_form(data.decode("utf-8")).encode("utf-8")).hexdigest()


def fill_normal_hashes(db: sqlite3.Connection, stored: Callable[[str, str], Path]) -> None:
    """Give live versions of an older canonry their normal hash; `stored` is the path of a content and its extension.

    A file that cannot be read is left out; `canonry verify` is for that.
    """
    found: list[tuple[str, str]] = []
    for version_id, content_hash, mime_type in db.execute(
        "SELECT version_id, content_hash, mime_type FROM knowledge_source_version WHERE normal_hash = '' AND valid_to IS NULL"
    ):
        try:
            data = stored(content_hash, extension_of(mime_type)).read_bytes()
            found.append((normal_hash(data), version_id))
        except (OSError, UnicodeDecodeError):
            continue
    if found:
        with database.transaction(db):
            db.executemany("UPDATE knowledge_source_version SET normal_hash = ? WHERE version_id = ?", found)


class Contents:
    """Which live source holds which text; kept up to date by an import as it goes."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._exact: dict[str, list[str]] = {}
        self._normal: dict[str, list[str]] = {}
        self._held: dict[str, Hashes] = {}
        for source_id, *hashes in db.execute(
            "SELECT source_id, original_hash, content_hash, normal_hash FROM knowledge_source_version "
            "WHERE valid_to IS NULL ORDER BY source_id"
        ):
            self.hold(source_id, Hashes(*hashes))

    def hold(self, source_id: str, hashes: Hashes) -> None:
        """The source holds this text from now on, and no other."""
        self.forget(source_id)
        self._held[source_id] = hashes
        for index, value in self._entries(hashes):
            index.setdefault(value, []).append(source_id)

    def forget(self, source_id: str) -> None:
        """The source holds nothing."""
        for index, value in self._entries(self._held.pop(source_id, None)):
            index[value].remove(source_id)

    def _entries(self, hashes: Hashes | None) -> Iterable[tuple[dict[str, list[str]], str]]:
        if hashes is None:
            return []
        exact = [(self._exact, value) for value in {hashes.original, hashes.content}]
        return [*exact, (self._normal, hashes.normal)] if hashes.normal else exact

    def twin(self, hashes: Hashes) -> Twin | None:
        """The source that holds a text, by preference the very bytes; of several the first by id."""
        exact = self._exact.get(hashes.original) or self._exact.get(hashes.content)
        if exact:
            return Twin(exact[0], exact=True)
        same = self._normal.get(hashes.normal)
        return Twin(same[0], exact=False) if same else None

    def from_file(self, original_hash: str) -> list[str]:
        """Every source whose live version was read from a file of just these bytes, by id."""
        return [name for name in self._exact.get(original_hash, ()) if self._held[name].original == original_hash]


def was_typed(source: Source) -> bool:
    """Whether a source never had an original of its own: a correction, or an entry typed in or listed in a file of entries."""
    is_correction = not source.original_path and source.facts.source_type == CORRECTION_TYPE
    return is_correction or source.original_path.startswith(ENTRY_ORIGIN)


def is_gone(original_path: str) -> bool:
    """Whether an original is no longer where it was imported from. One that only cannot be reached is not gone."""
    if not original_path:  # restored on another machine
        return True
    try:
        os.lstat(original_path)
    except OSError as error:
        return error.errno in _GONE
    return False


def has_moved(original_path: str, to: str) -> bool:
    """Whether an original lies at `to` now, and no longer where it was.

    Where a system makes no difference between cases, a name in another case is a move.
    """
    if is_gone(original_path):
        return True
    return original_path.casefold() == to.casefold() and Path(original_path).samefile(to)


def stored_text(at: Layout, db: sqlite3.Connection, version_id: str) -> str:
    """The text of a version, live or superseded, without its byte-order mark; NotFound where there is no such version."""
    row = db.execute(
        "SELECT content_hash, mime_type FROM knowledge_source_version WHERE version_id = ?", (version_id,)
    ).fetchone()
    if row is None:
        source_id = version_id.rpartition("@")[0]
        raise NotFound(f"version {version_id} does not exist; `canonry source history {source_id}` shows what does")
    return read_stored(at.file(row[0], extension_of(row[1]))).decode("utf-8-sig")


def extension_of(mime_type: str) -> str:
    """Of a stored file, without its dot."""
    return "md" if mime_type == "text/markdown" else "txt"


def move(db: sqlite3.Connection, source_id: str, original_path: str, original_filename: str) -> None:
    """The source's original lies elsewhere now, under another name perhaps; its versions stay."""
    with database.transaction(db):
        db.execute(
            "UPDATE knowledge_source SET original_path = ?, original_filename = ? WHERE source_id = ?",
            (original_path, original_filename, source_id),
        )
