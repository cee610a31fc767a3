"""Whether something that an asker was shown holds what is kept from him: a passage, an id, or a sentence word for word."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
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


class Secrets:
    """The sentences and ids of passages that are kept from anyone, and where they stand; one for all askers.

    `secret` are those passages, `known` they and all others.
    """

    def __init__(self, secret: Iterable[Passage], known: Iterable[Passage]) -> None:
        self.quotes = Quotes(_sentences(secret), SHORTEST)
        self.said_by: dict[tuple[Key, Secret], set[Key]] = {}
        self.bearers: dict[str, dict[Key, Passage]] = {}  # id of a chunk, version or source -> passages of that id
        for passage in known:
            for one in self.quotes.said_in(passage_terms(passage)):
                self.said_by.setdefault(one, set()).add(key(passage))
            for name in (passage.chunk_id, passage.source_version_id, passage.source_id):
                self.bearers.setdefault(name, {})[key(passage)] = passage


class Watch:
    """What is kept from one asker, ready to be looked for. A sentence that an allowed passage says too is no secret."""

    def __init__(self, sight: Sight, secrets: Secrets) -> None:
        self._sight = sight
        self._secrets = secrets

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
            *self._of_terms(_terms(shown)),
            *self._of_echo([pack.degraded or "", *told], pack.query),
        ])  # fmt: skip

    def of_text(self, text: str) -> list[Secret]:
        """What a message shows: an id or a sentence."""
        return _once([*self._of_ids(text), *self._of_terms(_terms([text]))])

    def _of_passage(self, passage: Passage) -> list[Secret]:
        allowed = self._sight.allowed.get(key(passage))
        if allowed is None:
            return [_secret("passage", passage, passage.exact_text)]
        if shown_fields(passage) == shown_fields(allowed):
            return []
        return self._of_terms(passage_terms(passage))

    def _of_ids(self, text: str) -> list[Secret]:
        """Ids of which the asker may see nothing."""
        found = []
        for name in dict.fromkeys(_ID.findall(text)):
            bearers = self._secrets.bearers.get(name)
            if bearers and not self._may_see(bearers):
                found.append(_secret("id", next(iter(bearers.values())), name))
        return found

    def _of_terms(self, terms: Sequence[str]) -> list[Secret]:
        return [
            secret
            for at, secret in self._secrets.quotes.said_in(terms)
            if at in self._sight.forbidden and not self._may_see(self._secrets.said_by.get((at, secret), ()))
        ]

    def _may_see(self, passages: Iterable[Key]) -> bool:
        """Whether any of these passages is allowed."""
        return any(at in self._sight.allowed for at in passages)

    def _of_echo(self, told: Iterable[str], query: str) -> list[Secret]:
        asked = {*self._of_terms(index_terms(query).split())}
        return [secret for secret in self._of_terms(_terms(told)) if secret not in asked]


def _sentences(passages: Iterable[Passage]) -> Iterator[tuple[str, tuple[Key, Secret]]]:
    for passage in passages:
        for text in (passage.title, *passage.heading_path, *passage.entities, *sentences(passage.exact_text)):
            yield index_terms(text), (key(passage), _secret("text", passage, text))


def _secret(what: str, passage: Passage, text: str) -> Secret:
    return Secret(what, passage.chunk_id, passage.source_id, passage.start_line, " ".join(text.split()))


def _once(found: Sequence[Secret]) -> list[Secret]:
    return list(dict.fromkeys(found))
