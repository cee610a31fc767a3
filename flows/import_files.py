"""Import: files as the user named them -> sources that can be found by words at once.

Batch by batch: validate, copy, hash, classify, chunk, index, and last the one commit that makes the batch's versions
live. Whatever stops the run, a file is imported whole or not at all, and the batches before it stay.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from canonry import holdings
from canonry.catalog import Catalog
from canonry.config import Settings
from canonry.errors import CanonryError, RejectedFile
from canonry.holdings import Contents, Hashes, Twin
from canonry.layout import Layout
from canonry.proposals import ProposedText
from canonry.records import Document, Draft, Source, SourceFacts
from flows.endpoint import index_imported
from flows.import_batch import BatchWriter, batches_of
from flows.import_reading import Reader, Statement
from flows.import_report import Imported, ImportReport
from flows.plan import KINDS, UNORDERED
from flows.progress import Progress, silent
from flows.proposing import Proposer
from flows.restating import Restated, restate, stricter_rules
from flows.workers import FEWEST_CALLS, worker_pool
from stages import chunk, folder_rules, statements
from stages.select import Selected, Selection
from stages.validate import Validated

Decide = Callable[[str, Twin], str]  # (file, who holds the same text) -> reuse, separate, cancel or refuse


class Cancelled(CanonryError):
    """The user chose to stop at a duplicate; the batches before it stay."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user asked of an import: metadata for every file, an encoding, what to do with duplicates."""

    options: Mapping[str, object] = field(default_factory=dict)
    encoding: str | None = None
    decide: Decide = lambda name, twin: "refuse"
    with_vectors: bool = True
    encodings: Mapping[Path, str] = field(default_factory=dict)  # of single files
    origin: str = "import"
    follow_moves: bool = True  # a file whose content a source has, whose original is gone, is that original


def import_files(at: Layout, selection: Selection, choices: Choices, progress: Progress = silent) -> ImportReport:
    """Import the selected files; the caller holds the campaign's lock."""
    report = ImportReport(rejected=list(selection.rejected))
    with closing(Catalog.open(at.catalog, write=True)) as catalog:
        holdings.fill_normal_hashes(catalog.connection, at.file)
        batches = list(batches_of(selection.files))
        done = 0
        with worker_pool() if len(batches) > FEWEST_CALLS else nullcontext() as pool:
            run = _Import(at, catalog, choices, report, pool)
            for batch in batches:
                run.take(batch)
                done += len(batch)
                progress("import", done, len(selection.files))
        report.warnings += folder_rules.unmatched_rules(selection.files)
    report.index = index_imported(at, progress, with_vectors=choices.with_vectors)
    return report


