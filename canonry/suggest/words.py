"""How much of a goal an entry speaks of: the share of the goal's words that the entry holds.

Words are compared as `canonry.text` indexes them: Latin words by their stems, and a run of Chinese (or of another script
without spaces) by its overlapping character pairs, so that 林晚寻找灯塔 shares 林晚 and 灯塔 with an entry that holds them
anywhere. Words that carry no subject are left out of the goal: English function words, and in Chinese the particles
(的了在与…), at which a run is divided, and pairs such as 我们 and 因为. A piece of one character asks for that character.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from canonry.text import FUNCTION_WORDS, index_terms, is_unspaced, parse_query

_PARTICLES = re.compile("[的了吗呢吧啊呀嘛在与被]")


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many of the goal's distinct words an entry holds."""

    shared: int = 0
    asked: int = 0

    @property
    def ratio(self) -> Fraction:
        """From 0 to 1; 0 where nothing is asked."""
        return Fraction(self.shared, self.asked) if self.asked else Fraction(0)


class Goal:
    """The words of a goal, ready to be looked for in many entries."""

    def __init__(self, text: str) -> None:
        query = parse_query(_PARTICLES.sub(" ", text).replace('"', " "))
        terms = (*query.terms, *(term for phrase in query.phrases for term in phrase), *query.prefixes)
        self._words = tuple(dict.fromkeys(term for term in terms if term not in FUNCTION_WORDS))

    def overlap(self, text: str) -> Overlap:
        """What a text shares with the goal."""
        if not self._words:
            return Overlap()
        held = set(index_terms(text).split())
        begins = {term[0] for term in held}
        shared = sum(word in held or (is_unspaced(word) and word in begins) for word in self._words)
        return Overlap(shared, len(self._words))
