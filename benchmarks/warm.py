"""Warm queries of one process, each leg beside the plainest thing that answers the same question."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.figures import quantile
from benchmarks.floors import PlainFts5, brute_force
from canonry import lexical, schemas
from canonry.campaign import Campaign
from canonry.embedders import load
from canonry.layout import Layout
from canonry.semantic import Scan

LIMIT = 8
HEADERS = ("what", "p50", "p95", "floor p50", "floor p95", "ratio p50")
Row = tuple[str, float, float, float | None, float | None, float | None]


def warm_rows(at: Layout, queries: Sequence[str], plain: Path, embedder: str) -> tuple[tuple[str, ...], list[Row]]:
    """(headers, rows) in milliseconds. The floor of hybrid is both floors together."""
    texts = [text for part in sorted(at.chunks.glob("*.parquet")) for text in _texts(part)]
    fts = PlainFts5(plain, texts)
    print(f"\nPlain FTS5 (porter unicode61) over the same chunk texts: {fts.seconds:.1f} s, {fts.bytes:,} bytes")
    words = timed(lambda query: fts.search(query, LIMIT), queries)
    rows: list[Row] = []
    with Campaign(at) as campaign:
        asked = timed(lambda query: campaign.retrieve(query, mode="lexical", limit=LIMIT), queries)
        rows.append(row("query lexical / plain FTS5", asked, words))
        if embedder != "none":
            rows += semantic_rows(at, campaign, queries, words, embedder)
    return HEADERS, rows


def semantic_rows(
    at: Layout, campaign: Campaign, queries: Sequence[str], words: Sequence[float], spec: str
) -> list[Row]:
    """The scan beside a float32 product over the same matrix, then whole questions with what a floor of each leg costs."""
    model = load(spec)
    assert model is not None
    vectors = {query: model.embed_query(query) for query in queries}
    embedding = timed(model.embed_query, queries)
    campaign.retrieve(queries[0], mode="hybrid")
    scan = Scan.open(next(at.index.glob("scan-*.bin")))
    everything = lexical.Ranges(((0, 1 << 62),))
    scanned = timed(lambda query: scan.search(vectors[query], everything, LIMIT), queries)
    product = timed(lambda query: brute_force(scan.vectors, vectors[query], LIMIT), queries)
    hybrid = timed(lambda query: campaign.retrieve(query, mode="hybrid", limit=LIMIT), queries)
    both = [sum(parts) for parts in zip(words, product, embedding, strict=True)]
    return [
        row(f"scan of {len(scan.rows):,} vectors / numpy float32", scanned, product),
        row("query hybrid / FTS5 + numpy + embedding of the question", hybrid, both),
        row("  of it, embedding of the question", embedding, None),
    ]


def timed(function: Callable[[str], object], queries: Sequence[str]) -> list[float]:
    """Milliseconds of each query, after one pass over the first ten to warm up."""
    for query in queries[:10]:
        function(query)
    spent = []
    for query in queries:
        started = time.perf_counter()
        function(query)
        spent.append((time.perf_counter() - started) * 1000)
    return spent


def row(name: str, spent: Sequence[float], floor: Sequence[float] | None) -> Row:
    p50, p95 = quantile(spent, 0.5), quantile(spent, 0.95)
    if floor is None:
        return (name, p50, p95, None, None, None)
    return (name, p50, p95, quantile(floor, 0.5), quantile(floor, 0.95), p50 / quantile(floor, 0.5))


def _texts(part: Path) -> list[str]:
    texts: list[str] = schemas.read(part, schemas.CHUNK_CONTRACT, ["text"]).column("text").to_pylist()
    return texts
