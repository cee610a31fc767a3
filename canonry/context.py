"""What surrounds a question: the scene, the place, who was mentioned; and names found in a text, in any script.

Context never says what may be seen. It lifts passages that the question found, and a mentioned name may bring in
passages that hold the name.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from canonry.lexical import Ranges
from canonry.text import FUNCTION_WORDS, fold, index_terms, is_unspaced, parse_query, phrase_terms

MOST_WORDS = 64  # of one context text; the first are kept
_EDGES = "\"'“”‘’.,;:!?()[]{}*^-。，、！？「」"


@dataclass(frozen=True, slots=True)
class QueryContext:
    """What is known around a question, all optional. `entities` were mentioned, whether the question names them or not."""

    scene: str = ""
    location: str = ""
    entities: tuple[str, ...] = ()
    thread: str = ""
    genre: str = ""
    state_keywords: tuple[str, ...] = ()

    def texts(self) -> list[tuple[str, str]]:
        """(what a person calls it, its text) of everything that is given but the entities."""
        given = (
            ("the scene", self.scene), ("the location", self.location), ("the thread", self.thread),
            ("the genre", self.genre), ("the state keywords", " ".join(self.state_keywords)),
        )  # fmt: skip
        return [(name, text) for name, text in given if text.strip()]


NO_CONTEXT = QueryContext()


def padded(*texts: str) -> str:
    """Index terms of several columns in one string where a term is found between blanks and no phrase spans two columns."""
    return f" {' | '.join(texts)} "


def read_terms(db: sqlite3.Connection, rows: Sequence[int]) -> dict[int, str]:
    """The padded index terms of rows, in the order given."""
    found: dict[int, str] = {}
    for at in range(0, len(rows), 500):
        some = rows[at : at + 500]
        marks = ",".join("?" * len(some))
        for row, *texts in db.execute(
            f"SELECT row, title, heading, body FROM chunk_terms WHERE row IN ({marks})", some
        ):
            found[row] = padded(*texts)
    return {row: found[row] for row in rows if row in found}


@dataclass(frozen=True, slots=True)
class Name:
    """A name with its index terms. It is found as whole words, and inside an unspaced run as it stands."""

    label: str
    terms: tuple[str, ...]

    @classmethod
    def of(cls, label: str) -> Name:
        return cls(label, phrase_terms(label))

    def is_in(self, terms: str) -> bool:
        """Whether `padded` index terms hold the name."""
        if not self.terms:
            return False
        phrase = " ".join(self.terms)
        return f" {phrase}{'' if is_unspaced(self.terms[-1]) else ' '}" in terms


class KnownNames:
    """The entities or the tags of the sources in sight, ready to be looked for in a question."""

    def __init__(self, labels: Iterable[str]) -> None:
        self._by_first: dict[str, list[Name]] = {}
        for name in map(Name.of, sorted(set(labels))):
            if name.terms:
                self._by_first.setdefault(name.terms[0], []).append(name)

    @classmethod
    def in_sight(cls, db: sqlite3.Connection, ranges: Ranges, kind: str) -> KnownNames:
        """Labels of that kind of the sources with a row in the ranges; a source that is out of sight lends none."""
        labels: set[str] = set()
        for first, label in db.execute(
            "SELECT r.first, l.label FROM run r JOIN cat.knowledge_source_version v USING (version_id) "
            "JOIN cat.source_label l ON l.source_id = v.source_id AND l.kind = ?",
            (kind,),
        ):
            if label not in labels and first in ranges:
                labels.add(label)
        return cls(labels)

    def named_in(self, text: str) -> tuple[Name, ...]:
        """The names that a text holds, by label."""
        terms = padded(index_terms(text))
        firsts = {*terms.split(), *(term[0] for term in terms.split())}
        found = [name for first in firsts for name in self._by_first.get(first, ()) if name.is_in(terms)]
        return tuple(sorted(found, key=lambda name: name.label))


@dataclass(frozen=True)
class Surroundings:
    """A context made ready to be compared with passages: names to look for, and the words of each of its texts."""

    context: QueryContext
    known: tuple[Name, ...] = ()  # entities that the question names
    tags: tuple[Name, ...] = ()  # that the question names

    @cached_property
    def mentioned(self) -> tuple[Name, ...]:
        return tuple(name for name in map(Name.of, dict.fromkeys(self.context.entities)) if name.terms)

    @cached_property
    def names(self) -> tuple[tuple[Name, bool], ...]:
        """(name, whether it was mentioned apart from the question), each once."""
        found = {fold(name.label): (name, True) for name in self.mentioned}
        for name in self.known:
            found.setdefault(fold(name.label), (name, False))
        return tuple(found.values())

    @cached_property
    def words(self) -> tuple[tuple[str, dict[str, tuple[str, ...]]], ...]:
        """For each text of the context: what it is called, and its words as written with the terms they ask for."""
        texts = [(name, _subject_words(text)) for name, text in self.context.texts()]
        return tuple((name, words) for name, words in texts if words)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to compare passages with."""
        return not (self.names or self.tags or self.words)


def asked_words(text: str) -> dict[str, tuple[str, ...]]:
    """Each word of a question as written, with the terms it asks for; function words only where there is nothing else."""
    words: dict[str, tuple[str, ...]] = {}
    for written in text.split():
        query = parse_query(written)
        asked = (*query.terms, *query.prefixes, *(term for phrase in query.phrases for term in phrase))
        if asked:
            words[written.strip(_EDGES) or written] = asked
    subjects = {word: asked for word, asked in words.items() if not FUNCTION_WORDS.issuperset(asked)}
    return subjects or words


def _subject_words(text: str) -> dict[str, tuple[str, ...]]:
    """The first words of a context text that carry a subject; an unspaced run gives its pairs."""
    words: dict[str, tuple[str, ...]] = {}
    for written, asked in asked_words(text).items():
        if any(is_unspaced(term[0]) for term in asked):
            words.update((term, (term,)) for term in asked)
        else:
            words[written] = asked
    return dict(list(words.items())[:MOST_WORDS])
