"""Embedders that are plain code: no model, but everything else as a real one does it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from canonry.errors import EmbedderError


class WordBag:
    """A bag of hashed words, unit length: texts that share words are near. Counts the texts it was given."""

    dimensions = 64
    max_tokens = 50  # words
    scripts = frozenset({"Latin"})
    minimum_cosine = 0.1

    def __init__(self, spec: str = "wordbag", *, failures: int = 0, dimensions: int = 64) -> None:
        self.spec = spec
        self.dimensions = dimensions
        self.fingerprint = f"{spec}-{dimensions}"
        self.failures = failures  # the first so many calls of embed_documents fail
        self.embedded: list[str] = []

    def windows(self, body: str, prefix: str = "") -> list[str]:
        words = body.split()
        step = self.max_tokens - 10
        pieces = [" ".join(words[at : at + step]) for at in range(0, len(words), step)]
        return [f"{' '.join(prefix.split()[-10:])} {piece}".strip() for piece in pieces or ([""] if prefix else [])]

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.failures > 0:
            self.failures -= 1
            raise EmbedderError("the word bag is away; wait for it")
        self.embedded += texts
        return np.array([self._vector(text) for text in texts], np.float32).reshape(len(texts), self.dimensions)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._vector(text)

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.full(self.dimensions, 1e-6, np.float32)
        for word in text.lower().split():
            digest = hashlib.sha256(word.strip(".,;:!?#").encode()).digest()
            vector[digest[0] % self.dimensions] += 1.0 if digest[1] % 2 else -1.0
        return np.asarray(vector / np.linalg.norm(vector), np.float32)
