"""all-MiniLM-L6-v2 in int8 on onnxruntime: 384 dimensions, windows of 256 tokens, CPU only, no network.

Texts run one at a time: batches of 8 and 32 were 20 to 35 % slower on this model (padding, and activations that leave
the cache), so a vector cannot depend on its neighbours. Batched vectors were the same bytes here all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import tokenizers

from canonry.embedders.files import FindPackage, find_package, read_checked
from canonry.embedders.models import MINILM
from canonry.embedders.runtime import open_session
from canonry.embedders.vectors import to_unit_length
from canonry.embedders.windows import Tokens, cut_windows, plain
from canonry.errors import EmbedderError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPECIAL_TOKENS = 2  # [CLS] and [SEP] around each text


class MiniLM:
    """The default embedder. Loading reads and checks 23 MB and takes about a third of a second."""

    spec = MINILM.spec
    fingerprint = MINILM.fingerprint
    dimensions = MINILM.dimensions
    max_tokens = MINILM.max_tokens
    scripts = MINILM.scripts
    minimum_cosine = MINILM.minimum_cosine

    def __init__(self, find: FindPackage = find_package) -> None:
        """Load the model from installed packages; `find` gives a package's folder."""
        self._tokenizer = _load_tokenizer(read_checked(MINILM, MINILM.tokenizer, find))
        self._session = open_session(read_checked(MINILM, MINILM.weights, find), self.spec)

    def windows(self, body: str, prefix: str = "") -> list[str]:
        """Texts that each fit the window; the prefix, at most a quarter of it, comes before each."""
        return cut_windows(body, prefix, self.max_tokens - _SPECIAL_TOKENS, self._tokens)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors (n, 384) of unit length, in the order of the texts, each of which must fit the window."""
        encodings = self._tokenizer.encode_batch([plain(text) for text in texts])
        for at, encoding in enumerate(encodings):
            if not _SPECIAL_TOKENS < len(encoding.ids) <= self.max_tokens:
                raise EmbedderError(
                    f"text {at} has {len(encoding.ids)} tokens and minilm takes {_SPECIAL_TOKENS + 1} to "
                    f"{self.max_tokens}: cut it with windows()"
                )
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for at, encoding in enumerate(encodings):
            vectors[at] = self._mean(encoding.ids)
        return to_unit_length(vectors, self.spec)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector (384,) of a question; of a long one, the mean over its windows."""
        windows = self.windows(text)
        if not windows:
            raise EmbedderError("a question without a single word has no vector: ask with words")
        vectors = self.embed_documents(windows)
        mean: NDArray[np.float32] = to_unit_length(vectors.mean(axis=0, keepdims=True), self.spec)[0]
        return vectors[0] if len(vectors) == 1 else mean

    def _mean(self, ids: list[int]) -> NDArray[np.float32]:
        """The mean (384,) of the last hidden states of one text."""
        tokens = np.array([ids], dtype=np.int64)  # (1, length)
        feed = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        states = np.asarray(self._session.run(None, feed)[0])  # (1, length, 384)
        mean: NDArray[np.float32] = states[0].mean(axis=0)
        return mean

    def _tokens(self, text: str) -> Tokens:
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        spans, words = encoding.offsets, encoding.word_ids
        begins = [word != before for word, before in zip(words, [None, *words], strict=False)]
        borders = [
            begun * (2 if text[start - 1 : start].isspace() else 1)
            for begun, (start, _) in zip(begins, spans, strict=True)
        ]
        return Tokens(spans, borders)


def _load_tokenizer(content: bytes) -> tokenizers.Tokenizer:
    """The model's tokenizer, without truncation or padding, to which "[CLS]" in a text is five ordinary characters."""
    tokenizer = tokenizers.Tokenizer.from_buffer(content)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer
