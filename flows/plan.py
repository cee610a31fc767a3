"""What is stale, and why: computed from the catalog and the index alone, without Prefect and without reading a text."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from canonry import database, passing_files, retitled
from canonry.catalog import Catalog, VersionRow
from canonry.config import Settings
from canonry.embedders.chosen import Chosen
from canonry.errors import DamagedData
from canonry.layout import Layout
from canonry.proposals import held_hashes
from canonry.records import Document
from canonry.semantic import Scan
from canonry.source_rows import load_heading_rules
from stages import index_lexical
from stages.chunk import document_key

KINDS = {"text/markdown": "markdown", "text/plain": "text"}
UNORDERED = 1 << 40  # the place of a source without an order: after those that have one
TAIL_SHARE = 0.25  # above this share of rows outside the clustering, the store is written anew


@dataclass(frozen=True, slots=True)
class Plan:
    """What a reindex would do. Empty means that everything is up to date."""

    settings: Settings
    documents: tuple[Document, ...]  # every live version
    add: tuple[Document, ...] = ()  # to be indexed, and cut unless a part holds them
    remove: tuple[str, ...] = ()  # versions to leave the lexical store
    rebuild: str | None = None  # why the lexical store is written anew
    chosen: Chosen | None = None  # the embedder; None where there is none
    vectors: str | None = None  # why a generation of vectors is made
    reasons: tuple[str, ...] = field(default=())
    sequence: int = 0
    full: bool = False  # cut every document anew, whatever the parts hold
    lost: str | None = None  # part files that were there and are not any more
    litter: str | None = None  # stored files that no version holds
    earlier: str | None = None  # files of earlier generations of vectors
    retitled: tuple[Document, ...] = ()  # to be indexed under their new titles
    unwritten: str | None = None  # that the manifest is still to be written
    halted: str | None = None  # why nothing can be embedded in this run

    @property
    def is_empty(self) -> bool:
        return not (
            self.add
            or self.remove
            or self.rebuild
            or self.vectors
            or self.lost
            or self.litter
            or self.earlier
            or self.retitled
            or self.unwritten
        )

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of the embedder, None where there is none."""
        return self.chosen.fingerprint if self.chosen else None

    @property
    def touches_lexical(self) -> bool:
        return bool(self.add or self.remove or self.rebuild)


@dataclass(frozen=True, slots=True)
class IndexState:
    """What the lexical store says of itself; `documents` maps version to document key."""

    current: bool = False
    documents: dict[str, str] = field(default_factory=dict)
    meta: dict[str, str] = field(default_factory=dict)
    rows: int = 0
    tail_rows: int = 0
    pending: int = 0  # rows that no generation has covered yet
    incomplete: frozenset[str] = frozenset()  # versions with passages that lack a vector, as far as they are named
    levels: int = 0


def read_index(at: Layout) -> IndexState:
    """The state of the index; the empty one where there is none or it is of another contract."""
    if not index_lexical.is_current(at.lexical):
        return IndexState()
    db = database.open_reader(at.lexical)
    try:
        db.execute("BEGIN")
        meta = dict(db.execute("SELECT key, value FROM meta"))
        rows = _count(db, 0)
        tail = _count(db, int(meta.get("clustered_to_row", 0)))
        pending = _count(db, int(meta.get("vectors_to_row", 0)))
        levels = int(db.execute("SELECT count(*) FROM (SELECT DISTINCT spoiler_level, hidden FROM run)").fetchone()[0])
        documents = dict(db.execute("SELECT version_id, document_key FROM document"))
        return IndexState(True, documents, meta, rows, tail, pending, _incomplete(db, meta), levels)
    finally:
        db.close()


def _incomplete(db: sqlite3.Connection, meta: Mapping[str, str]) -> frozenset[str]:
    """Versions with passages that no vector was made for."""
    found = db.execute(
        "SELECT DISTINCT version_id FROM knowledge_chunk WHERE row > ? "
        "UNION SELECT version_id FROM knowledge_chunk WHERE row IN (SELECT value FROM json_each(?))",
        (int(meta.get("vectors_to_row", 0)), meta.get("rows_without_vector", "[]")),
    )
    return frozenset(row[0] for row in found)


def _count(db: sqlite3.Connection, after: int) -> int:
    return int(db.execute("SELECT count(*) FROM knowledge_chunk WHERE row > ?", (after,)).fetchone()[0])


