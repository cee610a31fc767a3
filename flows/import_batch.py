"""A batch of an import: store, cut, index, and last the one commit that makes the batch's versions live."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from canonry import passing_files
from canonry.catalog import Also, Catalog, nothing_else
from canonry.config import Settings
from canonry.errors import DamagedData
from canonry.files import sweep, sync_folder
from canonry.layout import Layout
from canonry.records import Document, Draft
from flows.plan import read_index
from flows.progress import Timed, timed
from flows.workers import WORKERS, spread
from stages import chunk, index_lexical, validate
from stages.copy import copy_text
from stages.hash import hash_file, holds
from stages.select import Selected
from stages.validate import Validated

BATCH_BYTES = 8_000_000
BATCH_FILES = 512
COPIES_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Written:
    """What became of the drafts, by document key: their number of chunks, or why they were refused."""

    chunks: dict[str, int]
    refused: dict[str, str]


class BatchWriter:
    """Makes drafts live, for the holder of the campaign's lock."""

    def __init__(
        self,
        at: Layout,
        catalog: Catalog,
        settings: Settings,
        report: Timed,
        pool: ProcessPoolExecutor | None = None,
    ) -> None:
        self._at, self._catalog, self._settings, self._report, self._pool = at, catalog, settings, report, pool
        state = read_index(at)
        live = {row.version_id for row in catalog.live_versions()}
        self._incremental = not live or (state.current and live <= set(state.documents))

    def write(self, drafts: Sequence[tuple[Draft, bytes]], also: Also = nothing_else) -> Written:
        """Store, cut and publish drafts with their texts; all that are not refused become live in one commit with `also`."""
        hashes = [draft.document.content_hash for draft, _ in drafts]
        passing_files.announce_now(self._catalog.connection, hashes)
        try:
            self._store(drafts)
            return self._commit([draft for draft, _ in drafts], also)
        except BaseException:
            sweep(self._at.files)
            raise
        finally:
            self._forget_unused([draft.document for draft, _ in drafts])
            passing_files.settle(self._catalog.connection, hashes)

    def mend(self, valid: Validated, content_hash: str) -> None:
        """Store an unchanged file's text, of that hash, again where what was stored of it is missing or changed."""
        stored = self._at.file(content_hash, chunk.EXTENSIONS[valid.kind])
        if not holds(stored, content_hash) and hashlib.sha256(valid.data).hexdigest() == content_hash:
            hash_file(copy_text(valid.data, self._at.files), valid.kind)
            sync_folder(self._at.files)

    def _forget_unused(self, documents: Sequence[Document]) -> None:
        """Remove the stored files of this batch that no version came to hold."""
        known = self._catalog.content_hashes()
        for document in documents:
            if document.content_hash not in known:
                self._at.file(document.content_hash, chunk.EXTENSIONS[document.kind]).unlink(missing_ok=True)

    def _store(self, drafts: Sequence[tuple[Draft, bytes]]) -> None:
        """Copy texts into the campaign's storage, several at a time because each waits for the disk."""
        with timed(self._report, "copy"), ThreadPoolExecutor(COPIES_AT_ONCE) as pool:
            copies = list(pool.map(lambda draft: copy_text(draft[1], self._at.files), drafts))
        with timed(self._report, "hash"):
            for copied, (draft, _) in zip(copies, drafts, strict=True):
                found, stored = hash_file(copied, draft.document.kind)
                if found != draft.document.content_hash:
                    stored.unlink()
                    raise DamagedData(f"{stored}: the disk gave back other bytes than were written; check the disk")
        sync_folder(self._at.files)

    def _commit(self, drafts: Sequence[Draft], also: Also) -> Written:
        """Cut and index the drafts, then make them live in one commit, then drop what they supersede."""
        before = set(self._at.chunks.glob("chunks-*.parquet"))
        with timed(self._report, "chunk"):
            reports = self._cut([draft.document for draft in drafts])
        counts = {key: count for report in reports for key, count in report.chunks.items()}
        parts = [report.part for report in reports if report.part]
        refused = dict(rejected for report in reports for rejected in report.rejected)
        kept = [draft for draft in drafts if draft.document.key not in refused]
        if kept:
            try:
                superseded = self._publish(kept, parts, also)
            except BaseException:
                for part in set(parts) - before:
                    part.unlink(missing_ok=True)
                raise
            self._drop(superseded)
        return Written(counts, refused)

    def _cut(self, documents: Sequence[Document]) -> list[chunk.ChunkReport]:
        """Chunks of a batch; a large one is shared among processes."""
        share = -(-len(documents) // WORKERS)
        shares = [documents[at : at + share] for at in range(0, len(documents), share)]
        calls = [(part, self._at.files, self._at.chunks, self._settings.chunk) for part in shares]
        if self._pool is None or len(calls) < WORKERS:
            return [chunk.chunk_documents(*call) for call in calls]
        return spread(self._pool, chunk.chunk_documents, calls)

    def _publish(self, drafts: Sequence[Draft], parts: Sequence[Path], also: Also) -> list[str]:
        """Index the drafts, then make them live in one commit: all of it, or none. The ids of what they supersede."""
        documents = [replace(draft.document, title=draft.facts.title) for draft in drafts]
        store = self._at.lexical
        try:
            with timed(self._report, "index lexical"):
                if self._incremental:
                    index_lexical.change(parts, documents, (), store, None)
            return self._catalog.add(drafts, parser_version=validate.VERSION, chunking_version=chunk.VERSION, also=also)
        except BaseException:
            with suppress(Exception):  # the next run does it where even this fails
                index_lexical.change((), (), [document.version_id for document in documents], store, None)
            raise

    def _drop(self, superseded: Sequence[str]) -> None:
        """Let versions that are not live any more leave the index, which is up to date with the catalog then."""
        with timed(self._report, "index lexical"):
            if self._incremental:
                index_lexical.change((), (), superseded, self._at.lexical, self._catalog.sequence())


def batches_of(files: Sequence[Selected]) -> Iterator[list[Selected]]:
    """Files in batches of a bounded number and size, in order."""
    batch: list[Selected] = []
    size = 0
    for file in files:
        try:
            bytes_ = file.path.stat().st_size
        except OSError:
            bytes_ = 0
        if batch and (size + bytes_ > BATCH_BYTES or len(batch) >= BATCH_FILES):
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += bytes_
    if batch:
        yield batch
