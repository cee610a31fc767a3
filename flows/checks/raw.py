"""The stored files: whether each version's bytes are those that were imported, and what lies there that no version holds."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from canonry.catalog import Catalog
from canonry.layout import TEMPORARY_PREFIX
from flows.checks.cutting import Cut, cut_anew
from flows.checks.findings import FIX_REMOVES, RESTORE, Examination, Finding, reason
from flows.plan import KINDS
from stages.chunking.marks import MarkError
from stages.hash import EXTENSIONS, holds

_HASH = re.compile(r"[0-9a-f]{64}\Z")
_EVERY_VERSION = (
    "SELECT v.content_hash, v.mime_type, max(v.file_size), min(v.version_id), max(v.valid_to IS NULL), min(s.original_path), "
    "count(*) FROM knowledge_source_version v JOIN knowledge_source s USING (source_id) GROUP BY 1, 2 ORDER BY 1"
)


def check(look: Examination) -> Iterator[Finding]:
    """Findings about files/: every version hashed anew, files of no version, files that an interrupted writer left."""
    yield from _temporary(look)
    if not look.versions:
        yield from _by_name(look)
        return
    with closing(Catalog.open(look.at.catalog)) as catalog:
        rows = catalog.connection.execute(_EVERY_VERSION).fetchall()
    for done, (content, mime, size, version, live, original, versions) in enumerate(rows, 1):
        path = look.at.file(content, EXTENSIONS[KINDS[mime]])
        wrong = _wrong(path, content, size)
        look.checked["files"] += 1
        look.checked["bytes"] += size
        if wrong:
            look.bad_contents.add(content)
            others = f" and {versions - 1} more" if versions > 1 else ""
            mend = f"import {original} again if it is unchanged, or {RESTORE}" if live else RESTORE
            yield Finding(f"file-{wrong[0]}", wrong[1], f"{look.named(path)} (version {version}{others})", mend)
        look.progress("files", done, len(rows))
    yield from _orphans(look, {row[0] for row in rows})


def _by_name(look: Examination) -> Iterator[Finding]:
    """Stored files against the hash that is their name, where no catalog can say what they should be."""
    for path in sorted(look.at.files.glob("*")) if look.at.files.exists() else ():
        look.checked["files"] += 1
        if _HASH.match(path.stem) and not holds(path, path.stem):
            look.bad_contents.add(path.stem)
            yield Finding("file-changed", "the stored bytes were changed since the import", look.named(path), RESTORE)


def _wrong(path: Path, content_hash: str, size: int) -> tuple[str, str] | None:
    """(kind, what) where a stored file is not the version's."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            there = file.tell()
    except FileNotFoundError:
        return "missing", "the stored file of this version is missing"
    except OSError as error:
        return "missing", f"the stored file of this version cannot be read ({reason(error)})"
    if found == content_hash:
        return None
    how = f"it has {there:,} bytes, not {size:,}" if there != size else "its SHA-256 is another"
    return "changed", f"the stored bytes of this version were changed since the import: {how}"


def _orphans(look: Examination, known: set[str]) -> Iterator[Finding]:
    for path in sorted(look.at.files.glob("*")) if look.at.files.exists() else ():
        if path.name.partition(".")[0] not in known and not path.name.startswith(TEMPORARY_PREFIX):
            yield Finding(
                "file-orphan", "no version holds this file", look.named(path),
                "keep it if the catalog is an older copy or another campaign's; else delete it by hand",
            )  # fmt: skip


def _temporary(look: Examination) -> Iterator[Finding]:
    at = look.at
    folders = [at.raw, at.files, at.chunks, *(at.chunks / "vectors").glob("*"), at.index]
    left = [path for folder in folders for path in folder.glob(f"{TEMPORARY_PREFIX}*")]
    making = [path for path in (at.index / "as-of").glob("*.making-*") if path.is_dir()]
    for path in sorted({*left, *making}):
        yield Finding(
            "temporary-left", "an interrupted writer left this behind", look.named(path), FIX_REMOVES, fixable=True,
            remove=(path,) if path in making else (),  # the others go when the lock is taken
        )  # fmt: skip


def stored(look: Examination, content_hash: str, kind: str | None = None) -> bytes | None:
    """The bytes of a content; None where they are missing or not what they were. Never looks outside the campaign's files."""
    if content_hash in look.bad_contents or not _HASH.match(content_hash):
        return None
    for extension in (EXTENSIONS[kind],) if kind else EXTENSIONS.values():
        path = look.at.file(content_hash, extension)
        if path.is_file():
            return path.read_bytes()
    return None


def cut_of(look: Examination, key: str) -> Cut | None:
    """What the chunks of a document must be; None where nothing can say so: unknown, unreadable, or refused by the chunker."""
    if key not in look.cuts:
        document = look.documents.get(key)
        data = stored(look, document.content_hash, document.kind) if document else None
        look.cuts[key] = None
        if document and data is not None and look.settings:
            with suppress(MarkError):  # the import or the reindex names it
                look.cuts[key] = cut_anew(data, document, look.settings.chunk)
    return look.cuts[key]
