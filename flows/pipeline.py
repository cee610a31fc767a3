"""The one definition of the DAG from sources to index, whoever runs its steps.

    chunk (a batch of documents a step) -> index lexical -> embed (a batch of texts a step) -> index vectors -> manifest

`Runner` is the seam: `InProcess` calls the stage functions one after the other (import, tests), Prefect's runner in
`flows.reindex` makes a task of each. Chunks are searchable by words before their vectors exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar

from canonry import database, lexical, retitled
from canonry.catalog import Catalog
from canonry.embedders import Embedder
from canonry.embedders.chosen import Chosen
from canonry.errors import CanonryError, EmbedderError
from canonry.layout import Layout
from canonry.records import Document
from flows import housekeeping
from flows.manifest import write_manifest
from flows.plan import Plan, all_documents, part_names
from flows.progress import Progress, Report, silent, timed
from flows.workers import FEWEST_CALLS, IN_PROCESSES, IN_THREADS, WORKERS, spread, wait_for, worker_pool
from stages import chunk, embed, index_lexical, index_vectors

T = TypeVar("T")
BATCH_BYTES = 4_000_000
BATCH_DOCUMENTS = 512
BATCH_TEXTS = 128
BLOCK_TEXTS = 16_384  # texts held in memory at once


class Runner(Protocol):
    """Runs the steps of the DAG."""

    def each(
        self, step: str, function: Callable[..., T], calls: Sequence[tuple[object, ...]], *, retries: int = 0
    ) -> Iterable[T]:
        """The function's results for each tuple of arguments, in order."""
        ...


class InProcess:
    """Here and now, one step after the other; many batches of Python alone are shared among processes, waits among threads."""

    def each(
        self, step: str, function: Callable[..., T], calls: Sequence[tuple[object, ...]], *, retries: int = 0
    ) -> Iterable[T]:
        if step in IN_THREADS:
            yield from wait_for(function, calls)
            return
        if step not in IN_PROCESSES or len(calls) < FEWEST_CALLS:
            yield from (function(*call) for call in calls)
            return
        with worker_pool() as pool:
            for at in range(0, len(calls), 2 * WORKERS):
                yield from spread(pool, function, calls[at : at + 2 * WORKERS])


def run_plan(
    at: Layout,
    plan: Plan,
    runner: Runner,
    progress: Progress = silent,
    *,
    with_vectors: bool = True,
    report: Report | None = None,
) -> Report:
    """Carry out a plan; the caller holds the campaign's lock. A failing embedder leaves the lexical index complete.

    `report` is that of a first part of the run, to be gone on with.
    """
    report = report or Report()
    if plan.touches_lexical or plan.lost:
        parts = chunk_stale(at, plan, runner, progress, report)
        if plan.touches_lexical:
            index_words(at, plan, parts, runner, report)
    if plan.retitled:
        index_titles(at, plan, report)
    if with_vectors and plan.vectors and plan.chosen:
        try:
            embed_and_index(at, plan, plan.chosen, runner, progress, report)
            keep_past(at, plan, runner, progress, with_vectors=not report.degraded)
        except CanonryError as error:
            report.degraded = f"semantic search is incomplete: {error}"
    elif plan.rebuild:
        keep_past(at, plan, runner, progress, with_vectors=False)
    if plan.litter:
        housekeeping.purge(at)
    else:
        housekeeping.settle(at)
    if plan.earlier:
        index_vectors.remove_other_generations(at.index, live_generation(at))
    if at.lexical.exists():
        housekeeping.merge_parts(at)
        index_lexical.note_parts(at.lexical, part_names(at))
        write_manifest(at, plan)
    return report


def chunk_stale(at: Layout, plan: Plan, runner: Runner, progress: Progress, report: Report) -> list[Path]:
    """Cut the documents that no part holds; returns the parts that hold the documents to index."""
    with timed(report, "chunk"):
        held = {} if plan.full else housekeeping.read_parts(at)
        stale = [document for document in (plan.documents if plan.lost else plan.add) if document.key not in held]
        batches = batched(stale, at)
        done = 0
        for cut in runner.each(
            "chunk", chunk.chunk_documents, [(batch, at.files, at.chunks, plan.settings.chunk) for batch in batches]
        ):
            report.rejected += cut.rejected
            report.chunked_documents += len(cut.chunks)
            report.chunks += sum(cut.chunks.values())
            held |= {key: cut.part for key in cut.chunks if cut.part}
            done += len(cut.chunks)
            progress("chunk", done, len(stale))
        return sorted({held[document.key] for document in plan.add if document.key in held})


