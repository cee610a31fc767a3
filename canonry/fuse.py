"""Fusion: several ranked lists into one.

Scores are higher-is-better; equal scores are ordered by id, so the answer never depends on chance or on the order of
the legs.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar


class _Ordered(Hashable, Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


Id = TypeVar("Id", bound=_Ordered)

METHODS = ("rrf", "convex")
AUTO = "auto"  # how `alpha` None is written
LEAST_ALPHA, MOST_ALPHA = 0.1, 0.7
LEXICAL, SEMANTIC, ENTITY = "lexical", "semantic", "entity"


@dataclass(frozen=True, slots=True)
class Fusion:
    """How the legs become one list.

    rrf: the lexical leg weighs 1, the semantic leg `weight`; `k` is the rank constant. convex: `alpha` is the share of
    the semantic leg, 1 - alpha that of the lexical one; None gives meaning what words leave open of each question
    (`weighed`). A leg of mentioned names weighs `entity` beside either.
    """

    method: str = "convex"
    k: int = 10
    weight: float = 0.25
    alpha: float | None = None
    entity: float = 0.25

    @property
    def label(self) -> str:
        """Method and parameters in a few words."""
        if self.method == "rrf":
            return f"rrf k={self.k} w={self.weight:g}"
        return f"convex α={AUTO if self.alpha is None else format(self.alpha, 'g')}"

    def weighed(self, coverage: float) -> Fusion:
        """The fusion of one question, with a number for `alpha`.

        `coverage` is the share (0 to 1) of the question's weight that the best passage by words holds: where that is
        all, meaning counts for LEAST_ALPHA, where nothing, for MOST_ALPHA, and between them in proportion. On each of
        eleven pairs of a collection and an embedder this is at least as good as words alone, and a fixed alpha that is
        too gains half as much (benchmarks/README.md).
        """
        if self.method != "convex" or self.alpha is not None:
            return self
        return replace(self, alpha=round(MOST_ALPHA - (MOST_ALPHA - LEAST_ALPHA) * coverage, 2))

    def weight_of(self, leg: str, beside: Container[str] = (LEXICAL, SEMANTIC)) -> float:
        """The weight of a leg in the fused score; of words or of meaning 1 where the other is not `beside` it."""
        if leg == ENTITY:
            return self.entity
        if leg == LEXICAL and (self.method == "rrf" or SEMANTIC not in beside):
            return 1.0
        if leg == SEMANTIC and LEXICAL not in beside:
            return 1.0
        if self.method == "rrf":
            return self.weight
        assert self.alpha is not None, "weighed() says what alpha is for a question"
        return 1.0 - self.alpha if leg == LEXICAL else self.alpha

    def shares(self, legs: Mapping[str, Sequence[tuple[Id, float]]]) -> dict[str, dict[Id, float]]:
        """What each leg (best first) adds to the fused score of what it found, by the name of the leg."""
        found: dict[str, dict[Id, float]] = {}
        for name, leg in legs.items():
            weight = self.weight_of(name, legs)
            if self.method == "rrf":
                found[name] = dict(rrf([[item for item, _ in leg]], k=self.k, weights=[weight]))
            else:
                found[name] = dict(convex([dict(leg)], weights=[weight]))
        return found

    def fuse(self, legs: Mapping[str, Sequence[tuple[Id, float]]]) -> list[tuple[Id, float]]:
        """The legs as one list of (id, fused score): best first, ties by id."""
        scores: dict[Id, float] = {}
        for leg in self.shares(legs).values():
            for item, share in leg.items():
                scores[item] = scores.get(item, 0.0) + share
        return _ordered(scores)


DEFAULT_FUSION = Fusion()


def rrf(legs: Sequence[Sequence[Id]], *, k: int, weights: Sequence[float] | None = None) -> list[tuple[Id, float]]:
    """Reciprocal-rank fusion: the sum over the legs of weight / (k + rank), rank from 1.

    Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
    SIGIR 2009. Best first, ties by id. A leg that lacks an id adds nothing for it.
    """
    scores: dict[Id, float] = {}
    for weight, leg in zip(weights or [1.0] * len(legs), legs, strict=True):
        for rank, item in enumerate(leg, 1):
            scores[item] = scores.get(item, 0.0) + weight / (k + rank)
    return _ordered(scores)


def convex(legs: Sequence[Mapping[Id, float]], *, weights: Sequence[float]) -> list[tuple[Id, float]]:
    """The sum over the legs of weight × min-max normalised score; with weights 1 - α and α a convex combination.

    Bruch, Gai and Ingber, "An analysis of fusion functions for hybrid retrieval", TOIS 2023. What a leg did not find
    counts as that leg's lowest score. Best first, ties by id.
    """
    scores: dict[Id, float] = {}
    for weight, leg in zip(weights, map(_min_max, legs), strict=True):
        for item, score in leg.items():
            scores[item] = scores.get(item, 0.0) + weight * score
    return _ordered(scores)


def _min_max(leg: Mapping[Id, float]) -> dict[Id, float]:
    if not leg:
        return {}
    low, high = min(leg.values()), max(leg.values())
    return {item: (score - low) / (high - low) if high > low else 1.0 for item, score in leg.items()}


def _ordered(scores: Mapping[Id, float]) -> list[tuple[Id, float]]:
    return sorted(sorted(scores.items(), key=lambda pair: pair[0]), key=lambda pair: -pair[1])
