"""Sentences that stand in other texts word for word, found by the terms of the index.

So typography, case, inflection and layout make no difference, and a pair of texts that share a stem is no quotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

Said = TypeVar("Said")


class Quotes(Generic[Said]):
    """Sentences to be looked for, each as its index terms separated by spaces, with what it stands for.

    `shortest` is in terms, at least 1; a shorter sentence is left out, since it is said by chance.
    """

    def __init__(self, sentences: Iterable[tuple[str, Said]], shortest: int) -> None:
        self._shortest = shortest
        self._by_head: dict[int, list[tuple[str, int, Said]]] = {}  # by the hash of the first `shortest` terms
        for terms, said in sentences:
            listed = terms.split()
            if len(listed) >= shortest:
                self._by_head.setdefault(hash(tuple(listed[:shortest])), []).append((terms, len(listed), said))

    def said_in(self, terms: Sequence[str]) -> list[Said]:
        """What the sentences that stand in these terms stand for, in order of their places; once for each place."""
        return [
            said
            for at in range(len(terms) - self._shortest + 1)
            for sentence, count, said in self._by_head.get(hash(tuple(terms[at : at + self._shortest])), ())
            if " ".join(terms[at : at + count]) == sentence
        ]