def index_words(at: Layout, plan: Plan, parts: list[Path], runner: Runner, report: Report) -> None:
    """Bring the lexical store up to the catalog; a store that is written anew takes its vectors along."""
    with timed(report, "index lexical"):
        refused = {key for key, _ in report.rejected}
        add = [document for document in plan.add if document.key not in refused]
        if plan.rebuild:
            call: tuple[object, ...] = (parts, add, at.lexical, plan.sequence, partial(carry_vectors, at, plan))
            indexed = next(iter(runner.each("index lexical", index_lexical.build, [call])))
        else:
            dropped = (*plan.remove, *(document.version_id for document in plan.add if document.key in refused))
            call = (parts, add, dropped, at.lexical, plan.sequence)
            indexed = next(iter(runner.each("index lexical", index_lexical.change, [call])))
        report.rows_added, report.rows_removed, report.rows = indexed.added, indexed.removed, indexed.total


def index_titles(at: Layout, plan: Plan, report: Report) -> None:
    """Let sources be found by their new titles. Rows and vectors stay what they are."""
    with timed(report, "index lexical"):
        if not plan.rebuild:
            index_lexical.retitle(plan.retitled, at.lexical)
        with closing(Catalog.open(at.catalog, write=True)) as catalog:
            retitled.settle(catalog.connection, (document.source_id for document in plan.retitled))


def carry_vectors(
    at: Layout, plan: Plan, rows: Sequence[tuple[int, str, str]], build: str, used: tuple[str, str]
) -> dict[str, str]:
    """A generation for the rows of a new build, from the vectors in use (or those of the embedder that is set)."""
    for fingerprint, spec in (used, (plan.fingerprint, plan.settings.embedder)):
        folder = at.embeddings(fingerprint) if fingerprint else None
        dimensions = embed.dimensions_of(folder) if folder else None
        if fingerprint and folder and dimensions:
            name = index_vectors.new_generation()
            made = index_vectors.Generation(
                name, at.vectors(name), at.scan(name), folder, spec, fingerprint, dimensions
            )
            return index_vectors.lay_out(rows, build, made)[1]
    return {}


def embed_and_index(at: Layout, plan: Plan, chosen: Chosen, runner: Runner, progress: Progress, report: Report) -> None:
    """Embed the texts that this embedder has not seen, then lay out a generation.

    Where another embedder's vectors are in use, they stay in use until those of this one are complete.
    """
    if plan.halted and chosen.facts is None:
        raise EmbedderError(plan.halted)
    if chosen.is_served:
        loaded.cache_clear()  # connections of an earlier run
    embedder = loaded(chosen)
    with timed(report, "embed"):
        parts = sorted(set(housekeeping.read_parts(at).values()))
        embed_unseen(at, plan, chosen, indexed_texts(at), parts, runner, progress, report)
        embed.merge_parts(at.embeddings(embedder.fingerprint), embedder)
    if report.degraded and (in_use := spec_in_use(at, embedder.fingerprint)):
        report.degraded += (
            f"; questions are asked of the vectors of {in_use} until those of {embedder.spec} are complete"
        )
        return
    with timed(report, "index vectors"):
        made = next(iter(runner.each("index vectors", lay_out, [(at, chosen)])))
        report.generation, report.vectors, report.vectors_missing = made.generation, made.vectors, made.missing
        report.lexical_only_texts, report.lexical_only_reasons = sum(made.lexical_only.values()), made.lexical_only
        index_vectors.remove_other_generations(at.index, made.generation)


def embed_unseen(
    at: Layout,
    plan: Plan,
    chosen: Chosen,
    texts: set[str],
    parts: list[Path],
    runner: Runner,
    progress: Progress,
    report: Report,
) -> None:
    """Embed those of the texts, by hash, that the plan's embedder has not seen; `parts` hold them."""
    embedder = loaded(chosen)
    folder = at.embeddings(embedder.fingerprint)
    wanted = texts - embed.known_hashes(folder, embedder.fingerprint)
    unknown: list[str] = []
    progress("embed", 0, len(wanted))  # the rate counts from here
    try:
        if wanted and plan.halted:
            raise EmbedderError(plan.halted)
        for block in blocks(embed.read_texts(parts, wanted), BLOCK_TEXTS):
            known, others = embed.split_known(block, embedder.scripts)
            unknown += others
            for _ in embed_block(known, folder, chosen, runner, report):
                progress("embed", report.embedded_texts + len(unknown), len(wanted))
    except EmbedderError as error:
        report.degraded = f"semantic search is incomplete: {error}"
    if unknown:
        embed.note_unembedded(unknown, folder, embedder)


