"""A BEIR collection as a campaign, asked in every mode.

Each document is a source of its own, a file with its id (as `uri`) in front matter and its title as the heading. It is
imported by the same steps as any file, so the figures are those of a campaign that holds it.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from canonry import database, lexical
from canonry.campaign import Campaign
from canonry.catalog import Catalog
from canonry.config import Settings
from canonry.eligibility import NARRATOR
from canonry.errors import CanonryError, UsageError
from canonry.fuse import LEXICAL, Fusion
from canonry.layout import Layout
from canonry.locking import writing
from canonry.ranking import Pool
from canonry.retrieval import Asked
from eval.beir import DEPTH, Collection, Document, absent, documents, measured
from eval.beir_report import BeirReport, ModeRun, compare_modes
from eval.tune import Choice, choose, grid
from flows.import_files import Choices, import_files
from flows.pipeline import InProcess, run_plan
from flows.plan import make_plan
from flows.progress import Progress, silent
from stages.select import select_files

META_KEY = "beir"
BATCH = 200  # questions whose lists are held at once
MEASURE = "nDCG@10"
EVERY_LEVEL = 1_000_000


@dataclass(frozen=True, slots=True)
class Made:
    """What became of the documents. `corpus` is the SHA-256 of corpus.jsonl."""

    corpus: str
    documents: int
    without_text: int = 0
    refused: int = 0


def run(
    at: Layout,
    collection: Collection,
    modes: Sequence[str],
    *,
    embedder: str | None = None,
    tuned: bool = False,
    seed: int = 0,
    progress: Progress = silent,
) -> BeirReport:
    """Import the collection into `at`, or take what is there of it already, and ask its questions in each mode."""
    start = time.perf_counter()
    made = make_campaign(at, collection, embedder, progress)
    took = time.perf_counter() - start
    ids, passages, settings = _read(at)
    gaps = [*collection.gaps, *_left_out(made), absent(collection, {*ids.values()})]
    runs = {mode: _ask(at, collection, mode, settings.fusion, ids, progress) for mode in modes}
    choice, tried = _tune(at, collection, ids, settings.fusion, seed, progress) if tuned else (None, {})
    return BeirReport(
        collection.name, collection.split, made.documents, passages, tuple(gap for gap in gaps if gap), settings.as_text(),
        took, runs, compare_modes(runs), choice, tried,
    )  # fmt: skip


def make_campaign(at: Layout, collection: Collection, embedder: str | None, progress: Progress = silent) -> Made:
    """The campaign `at` with every document; one that is there must hold this very collection, and may get another embedder."""
    corpus = _sha256(collection.folder / "corpus.jsonl")
    if at.catalog.exists():
        return _taken(at, corpus, embedder, progress)
    with writing(at), tempfile.TemporaryDirectory(prefix="canonry-beir-") as folder:
        Catalog.create(at.catalog, at.campaign, {"embedder": embedder} if embedder else {}).close()
        without_text, count = 0, 0
        for count, document in enumerate(documents(collection.folder), 1):
            without_text += not document.text.strip()
            (Path(folder) / f"{count:08}.md").write_text(as_markdown(document), encoding="utf-8", newline="\n")
        report = import_files(
            at,
            select_files([Path(folder)]),
            Choices(decide=lambda name, twin: "separate", follow_moves=False),
            progress,
        )
        if report.index.degraded:
            raise CanonryError(f"{collection.name}: {report.index.degraded}")
        made = Made(corpus, count, without_text, len(report.rejected))
        with closing(Catalog.open(at.catalog, write=True)) as catalog:
            catalog.set_meta(META_KEY, json.dumps(asdict(made)))
    return made


def as_markdown(document: Document) -> str:
    """The document as a file to import: its title as a heading, its id kept as `uri`."""
    heading = f"# {document.title}\n\n" if document.title else ""
    return f"---\nuri: {json.dumps(document.document_id, ensure_ascii=False)}\n---\n\n{heading}{document.text}\n"


def _taken(at: Layout, corpus: str, embedder: str | None, progress: Progress) -> Made:
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        stored = catalog.meta(META_KEY)
        if not stored or json.loads(stored)["corpus"] != corpus:
            raise UsageError(
                f"campaign {at.campaign!r} is there already and does not hold this collection as it is; keep it under another id"
            )
        if embedder:
            catalog.set_settings({"embedder": embedder})
        report = run_plan(at, make_plan(at), InProcess(), progress)
        if report.degraded:
            raise CanonryError(report.degraded)
        return Made(**json.loads(stored))


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _read(at: Layout) -> tuple[dict[str, str], int, Settings]:
    """(version id -> document id, passages, settings)."""
    with closing(Catalog.open(at.catalog)) as catalog:
        ids = {source.version_id: source.facts.uri or "" for source in catalog.sources()}
        settings = Settings.parse(catalog.settings())
    with closing(database.open_reader(at.lexical)) as db:
        return ids, int(lexical.meta(db, "rows") or 0), settings


def _left_out(made: Made) -> list[str]:
    return [
        f"{count:,} document{'s' * (count > 1)} {what}"
        for count, what in ((made.without_text, "without text"), (made.refused, "that could not be imported"))
        if count
    ]


def _ask(
    at: Layout, collection: Collection, mode: str, fusion: Fusion, ids: dict[str, str], progress: Progress
) -> ModeRun:
    ranked: dict[str, list[str]] = {}
    without_floor: dict[str, list[str]] = {}
    degraded, seconds = 0, 0.0
    with Campaign(at) as campaign:
        campaign.pool(next(iter(collection.queries.values())), **_asked(mode, DEPTH))  # models load, untimed
        for done, (query, text) in enumerate(collection.queries.items(), 1):
            start = time.perf_counter()
            pool, lacking = campaign.pool(text, **_asked(mode, DEPTH))
            ranked[query] = _documents(pool, fusion, ids, DEPTH)
            seconds += time.perf_counter() - start
            everything = replace(pool, kept=frozenset(pool.candidates)) if pool else None
            without_floor[query] = _documents(everything, fusion, ids, DEPTH)
            degraded += lacking is not None
            progress(f"ask {mode}", done, len(collection.queries))
    return ModeRun(ranked, measured(collection, ranked), seconds, degraded, measured(collection, without_floor))


def _asked(mode: str, limit: int) -> Asked:
    """The options of a question that sees everything; documents of equal text are documents each."""
    return {"role": NARRATOR, "spoiler_level": EVERY_LEVEL, "copies": True, "mode": mode, "limit": limit}


def _documents(pool: Pool | None, fusion: Fusion, ids: dict[str, str], most: int) -> list[str]:
    """The documents of a pool by their best passages."""
    if pool is None:
        return []
    found = (ids[pool.candidates[one.row].version_id] for one in pool.ranked(fusion).chosen)
    return list(dict.fromkeys(found))[:most]


def _tune(
    at: Layout, collection: Collection, ids: dict[str, str], current: Fusion, seed: int, progress: Progress
) -> tuple[Choice, dict[str, dict[str, float]]]:
    """(the choice on half of the questions, the values of every setting on all of them)."""
    fusions = grid(current)
    values: dict[str, dict[str, float]] = {label: {} for label in (LEXICAL, *fusions)}
    queries = list(collection.queries.items())
    with Campaign(at) as campaign:
        for first in range(0, len(queries), BATCH):
            lists: dict[str, dict[str, list[str]]] = {label: {} for label in values}
            for query, text in queries[first : first + BATCH]:
                words, _ = campaign.pool(text, **_asked("lexical", 10))
                lists[LEXICAL][query] = _documents(words, current, ids, 10)
                both, _ = campaign.pool(text, **_asked("hybrid", 10))
                for label, fusion in fusions.items():
                    lists[label][query] = _documents(both, fusion, ids, 10)
            for label, found in lists.items():
                values[label] |= {query: row[MEASURE] for query, row in measured(collection, found).items()}
            progress("tune", min(first + BATCH, len(queries)), len(queries))
    words_alone = values.pop(LEXICAL)
    kinds = dict.fromkeys(words_alone, "question")
    chosen = choose(values, words_alone, kinds, current, measure=MEASURE, seed=seed)
    return chosen, values | {LEXICAL: words_alone}
