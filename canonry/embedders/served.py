"""An embedder behind an address: its windows, its requests, and what is made of a text that its server refuses."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from canonry.config import EmbedSettings
from canonry.embedders import estimate
from canonry.embedders.families import family_of
from canonry.embedders.interfaces import Interface, LengthRefused, open_interface
from canonry.embedders.recipe import Facts, Recipe, first_window, recipe_of, scripts_and_floor
from canonry.embedders.vectors import to_unit_length
from canonry.errors import EmbedderError, TextTooLong
from canonry.servers.address import parse_address
from canonry.servers.endpoint import Patience

if TYPE_CHECKING:
    from numpy.typing import NDArray

QUESTION = Patience(connect_s=1.0, whole_s=15.0, retries=1)  # a server may have to load the model first
GLANCE = Patience(connect_s=1.0, whole_s=15.0, retries=0)
_CONNECT_S = 5.0
_MOST_HALVINGS = 6
_ALMOST_LONGEST = 0.8  # of the longest text of a refused request: one of these is at fault
_FEWEST_TOKENS_A_WORD = 0.7  # fewer were read only if the server cut the text
_SAME_TEXT = 0.99999  # cosine at which two vectors are of one text
_SAME_MODEL = 0.99  # cosine of the fixed text's vectors by the same weights
_LEAST_WINDOW = 32
_PROBE = "The lamplighter of the lower harbour keeps the keys of seven drowned bells."
_FILLER = "Zeldomar of Qavrith met Uxthoral beyond Ynvessa, where the Korrigath wait for Thulmeridax "  # rare words, many tokens
_TAILS = ("a comet with nine tails burned above the frozen sea ", "seven cooks argued about pepper, plums and mutton ")


class Served:
    """A model that was reached before: `facts` are what was learned of it. Loading it sends nothing there."""

    def __init__(self, spec: str, settings: EmbedSettings, facts: Facts, interface: Interface | None = None) -> None:
        self.spec = spec
        self._settings = settings
        self._recipe = recipe_of(spec, settings, facts)
        self.fingerprint = self._recipe.fingerprint
        self.dimensions = facts.dimensions
        self.max_tokens = facts.window_tokens
        self.scripts, self.minimum_cosine = scripts_and_floor(spec)
        self._interface = interface or open_interface(parse_address(spec), settings)

    def windows(self, body: str, prefix: str = "") -> list[str]:
        """Texts that each fit the window as far as that can be told without the model's tokenizer."""
        return self._cut(body, prefix, self._recipe.document_prefix, 0)

    def smaller_windows(self, body: str, prefix: str, times: int) -> list[str]:
        """The windows of a text that was refused, halved so many times; [] where that is too small to mean anything."""
        return self._cut(body, prefix, self._recipe.document_prefix, times)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors (n, d) of unit length in the order of the texts. TextTooLong says which the server refuses."""
        patience = Patience(_CONNECT_S, self._settings.timeout, self._settings.retries)
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), self._settings.batch):
            batch = texts[start : start + self._settings.batch]
            try:
                vectors[start : start + len(batch)] = self._ask(self._recipe.document_prefix, batch, patience)
            except LengthRefused as error:
                raise TextTooLong(str(error), [start + at for at in longest(batch)], self.smaller_windows) from error
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector (d,) of unit length of a question; a long one is averaged over its windows."""
        prefix, times = self._recipe.query_prefix, 0
        patience = replace(QUESTION, whole_s=min(QUESTION.whole_s, self._settings.timeout))
        while windows := self._cut(text, "", prefix, times):
            try:
                batches = [
                    windows[at : at + self._settings.batch] for at in range(0, len(windows), self._settings.batch)
                ]
                vectors = np.concatenate([self._ask(prefix, batch, patience) for batch in batches])
            except LengthRefused:
                times += 1
                continue
            mean: NDArray[np.float32] = to_unit_length(vectors.mean(axis=0, keepdims=True), self.spec)[0]
            return vectors[0] if len(vectors) == 1 else mean
        if times:
            raise EmbedderError(f"the embedder {self.spec} refuses the question for its length: ask a shorter one")
        raise EmbedderError("a question without a single word has no vector: ask with words")

    def _cut(self, body: str, heading: str, prefix: str, times: int) -> list[str]:
        """Windows halved so many times, with room for what is put before each; [] where that is too small."""
        room = estimate.room_of(self.max_tokens, prefix, times)
        return estimate.cut(body, heading, room) if room >= estimate.LEAST_ROOM and times <= _MOST_HALVINGS else []

    def _ask(self, prefix: str, texts: Sequence[str], patience: Patience) -> NDArray[np.float32]:
        """The vectors of texts after a prefix; LengthRefused too where the server cut them without a word."""
        sent = [prefix + text for text in texts]
        vectors, counted = self._interface.embed(sent, self.dimensions, patience)
        if counted is not None and counted < _FEWEST_TOKENS_A_WORD * sum(len(text.split()) for text in sent):
            raise LengthRefused(f"the embedder {self.spec} read {counted} tokens of a longer text: it was cut")
        return vectors


