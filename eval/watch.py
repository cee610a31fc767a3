"""Whether something that an asker was shown holds what is kept from him: a passage, an id, or a sentence word for word."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from canonry.pack import Pack
from canonry.retrieval import Answer, Passage
from canonry.text import index_terms
from eval.probes import sentences
from eval.quotes import Quotes
from eval.sight import Key, Sight, key

SHORTEST = 4  # terms of a sentence that is looked for; a passage of fewer is known by its id alone
_APART = "|"  # is no term, so that no sentence spans two fields
_ID = re.compile(r"[\w@-]+")


@dataclass(frozen=True, slots=True)
class Secret:
    """What showed of a forbidden passage: `what` is passage, id or text."""

    what: str
    chunk_id: str
    source_id: str
    line: int
    text: str  # what showed, for the owner


def shown_fields(passage: Passage) -> tuple[str, ...]:
    """The texts that a passage shows of itself."""
    return passage.title, *passage.heading_path, passage.exact_text, passage.uri, *passage.tags, *passage.entities


def passage_terms(passage: Passage) -> list[str]:
    """Their index terms, in order."""
    return _terms(shown_fields(passage))


def _terms(texts: Iterable[str]) -> list[str]:
    return f" {_APART} ".join(map(index_terms, texts)).split()


class Watch:
    """What is kept from one asker, ready to be looked for. `terms` are those of every passage, by key.

    A forbidden sentence that an allowed passage says too is no secret.
    """

    def __init__(self, sight: Sight, terms: Mapping[Key, list[str]]) -> None:
        self._sight = sight
        quotes = Quotes(_sentences(sight.forbidden.values()), SHORTEST)
        openly = {one for at in sight.allowed for one in quotes.said_in(terms[at])}
        told = [(text, secret) for text, secret in _sentences(sight.forbidden.values()) if secret not in openly]
        self._quotes = Quotes(told, SHORTEST)
        self._ids = _ids(sight)

    def of_answer(self, answer: Answer) -> list[Secret]:
        """What an answer shows that it may not. Words that the asker used himself may come back to him as reasons."""
        told = [answer.degraded or "", *answer.notices, *(why for one in answer.results for why in one.reasons)]
        return _once([
            *(secret for passage in answer.results for secret in self._of_passage(passage)),
            *self._of_ids(json.dumps(answer.as_json(), ensure_ascii=False)),
            *self._of_echo(told, answer.query),
        ])  # fmt: skip

    def of_pack(self, pack: Pack) -> list[Secret]:
        """The same of a pack: its text as a prompt gets it, its items, what was left out, and every warning."""
        told = [*(omitted.reason for omitted in pack.omitted), *(item.why for item in pack.items), *pack.notices]
        shown = [pack.text, *(omitted.name for omitted in pack.omitted), *pack.warnings]
        return _once([
            *(secret for item in pack.items for secret in self._of_passage(item.passage)),
            *self._of_ids(json.dumps(pack.as_json(), ensure_ascii=False)),
            *self._quotes.said_in(_terms(shown)),
            *self._of_echo([pack.degraded or "", *told], pack.query),
        ])  # fmt: skip

    def of_text(self, text: str) -> list[Secret]:
        """What a message shows: an id or a sentence."""
        return _once([*self._of_ids(text), *self._quotes.said_in(_terms([text]))])

    def _of_passage(self, passage: Passage) -> list[Secret]:
        allowed = self._sight.allowed.get(key(passage))
        if allowed is None:
            return [_secret("passage", passage, passage.exact_text)]
        if shown_fields(passage) == shown_fields(allowed):
            return []
        return self._quotes.said_in(passage_terms(passage))

    def _of_ids(self, text: str) -> list[Secret]:
        return [self._ids[name] for name in dict.fromkeys(_ID.findall(text)) if name in self._ids]

    def _of_echo(self, told: Iterable[str], query: str) -> list[Secret]:
        asked = {*self._quotes.said_in(index_terms(query).split())}
        return [secret for secret in self._quotes.said_in(_terms(told)) if secret not in asked]


def _sentences(passages: Iterable[Passage]) -> Iterable[tuple[str, Secret]]:
    for passage in passages:
        for text in (passage.title, *passage.heading_path, *passage.entities, *sentences(passage.exact_text)):
            yield index_terms(text), _secret("text", passage, text)


def _ids(sight: Sight) -> dict[str, Secret]:
    """Ids of chunks, versions and sources of which the asker may see nothing -> what they stand for."""
    in_sight = {name for passage in sight.allowed.values() for name in _names(passage)}
    return {
        name: _secret("id", passage, name)
        for passage in sight.forbidden.values()
        for name in _names(passage)
        if name not in in_sight
    }


def _names(passage: Passage) -> tuple[str, str, str]:
    return passage.chunk_id, passage.source_version_id, passage.source_id


def _secret(what: str, passage: Passage, text: str) -> Secret:
    return Secret(what, passage.chunk_id, passage.source_id, passage.start_line, " ".join(text.split()))


def _once(found: Sequence[Secret]) -> list[Secret]:
    return list(dict.fromkeys(found))
