"""Export: a campaign as one file, which `flows.restore` makes a campaign of again, on any machine.

The catalog is read in one transaction, so a writer beside it neither waits nor shows. A stored file that a deletion takes
away meanwhile means that the campaign has moved on: the export begins again, of the campaign as it is now.
"""

from __future__ import annotations

import hashlib
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from canonry import archive, database, dump, row_lines
from canonry.archive import BLOCK_BYTES, Embeddings, Manifest, Member
from canonry.catalog import Catalog
from canonry.contexts import journal as journals
from canonry.contexts import transfer
from canonry.contexts.journal import Journal, open_journal
from canonry.errors import DamagedData, UsageError
from canonry.files import sweep_beside, whole_file
from canonry.layout import EXTENSIONS, Layout
from canonry.proposals import held_texts
from canonry.timestamps import now

_TRIES = 5
_EPOCH = (1980, 1, 1, 0, 0, 0)  # of every entry: equal campaigns give equal archives
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Exported:
    """What was exported, and the size of the file in bytes."""

    manifest: Manifest
    file_bytes: int

    def needs(self, limits: archive.Limits) -> list[str]:
        """Options that `canonry restore` needs where the export is beyond its default limits."""
        members, bytes_ = len(self.manifest.members), self.manifest.total_bytes
        return [
            f"--max-{name} {count}"
            for name, count, most in (("bytes", bytes_, limits.bytes), ("members", members, limits.members))
            if count > most
        ]


def export_campaign(
    at: Layout,
    file: Path,
    *,
    with_embeddings: bool = False,
    replace: bool = False,
    progress: Progress = lambda step, done, total: None,
) -> Exported:
    """Write the campaign to `file`, whole or not at all; `replace` overwrites a file that is there.

    It holds every text, hidden ones too: it is for the campaign's owner. Needs no lock. UsageError where the file is
    there or lies among the campaign's own; DamagedData where a stored file is missing or not what was imported.
    """
    _check_place(at, file, replace)
    sweep_beside(file)
    before: int | None = None
    for _ in range(_TRIES):
        with closing(Catalog.open(at.catalog)) as catalog, database.plain_errors(at.catalog, "check the disk"):
            catalog.connection.execute("BEGIN")
            sequence = catalog.sequence()
            try:
                with whole_file(file) as temporary:
                    manifest = _Writer(at, catalog, temporary, progress).write(with_embeddings)
                return Exported(manifest, file.stat().st_size)
            except FileNotFoundError as error:
                missing = Path(error.filename)
                if sequence == before and missing.parent in (at.files, at.proposed):
                    break
                before = sequence
    raise DamagedData(
        f"{missing}: is missing; import the source again from its original or delete it, then export again"
    )


def _check_place(at: Layout, file: Path, replace: bool) -> None:
    there = file.resolve()
    for folder in (at.raw.parent, at.chunks.parent, at.index.parent):
        if there.is_relative_to(folder.resolve()):
            raise UsageError(f"{file}: lies among canonry's own files in {folder}; name a place outside of them")
    if file.is_dir():
        raise UsageError(f"{file}: is a folder; name the file to write, for example {file / at.campaign}.zip")
    if file.exists() and not file.is_file():
        raise UsageError(f"{file}: is a device or a pipe; name a file")
    if file.exists() and not replace:
        raise UsageError(f"{file}: exists already; choose another name, or overwrite it with --force")


