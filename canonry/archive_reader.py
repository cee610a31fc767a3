"""An export as it is opened: every entry checked by its name and kind, every byte counted and hashed as it is read.

What the archive says of itself is compared with what is there and never believed: sizes, counts and ratios are those of
the bytes that really come out, and no more than a block of them is held at once.
"""

from __future__ import annotations

import hashlib
import io
import re
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from canonry.archive import (
    BLOCK_BYTES,
    MANIFEST,
    MAX_RATIO,
    MEMBER_NAME,
    RATIO_FREE_BYTES,
    Limits,
    Manifest,
    Member,
)
from canonry.errors import NotFound, RefusedArchive, UsageError
from canonry.layout import is_campaign_id

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
# what zipfile and zlib raise on bytes that are no sound zip; for a packing that they do not know, a kind of RuntimeError
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, struct.error, RuntimeError, ValueError)


class ArchiveReader:
    """An export whose entries and manifest have passed every check that needs none of the content.

    RefusedArchive names the entry and the reason. A context manager; nothing is ever written.
    """

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path = path
        self._limits = limits
        self._file = _open_file(path)
        self._zip = _open_zip(self._file, limits.list_bytes)
        try:
            self._entries = self._checked_entries()
            self.manifest = self._checked_manifest()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> ArchiveReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._zip.close()
        self._file.close()

    def refuse(self, entry: str, reason: str) -> RefusedArchive:
        """The error that says so, to be raised."""
        return RefusedArchive(str(self.path), entry, reason)

    def blocks(self, member: Member) -> Iterator[bytes]:
        """The bytes of a member, in blocks. Refused at the end where they are not those of the manifest."""
        info = self._entries[member.name]
        digest = hashlib.sha256()
        read = 0
        with self._plain_damage(member.name), self._zip.open(info) as file:
            while block := file.read(BLOCK_BYTES):
                read += len(block)
                self._check_amount(member, read, info.compress_size)
                digest.update(block)
                yield block
        if read != member.bytes:
            raise self.refuse(member.name, f"holds {read:,} bytes, and the manifest says {member.bytes:,}")
        if digest.hexdigest() != member.sha256:
            raise self.refuse(
                member.name, "has other bytes than the manifest says (SHA-256); export the campaign again"
            )

    def lines(self, member: Member, longest: int) -> Iterator[bytes]:
        """The lines of a member; one of more than `longest` bytes is cut off behind them, for the caller to refuse."""
        rest = b""
        for block in self.blocks(member):
            *whole, rest = (rest + block).split(b"\n") if b"\n" in block else (rest + block,)
            yield from whole
            if len(rest) > longest:
                yield rest
                rest = b""
        if rest:
            yield rest

    @contextmanager
    def opened(self, member: Member) -> Iterator[io.BufferedIOBase]:
        """A member as a file that can be sought in, for a reader that wants one; after `blocks` found it whole."""
        with self._plain_damage(member.name), self._zip.open(self._entries[member.name]) as file:
            yield file  # type: ignore[misc]

    def _check_amount(self, member: Member, read: int, packed: int) -> None:
        if read > member.bytes:
            raise self.refuse(member.name, f"holds more than the {member.bytes:,} bytes that the manifest says")
        if read > RATIO_FREE_BYTES and read > MAX_RATIO * packed:
            raise self.refuse(
                member.name, f"unpacks to more than {MAX_RATIO} times its size, which no text does that canonry exports"
            )

    def _checked_entries(self) -> dict[str, zipfile.ZipInfo]:
        infos = self._zip.infolist()
        most = self._limits.members
        if len(infos) - 1 > most:
            entry = infos[most + 1].orig_filename
            raise self.refuse(entry, f"is beyond the limit of {most:,} members; --max-members N raises it")
        entries: dict[str, zipfile.ZipInfo] = {}
        folded: dict[str, str] = {}
        for info in infos:
            name = info.orig_filename
            twin = folded.setdefault(unicodedata.normalize("NFC", name).casefold(), name)
            reason = (
                "is there twice" if name in entries
                else f"differs from entry {twin!r} in case alone" if twin != name
                else _odd_name(name) or _odd_kind(info)
            )  # fmt: skip
            if reason:
                raise self.refuse(name, reason)
            entries[name] = info
        unknown = next((name for name in entries if not MEMBER_NAME.fullmatch(name)), None)
        if MANIFEST not in entries:
            raise self.refuse("", f"holds no {MANIFEST}; this is no export of canonry")
        if unknown is not None:
            raise self.refuse(unknown, "is nothing that an export of canonry holds")
        return entries

    def _checked_manifest(self) -> Manifest:
        info = self._entries[MANIFEST]
        with self._plain_damage(MANIFEST), self._zip.open(info) as file:
            data = file.read(self._limits.manifest_bytes + 1)  # past its end, where the checksum is compared
            if len(data) > self._limits.manifest_bytes:
                raise self.refuse(MANIFEST, "is too large for the limit on members; --max-members N raises it")
        try:
            manifest = Manifest.parse(data)
        except ValueError as error:
            raise self.refuse(MANIFEST, str(error)) from error
        if not is_campaign_id(manifest.campaign_id):
            raise self.refuse(MANIFEST, "its 'campaign_id' is no id of a campaign")
        self._check_members(manifest)
        return manifest

    def _check_members(self, manifest: Manifest) -> None:
        """Every entry declared, nothing declared that is not there, of the size that was declared, in all not too much."""
        declared = {member.name: member for member in manifest.members}
        if len(declared) < len(manifest.members) or MANIFEST in declared:
            raise self.refuse(MANIFEST, "names a member twice, or itself")
        for name, info in self._entries.items():
            if name not in declared and name != MANIFEST:
                raise self.refuse(name, "is not in the manifest; it was put there after the export was made")
            if name != MANIFEST and info.file_size != declared[name].bytes:
                raise self.refuse(name, f"says {info.file_size:,} bytes, and the manifest {declared[name].bytes:,}")
        for name in declared:
            if name not in self._entries:
                raise self.refuse(name, "is in the manifest, and missing from the archive")
        if manifest.total_bytes > self._limits.bytes:
            raise self.refuse(
                "",
                f"holds {manifest.total_bytes:,} bytes, above the limit of {self._limits.bytes:,}; --max-bytes N raises it",
            )

    @contextmanager
    def _plain_damage(self, entry: str) -> Iterator[None]:
        try:
            yield
        except _DAMAGE as error:
            raise self.refuse(
                entry, f"is damaged ({error or type(error).__name__}); export or copy it again"
            ) from error


