"""Secret names in plain sight: the title, an entity or a heading of what is kept from an asker, said by a passage he sees.

No rule of search is broken by it, for the author wrote it there; it is told to the owner, with the places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from canonry.context import KnownNames
from canonry.retrieval import Passage
from canonry.text import FUNCTION_WORDS, fold, index_terms
from eval.sight import Sight

MOST_PLACES = 5  # of a name are told; the others are counted
_COMMON = 0.05  # share of the passages in sight that say a single word which is no name any more
_FEW = 3  # passages; so many never make a word common


@dataclass(frozen=True, slots=True)
class OpenName:
    """A secret name that an asker meets: the first asker, from whom it is kept, and where it is said."""

    name: str
    kind: str  # title, entity or heading
    source_id: str  # of the secret that bears it
    line: int
    asker: str
    places: tuple[str, ...]  # source id and line of passages in sight
    passages: int  # in all


def open_names(
    sights: Sequence[Sight], progress: Callable[[str, int, int], None] = lambda step, done, total: None
) -> list[OpenName]:
    """Each name once, as the first of the askers meets it, by source and line."""
    found: dict[tuple[str, str], OpenName] = {}
    for done, sight in enumerate(sights, 1):
        for one in _of(sight):
            found.setdefault((fold(one.name), one.source_id), one)
        progress("names", done, len(sights))
    return sorted(found.values(), key=lambda one: (one.source_id, one.line, one.name))


def _of(sight: Sight) -> Iterator[OpenName]:
    secret = _secret_names(sight)
    known = KnownNames(name for name, _, _ in secret)
    said: dict[str, list[Passage]] = {}
    for passage in sight.allowed.values():
        for found in known.named_in(passage.exact_text):
            said.setdefault(found.label, []).append(passage)
    for name, kind, bearer in secret:
        sayers = said.get(name, [])
        common = len(index_terms(name).split()) == 1 and len(sayers) > max(_FEW, _COMMON * len(sight.allowed))
        if sayers and not common:
            places = tuple(f"{one.source_id} line {one.start_line}" for one in sayers[:MOST_PLACES])
            yield OpenName(name, kind, bearer.source_id, bearer.start_line, sight.asker, places, len(sayers))


def _secret_names(sight: Sight) -> list[tuple[str, str, Passage]]:
    """(name, kind, who bears it) of what is kept from an asker, each once; without those that something in sight bears."""
    borne = {fold(name) for passage in sight.allowed.values() for name, _ in _names(passage)}
    found: dict[str, tuple[str, str, Passage]] = {}
    for passage in sight.forbidden.values():
        for name, kind in _names(passage):
            if fold(name) not in borne and not FUNCTION_WORDS.issuperset(index_terms(name).split()):
                found.setdefault(name, (name, kind, passage))
    return list(found.values())


def _names(passage: Passage) -> Iterator[tuple[str, str]]:
    yield passage.title, "title"
    yield from ((entity, "entity") for entity in passage.entities)
    yield from ((heading, "heading") for heading in passage.heading_path)
