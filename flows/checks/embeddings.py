"""The Parquet parts of knowledge_embedding: readable, of the embedder whose folder they lie in, finite, of unit length."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from canonry import schemas
from flows.checks.findings import BROKEN, FIX, Examination, Finding
from stages.embed import without_vector

UNIT_WITHIN = 1e-3  # how far a length may be from 1
_ROWS_AT_ONCE = 4_096


def check(look: Examination) -> Iterator[Finding]:
    """Findings about the parts of every embedder; notes which texts are to have no vector."""
    parts = sorted((look.at.chunks / "vectors").glob("*/*.parquet"))
    for done, part in enumerate(parts, 1):
        try:
            wrong = _wrong(look, part)
        except BROKEN as error:
            look.bad_parts.add(part)
            yield look.damaged("embeddings-damaged", part, error)
        else:
            if wrong:
                look.bad_parts.add(part)
                yield Finding("embeddings-differ", wrong, look.named(part), FIX, fixable=True, remove=(part,))
        look.checked["embedding_parts"] += 1
        look.progress("vectors", done, len(parts))


def _wrong(look: Examination, part: Path) -> str:
    origin = schemas.made_from(part, schemas.EMBEDDING_CONTRACT)
    fingerprint, without = origin["embedder"], without_vector(origin)
    if fingerprint != part.parent.name:
        return f"was made by {fingerprint}, but lies among the vectors of {part.parent.name}"
    look.wordless.setdefault(fingerprint, set()).update(without)
    with pq.ParquetFile(part) as file:
        dimensions = file.schema_arrow.field("vector").type.list_size
        if not file.schema_arrow.remove_metadata().equals(schemas.embedding_schema(dimensions)):
            raise ValueError("its columns are not those of knowledge_embedding")
        for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
            vectors = batch.column("vector").flatten().to_numpy(zero_copy_only=False).reshape(-1, dimensions)
            if wrong := wrong_vectors(vectors):
                return wrong
            look.checked["embeddings"] += batch.num_rows
    return ""


def wrong_vectors(vectors: np.ndarray) -> str:
    """What is wrong with some vectors, (n, d) float32; empty where nothing is."""
    if not np.isfinite(vectors).all():
        return "holds a vector with a component that is no number"
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    far = np.flatnonzero(np.abs(lengths - 1.0) > UNIT_WITHIN)
    return f"holds {len(far)} vectors that are not of unit length ({lengths[far[0]]:.4f})" if len(far) else ""
