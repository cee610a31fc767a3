"""Fusion: several ranked lists into one.

Scores are higher-is-better; equal scores are ordered by id, so the answer never depends on chance or on the order of
the legs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeVar


class _Ordered(Hashable, Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


Id = TypeVar("Id", bound=_Ordered)

RRF_K = 10
LEXICAL_WEIGHT = 1.0
SEMANTIC_WEIGHT = 0.25


def rrf(
    legs: Sequence[Sequence[Id]], *, k: int = RRF_K, weights: Sequence[float] | None = None
) -> list[tuple[Id, float]]:
    """Reciprocal-rank fusion: the sum over the legs of weight / (k + rank), rank from 1.

    Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
    SIGIR 2009. Best first, ties by id. A leg that lacks an id adds nothing for it.
    """
    scores: dict[Id, float] = {}
    for weight, leg in zip(weights or [1.0] * len(legs), legs, strict=True):
        for rank, item in enumerate(leg, 1):
            scores[item] = scores.get(item, 0.0) + weight / (k + rank)
    return _ordered(scores)


def convex(legs: Sequence[Mapping[Id, float]], *, alpha: float) -> list[tuple[Id, float]]:
    """(1 - alpha) × lexical + alpha × semantic over min-max normalised scores, for exactly two legs in that order.

    Bruch, Gai and Ingber, "An analysis of fusion functions for hybrid retrieval", TOIS 2023. What a leg did not find
    counts as that leg's lowest score. Best first, ties by id.
    """
    lexical, semantic = (_min_max(leg) for leg in legs)
    ids = {*lexical, *semantic}
    return _ordered({item: (1 - alpha) * lexical.get(item, 0.0) + alpha * semantic.get(item, 0.0) for item in ids})


def _min_max(leg: Mapping[Id, float]) -> dict[Id, float]:
    if not leg:
        return {}
    low, high = min(leg.values()), max(leg.values())
    return {item: (score - low) / (high - low) if high > low else 1.0 for item, score in leg.items()}


def _ordered(scores: Mapping[Id, float]) -> list[tuple[Id, float]]:
    return sorted(sorted(scores.items(), key=lambda pair: pair[0]), key=lambda pair: -pair[1])
