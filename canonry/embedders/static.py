"""WordLlama's table of 32,000 token vectors: a text is the mean of its tokens' rows, 256 dimensions, no model to run.

For very large corpora: thousands of passages a second. A question reads only the rows that it needs of the mapped
table and checks the table's size alone; its SHA-256 is checked before the first document is embedded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tokenizers

from canonry.embedders.files import FindPackage, find_package, locate, read_checked
from canonry.embedders.models import STATIC
from canonry.embedders.vectors import to_unit_length
from canonry.embedders.windows import PREFIX_SHARE, Tokens, cut_windows, join_prefix, plain
from canonry.errors import DamagedData, EmbedderError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TENSOR = "embedding.weight"
_SLACK = 1_000  # tokens: a cut text is tokenized a little differently at its ends


class Static:
    """The table embedder. Loading takes about 60 ms, nearly all of it for the tokenizer."""

    spec = STATIC.spec
    fingerprint = STATIC.fingerprint
    dimensions = STATIC.dimensions
    max_tokens = STATIC.max_tokens
    scripts = STATIC.scripts
    minimum_cosine = STATIC.minimum_cosine

    def __init__(self, find: FindPackage = find_package) -> None:
        """Map the table from the installed package; `find` gives a package's folder."""
        self._find = find
        self._tokenizer = tokenizers.Tokenizer.from_buffer(read_checked(STATIC, STATIC.tokenizer, find))
        self._tokenizer.encode_special_tokens = True  # "<s>" in a text is three ordinary characters
        self._rows = _map_table(locate(STATIC, STATIC.weights, find))  # (32000, 256) float16
        self._table: NDArray[np.float32] | None = None  # the same in memory, once documents are embedded

    def windows(self, body: str, prefix: str = "") -> list[str]:
        """The text itself after its prefix, but for texts of more than a hundred thousand tokens."""
        room = self.max_tokens - _SLACK
        if body.strip() and 4 * len(body) < room and 4 * PREFIX_SHARE * len(prefix) < room:  # no character is 5 tokens
            return [plain(join_prefix(prefix, body))]
        return cut_windows(body, prefix, room, self._tokens)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors (n, 256) of unit length, in the order of the texts."""
        if self._table is None:
            read_checked(STATIC, STATIC.weights, self._find)
            self._table = self._rows.astype(np.float32)
        encodings = self._tokenizer.encode_batch_fast([plain(text) for text in texts], add_special_tokens=False)
        return self._means([encoding.ids for encoding in encodings], self._table)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector (256,) of a question; of a very long one, the mean over its windows."""
        windows = self.windows(text)
        if not windows:
            raise EmbedderError("a question without a single word has no vector: ask with words")
        ids = [self._tokenizer.encode(window, add_special_tokens=False).ids for window in windows]
        vectors = self._means(ids, self._rows)
        mean: NDArray[np.float32] = to_unit_length(vectors.mean(axis=0, keepdims=True), self.spec)[0]
        return vectors[0] if len(vectors) == 1 else mean

    def _means(self, ids: list[list[int]], table: NDArray[np.float32] | NDArray[np.float16]) -> NDArray[np.float32]:
        vectors = np.empty((len(ids), self.dimensions), dtype=np.float32)
        for at, tokens in enumerate(ids):
            if not 0 < len(tokens) <= self.max_tokens:
                raise EmbedderError(
                    f"text {at} has {len(tokens)} tokens and static takes 1 to {self.max_tokens}: cut it with windows()"
                )
            vectors[at] = table.take(tokens, axis=0).astype(np.float32, copy=False).mean(axis=0)
        return to_unit_length(vectors, self.spec)

    def _tokens(self, text: str) -> Tokens:
        if not text.strip():
            return Tokens([], [])
        spans = self._tokenizer.encode(text, add_special_tokens=False).offsets  # of "▁word" the blank is a part
        return Tokens(spans, [2 * (text[start].isspace() or text[start - 1 : start].isspace()) for start, _ in spans])


def _map_table(path: Path) -> NDArray[np.float16]:
    """The one tensor of a safetensors file: 8 bytes of header length, a JSON header, raw rows."""
    try:
        with path.open("rb") as file:
            header_bytes = int.from_bytes(file.read(8), "little")
            tensor = json.loads(file.read(header_bytes))[_TENSOR]
        start, shape = 8 + header_bytes + tensor["data_offsets"][0], tuple(tensor["shape"])
        if tensor["dtype"] != "F16" or shape[1:] != (STATIC.dimensions,):
            raise ValueError(f"{tensor['dtype']} {shape}")
        return np.memmap(path, dtype=np.float16, mode="r", offset=start, shape=shape)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedData(
            f"{path} is not the table that the embedder static reads ({error}): "
            f'pip install --force-reinstall "{STATIC.requirement}"'
        ) from error
