"""Restore: an export -> a campaign, whole or not at all, and then its index.

Everything is checked before anything is written: entries and manifest (`canonry.archive_reader`), then every byte, row
and vector, read once for nothing but that. Then the campaign is made under another name and takes its place by renaming,
what is derived first and the folder with the catalog last: a campaign is there from that rename on, and not before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from canonry import archive, database, dump
from canonry.archive import Limits, Manifest, Member
from canonry.archive_reader import ArchiveReader
from canonry.catalog import Catalog
from canonry.contexts import journal as journals
from canonry.contexts import transfer
from canonry.contexts.journal import Journal
from canonry.damage import catalog_damage
from canonry.embedders import NO_EMBEDDER
from canonry.errors import UsageError
from canonry.files import remove, room_for, sync_file, sync_folder
from canonry.layout import EXTENSIONS, Layout, passing
from canonry.locking import WAIT_S, writing
from canonry.proposals import held_texts
from canonry.restored import distrust, embedder_remark, judge_remark
from canonry.row_lines import MAX_LINE_BYTES, BadRows
from flows.pipeline import InProcess, run_plan
from flows.plan import make_plan
from flows.progress import Progress, Report, silent
from stages import embed

SYNCS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Restored:
    """The campaign that was restored, and what its export says of itself; `index` is None where none was made.

    `remarks` say how the models behind addresses that the export names are turned on.
    """

    at: Layout
    manifest: Manifest
    index: Report | None
    remarks: tuple[str, ...] = ()


def restore(
    file: Path,
    data: Path,
    *,
    campaign: str | None = None,
    limits: Limits | None = None,
    with_index: bool = True,
    progress: Progress = silent,
    restored: Callable[[Manifest, Layout], None] = lambda manifest, at: None,
    wait_s: float = WAIT_S,
) -> Restored:
    """Make the campaign of an export in the data directory `data`, under the id `campaign` or its own.

    RefusedArchive names what is wrong with the export, and nothing was written then; UsageError where the campaign is
    there already. `restored` is told when the campaign is there, before its index is made; interrupted after that, the
    campaign stays and `canonry reindex` makes the rest.
    """
    with ArchiveReader(file, limits or Limits()) as reader:
        manifest = reader.manifest
        at = Layout(data, campaign or manifest.campaign_id)
        check_free(at)
        check_content(reader, at, progress)
        with writing(at, wait_s=wait_s):
            check_free(at)
            with room_for(at.raw):
                put_in_place(reader, at, progress)
            restored(manifest, at)
            with closing(Catalog.open(at.catalog)) as catalog:
                embedder, judge = embedder_remark(catalog), judge_remark(catalog)
            index = make_index(at, embedder, progress) if with_index else None
    told = () if index else (embedder,)  # an index says itself what it lacks
    return Restored(at, manifest, index, tuple(remark for remark in (*told, judge) if remark))


def check_free(at: Layout) -> None:
    """UsageError where there is a campaign of that id, or what is left of one."""
    damage = catalog_damage(at)
    if damage:
        raise UsageError(
            f"campaign {at.campaign!r} is there already in {at.root}, but its catalog {damage}; delete it first "
            f"(`canonry campaign delete {at.campaign}`), then restore, or restore as another with --as ID"
        )
    if at.catalog.exists():
        raise UsageError(
            f"campaign {at.campaign!r} exists already in {at.root}; restore it as another with --as ID, or delete the one "
            f"that is there first (`canonry campaign delete {at.campaign}`)"
        )
    if at.raw.exists() and any(at.raw.rglob("*")):
        raise UsageError(f"{at.raw}: holds files, but no catalog; move it away, or restore as another with --as ID")


def check_content(reader: ArchiveReader, at: Layout, progress: Progress = silent) -> None:
    """Read every member once, and refuse the archive where one is not what it should be. Nothing is written."""
    manifest = reader.manifest
    if not 0 < manifest.catalog_version <= dump.newest_version():
        raise reader.refuse(
            archive.MANIFEST,
            f"is of catalog version {manifest.catalog_version}, this canonry reads up to {dump.newest_version()}; "
            f"install canonry {manifest.canonry} or later to restore it",
        )
    catalog_member = _named(reader, archive.CATALOG)
    with closing(Catalog(sqlite3.connect("", isolation_level=None), reader.path)) as catalog:  # nameless, gone with it
        _load(reader, catalog_member, catalog, manifest.campaign_id)
        _check_files(reader, catalog)
    with closing(sqlite3.connect("", isolation_level=None)) as nameless:
        _load_sessions(reader, Journal(at, nameless))
    made_by = {made.fingerprint: made for made in manifest.embeddings}
    for done, member in enumerate(manifest.members, 1):
        if member is not catalog_member:
            for _ in reader.blocks(member):
                pass
        if member.name.startswith(archive.STORED) and member.sha256 != PurePosixPath(member.name).stem:
            raise reader.refuse(member.name, "has other bytes than its name says (SHA-256)")
        if member.name.startswith(archive.VECTORS):
            fingerprint = member.name.split("/")[1]
            if fingerprint not in made_by:
                raise reader.refuse(member.name, "is of an embedder that the manifest does not describe")
            with reader.opened(member) as part:
                wrong = embed.check_part(cast(BinaryIO, part), fingerprint, made_by[fingerprint].dimensions)
            if wrong:
                raise reader.refuse(member.name, wrong)
        progress("check", done, len(manifest.members))


def _named(reader: ArchiveReader, name: str) -> Member:
    for member in reader.manifest.members:
        if member.name == name:
            return member
    raise reader.refuse("", f"holds no {name}; this is no whole export of canonry")


def _load(reader: ArchiveReader, member: Member, catalog: Catalog, campaign: str) -> None:
    """The catalog's rows, as campaign `campaign`, in one transaction."""
    manifest = reader.manifest
    lines = reader.lines(member, MAX_LINE_BYTES)
    try:
        with database.transaction(catalog.connection):
            rows = dump.load_rows(catalog, lines, manifest.catalog_version, manifest.campaign_id, campaign)
    except BadRows as error:
        raise reader.refuse(member.name, str(error)) from error
    _check_counts(reader, member, rows, manifest.rows)


