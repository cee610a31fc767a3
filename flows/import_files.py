"""Import: files as the user named them -> sources that can be found by words at once.

Batch by batch: validate, copy, hash, classify, chunk, index, and last the one commit that makes the batch's versions
live. Whatever stops the run, a file is imported whole or not at all, and the batches before it stay.
"""

from __future__ import annotations

import hashlib
import re
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from canonry.catalog import Catalog, dump_heading_rules, load_heading_rules
from canonry.config import Settings
from canonry.errors import CanonryError, DamagedData, RejectedFile
from canonry.files import sweep, sync_folder
from canonry.layout import Layout
from canonry.records import Document, Draft, HeadingRule, SourceFacts
from flows.endpoint import index_imported
from flows.import_report import Imported, ImportReport
from flows.pipeline import Progress, silent
from flows.plan import UNORDERED, read_index
from flows.workers import FEWEST_CALLS, WORKERS, spread, worker_pool
from stages import chunk, classify, folder_rules, index_lexical, statements, validate
from stages.chunking.front_matter import read_front_matter
from stages.copy import copy_text
from stages.hash import hash_file
from stages.select import Selected, Selection

BATCH_BYTES = 8_000_000
BATCH_FILES = 512
COPIES_AT_ONCE = 8
EVERY_FILE = "**"
Decide = Callable[[str, str], str]  # (file, source that holds the same content) -> reuse, separate or cancel


class Cancelled(CanonryError):
    """The user chose to stop at a duplicate; the batches before it stay."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user asked of an import: metadata for every file, an encoding, what to do with duplicates."""

    options: Mapping[str, object] = field(default_factory=dict)
    encoding: str | None = None
    decide: Decide = lambda name, source_id: "refuse"
    with_vectors: bool = True


def import_files(at: Layout, selection: Selection, choices: Choices, progress: Progress = silent) -> ImportReport:
    """Import the selected files; the caller holds the campaign's lock."""
    report = ImportReport(rejected=list(selection.rejected))
    catalog = Catalog.open(at.catalog, write=True)
    try:
        batches = list(_batches(selection.files))
        done = 0
        with worker_pool() if len(batches) > FEWEST_CALLS else nullcontext() as pool:
            run = _Import(at, catalog, choices, report, pool)
            for batch in batches:
                run.take(batch)
                done += len(batch)
                progress("import", done, len(selection.files))
        report.warnings += folder_rules.unmatched_rules(selection.files)
    finally:
        catalog.close()
    report.index = index_imported(at, progress, with_vectors=choices.with_vectors)
    return report


