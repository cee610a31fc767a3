"""Unit length, checked: what every embedder gives back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from canonry.errors import EmbedderError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def to_unit_length(vectors: NDArray[np.floating[Any]], spec: str) -> NDArray[np.float32]:
    """Each row (n, d) scaled to length 1; a row that is not finite, or all zero, is refused."""
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64))
    if not np.isfinite(lengths).all() or not lengths.all():
        at = int(np.argmin(np.isfinite(lengths) & (lengths > 0)))
        raise EmbedderError(
            f"the embedder {spec} gave a vector of length {lengths[at]} for text {at} of {len(vectors)}: "
            "embed without that text, or choose another embedder"
        )
    scaled: NDArray[np.float32] = (vectors / lengths[:, np.newaxis]).astype(np.float32)
    return scaled