def _load_sessions(reader: ArchiveReader, journal: Journal) -> bool:
    """Sessions and notes, in one transaction; whether there are any."""
    manifest, newest = reader.manifest, journals.newest_version()
    names = {member.name for member in manifest.members}
    if not manifest.sessions_version and archive.SESSIONS not in names:
        return False
    if not 0 < manifest.sessions_version <= newest:
        raise reader.refuse(
            archive.MANIFEST,
            f"is of sessions of version {manifest.sessions_version}, this canonry reads up to {newest}; "
            f"install canonry {manifest.canonry} or later to restore it",
        )
    member = _named(reader, archive.SESSIONS)
    try:
        with database.transaction(journal.connection):
            lines = reader.lines(member, MAX_LINE_BYTES)
            rows = transfer.load_rows(journal, lines, manifest.sessions_version)
    except BadRows as error:
        raise reader.refuse(member.name, str(error)) from error
    _check_counts(reader, member, rows, manifest.session_rows)
    return True


def _check_counts(reader: ArchiveReader, member: Member, rows: Mapping[str, int], told: Mapping[str, int]) -> None:
    """Refuse the archive where a table has other rows than the manifest says."""
    if rows != dict(told):
        table = next(name for name in sorted({*rows, *told}) if rows.get(name) != told.get(name))
        raise reader.refuse(
            member.name, f"has {rows.get(table, 0):,} rows of {table}, and the manifest says {told.get(table, 0):,}"
        )


def _check_files(reader: ArchiveReader, catalog: Catalog) -> None:
    """Every version and every waiting proposal has its file, every file one of them, of the size that the catalog says."""
    versions = catalog.connection.execute(
        "SELECT DISTINCT content_hash, mime_type, file_size FROM knowledge_source_version"
    )
    wanted = {f"{archive.FILES}{content}.{EXTENSIONS[mime]}": size for content, mime, size in versions}
    try:
        for content, extension, size in held_texts(catalog.connection):
            wanted[f"{archive.PROPOSED}{content}.{extension}"] = size
    except (ValueError, TypeError):
        raise reader.refuse(archive.CATALOG, "holds a proposal that canonry does not understand") from None
    held = {member.name: member.bytes for member in reader.manifest.members if member.name.startswith(archive.STORED)}
    for name in sorted(wanted.keys() ^ held.keys()):
        raise reader.refuse(name, "belongs to a version, and is missing" if name in wanted else "belongs to no version")
    for name, size in wanted.items():
        if held[name] != size:
            raise reader.refuse(name, f"holds {held[name]:,} bytes, and the catalog says {size:,}")


def put_in_place(reader: ArchiveReader, at: Layout, progress: Progress = silent) -> None:
    """Write the members of a checked archive under passing names, then rename; for the holder of the lock."""
    raw, chunks = passing(at.raw, "restored"), passing(at.chunks, "restored")
    remove(at.chunks, at.index)  # of a campaign that is not there
    try:
        written = list(_write_members(reader, raw, chunks, progress))
        with ThreadPoolExecutor(SYNCS_AT_ONCE) as pool:
            list(pool.map(sync_file, written))
        (raw / at.files.name).mkdir(parents=True, exist_ok=True)
        with closing(Catalog(database.open_writer(raw / at.catalog.name), raw / at.catalog.name)) as catalog:
            _load(reader, _named(reader, archive.CATALOG), catalog, at.campaign)
            distrust(catalog)
        if archive.SESSIONS in {member.name for member in reader.manifest.members}:
            with closing(database.open_writer(raw / at.sessions.name)) as connection:
                _load_sessions(reader, Journal(at, connection))
        for folder in {path.parent for path in written} | {raw}:
            sync_folder(folder)
        if chunks.exists():
            chunks.rename(at.chunks)
            sync_folder(at.chunks.parent)
        if at.raw.exists():  # empty, or `check_free` had refused
            remove(at.raw)
        raw.rename(at.raw)
        sync_folder(at.raw.parent)
    finally:
        remove(raw, chunks)
        if not at.catalog.exists():
            remove(at.chunks)


def _write_members(reader: ArchiveReader, raw: Path, chunks: Path, progress: Progress) -> Iterator[Path]:
    """The stored files and the vectors; returns where each was written."""
    for done, member in enumerate(reader.manifest.members, 1):
        if member.name not in (archive.CATALOG, archive.SESSIONS):
            path = (raw if member.name.startswith(archive.STORED) else chunks).joinpath(*member.name.split("/"))
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as to:
                to.writelines(reader.blocks(member))
            yield path
        progress("restore", done, len(reader.manifest.members))


def make_index(at: Layout, lacking: str, progress: Progress = silent) -> Report:
    """The index of a restored campaign; by words alone, and `degraded`, where something is lacking for another, and where
    its embedder is not to be had here.
    """
    try:
        plan = make_plan(at)
    except UsageError as error:
        plan, lacking = make_plan(at, embedder=NO_EMBEDDER), str(error)
    report = run_plan(at, plan, InProcess(), progress)
    return replace(report, degraded=f"indexed by words alone: {lacking}") if lacking else report