class _Import:
    """One run: what it knows of the campaign, and what became of each file."""

    def __init__(
        self, at: Layout, catalog: Catalog, choices: Choices, report: ImportReport, pool: ProcessPoolExecutor | None
    ) -> None:
        self._at, self._catalog, self._choices, self._report, self._pool = at, catalog, choices, report, pool
        self._settings = Settings.parse(catalog.settings())
        self._paths = catalog.by_path()
        self._contents = catalog.by_content()
        self._sources = {row[1] for row in catalog.live_versions()}
        self._known_facts = {source.source_id: source.facts for source in catalog.sources()}
        self._stated = tuple(statements.parse_facts(choices.options))
        self._rules: dict[Path, folder_rules.FolderRules] = {}
        state = read_index(at)
        live = {row.version_id for row in catalog.live_versions()}
        self._incremental = not live or (state.current and live <= set(state.documents))

    def take(self, batch: Sequence[Selected]) -> None:
        """Import one batch: everything that can go wrong with a file happens before the commit."""
        drafts: list[tuple[Selected, Draft]] = []
        texts: list[tuple[bytes, str, str]] = []
        for selected in batch:
            try:
                draft, data = self._draft(selected)
            except RejectedFile as error:
                self._report.rejected.append(error)
                continue
            if draft is not None:
                drafts.append((selected, draft))
                texts.append((data, draft.document.kind, draft.document.content_hash))
        if drafts:
            try:
                self._store(texts)
                self._commit(drafts)
            except BaseException:
                sweep(self._at.files)
                raise
            finally:
                self._forget_unused(drafts)

    def _forget_unused(self, drafts: Sequence[tuple[Selected, Draft]]) -> None:
        """Remove the stored files of this batch that no version came to hold."""
        known = self._catalog.content_hashes()
        for _, draft in drafts:
            if draft.document.content_hash not in known:
                self._at.file(draft.document.content_hash, chunk.EXTENSIONS[draft.document.kind]).unlink(
                    missing_ok=True
                )

    def _store(self, texts: Sequence[tuple[bytes, str, str]]) -> None:
        """Copy texts into the campaign's storage, several at a time because each waits for the disk."""
        with self._timed("copy"), ThreadPoolExecutor(COPIES_AT_ONCE) as pool:
            copies = list(pool.map(lambda text: copy_text(text[0], self._at.files), texts))
        with self._timed("hash"):
            for copied, (_, kind, expected) in zip(copies, texts, strict=True):
                found, stored = hash_file(copied, kind)
                if found != expected:
                    stored.unlink()
                    raise DamagedData(f"{stored}: the disk gave back other bytes than were written; check the disk")
        sync_folder(self._at.files)

    def _draft(self, selected: Selected) -> tuple[Draft | None, bytes]:
        """A file read and classified, with the text to store; None where the campaign has it already."""
        with self._timed("validate"):
            valid = validate.validate_file(
                selected, encoding=self._choices.encoding, limit=self._settings.max_file_bytes
            )
        self._report.bytes += len(valid.data)
        path = str(selected.path.resolve())
        known = self._paths.get(path)
        if known and known[1] == valid.original_hash:
            self._restate(selected, known[0], valid)
            self._keep(selected, known[0], "unchanged")
            return None, b""
        content_hash = hashlib.sha256(valid.data).hexdigest()
        twin = self._contents.get(valid.original_hash) or self._contents.get(content_hash)
        if twin and not known and self._decide(selected.name, twin) == "reuse":
            self._state_of_copy(selected, twin, valid)
            self._keep(selected, twin, "reused")
            return None, b""
        facts, rules, front = self._classify(selected, valid)
        if known:
            facts = self._after_edits(known[0], facts)
        source_id = known[0] if known else self._new_source_id(selected.name, content_hash)
        document = Document(
            chunk.document_key(content_hash, valid.kind, rules, self._settings.chunk), f"{source_id}@{known[2] + 1 if known else 1}", source_id,
            content_hash, valid.kind, rules, _text_title(front, selected), _place(facts, source_id), facts.spoiler_level,
        )  # fmt: skip
        self._contents[content_hash] = self._contents[valid.original_hash] = source_id
        draft = Draft(
            document, facts, selected.name, path, len(valid.data), valid.encoding, valid.original_hash, dump_heading_rules(rules),
            known is None, self._stated,
        )  # fmt: skip
        return draft, valid.data

    def _classify(
        self, selected: Selected, valid: validate.Validated
    ) -> tuple[SourceFacts, tuple[HeadingRule, ...], Mapping[str, object]]:
        """What the folder, the file and the options say of a file; its front matter."""
        with self._timed("classify"):
            front = read_front_matter(valid.data)
            facts, rules, warnings = classify.classify(
                selected.name, self._folder_rules(selected), front, self._choices.options, valid.data
            )
        self._report.warnings += [f"{selected.name}: {warning}" for warning in warnings]
        return facts, rules, front.fields

    def _after_edits(self, source_id: str, facts: SourceFacts) -> SourceFacts:
        """What is said of a known source now: what the user stated or edited before stays, unless stated anew."""
        edited = [name for name in self._catalog.edited(source_id) if name not in self._stated]
        return statements.after_edits(facts, self._known_facts[source_id], edited)

    def _decide(self, name: str, twin: str) -> str:
        choice = self._choices.decide(name, twin)
        if choice == "cancel":
            raise Cancelled(
                f"{name}: cancelled, because source {twin} has the same content; what was imported before it stays"
            )
        if choice == "refuse":
            raise RejectedFile(
                name,
                f"has the same content as source {twin}; choose --on-duplicate reuse (keep the one) or separate (import it as well)",
            )
        return choice

    def _commit(self, drafts: Sequence[tuple[Selected, Draft]]) -> None:
        """Cut and index the drafts, then make them live in one commit, then drop what they supersede."""
        documents = [draft.document for _, draft in drafts]
        before = set(self._at.chunks.glob("chunks-*.parquet"))
        with self._timed("chunk"):
            reports = self._cut(documents)
        counts = {key: count for report in reports for key, count in report.chunks.items()}
        parts = [report.part for report in reports if report.part]
        refused = dict(rejected for report in reports for rejected in report.rejected)
        for selected, draft in drafts:
            if draft.document.key in refused:
                self._report.rejected.append(RejectedFile(selected.name, refused[draft.document.key]))
        kept = [(selected, draft) for selected, draft in drafts if draft.document.key not in refused]
        if not kept:
            return
        try:
            self._publish([draft for _, draft in kept], parts)
        except BaseException:
            for part in set(parts) - before:
                part.unlink(missing_ok=True)
            raise
        for selected, draft in kept:
            self._paths[draft.original_path] = (
                draft.document.source_id,
                draft.original_hash,
                int(draft.document.version_id.rpartition("@")[2]),
            )
            outcome = "new" if draft.is_new_source else "updated"
            chunks = counts[draft.document.key]
            self._report.imported.append(
                Imported(selected.name, draft.document.source_id, outcome, draft.facts.class_, chunks)
            )
            if not chunks:
                self._report.warnings.append(
                    f"{selected.name}: holds metadata alone; it is kept, with nothing to find in it"
                )

    def _cut(self, documents: Sequence[Document]) -> list[chunk.ChunkReport]:
        """Chunks of a batch; a large one is shared among processes."""
        share = -(-len(documents) // WORKERS)
        shares = [documents[at : at + share] for at in range(0, len(documents), share)]
        calls = [(part, self._at.files, self._at.chunks, self._settings.chunk) for part in shares]
        if self._pool is None or len(calls) < WORKERS:
            return [chunk.chunk_documents(*call) for call in calls]
        return spread(self._pool, chunk.chunk_documents, calls)

    def _publish(self, drafts: Sequence[Draft], parts: Sequence[Path]) -> None:
        """Index the drafts, make them live in one commit, drop what they supersede: a reader sees one or the other."""
        documents = [draft.document for draft in drafts]
        store = self._at.lexical
        try:
            with self._timed("index lexical"):
                if self._incremental:
                    index_lexical.change(parts, documents, (), store, None)
            superseded = self._catalog.add(drafts, parser_version=validate.VERSION, chunking_version=chunk.VERSION)
        except BaseException:
            with suppress(Exception):  # the next run does it where even this fails
                index_lexical.change((), (), [document.version_id for document in documents], store, None)
            raise
        with self._timed("index lexical"):
            if self._incremental:
                index_lexical.change((), (), superseded, store, self._catalog.sequence())

    def _restate(self, selected: Selected, source_id: str, valid: validate.Validated) -> None:
        """The folder's rules and the options may say something new of an unchanged file."""
        facts, rules, _ = self._classify(selected, valid)
        facts = self._after_edits(source_id, facts)
        rules_json = dump_heading_rules(rules)
        same = statements.in_order(facts) == statements.in_order(self._known_facts[source_id])
        if not same or rules_json != self._catalog.heading_rules(source_id):
            self._catalog.restate(source_id, facts, rules_json, self._stated)
            self._known_facts[source_id] = facts

    def _state_of_copy(self, selected: Selected, source_id: str, valid: validate.Validated) -> None:
        """What is said of a copy that is not imported holds for the source that stands for it: on secrecy, and by options."""
        current = self._known_facts.get(source_id)
        if current is None:  # taken in this very run, from the same folder
            return
        facts, rules, _ = self._classify(selected, valid)
        stated = statements.with_options(statements.with_secrecy(current, facts), self._choices.options)
        known_rules = load_heading_rules(self._catalog.heading_rules(source_id))
        rules_json = dump_heading_rules(dict.fromkeys((*known_rules, *rules)))
        self._catalog.restate(source_id, stated, rules_json, self._stated)
        self._known_facts[source_id] = stated

    def _keep(self, selected: Selected, source_id: str, outcome: str) -> None:
        facts = self._known_facts.get(source_id)
        self._report.imported.append(Imported(selected.name, source_id, outcome, facts.class_ if facts else "", 0))

    def _folder_rules(self, selected: Selected) -> folder_rules.FolderRules:
        """What the canonry.toml of every folder above the file says of it, the outermost first."""
        path = selected.path.resolve()
        files: list[tuple[str, Mapping[str, object]]] = []
        headings: list[tuple[str, HeadingRule]] = []
        for folder in reversed(path.parents):
            if folder not in self._rules:
                self._rules[folder] = folder_rules.read_folder_rules(folder)
            rules, name = self._rules[folder], path.relative_to(folder).as_posix()
            files += [(EVERY_FILE, rules.defaults)] if rules.defaults else []
            files += [(EVERY_FILE, rule) for pattern, rule in rules.files if folder_rules.matches(name, pattern)]
            headings += [(EVERY_FILE, rule) for pattern, rule in rules.headings if folder_rules.matches(name, pattern)]
        return folder_rules.FolderRules({}, tuple(files), tuple(headings))

    def _new_source_id(self, name: str, content_hash: str) -> str:
        """Readable and the same on every machine: the file's name, and a piece of the hash of name and content."""
        stem = unicodedata.normalize("NFKD", Path(name).stem).encode("ascii", "ignore").decode().lower()
        slug = re.sub(r"[^a-z0-9]+", "-", stem).strip("-")[:40].strip("-") or "source"
        base = f"{slug}-{hashlib.sha256(f'{content_hash} {name}'.encode()).hexdigest()[:8]}"
        source_id, number = base, 1
        while source_id in self._sources:
            number += 1
            source_id = f"{base}-{number}"
        self._sources.add(source_id)
        return source_id

    def _timed(self, step: str) -> _Timed:
        return _Timed(self._report.seconds, step)


class _Timed:
    def __init__(self, seconds: dict[str, float], step: str) -> None:
        self._seconds, self._step = seconds, step

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        self._seconds[self._step] = self._seconds.get(self._step, 0.0) + time.perf_counter() - self._start


def _batches(files: Sequence[Selected]) -> Iterator[list[Selected]]:
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


def _text_title(fields: Mapping[str, object], selected: Selected) -> str:
    title = fields.get("title")
    return " ".join(title.split()) if isinstance(title, str) and title.strip() else Path(selected.name).stem


def _place(facts: SourceFacts, source_id: str) -> tuple[int, str]:
    return (facts.order if facts.order is not None else UNORDERED, source_id)