class _Import:
    """One run: what it knows of the campaign, and what became of each file."""

    def __init__(
        self, at: Layout, catalog: Catalog, choices: Choices, report: ImportReport, pool: ProcessPoolExecutor | None
    ) -> None:
        self._at, self._catalog, self._choices, self._report = at, catalog, choices, report
        self._settings = Settings.parse(catalog.settings())
        self._reader = Reader(
            choices.options,
            lambda path: choices.encodings.get(path, choices.encoding),
            self._settings.max_file_bytes,
            report,
        )
        self._writer = BatchWriter(at, catalog, self._settings, report, pool)
        self._known = {source.source_id: source for source in catalog.sources()}
        self._ids = set(self._known)
        self._paths = catalog.by_path()
        self._contents = Contents(catalog.connection)
        self._stated = tuple(statements.parse_facts(choices.options))
        self._proposer = Proposer(at, catalog, self._settings.chunk, self._stated, choices.origin)

    def take(self, batch: Sequence[Selected]) -> None:
        """Import one batch: everything that can go wrong with a file happens before the commit."""
        drafts: list[tuple[Selected, Draft, bytes]] = []
        for selected in batch:
            try:
                if taken := self._draft(selected):
                    drafts.append((selected, *taken))
            except RejectedFile as error:
                self._report.rejected.append(error)
        if not drafts:
            return
        written = self._writer.write([(draft, data) for _, draft, data in drafts])
        for selected, draft, _ in drafts:
            if reason := written.refused.get(draft.document.key):
                self._contents.forget(draft.document.source_id)
                self._report.rejected.append(RejectedFile(selected.name, reason))
            else:
                self._note(selected, draft, written.chunks[draft.document.key])

    def _note(self, selected: Selected, draft: Draft, chunks: int) -> None:
        """A draft is live now."""
        source_id, _, number = draft.document.version_id.rpartition("@")
        self._paths[draft.original_path] = (source_id, draft.original_hash, int(number))
        outcome = "new" if draft.is_new_source else "updated"
        self._report.imported.append(Imported(selected.name, source_id, outcome, draft.facts.class_, chunks))
        if not chunks:
            self._report.warnings.append(
                f"{selected.name}: holds metadata alone; it is kept, with nothing to find in it"
            )

    def _draft(self, selected: Selected) -> tuple[Draft, bytes] | None:
        """A file read and classified, with the text to store; None where it makes no version now."""
        valid = self._reader.read(selected)
        path = selected.identity
        known = self._paths.get(path)
        if known and known[1] == valid.original_hash:
            if known[0] in self._known:
                self._writer.mend(valid, self._known[known[0]].content_hash)
            self._here_already(selected, valid, known[0], "unchanged")
            return None
        hashes = Hashes(valid.original_hash, hashlib.sha256(valid.data).hexdigest(), holdings.normal_hash(valid.data))
        if not known:
            if self._choices.follow_moves and not selected.origin and (moved := self._moved(selected, valid)):
                self._move(moved, path, selected.name, valid.original_hash)
                self._here_already(selected, valid, moved.source_id, "renamed")
                return None
            twin = self._contents.twin(hashes)
            if twin and self._decide(selected.name, twin) == "reuse":
                self._reuse(selected, valid, twin.source_id)
                return None
        said = self._reader.classify(selected, valid)
        if known and self._known[known[0]].locked:
            self._propose(selected, valid, hashes, said)
            return None
        source_id = known[0] if known else self._new_source_id(selected.name, hashes.content)
        facts = self._after_edits(source_id, said.facts) if known else said.facts
        document = Document(
            chunk.document_key(hashes.content, valid.kind, said.rules, self._settings.chunk), f"{source_id}@{known[2] + 1 if known else 1}",
            source_id, hashes.content, valid.kind, said.rules, said.title, place_of(facts, source_id), facts.spoiler_level,
        )  # fmt: skip
        self._contents.hold(source_id, hashes)
        draft = Draft(
            document, facts, selected.name, path, len(valid.data), valid.encoding, valid.original_hash, said.rules_json,
            known is None, self._stated, hashes.normal,
        )  # fmt: skip
        return draft, valid.data

    def _after_edits(self, source_id: str, facts: SourceFacts) -> SourceFacts:
        """What is said of a known source now: what the user stated or edited before stays, unless stated anew."""
        edited = [name for name in self._catalog.edited(source_id) if name not in self._stated]
        return statements.after_edits(facts, self._known[source_id].facts, edited)

    def _decide(self, name: str, twin: Twin) -> str:
        choice = self._choices.decide(name, twin)
        if choice == "cancel":
            raise Cancelled(f"{name}: cancelled, because it has {twin}; what was imported before it stays")
        if choice == "refuse":
            raise RejectedFile(
                name, f"has {twin}; choose --on-duplicate reuse (keep the one) or separate (import it as well)"
            )
        return choice

    def _moved(self, selected: Selected, valid: Validated) -> Source | None:
        """The source whose original this file was, under another name or in another place; by preference of the same name."""
        path = selected.identity
        holders = [self._known[name] for name in self._contents.from_file(valid.original_hash) if name in self._known]
        alike = [s for s in holders if KINDS[s.mime_type] == valid.kind and not holdings.was_typed(s)]
        gone = [s for s in alike if holdings.has_moved(s.original_path, path)]
        return min(gone, key=lambda s: Path(s.original_filename).name != Path(selected.name).name, default=None)

    def _move(self, source: Source, path: str, filename: str, original_hash: str) -> None:
        holdings.move(self._catalog.connection, source.source_id, path, filename)
        self._paths.pop(source.original_path, None)
        self._paths[path] = (source.source_id, original_hash, int(source.version_id.rpartition("@")[2]))
        self._known[source.source_id] = replace(source, original_path=path, original_filename=filename)

    def _here_already(self, selected: Selected, valid: Validated, source_id: str, outcome: str) -> None:
        """The text stays; the folder's rules and the options may say something new of it."""
        said = self._reader.classify(selected, valid)
        source = self._known.get(source_id)
        if source is None:  # taken in this very run, from the same place
            self._keep(selected, source_id, outcome)
            return
        facts = self._after_edits(source_id, said.facts)
        self._restate(selected, source, facts, said.rules_json, outcome)

    def _reuse(self, selected: Selected, valid: Validated, source_id: str) -> None:
        """What is said of a copy that is not imported holds for the source that stands for it: on secrecy, and by options."""
        source = self._known.get(source_id)
        if source is None:  # taken in this very run, from the same folder
            self._keep(selected, source_id, "reused")
            return
        said = self._reader.classify(selected, valid)
        facts = statements.with_options(statements.with_secrecy(source.facts, said.facts), self._choices.options)
        rules = stricter_rules(self._catalog.heading_rules(source_id), said.rules_json)
        self._restate(selected, source, facts, rules, "reused")

    def _restate(self, selected: Selected, source: Source, facts: SourceFacts, rules: str, outcome: str) -> None:
        restated = restate(self._catalog, source, facts, rules, self._stated, origin=self._choices.origin)
        self._known[source.source_id] = replace(source, facts=restated.facts)
        self._keep(selected, source.source_id, outcome, restated)

    def _propose(self, selected: Selected, valid: Validated, hashes: Hashes, said: Statement) -> None:
        """A new text of a locked source waits for a decision; what it says more strictly on secrecy holds at once."""
        path = selected.identity
        source = self._known[self._paths[path][0]]
        said = replace(said, facts=self._after_edits(source.source_id, said.facts))
        text = ProposedText(
            hashes.content, valid.kind, hashes.original, hashes.normal, valid.encoding, len(valid.data), path, selected.name, said.title
        )  # fmt: skip
        restated = self._proposer.propose(source, said, text, valid.data)
        self._known[source.source_id] = replace(source, facts=restated.facts)
        self._keep(selected, source.source_id, "proposed" if restated.waiting else "declined", restated)
        if restated.proposal and not restated.waiting:
            self._report.warnings.append(
                f"{selected.name}: this text was rejected before, as proposal {restated.proposal.proposal_id}; "
                f"`canonry source unlock {source.source_id}` lets it in"
            )

    def _keep(self, selected: Selected, source_id: str, outcome: str, restated: Restated | None = None) -> None:
        source = self._known.get(source_id)
        class_ = source.facts.class_ if source else ""
        waiting = restated.waiting if restated else None
        self._report.imported.append(Imported(selected.name, source_id, outcome, class_, 0, waiting))

    def _new_source_id(self, name: str, content_hash: str) -> str:
        """Readable and the same on every machine: the file's name, and a piece of the hash of name and content."""
        stem = unicodedata.normalize("NFKD", Path(name).stem).encode("ascii", "ignore").decode().lower()
        slug = re.sub(r"[^a-z0-9]+", "-", stem).strip("-")[:40].strip("-") or "source"
        base = f"{slug}-{hashlib.sha256(f'{content_hash} {name}'.encode()).hexdigest()[:8]}"
        source_id, number = base, 1
        while source_id in self._ids:
            number += 1
            source_id = f"{base}-{number}"
        self._ids.add(source_id)
        return source_id


def place_of(facts: SourceFacts, source_id: str) -> tuple[int, str]:
    """Where a source stands among those of its campaign."""
    return (facts.order if facts.order is not None else UNORDERED, source_id)
