"""Secret text in public passages: a sentence of what a player may not see that stands, word for word, in what he may.

Words are compared as the index has them, so that typography, case and inflection make no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

from canonry.text import index_terms
from eval.quotes import Quotes
from flows.checks.findings import Examination, Finding
from flows.checks.passages import Passage, opened, passages, public_ranges, secret_ranges
from stages.chunking.sentences import sentence_cuts

QUOTED_TERMS = 8  # of a sentence; a shorter one is said by chance
MOST_SHOWN = 50  # findings; the others are counted
_SENTENCES_AT_ONCE = 100_000
_BREAK = re.compile(r"\n\s*(?=\n|[-*+|#>]|\d+[.)])")


@dataclass(frozen=True, slots=True)
class _Sentence:
    source_id: str
    line: int
    terms: str  # separated by spaces
    text: str


@dataclass(slots=True)
class _Quoted:
    """What of one source stands in another: the first sentence, and how many."""

    sentence: _Sentence
    place: str
    count: int = 1


def check(look: Examination) -> Iterator[Finding]:
    """One finding for each pair of a source with a secret and a source that says it openly."""
    with opened(look.at) as db:
        secret, public = secret_ranges(db), public_ranges(db)
        if not secret or not public:
            return
        sentences = _sentences(passages(look, db, secret))
        found: dict[tuple[str, str], _Quoted] = {}
        while block := list(islice(sentences, _SENTENCES_AT_ONCE)):
            look.checked["secret_sentences"] += len(block)
            _search(block, passages(look, db, public), found)
    for (source, public_source), quoted in islice(sorted(found.items()), MOST_SHOWN):
        sentences_said = "a sentence" if quoted.count == 1 else f"{quoted.count} sentences"
        yield Finding(
            "secret-quoted", f"a player reads {sentences_said} of what is kept from him in {source} (line {quoted.sentence.line})",
            quoted.place, f"take it out of {public_source}, or raise the level of that passage", text=quoted.sentence.text,
        )  # fmt: skip
    if len(found) > MOST_SHOWN:
        yield Finding(
            "secret-quoted", f"{len(found) - MOST_SHOWN} more pairs of sources share a secret", look.at.campaign,
            "mend those above and look again",
        )  # fmt: skip


def _sentences(secret: Iterable[Passage]) -> Iterator[_Sentence]:
    """The sentences of secret passages that are long enough."""
    for passage in secret:
        text = passage.text
        cuts = {0, len(text), *sentence_cuts(text, 0, len(text)), *(match.end() for match in _BREAK.finditer(text))}
        ordered = sorted(cuts)
        for start, end in pairwise(ordered):
            terms = index_terms(text[start:end])
            if len(terms.split()) >= QUOTED_TERMS:
                line = passage.first_line + text.count("\n", 0, start)
                yield _Sentence(passage.source_id, line, terms, " ".join(text[start:end].split()))


def _search(block: list[_Sentence], public: Iterable[Passage], found: dict[tuple[str, str], _Quoted]) -> None:
    quotes = Quotes(((sentence.terms, sentence) for sentence in block), QUOTED_TERMS)
    for passage in public:
        for sentence in sorted({*quotes.said_in(passage.terms.split())}, key=lambda one: (one.source_id, one.line)):
            pair = (sentence.source_id, passage.source_id)
            if pair in found:
                found[pair].count += 1
            else:
                found[pair] = _Quoted(sentence, passage.place)
