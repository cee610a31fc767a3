"""Which fusion, weights and query terms serve best, on judged collections (BEIR folders): nDCG@10 and Recall@10.

python -m benchmarks.fusion FOLDER… [--embedder static|minilm|e5] [--queries 1000] [--json FILE]

Each document is one chunk. The legs are canonry's own, 100 candidates each, computed once; every fusion is made from
them. "+" and "-" mark a difference to the lexical leg as it is with p < 0.05.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.campaigns import create_campaign, import_folder, temporary_folder, text_files
from benchmarks.figures import show, write_json
from benchmarks.judged import mark, ndcg, read_judgements, recall
from benchmarks.legs import Collection, Run, documents_by_row, fusions, lexical_variants, run_lexical, run_semantic
from canonry.campaign import Campaign
from canonry.semantic import Scan

ONE_CHUNK = {"chunk.target": "20000", "chunk.min": "1", "chunk.max": "60000", "chunk.overlap": "0"}
HEADERS = ("variant", "nDCG@10", "Recall@10", "Δ nDCG", "p<.05")
Figures = dict[str, list[tuple[object, ...]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    write_json(given.json, {folder.name: measure(folder, given.embedder, given.queries) for folder in given.folders})


def measure(folder: Path, embedder: str, most_queries: int) -> Figures:
    """Index one collection, run its questions, and print both tables."""
    with temporary_folder() as work:
        at = create_campaign(work / "data", {"embedder": embedder, **ONE_CHUNK})
        ids = text_files(folder / "corpus.jsonl", work / "files")
        import_folder(at, work / "files")
        with Campaign(at) as campaign:
            db = campaign._connection()
            queries, judgements = read_judgements(folder, most_queries)
            collection = Collection(db, documents_by_row(db, ids), queries, judgements)
            size = f"{folder.name}: {len(ids):,} documents, {len(queries):,} questions"
            words = run_lexical(collection)
            variants = lexical_variants(collection)
            figures = {"lexical": report(f"{size}, lexical leg", collection, words, variants)}
            scan = next(at.index.glob("scan-*.bin"), None)
            meaning = run_semantic(collection, Scan.open(scan), embedder) if scan else {}
            if any(meaning.values()):
                fused = {"semantic": meaning, **fusions(words, meaning)}
                figures["fusion"] = report(f"{size}, fusion with {embedder}", collection, words, fused)
            return figures


def report(title: str, collection: Collection, base: Run, variants: dict[str, Run]) -> list[tuple[object, ...]]:
    """Print and return (variant, nDCG@10, Recall@10, difference to the base in nDCG, mark)."""
    standard = np.array([ndcg(base[key], collection.judgements[key]) for key in collection.queries])
    rows: list[tuple[object, ...]] = []
    for name, run in {"lexical": base, **variants}.items():
        values = np.array([ndcg(run[key], collection.judgements[key]) for key in collection.queries])
        found = np.mean([recall(run[key], collection.judgements[key]) for key in collection.queries])
        difference = values - standard
        rows.append((name, *(round(float(v), 4) for v in (values.mean(), found, difference.mean())), mark(difference)))
    show(title, HEADERS, rows)
    return rows


if __name__ == "__main__":
    main()