def longest(texts: Sequence[str]) -> list[int]:
    """Places of the texts that are about as long as the longest: one of them was refused."""
    sizes = [len(estimate.estimate(text).spans) for text in texts]
    return [at for at, size in enumerate(sizes) if size >= _ALMOST_LONGEST * max(sizes)]


def learn(
    spec: str,
    settings: EmbedSettings,
    known: Facts | None = None,
    *,
    glance: bool = False,
    interface: Interface | None = None,
) -> Facts:
    """What the server says of the model now; `known` itself where nothing changed. EmbedderError where it cannot be had.

    A glance does not wait: it asks once, and takes the window of a model that changed as it is said to be.
    """
    address = parse_address(spec)
    asked = interface or open_interface(address, settings)
    patience = GLANCE if glance else Patience(_CONNECT_S, settings.timeout, min(settings.retries, 2))
    identity = asked.identity(patience)
    if known and known.digest and (known.digest, known.context_tokens) == (identity.digest, identity.context_tokens):
        return known
    recipe = recipe_of(spec, settings, None)
    vector = asked.embed([recipe.document_prefix + _PROBE], None, patience)[0][0]
    digest = identity.digest or _known_again(known, vector)
    if known and (known.digest, known.context_tokens, known.dimensions) == (
        digest,
        identity.context_tokens,
        len(vector),
    ):
        return known
    facts = Facts(
        digest,
        len(vector),
        identity.context_tokens,
        first_window(family_of(address.model), settings, identity.context_tokens),
        settings.max_tokens or 0,
        settings.dimensions or 0,
        tuple(round(float(value), 6) for value in vector),
    )
    return facts if glance else replace(facts, window_tokens=_uncut_window(asked, recipe, facts, patience))


def _known_again(known: Facts | None, vector: NDArray[np.float32]) -> str:
    """The version of a model whose server names none: the one that is known, or another where the fixed text moved."""
    if known is None or len(known.probe) != len(vector):
        return ""  # dimensions alone tell them apart
    if float(np.dot(known.probe, vector)) >= _SAME_MODEL:
        return known.digest
    return f"probe-{hashlib.sha256(np.round(vector, 2).tobytes()).hexdigest()[:16]}"


def _uncut_window(asked: Interface, recipe: Recipe, facts: Facts, patience: Patience) -> int:
    """The largest window, by halves, of which the server neither refuses nor drops the end.

    Two texts that differ at their end alone get one vector where the end is dropped.
    """
    window = facts.window_tokens
    while window >= _LEAST_WINDOW:
        room = estimate.room_of(window, recipe.document_prefix)
        pair = [recipe.document_prefix + _filled(room, tail) for tail in _TAILS]
        try:
            vectors, counted = asked.embed(pair, facts.dimensions, patience)
            words = sum(len(text.split()) for text in pair)
            cut_short = counted is not None and counted < _FEWEST_TOKENS_A_WORD * words
            if not cut_short and float(np.dot(vectors[0], vectors[1])) < _SAME_TEXT:
                return window
        except LengthRefused:
            pass
        window //= 2
    raise EmbedderError(
        f"the embedder {recipe.kind}:{recipe.model} takes no text of {_LEAST_WINDOW} tokens whole: choose another model"
    )


def _filled(room: int, tail: str) -> str:
    """A text of about `room` estimated tokens, the last tenth of it a tail."""
    return estimate.cut(_FILLER * room, "", room - room // 10)[0] + " " + estimate.cut(tail * room, "", room // 10)[0]
