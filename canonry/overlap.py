"""Whether a text says what another has said already: by shingles, runs of five terms.

Terms are those of the index (stems, character pairs of unspaced scripts), so typography, case, layout and inflection
make no difference. The measure is containment: the share of a text's shingles that one other text holds too. Shingles
with a number or an English negation must all be there: "four nights" is not nearly "three nights".
"""

from __future__ import annotations

from collections import Counter

from canonry.text import index_terms

SHINGLE = 5  # terms
NEARLY_ALL = 0.8  # from this containment on, a text adds too little to be said again
ALL = 1.0
_NEGATIONS = frozenset(index_terms("no not never none nobody nothing nor neither without cannot isn't").split()) - {
    "isn"
}


def shingles(text: str) -> frozenset[str]:
    """The distinct shingles of a text; what has fewer terms is one shingle, a blank text has none."""
    terms = index_terms(text).split()
    if len(terms) < SHINGLE:
        whole = " ".join(terms) or text.strip()
        return frozenset([whole] if whole else [])
    return frozenset(" ".join(terms[at : at + SHINGLE]) for at in range(len(terms) - SHINGLE + 1))


class Said:
    """The texts that were said so far, each under a name."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._holders: dict[str, list[int]] = {}

    def add(self, name: str, text_shingles: frozenset[str]) -> None:
        for shingle in text_shingles:
            self._holders.setdefault(shingle, []).append(len(self._names))
        self._names.append(name)

    def by(self, text_shingles: frozenset[str], enough: float) -> str:
        """The name of the first text that holds at least that share of the shingles (above 0); empty where none does."""
        shared = Counter(holder for shingle in text_shingles for holder in self._holders.get(shingle, ()))
        holders = sorted(holder for holder, count in shared.items() if count >= enough * len(text_shingles))
        decisive = [shingle for shingle in text_shingles if _is_decisive(shingle)] if holders else []
        for holder in holders:
            if all(holder in self._holders.get(shingle, ()) for shingle in decisive):
                return self._names[holder]
        return ""


def _is_decisive(shingle: str) -> bool:
    return any(character.isdigit() for character in shingle) or not _NEGATIONS.isdisjoint(shingle.split())
