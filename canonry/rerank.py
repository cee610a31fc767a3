"""Authority-aware order: relevance first, lifted a little by what a passage is and what it is about.

    score = fused score × (1 + boost),   boost = the sum of the parts below, at most 0.25

| part     | at most | when                                                                                  |
|----------|---------|---------------------------------------------------------------------------------------|
| entity   | 0.08    | share of the named entities that its source is about or that it names                 |
| context  | 0.06    | the best text of the context: three shared words count in full                        |
| class    | 0.06    | canon; reference 0.03, inspiration 0                                                  |
| tags     | 0.04    | the question names a tag of its source                                                |
| priority | 0.03    | high; low takes 0.03 away                                                             |
| recency  | 0.005   | its version revises an earlier one                                                    |

A passage that is a tenth less relevant than another never overtakes it by its class alone. What was not found, or is
below the floor, is not here to be lifted. Equal scores are ordered by chunk id.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from canonry.context import Surroundings
from canonry.text import fold, is_unspaced

MOST = 0.25
ENTITY, CONTEXT, TAGS, RECENCY = 0.08, 0.06, 0.04, 0.005
CLASS = {"canon": 0.06, "reference": 0.03, "inspiration": 0.0}
PRIORITY = {"high": 0.03, "normal": 0.0, "low": -0.03}
FULL_OVERLAP = 3  # shared words


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the order needs to know of a row, and where it stands in its version: bytes [start_byte, end_byte).

    `terms` are padded, labels folded; empty where nothing asks for them.
    """

    row: int
    chunk_id: str
    version_id: str
    body_hash: str
    class_: str
    priority: str
    start_byte: int
    end_byte: int
    terms: str
    entities: Set[str]
    tags: Set[str]


@dataclass(frozen=True, slots=True)
class Boosts:
    """The parts of one passage's boost by name, and in words what the question and its context had to do with it."""

    parts: Mapping[str, float]
    reasons: tuple[str, ...]

    @property
    def total(self) -> float:
        return min(MOST, sum(self.parts.values()))


def boosts(candidate: Candidate, around: Surroundings) -> Boosts:
    """The boost of one candidate."""
    reasons: list[str] = []
    parts = {
        "entity": _entity(candidate, around, reasons),
        "context": _context(candidate, around, reasons),
        "class": CLASS[candidate.class_],
        "tags": _tags(candidate, around, reasons),
        "priority": PRIORITY[candidate.priority],
        "recency": RECENCY if int(candidate.version_id.rpartition("@")[2]) > 1 else 0.0,
    }
    return Boosts(parts, tuple(reasons))


def _entity(candidate: Candidate, around: Surroundings, reasons: list[str]) -> float:
    found = 0
    for name, mentioned in around.names:
        if fold(name.label) in candidate.entities:
            verb = "is about"
        elif name.is_in(candidate.terms):
            verb = "names"
        else:
            continue
        found += 1
        reasons.append(f"{verb} {name.label}, {'who was mentioned' if mentioned else 'named in the question'}")
    return ENTITY * found / len(around.names) if found else 0.0


def _context(candidate: Candidate, around: Surroundings, reasons: list[str]) -> float:
    best = 0.0
    for text, words in around.words:
        shared = [
            word
            for word, asked in words.items()
            if any(f" {term}{'' if is_unspaced(term) else ' '}" in candidate.terms for term in asked)
            or fold(word) in candidate.tags
        ]
        if shared:
            reasons.append(f"shares {', '.join(shared[:5])} with {text}")
            best = max(best, min(1.0, len(shared) / min(FULL_OVERLAP, len(words))))
    return CONTEXT * best


def _tags(candidate: Candidate, around: Surroundings, reasons: list[str]) -> float:
    named = [tag.label for tag in around.tags if fold(tag.label) in candidate.tags]
    if named:
        reasons.append(f"is tagged {', '.join(named)}, which the question names")
    return TAGS if named else 0.0


def lifts(boost: Boosts, class_: str, priority: str) -> str:
    """What lifted a passage, in words."""
    words = {
        "class": class_,
        "priority": f"{priority} priority",
        "entity": "a name asked for",
        "context": "what it shares with the context",
        "tags": "its tags",
        "recency": "a revised version",
    }
    return ", ".join(text for part, text in words.items() if boost.parts[part] > 0)
