"""The relevance floor: what a passage must hold of a question to count as found by words.

A word weighs its idf, so that a name counts more than a word that stands everywhere. Passages found by meaning have
the embedder's own floor (`minimum_cosine`). The thresholds were chosen on the demo set and, with the questions of one
collection asked of the other, on fairytaleqa and xquad_en (figures in benchmarks/README.md).
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from canonry import lexical
from canonry.context import read_terms
from canonry.lexical import Hit
from canonry.text import CHATTER, FUNCTION_WORDS, Query, is_unspaced

COMMON_FROM = 0.01  # share of the rows above which the index counts a term; a rarer one is taken at half of that
ENOUGH_SHARE = 0.4  # of the question's weight in one passage
ENOUGH_SHARE_OF_TWO = 0.3  # when at least two of its words are there
ENOUGH_WORDS = 4
ENOUGH_SHARE_UNSPACED = 0.1  # of character pairs, most of which are no words
ENOUGH_PAIRS = 3
LEAST_OF_BEST = 0.2  # of the best BM25: what each passage needs once one of them answers the question
TELLING_ROWS = 50  # in a smaller campaign BM25 tells little: a word of every second passage weighs nothing
LOOKED_AT = 100  # passages; fixed, so that a larger limit finds nothing where a smaller one does not
LOOKED_AT_FIRST = 8


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a question's weight a passage holds (0 to 1), and how many of its words."""

    share: float
    words: int


class Floor:
    """The floor of one question."""

    def __init__(self, db: sqlite3.Connection, query: Query) -> None:
        self._db = db
        asked = [*query.terms, *query.prefixes, *(term for phrase in query.phrases for term in phrase)]
        terms = [term for term in dict.fromkeys(asked) if term not in FUNCTION_WORDS and term not in CHATTER]
        self._asks_nothing = not terms and not query.phrases  # "and then what?", "tell me something"
        terms = terms or asked
        self._rows = int(lexical.meta(db, "rows") or 0)
        self._weights = _weights(db, terms, self._rows)
        self._total = sum(self._weights.values())
        self._quoted = bool(query.phrases)  # a quoted phrase stands in everything that was found
        self._unspaced = sum(is_unspaced(term[0]) for term in terms) * 2 > len(terms)

    @property
    def words(self) -> int:
        """How many words of the question count."""
        return len(self._weights)

    def coverage(self, terms: str) -> Coverage:
        """What of the question the padded index terms of a passage hold."""
        held = [
            weight for term, weight in self._weights.items() if f" {term}{'' if is_unspaced(term) else ' '}" in terms
        ]
        return Coverage(sum(held) / self._total if self._total else 0.0, len(held))

    def kept(self, hits: Sequence[Hit]) -> set[int]:
        """Of what was found by words, best first, the rows that stay: none unless a passage answers the question."""
        if not hits or not (self._quoted or self.is_reached([hit.row for hit in hits])):
            return set()
        least = LEAST_OF_BEST * hits[0].score if self._rows >= TELLING_ROWS else 0.0
        return {hit.row for hit in hits if hit.score >= least}

    def is_reached(self, rows: Sequence[int]) -> bool:
        """Whether one of the first rows holds enough of the question to answer it; the best are looked at first.

        A question of function words alone, not quoted, is answered by nothing.
        """
        return not self._asks_nothing and any(
            self._answers(self.coverage(terms))
            for some in (rows[:LOOKED_AT_FIRST], rows[LOOKED_AT_FIRST:LOOKED_AT])
            for terms in read_terms(self._db, some).values()
        )

    def _answers(self, coverage: Coverage) -> bool:
        if self._unspaced:
            return coverage.share >= ENOUGH_SHARE_UNSPACED or coverage.words >= ENOUGH_PAIRS
        enough = ENOUGH_SHARE_OF_TWO if coverage.words >= 2 else ENOUGH_SHARE
        return coverage.share >= enough or coverage.words >= ENOUGH_WORDS


def _weights(db: sqlite3.Connection, terms: Iterable[str], rows: int) -> dict[str, float]:
    """Term -> idf, from the rows that the index has counted for common terms."""
    weights = dict.fromkeys(terms, max(2.0, rows * COMMON_FROM) / 2)
    names = list(weights)
    for at in range(0, len(names), 500):
        some = names[at : at + 500]
        marks = ",".join("?" * len(some))
        weights.update(db.execute(f"SELECT term, rows FROM common_term WHERE term IN ({marks})", some))
    return {term: _idf(rows, count) for term, count in weights.items()}


def _idf(rows: int, count: float) -> float:
    return math.log(1 + (max(rows - count, 0) + 0.5) / (count + 0.5))
