"""Decisions on proposals: an accepted text becomes a version exactly as by an import, a rejected one is forgotten."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import replace

from canonry import database, passing_files, proposals
from canonry.catalog import Catalog
from canonry.config import Settings
from canonry.errors import CanonryError, DamagedData, RejectedFile
from canonry.files import read_stored
from canonry.layout import Layout
from canonry.proposals import Proposal, ProposedText, differences
from canonry.records import Document, Draft, Source
from canonry.source_rows import load_heading_rules
from flows.import_batch import BatchWriter
from flows.import_files import place_of
from flows.import_report import ImportReport
from flows.pipeline import InProcess, run_plan
from flows.plan import make_plan
from flows.progress import Progress, Report, silent
from flows.restating import stricter_rules
from stages.chunk import document_key
from stages.hash import EXTENSIONS
from stages.statements import after_edits, with_secrecy

_SECRECY = {"visibility", "spoiler_level", "spoiler_tags", "allowed_roles"}


def accept(
    at: Layout, proposal_id: int, note: str = "", progress: Progress = silent, *, with_vectors: bool = True
) -> tuple[Proposal, Report]:
    """Carry out a pending proposal; (the proposal as decided, what the index took). For the lock's holder.

    CanonryError where the source has changed since it was made; the proposal then goes on waiting.
    """
    with closing(Catalog.open(at.catalog, write=True)) as catalog:
        db = catalog.connection
        proposal = proposals.find_pending(db, proposal_id)
        source = catalog.source(proposal.source_id)
        rules = catalog.heading_rules(source.source_id)
        if stale := proposals.why_stale(proposal, source, rules):
            raise CanonryError(
                f"proposal {proposal_id} does not fit source {source.source_id} any more: {stale}; reject it, "
                "and edit or import the source again"
            )

        def decide(inside: sqlite3.Connection) -> None:
            proposals.decide(inside, proposal_id, "accepted", note)

        change = proposal.change
        if change.text:
            draft = _draft(catalog, source, proposal, change.text)
            writer = BatchWriter(at, catalog, Settings.parse(catalog.settings()), ImportReport())
            written = writer.write([(draft, _read(at, change.text))], also=decide)
            if reason := written.refused.get(draft.document.key):
                raise RejectedFile(change.text.original_filename, f"{reason}; reject proposal {proposal_id}")
        else:
            changes = {name: new for name, (_, new) in differences(change.before, change.after).items()}
            facts = replace(source.facts, **changes)  # type: ignore[arg-type]
            rules = change.rules_after if change.rules_after != change.rules_before else rules
            catalog.restate(source.source_id, facts, rules, change.stated, also=decide)
        decided = proposals.find(db, proposal_id)
        _forget_text(at, catalog, proposal)
    return decided, run_plan(at, make_plan(at), InProcess(), progress, with_vectors=with_vectors)


def reject(at: Layout, proposal_id: int, note: str = "") -> Proposal:
    """Drop a pending proposal and the text it holds. For the lock's holder."""
    with closing(Catalog.open(at.catalog, write=True)) as catalog:
        db = catalog.connection
        proposal = proposals.find_pending(db, proposal_id)
        with database.transaction(db):
            proposals.decide(db, proposal_id, "rejected", note)
        _forget_text(at, catalog, proposal)
        return proposals.find(db, proposal_id)


def _draft(catalog: Catalog, source: Source, proposal: Proposal, text: ProposedText) -> Draft:
    """The next version of the source. What was hidden since the proposal was made stays hidden."""
    change = proposal.change
    edited = [name for name in catalog.edited(source.source_id) if name not in change.stated]
    facts = after_edits(change.after, source.facts, edited)
    if _SECRECY & differences(change.before, source.facts).keys():
        facts = with_secrecy(facts, source.facts)
    known_rules = catalog.heading_rules(source.source_id)
    rules_json = change.rules_after
    if known_rules != change.rules_before:
        rules_json = stricter_rules(known_rules, rules_json)
    rules = load_heading_rules(rules_json)
    number = int(source.version_id.rpartition("@")[2]) + 1
    settings = Settings.parse(catalog.settings())
    document = Document(
        document_key(text.content_hash, text.kind, rules, settings.chunk), f"{source.source_id}@{number}", source.source_id,
        text.content_hash, text.kind, rules, text.title, place_of(facts, source.source_id), facts.spoiler_level,
    )  # fmt: skip
    return Draft(
        document, facts, text.original_filename, text.original_path, text.file_size, text.encoding, text.original_hash,
        rules_json, False, change.stated, text.normal_hash,
    )  # fmt: skip


def _read(at: Layout, text: ProposedText) -> bytes:
    path = at.proposed_file(text.content_hash, EXTENSIONS[text.kind])
    data = read_stored(path)
    if hashlib.sha256(data).hexdigest() != text.content_hash:
        raise DamagedData(
            f"{path}: holds other bytes than were proposed; reject the proposal and import the file again"
        )
    return data


def _forget_text(at: Layout, catalog: Catalog, proposal: Proposal) -> None:
    text = proposal.change.text
    if text and text.content_hash not in proposals.held_hashes(catalog.connection):
        at.proposed_file(text.content_hash, EXTENSIONS[text.kind]).unlink(missing_ok=True)
    if text:
        passing_files.settle(catalog.connection, [text.content_hash])
