"""The legs of a judged collection as runs (question -> document -> score), and what is tried on them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from unittest.mock import patch

from benchmarks.judged import STOP_WORDS, Judgements
from canonry import fuse, lexical
from canonry.embedders import knows, load
from canonry.lexical import Ranges
from canonry.ranking import CANDIDATES, lexical_leg, semantic_leg
from canonry.semantic import Scan
from canonry.text import Query, parse_query

EVERYTHING = Ranges(((0, 1 << 62),))
COLUMN_WEIGHTS = ((1, 1, 1), (1, 2, 1), (1, 3, 1), (1, 5, 1))
LARGE = 100_000  # rows; there the postings budget leaves out words of ordinary questions: tried here in proportion
POSTINGS_BUDGETS = (15_000, 40_000, 80_000, 160_000)
Run = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Collection:
    """An indexed collection: its store, which document is in which row, its questions and their judgements."""

    db: sqlite3.Connection
    documents: dict[int, str]
    queries: dict[str, str]
    judgements: Judgements


def documents_by_row(db: sqlite3.Connection, ids: list[str]) -> dict[int, str]:
    """The document of each row, by the name of the file that `campaigns.text_files` wrote."""
    rows = db.execute(
        "SELECT c.row, s.original_filename FROM knowledge_chunk c "
        "JOIN cat.knowledge_source_version v USING (version_id) JOIN cat.knowledge_source s USING (source_id)"
    )
    return {row: ids[int(name.removeprefix("d").removesuffix(".md"))] for row, name in rows}


def run_lexical(collection: Collection, parse: Callable[[str], Query] = parse_query) -> Run:
    """The lexical leg, as canonry gives it."""
    run: Run = {}
    for key, text in collection.queries.items():
        leg = lexical_leg(collection.db, parse(text), EVERYTHING, CANDIDATES)
        run[key] = _by_document(collection, ((hit.row, hit.score) for hit in leg.hits))
    return run


def run_semantic(collection: Collection, scan: Scan, spec: str) -> Run:
    """The semantic leg; empty for a question in a script that the model does not know."""
    model = load(spec)
    assert model is not None
    run: Run = {key: {} for key in collection.queries}
    for key, text in collection.queries.items():
        if knows(model.scripts, text):
            vector = model.embed_query(text)
            leg = semantic_leg(collection.db, scan, vector, EVERYTHING, CANDIDATES, model.minimum_cosine)
            run[key] = _by_document(collection, ((hit.row, hit.score) for hit in leg.hits))
    return run


def _by_document(collection: Collection, hits: Iterable[tuple[int, float]]) -> dict[str, float]:
    """Document -> score of its best chunk, in the order of the hits."""
    best: dict[str, float] = {}
    for row, score in hits:
        best.setdefault(collection.documents[row], score)
    return best


def lexical_variants(collection: Collection) -> dict[str, Run]:
    """The leg with one thing changed each: query terms, compounds, the postings budget, column weights."""
    runs = {
        "stop words left out": run_lexical(collection, without_stop_words),
        "without compounds": run_lexical(collection, lambda text: replace(parse_query(text), compounds=())),
        "without both": run_lexical(collection, lambda text: replace(without_stop_words(text), compounds=())),
    }
    for budget in POSTINGS_BUDGETS:
        with patch.object(lexical, "POSTINGS_BUDGET", budget * len(collection.documents) // LARGE):
            runs[f"postings budget {budget:,} at {LARGE:,} rows"] = run_lexical(collection)
    for weights in COLUMN_WEIGHTS:
        runs[f"title, heading, body = {weights}"] = _run_weighted(collection, weights)
    return runs


def without_stop_words(text: str) -> Query:
    """The question's words without stop words, unless nothing else is left."""
    query = parse_query(text)
    kept = tuple(term for term in query.terms if term not in STOP_WORDS)
    return replace(query, terms=kept) if kept else query


def _run_weighted(collection: Collection, weights: tuple[int, int, int]) -> Run:
    score = f"-bm25(chunk_fts, {', '.join(map(str, weights))})"
    sql = f"SELECT rowid, {score} FROM chunk_fts WHERE chunk_fts MATCH ? ORDER BY 2 DESC, rowid LIMIT {CANDIDATES}"
    run: Run = {}
    for key, text in collection.queries.items():
        words = lexical.match_expression(collection.db, parse_query(text)).expression
        run[key] = _by_document(collection, collection.db.execute(sql, (words,)) if words else ())
    return run


def fusions(words: Run, meaning: Run) -> dict[str, Run]:
    """Reciprocal-rank and convex fusion of the two legs, by setting."""
    runs: dict[str, Run] = {}
    for k in (10, 60):
        for weight in (0.25, 0.5, 1.0):
            runs[f"rrf k={k} w={weight}"] = {
                key: dict(fuse.rrf([list(words[key]), list(meaning[key])], k=k, weights=[1.0, weight])) for key in words
            }
    for alpha in (0.1, 0.3, 0.5):
        runs[f"convex alpha={alpha}"] = {
            key: dict(fuse.convex([words[key], meaning[key]], weights=[1 - alpha, alpha])) for key in words
        }
    return runs