def keep_past(at: Layout, plan: Plan, runner: Runner, progress: Progress, *, with_vectors: bool) -> None:
    """Cut and embed what superseded versions hold, where that is lost or was never made here: `as_of` asks for it."""
    live = {document.version_id for document in plan.documents}
    with closing(Catalog.open(at.catalog)) as catalog:
        every = all_documents(catalog, plan.settings)
    past = tuple(document for document in every if document.version_id not in live)
    if not past:
        return
    report = Report()
    parts = chunk_stale(at, replace(plan, add=past, lost=None), runner, progress, report)
    if with_vectors and plan.chosen:
        texts = chunk.text_hashes(parts, {document.key for document in past})
        embed_unseen(at, plan, plan.chosen, texts, parts, runner, progress, report)
    if report.embedded_texts:
        from flows.as_of import forget_past

        forget_past(at)  # made without these vectors


def spec_in_use(at: Layout, other_than: str) -> str | None:
    """The embedder whose vectors questions are asked of, unless it has that fingerprint or its vectors are gone."""
    db = database.open_reader(at.lexical)
    try:
        generation, spec = lexical.meta(db, "generation"), lexical.meta(db, "vector_spec")
        same = lexical.meta(db, "vector_fingerprint") == other_than
    finally:
        db.close()
    return spec if generation and not same and at.scan(generation).exists() else None


def embed_block(
    texts: Sequence[embed.Text], folder: Path, chosen: Chosen, runner: Runner, report: Report
) -> Iterator[None]:
    """Embed some texts in batches, pausing after each; a batch that is done stays."""
    size = chosen.settings.batch if chosen.is_served else BATCH_TEXTS
    batches = [texts[start : start + size] for start in range(0, len(texts), size)]
    calls = [(batch, folder, chosen) for batch in batches]
    step, retries = ("ask for vectors", 0) if chosen.is_served else ("embed", 2)  # a request is tried again by itself
    for batch, _ in zip(batches, runner.each(step, embed_batch, calls, retries=retries), strict=True):
        report.embedded_texts += len(batch)
        yield


def blocks(items: Iterable[T], size: int) -> Iterable[list[T]]:
    """The items in lists of at most that size."""
    left = iter(items)
    while block := list(islice(left, size)):
        yield block


def embed_batch(texts: Sequence[embed.Text], folder: Path, chosen: Chosen) -> Path:
    """One step of embedding; the embedder is loaded once a process."""
    return embed.embed_texts(texts, folder, loaded(chosen))


def lay_out(at: Layout, chosen: Chosen) -> index_vectors.VectorReport:
    """One generation of the vector store and its scan file, from the vectors that there are."""
    embedder = loaded(chosen)
    name = index_vectors.new_generation()
    folder = at.embeddings(embedder.fingerprint)
    made = index_vectors.Generation(
        name, at.vectors(name), at.scan(name), folder, chosen.spec, embedder.fingerprint, embedder.dimensions
    )
    return index_vectors.index_vectors(at.lexical, made)


@cache
def loaded(chosen: Chosen) -> Embedder:
    """The embedder that was chosen, loaded once a process."""
    return chosen.load()


def live_generation(at: Layout) -> str:
    """The generation of vectors that the lexical store names; empty where there is none."""
    with closing(database.open_reader(at.lexical)) as db:
        return lexical.meta(db, "generation")


def indexed_texts(at: Layout) -> set[str]:
    """Hashes of the texts of every row of the lexical store."""
    db = database.open_reader(at.lexical)
    try:
        return {row[0] for row in db.execute("SELECT DISTINCT text_hash FROM knowledge_chunk")}
    finally:
        db.close()


def batched(documents: Sequence[Document], at: Layout) -> list[list[Document]]:
    """Documents in batches of a bounded number and size, in order."""
    batches: list[list[Document]] = []
    size = 0
    for document in documents:
        stored = at.file(document.content_hash, chunk.EXTENSIONS[document.kind])
        bytes_ = stored.stat().st_size if stored.exists() else 0  # the step that cuts it says that it is missing
        if not batches or size + bytes_ > BATCH_BYTES or len(batches[-1]) >= BATCH_DOCUMENTS:
            batches.append([])
            size = 0
        batches[-1].append(document)
        size += bytes_
    return batches
