"""Judged collections in BEIR's files, nDCG and recall at ten, and whether a difference is more than chance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.campaigns import read_jsonl
from canonry.text import index_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEPTH = 10
SHUFFLES = 10_000
Judgements = dict[str, dict[str, float]]  # query -> document -> gain, relevant ones only

# Words that every English question is made of; in the stemmed form of the index.
STOP_WORDS = frozenset(
    index_terms(
        "a about above after again against all am an and any are as at be because been before being below between both "
        "but by can could did do does doing down during each few for from further had has have having he her here hers "
        "him himself his how i if in into is it its itself just me more most my myself no nor not now of off on once "
        "only or other our out over own same she should so some such than that the their them then there these they "
        "this those through to too under until up very was we were what when where which while who whom why will with "
        "would you your"
    ).split()
)


def read_judgements(folder: Path, most_queries: int) -> tuple[dict[str, str], Judgements]:
    """(query id -> text, judgements) of a collection's test split: the first queries that have a relevant document."""
    judgements: Judgements = {}
    for line in (folder / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, gain = line.split("\t")
        if float(gain) > 0:
            judgements.setdefault(query, {})[document] = float(gain)
    texts = {str(line["_id"]): str(line["text"]) for line in read_jsonl(folder / "queries.jsonl")}
    queries = {key: text for key, text in texts.items() if key in judgements}
    return dict(list(queries.items())[:most_queries]), judgements


def ndcg(run: dict[str, float], gains: dict[str, float]) -> float:
    """nDCG@10 with the gains as they are judged (linear), as BEIR computes it. `run` holds documents in their order."""
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    found = np.array([gains.get(document, 0.0) for document in list(run)[:DEPTH]])
    best = np.sort(list(gains.values()))[::-1][:DEPTH]
    return float(found @ discounts[: len(found)]) / float(best @ discounts[: len(best)])


def recall(run: dict[str, float], gains: dict[str, float]) -> float:
    """Recall@10: the share of the relevant documents that are among the first ten."""
    return len(gains.keys() & set(list(run)[:DEPTH])) / len(gains)


def mark(differences: NDArray[np.float64]) -> str:
    """Plus or minus where the mean of paired differences would seldom (p < 0.05) be as far from 0 by chance, else empty.

    A randomisation test: under the null hypothesis each difference might as well have the other sign.
    """
    told = differences[differences != 0]
    if not len(told):
        return ""
    signs = np.random.default_rng(1).choice((-1.0, 1.0), size=(SHUFFLES, len(told)))
    chance = np.mean(np.abs(signs @ told) >= abs(told.sum()) - 1e-12)
    return "" if chance >= 0.05 else "+" if told.sum() > 0 else "-"
