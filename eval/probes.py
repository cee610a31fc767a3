"""Questions that try to bring a secret passage to light, made from the passage itself; no model takes part.

Its title, headings and entities, names and rare words, its own sentences, and paraphrases of these: shuffled, halved,
with other words, as questions. All of one seed and passage, so that the same campaign is asked the same.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from canonry.retrieval import Passage
from canonry.text import FUNCTION_WORDS, index_terms, is_unspaced

SENTENCES = 2  # of a passage are asked, chosen by the seed
RARE_WORDS = 4
_LEAST_TERMS = 4  # of a sentence that is asked
_MOST_CHARACTERS = 300  # of a question
_BREAK = re.compile(
    r"(?<=[.!?…؟।])[\"'”’»)\]*_]*\s+(?=[^a-z])|(?<=[。！？])[」』”’）]*|\n\s*(?=\n|[-*+|#>]|\d+[.)])|\n\s*\n"
)
_NAME = re.compile(r"(?<=[a-z,;] )([A-Z][\w’'-]{2,}(?: [A-Z][\w’'-]{2,})*)")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_OTHER_WORDS = {
    "kill": "murder", "killed": "murdered", "murder": "killing", "murdered": "killed", "dead": "deceased", "death": "dying",
    "dies": "perishes", "died": "perished", "king": "ruler", "queen": "ruler", "house": "home", "door": "entrance",
    "key": "opener", "secret": "mystery", "hidden": "concealed", "hides": "conceals", "hid": "concealed", "find": "discover",
    "found": "discovered", "finds": "discovers", "begin": "start", "began": "started", "begins": "starts", "end": "finish",
    "ends": "finishes", "ending": "finale", "big": "large", "great": "large", "small": "little", "old": "ancient",
    "man": "fellow", "woman": "lady", "child": "kid", "road": "path", "city": "town", "town": "city", "ship": "vessel",
    "boat": "vessel", "money": "coins", "coin": "money", "sword": "blade", "knife": "blade", "gives": "hands", "gave": "handed",
    "takes": "grabs", "took": "grabbed", "says": "tells", "said": "told", "asks": "inquires", "asked": "inquired",
    "night": "dark", "true": "real", "truth": "fact", "lie": "falsehood", "friend": "ally", "enemy": "foe", "letter": "note",
    "room": "chamber", "water": "sea", "fire": "flame", "burned": "torched", "stolen": "robbed", "stole": "robbed",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Probe:
    """One question, and what it was made of."""

    kind: str
    text: str


def sentences(text: str) -> list[str]:
    """The sentences, list items and headings of a text, white space made single."""
    return [sentence for part in _BREAK.split(text) if (sentence := " ".join(part.split()).strip("#>*-|_ "))]


def words(text: str) -> list[str]:
    """The words of a text as written; a run without spaces gives pieces of two characters."""
    found: list[str] = []
    for word in _WORD.findall(text):
        if is_unspaced(word[0]):
            found += [word[at : at + 2] for at in range(0, len(word), 2)]
        else:
            found.append(word)
    return found


def count_passages(passages: Iterable[Passage]) -> Counter[str]:
    """Index term -> in how many passages it stands."""
    return Counter(term for passage in passages for term in set(index_terms(passage.exact_text).split()))


def probes(passage: Passage, passages_with: Mapping[str, int], seed: int) -> list[Probe]:
    """The questions for a passage, each text once. `passages_with` as `count_passages` gives it."""
    chance = random.Random(f"{seed} {passage.source_version_id} {passage.chunk_id}")  # noqa: S311 - chosen to be the same again
    found: dict[str, Probe] = {}
    for probe in _made(passage, passages_with, chance):
        text = probe.text[:_MOST_CHARACTERS].strip()
        if text:
            found.setdefault(text, Probe(probe.kind, text))
    return list(found.values())


def _made(passage: Passage, passages_with: Mapping[str, int], chance: random.Random) -> Iterator[Probe]:
    text = passage.exact_text
    yield Probe("title", passage.title)
    yield from (Probe("heading", heading) for heading in passage.heading_path[-2:])
    yield from (Probe("entity", entity) for entity in passage.entities)
    names = sorted(set(_NAME.findall(text)))
    named = chance.sample(names, min(2, len(names)))
    yield from (Probe("name", name) for name in named)
    yield Probe("rare words", " ".join(rare_words(text, passages_with)))
    about = [*named, *passage.heading_path[-1:], passage.title][0]
    yield Probe("question", f"Who or what is {about}?")
    said = [one for one in sentences(text) if len(index_terms(one).split()) >= _LEAST_TERMS]
    for sentence in chance.sample(said, min(SENTENCES, len(said))):
        yield Probe("sentence", sentence)
        yield from _paraphrases(sentence, chance)


def rare_words(text: str, passages_with: Mapping[str, int]) -> list[str]:
    """The words of a text that the fewest passages hold, the rarest first."""
    rarity: dict[str, int] = {}
    for word in words(text):
        terms = index_terms(word).split()
        if terms and not FUNCTION_WORDS.issuperset(terms):
            rarity.setdefault(word, min(passages_with.get(term, 0) for term in terms))
    return sorted(rarity, key=lambda word: (rarity[word], word))[:RARE_WORDS]


def _paraphrases(sentence: str, chance: random.Random) -> Iterator[Probe]:
    spoken = words(sentence)
    content = [word for word in spoken if not FUNCTION_WORDS.issuperset(index_terms(word).split())]
    yield Probe("shuffled", " ".join(chance.sample(content, len(content))))
    kept = sorted(chance.sample(range(len(spoken)), (len(spoken) + 1) // 2))
    yield Probe("half", " ".join(spoken[at] for at in kept))
    others = [_OTHER_WORDS.get(word.lower(), word) for word in spoken]
    if others != spoken:
        yield Probe("other words", " ".join(others))
    yield Probe("question", f"What happens with {' '.join(content[: len(content) // 2 + 1])}?")
