"""Names of secret things in public passages: entities, titles and headings that only secret text has.

A name counts where it is proper: one of its words is nowhere in the public text written small. Names that a public
source has too, as entity, title or heading, are known and left alone.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from canonry.lexical import Ranges
from canonry.text import FUNCTION_WORDS, fold, index_terms, is_unspaced
from flows.checks.findings import ADVICE, Examination, Finding
from flows.checks.passages import Passage, opened, passages, public_ranges, secret_ranges

MOST_SHOWN = 50  # findings; the others are counted
LONGEST_NAME = 6  # words
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_KINDS = {"entity": "an entity", "title": "the title", "heading": "a heading"}


@dataclass(slots=True)
class _Name:
    """A name of something secret: of which source, as what, and where the public reads it first, and how often."""

    name: str
    source_id: str
    kind: str
    words: tuple[str, ...]
    place: str = ""
    count: int = 0


def check(look: Examination) -> Iterator[Finding]:
    """One piece of advice for each name; the name itself only as its text."""
    with opened(look.at) as db:
        public = public_ranges(db)
        names = _secret_names(db, secret_ranges(db), public)
        if names:
            _find(names, passages(look, db, public))
    found = [name for name in names if name.count]
    for name in islice(found, MOST_SHOWN):
        count = f"{name.count} public passages" if name.count > 1 else "a public passage"
        yield Finding(
            "secret-name", f"{_KINDS[name.kind]} of {name.source_id}, which is kept from a player, is named in {count}", name.place,
            "if the name alone tells too much, take it out; if not, name it in a public source too", ADVICE, text=name.name,
        )  # fmt: skip
    if len(found) > MOST_SHOWN:
        what = f"{len(found) - MOST_SHOWN} more names of secret sources stand in public passages"
        yield Finding("secret-name", what, look.at.campaign, "mend those above and look again", ADVICE)


def _secret_names(db: sqlite3.Connection, secret: Ranges, public: Ranges) -> list[_Name]:
    known = {fold(name) for name, _, _ in _names(db, public)}
    found: dict[str, _Name] = {}
    for name, source_id, kind in _names(db, secret):
        words = tuple(_WORD.findall(name))
        if fold(name) not in known and 0 < len(words) <= LONGEST_NAME and any(map(_is_proper, words)):
            found.setdefault(fold(name), _Name(name, source_id, kind, words))
    return sorted(found.values(), key=lambda name: (name.source_id, name.kind, name.name))


def _is_proper(word: str) -> bool:
    """Whether a word could be part of a name that tells something: capitalised and no function word, or unspaced script."""
    terms = index_terms(word).split()
    if any(len(term) == 2 and is_unspaced(term[0]) for term in terms):
        return True
    return len(word) > 2 and word[0].isupper() and not FUNCTION_WORDS.issuperset(terms)


def _names(db: sqlite3.Connection, ranges: Ranges) -> Iterator[tuple[str, str, str]]:
    """(name, source, kind) of the entities, titles and last headings of some rows' sources."""
    sources: dict[str, str] = {}
    for first, last in ranges.pairs:
        for source_id, title, path in db.execute(
            "SELECT DISTINCT v.source_id, s.title, c.heading_path FROM knowledge_chunk c "
            "JOIN cat.knowledge_source_version v USING (version_id) JOIN cat.knowledge_source s USING (source_id) "
            "WHERE c.row BETWEEN ? AND ?", (first, last),
        ):  # fmt: skip
            sources[source_id] = title
            for heading in json.loads(path):
                yield heading, source_id, "heading"
    for source_id, title in sources.items():
        yield title, source_id, "title"
        labels = db.execute("SELECT label FROM cat.source_label WHERE source_id = ? AND kind = 'entity'", (source_id,))
        for (label,) in labels.fetchall():
            yield label, source_id, "entity"


def _find(names: list[_Name], public: Iterable[Passage]) -> None:
    """Fill in where the public reads each name; a name whose every word is an ordinary one is read nowhere."""
    by_word: dict[str, list[_Name]] = {}
    unspaced = [name for name in names if len(name.words) == 1 and not name.words[0][0].isupper()]
    for name in names:
        by_word.setdefault(name.words[0], []).append(name)
    wanted = {word.lower() for name in names for word in name.words}
    small: Counter[str] = Counter()
    for passage in public:
        words = _WORD.findall(passage.text)
        small.update(word for word in words if word in wanted and word.islower())
        read = {
            name.name: name
            for at, word in enumerate(words)
            for name in by_word.get(word, ())
            if tuple(words[at : at + len(name.words)]) == name.words
        }
        read |= {name.name: name for name in unspaced if name.name in passage.text}
        for name in read.values():
            name.place = name.place or passage.place
            name.count += 1
    for name in names:
        if all(small[word.lower()] for word in name.words if _is_proper(word)):
            name.count = 0