class _Writer:
    """One archive in the making."""

    def __init__(self, at: Layout, catalog: Catalog, path: Path, progress: Progress) -> None:
        self._at, self._catalog, self._path, self._progress = at, catalog, path, progress
        self._members: list[Member] = []

    def write(self, with_embeddings: bool) -> Manifest:
        stored = self._stored_files()
        parts = _parts(self._at) if with_embeddings else {}
        total = 1 + len(stored) + len(parts)
        with zipfile.ZipFile(self._path, "w") as file, _sessions_of(self._at) as journal:
            self._add(file, archive.CATALOG, lambda: dump.dump_rows(self._catalog))
            if journal:
                self._add(file, archive.SESSIONS, lambda: transfer.dump_rows(journal))
            for path, expected in stored:
                self._progress("export", len(self._members), total)
                member = self._add(file, f"{path.parent.name}/{path.name}", partial(_blocks, path), path.stat().st_size)
                if member.sha256 != expected:
                    raise DamagedData(
                        f"{path}: is not what was imported (SHA-256 {member.sha256[:12]}…); import the source again from its "
                        "original, then export again"
                    )
            for path in parts:
                self._add(file, _part_name(path), partial(_blocks, path), path.stat().st_size)
            manifest = Manifest(
                _own_version(), self._catalog.meta("campaign_id"), now(), dump.newest_version(),
                dump.count_rows(self._catalog), self._embeddings(parts), tuple(self._members),
                journals.newest_version() if journal else 0, row_lines.count_rows(journal.connection) if journal else {},
            )  # fmt: skip
            with file.open(_entry(archive.MANIFEST, zipfile.ZIP_DEFLATED), "w") as to:
                to.write(manifest.dump())
        return manifest

    def _stored_files(self) -> list[tuple[Path, str]]:
        """(file, SHA-256) of every content that a version or a pending proposal holds, by name."""
        rows = self._catalog.connection.execute("SELECT DISTINCT content_hash, mime_type FROM knowledge_source_version")
        proposed = held_texts(self._catalog.connection)
        return [
            *sorted((self._at.file(content_hash, EXTENSIONS[mime]), content_hash) for content_hash, mime in rows),
            *sorted((self._at.proposed_file(text, extension), text) for text, extension, _ in proposed),
        ]

    def _add(
        self, file: zipfile.ZipFile, name: str, blocks: Callable[[], Iterable[bytes]], size: int | None = None
    ) -> Member:
        """Add a member, hashed as it is written. What would shrink beyond what a restore allows is stored as it is."""
        tight = False
        if size is None or size > archive.RATIO_FREE_BYTES:
            size, tight = _measure(blocks())
        info = _entry(name, zipfile.ZIP_STORED if tight or name.endswith(".parquet") else zipfile.ZIP_DEFLATED)
        info.file_size = size
        digest, written = hashlib.sha256(), 0
        with file.open(info, "w") as to:
            for block in blocks():
                to.write(block)
                digest.update(block)
                written += len(block)
        member = Member(name, written, digest.hexdigest())
        self._members.append(member)
        return member

    def _embeddings(self, parts: Mapping[Path, tuple[str, int]]) -> tuple[Embeddings, ...]:
        """What each embedder is whose parts are exported."""
        chunking = self._catalog.connection.execute(
            "SELECT coalesce(max(chunking_version), '') FROM knowledge_source_version"
        ).fetchone()[0]
        made: dict[str, Embeddings] = {}
        for path, (model, dimensions) in parts.items():
            written = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="microseconds")
            earlier = made.get(path.parent.name)
            latest = max(written, earlier.created_at) if earlier else written
            made[path.parent.name] = Embeddings(path.parent.name, model, dimensions, latest, str(chunking))
        return tuple(made.values())


@contextmanager
def _sessions_of(at: Layout) -> Iterator[Journal | None]:
    """The campaign's sessions and notes, at one moment; None where it has none."""
    if not at.sessions.exists():
        yield None
        return
    with open_journal(at) as journal:
        journal.connection.execute("BEGIN")
        yield journal


def _parts(at: Layout) -> dict[Path, tuple[str, int]]:
    """Part of knowledge_embedding -> its model and dimensions. A part that cannot be read is left out: it is made again."""
    import pyarrow.parquet as pq

    from canonry import schemas

    parts: dict[Path, tuple[str, int]] = {}
    for path in sorted((at.chunks / "vectors").glob("*/*.parquet")):
        with suppress(DamagedData):
            origin = schemas.made_from(path, schemas.EMBEDDING_CONTRACT)
            if origin["embedder"] == path.parent.name and archive.MEMBER_NAME.fullmatch(_part_name(path)):
                parts[path] = str(origin["spec"]), int(pq.read_schema(path).field("vector").type.list_size)
    return parts


def _part_name(path: Path) -> str:
    return f"{archive.VECTORS}{path.parent.name}/{path.name}"


def _measure(blocks: Iterable[bytes]) -> tuple[int, bool]:
    """(bytes, whether they are to be stored as they are)."""
    packer, size, packed = zlib.compressobj(), 0, 0
    for block in blocks:
        size += len(block)
        packed += len(packer.compress(block))
    packed += len(packer.flush())
    return size, size > archive.RATIO_FREE_BYTES and size > packed * archive.MAX_RATIO // 2


def _entry(name: str, method: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = method
    info.create_system = 3
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    return info


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            yield block


def _own_version() -> str:
    from canonry import __version__

    return __version__