class _BoundedFile(io.BufferedReader):
    """A file of which no more than `most` bytes are read at once, while it is opened: its list of entries could be endless."""

    most: int | None = None

    def read(self, size: int | None = -1, /) -> bytes:
        if self.most is None:
            return super().read(size)
        data = super().read(self.most + 1 if size is None or size < 0 else min(size, self.most + 1))
        if len(data) > self.most:
            raise RefusedArchive(
                str(self.name), "", "lists more entries than the limit on members; --max-members N raises it"
            )
        return data


def _open_file(path: Path) -> _BoundedFile:
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise UsageError(f"{path}: is not a file; name the zip that `canonry export` wrote")
        return _BoundedFile(io.FileIO(path))
    except OSError as error:
        raise NotFound(f"{path}: {(error.strerror or str(error)).lower()}; check the name") from error


def _open_zip(file: _BoundedFile, most: int) -> zipfile.ZipFile:
    file.most = most
    try:
        opened = zipfile.ZipFile(file)
        file.most = None
        return opened
    except BaseException as error:
        file.close()
        if isinstance(error, _DAMAGE):
            reason = f"is not a zip file, or was cut off ({str(error).lower()}); copy or export it again"
            raise RefusedArchive(str(file.name), "", reason) from error
        raise


def _odd_name(name: str) -> str:
    """What is wrong with an entry's name, whatever system it is unpacked on; empty where it is a plain path."""
    parts = name.split("/")
    if not name or any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn") for char in name):
        return "has a control character in its name, or none at all"
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return "has an absolute name"
    if "\\" in name:
        return "has a backslash in its name, which is a folder on some systems"
    if ".." in parts or "." in parts:
        return "leaves its folder"
    return "is a folder" if name.endswith("/") else ""


def _odd_kind(info: zipfile.ZipInfo) -> str:
    """What is wrong with an entry that is no plain, readable file."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "is a link"
    if kind not in (0, stat.S_IFREG):
        return "is no regular file"
    if info.flag_bits & _ENCRYPTED:
        return "is encrypted; make the archive anew without a password"
    if info.compress_type not in _METHODS:
        return "is packed by a method that no export uses"
    return ""