def campaign_settings(at: Layout) -> Settings:
    """What the campaign is set to."""
    catalog = Catalog.open(at.catalog)
    try:
        return Settings.parse(catalog.settings())
    finally:
        catalog.close()


def live_documents(catalog: Catalog, settings: Settings, as_of: str | None = None) -> tuple[Document, ...]:
    """Every version that is live, or was at an instant, as the chunk stage needs it, in the order of the campaign."""
    return _documents(catalog.live_versions(as_of), settings)


def all_documents(catalog: Catalog, settings: Settings) -> tuple[Document, ...]:
    """Every version there is, superseded ones too."""
    return _documents(catalog.live_versions(every=True), settings)


def _documents(rows: Sequence[VersionRow], settings: Settings) -> tuple[Document, ...]:
    documents = []
    for row in rows:
        stated = [text for text in (row.heading_rules, row.earlier_rules) if text != "[]"]
        rules = tuple(dict.fromkeys(rule for text in stated for rule in load_heading_rules(text))) if stated else ()
        kind = KINDS[row.mime_type]
        place = (row.reading_order if row.reading_order is not None else UNORDERED, row.source_id)
        documents.append(
            Document(
                document_key(row.content_hash, kind, rules, settings.chunk),
                row.version_id,
                row.source_id,
                row.content_hash,
                kind,
                rules,
                row.title,
                place,
                row.spoiler_level,
            )
        )
    return tuple(sorted(documents, key=lambda document: document.order))


def make_plan(at: Layout, *, full: bool = False, embedder: str | None = None) -> Plan:
    """Compare the catalog with the index. `full` takes everything as stale; `embedder` stands for the campaign's own."""
    catalog = Catalog.open(at.catalog)
    try:
        settings = Settings.parse(catalog.settings())
        settings = replace(settings, embedder=embedder) if embedder else settings
        documents = live_documents(catalog, settings)
        sequence = catalog.sequence()
        unknown = unknown_files(at, catalog)
        titles = retitled.waiting(catalog.connection)
    finally:
        catalog.close()
    state = read_index(at)
    live = {document.version_id: document.key for document in documents}
    missing = tuple(document for document in documents if document.version_id not in state.documents)
    changed = tuple(
        document for document in documents if state.documents.get(document.version_id, document.key) != document.key
    )
    gone = tuple(sorted(version for version in state.documents if version not in live))
    rebuild = _rebuild_reason(state, full, len(documents))
    chosen = Chosen.of(at, settings)
    fingerprint = chosen.fingerprint
    vectors = (
        _vectors_reason(at, state, chosen, documents, rebuild, touched=bool(missing or changed))
        if fingerprint and documents
        else None
    )
    lost = _lost_reason(at, state)
    litter = (
        f"storage: {len(unknown)} stored files that no version holds, with what was made from them" if unknown else None
    )
    left = earlier_generations(at, state.meta.get("generation", ""))
    earlier = f"storage: {len(left)} files of earlier generations of vectors" if left else None
    unwritten = "manifest: not written yet" if at.lexical.exists() and not at.manifest.exists() else None
    vectors = vectors or ("vectors: to be made again where they are lost" if lost and fingerprint else None)
    renamed = tuple(document for document in documents if document.source_id in titles)
    named = _names([document.source_id for document in renamed])
    retitle = f"lexical index: {_sources(len(renamed))} under an earlier title ({named})" if renamed else None
    reasons = [
        reason
        for reason in (
            lost,
            litter,
            earlier,
            unwritten,
            rebuild,
            retitle,
            *_document_reasons(missing, changed, gone),
            vectors,
        )
        if reason
    ]
    add, remove = (documents, ()) if rebuild else ((*missing, *changed), gone)
    return Plan(
        settings, documents, add, remove, rebuild, chosen if fingerprint else None, vectors,
        tuple(reasons), sequence, full, lost, litter, earlier, renamed, unwritten,
    )  # fmt: skip


def unknown_files(at: Layout, catalog: Catalog) -> list[Path]:
    """Stored files that a stopped run left: announced, and held by no version and no pending proposal."""
    passing = passing_files.announced(catalog.connection)
    if not passing:
        return []
    unknown: list[Path] = []
    for folder, known in ((at.files, catalog.content_hashes()), (at.proposed, held_hashes(catalog.connection))):
        if folder.exists():
            for name in os.listdir(folder):  # noqa: PTH208 - thousands
                stem = name.partition(".")[0]
                if stem in passing and stem not in known:
                    unknown.append(folder / name)
    return unknown


