"""The score of an entry for a chapter and a goal: four whole numbers that are added, and the reasons they give.

importance   × 20 (at most 100)
chapter      30 where the entry came up in this very chapter, 20 within three, 10 within ten, else 0; the nearer of the
             chapter it comes from and the chapter that mentions it last counts
foreshadow   25 buried, 15 partly resolved, 0 resolved; 0 for every other type
goal         the share of the goal's words that the entry holds × 30, rounded
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from canonry.eligibility import HIGHEST_LEVEL
from canonry.suggest.entries import FORESHADOW, Entry
from canonry.suggest.words import Overlap

HIGH_IMPORTANCE = "knowledge.reason.highImportance"
CHAPTER_RELEVANT = "knowledge.reason.chapterRelevant"
FORESHADOW_BURIED = "knowledge.reason.foreshadowBuried"
GOAL_MATCH = "knowledge.reason.goalMatch"
REASONS = (HIGH_IMPORTANCE, CHAPTER_RELEVANT, FORESHADOW_BURIED, GOAL_MATCH)
_IMPORTANCE_WEIGHT = 20
_GOAL_WEIGHT = 30
_NEARNESS = ((0, 30), (3, 20), (10, 10))  # (chapters away at most, points)
_FORESHADOW = {"buried": 25, "partial": 15, "resolved": 0}
_LONGEST_NUMBER = len(str(HIGHEST_LEVEL))


@dataclass(frozen=True, slots=True)
class Score:
    """The components; `distance` is in chapters, None where one of the two chapters is not known."""

    importance: int
    chapter: int
    foreshadow: int
    goal: int
    distance: int | None = None
    overlap: Overlap = field(default_factory=Overlap)
    reasons: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return sum(self.parts.values())

    @property
    def parts(self) -> dict[str, int]:
        """Each component by its name; their sum is the score."""
        return {
            "importance": self.importance, "chapter": self.chapter, "foreshadow": self.foreshadow, "goal": self.goal,
        }  # fmt: skip

    def as_json(self) -> dict[str, object]:
        return {
            "score": self.total,
            "components": self.parts,
            "chapter_distance": self.distance,
            "goal_overlap": round(float(self.overlap.ratio), 4),
            "reasons": list(self.reasons),
        }


def score_entry(entry: Entry, current: int | None, orders: Mapping[str, int], overlap: Overlap) -> Score:
    """The score in chapter `current`; `orders` gives the number of a chapter that is known by name."""
    mentions = (chapter_order(name, orders) for name in (entry.source_chapter, entry.last_mention_chapter))
    distances = [abs(order - current) for order in mentions if order is not None] if current is not None else []
    distance = min(distances, default=None)
    nearness = 0 if distance is None else next((points for most, points in _NEARNESS if distance <= most), 0)
    state = entry.foreshadow_state if entry.type == FORESHADOW else None
    holds = (
        (HIGH_IMPORTANCE, entry.importance >= 4),
        (CHAPTER_RELEVANT, nearness > 0),
        (FORESHADOW_BURIED, state == "buried"),
        (GOAL_MATCH, overlap.ratio > Fraction(1, 5)),
    )
    return Score(
        entry.importance * _IMPORTANCE_WEIGHT, nearness, _FORESHADOW[state] if state else 0, _points(overlap), distance,
        overlap, tuple(reason for reason, there in holds if there),
    )  # fmt: skip


def chapter_order(name: str | None, orders: Mapping[str, int]) -> int | None:
    """The number of a chapter that is given as one, or by a name that is known; else None."""
    if name and name.isascii() and name.isdigit() and len(name) <= _LONGEST_NUMBER:
        return int(name)
    return orders.get(name) if name else None


def _points(overlap: Overlap) -> int:
    """The share × 30, halves rounded up: in whole numbers, so that no machine rounds otherwise."""
    return int(overlap.ratio * _GOAL_WEIGHT + Fraction(1, 2))