def earlier_generations(at: Layout, live: str) -> list[Path]:
    """Files of generations of vectors that are not the live one: a run was stopped before it removed them."""
    files = (*at.index.glob("vectors-*.duckdb*"), *at.index.glob("scan-*.bin"))
    return [path for path in files if live and live not in path.name]


def part_names(at: Layout) -> list[str]:
    """The part files of this campaign, relative to its chunks folder, sorted."""
    return sorted(path.relative_to(at.chunks).as_posix() for path in at.chunks.glob("**/*.parquet"))


def _lost_reason(at: Layout, state: IndexState) -> str | None:
    noted = json.loads(state.meta.get("parts", "[]"))
    lost = set(noted) - set(part_names(at)) if noted else set()
    return f"parts: {len(lost)} files of chunks or vectors are missing and will be made again" if lost else None


def _rebuild_reason(state: IndexState, full: bool, documents: int) -> str | None:
    if full:
        return "lexical index: a full rebuild was asked for"
    if not state.current:
        return "lexical index: there is none of this version" if documents else None
    if state.levels > 1 and state.tail_rows > max(1_000, state.rows * TAIL_SHARE):
        return f"lexical index: {state.tail_rows:,} of {state.rows:,} rows lie outside the clustering"
    return None


def _document_reasons(missing: Sequence[Document], changed: Sequence[Document], gone: Sequence[str]) -> list[str]:
    reasons = []
    if missing:
        reasons.append(f"chunks: {_sources(len(missing))} not indexed yet ({_names([d.source_id for d in missing])})")
    if changed:
        names = _names([d.source_id for d in changed])
        reasons.append(f"chunks: {_sources(len(changed))} cut with other settings or by an older chunker ({names})")
    if gone:
        reasons.append(f"lexical index: {len(gone)} superseded or deleted versions to remove ({_names(gone)})")
    return reasons


def _vectors_reason(
    at: Layout,
    state: IndexState,
    chosen: Chosen,
    documents: Sequence[Document],
    rebuild: str | None,
    *,
    touched: bool,
) -> str | None:
    generation = state.meta.get("generation", "")
    if rebuild or not generation:
        return (
            "vectors: none for this build of the index" if not rebuild else "vectors: to be laid out for the new index"
        )
    if state.meta.get("vector_fingerprint") != chosen.fingerprint:
        made, wanted = state.meta.get("vector_dimensions"), chosen.dimensions
        sizes = f"re-embedding needed ({made} -> {wanted}), " if made and wanted and int(made) != wanted else ""
        return f"vectors: {sizes}made by {state.meta.get('vector_fingerprint')}, wanted {chosen.fingerprint}"
    if not at.scan(generation).exists() or not at.vectors(generation).exists():
        return "vectors: the files of the live generation are missing"
    try:
        Scan.open(at.scan(generation))
    except DamagedData:
        return "vectors: the scan file of the live generation cannot be read"
    missing = state.pending + int(state.meta.get("vectors_missing", 0))
    if missing:
        where = _names(sources_without_vectors(documents, state))
        return f"vectors: {missing:,} passage{'s' if missing != 1 else ''} without one ({where})"
    if touched:
        return "vectors: for the sources above"
    return None


def sources_without_vectors(documents: Sequence[Document], state: IndexState) -> list[str]:
    """Sources of which some passage can be found by words alone for want of a vector, in order."""
    return list(dict.fromkeys(d.source_id for d in documents if d.version_id in state.incomplete))


def _sources(count: int) -> str:
    return f"{count} source{'s' if count != 1 else ''}"


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def as_json(plan: Plan) -> dict[str, object]:
    """The plan for a program."""
    return {
        "up_to_date": plan.is_empty,
        "reasons": list(plan.reasons),
        "documents": len(plan.documents),
        "to_chunk_or_index": [document.version_id for document in plan.add],
        "to_remove": list(plan.remove),
        "to_retitle": [document.version_id for document in plan.retitled],
        "rebuild": plan.rebuild,
        "vectors": plan.vectors,
        "embedder": plan.settings.embedder,
        "fingerprint": plan.fingerprint,
        "notices": plan.chosen.notices if plan.chosen else [],
        "settings": json.loads(json.dumps(plan.settings.as_text())),
    }
