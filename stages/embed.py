"""embed: texts of chunks -> one Parquet part of knowledge_embedding, one vector for each window of each text.

A text is known by its hash: what an earlier part of the same embedder holds is not embedded again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from canonry import schemas
from canonry.embedders import knows
from canonry.errors import DamagedData, EmbedderError, TextTooLong
from stages.chunk import embedding_parts

if TYPE_CHECKING:
    from canonry.embedders import Embedder

VERSION = "1"
UNREADABLE = "in a script that the model does not know, or without a word"
TOO_LONG = "refused by the model's server for its length, however small it was cut"
LENGTH_TOLERANCE = 1e-3  # of a unit vector
MOST_PARTS = 64  # above this many small parts they are merged into one
_TEXT_COLUMNS = ["text_hash", "heading_path", "lead", "text"]


@dataclass(frozen=True, slots=True)
class Text:
    """What is embedded for every chunk of that hash."""

    text_hash: str
    prefix: str
    body: str


def read_texts(parts: Sequence[Path], wanted: set[str]) -> Iterator[Text]:
    """The wanted texts, each once, in the order of the parts."""
    left = set(wanted)
    for part in parts:
        if not left:
            return
        for batch in schemas.read(part, schemas.CHUNK_CONTRACT, _TEXT_COLUMNS).to_batches(max_chunksize=2_000):
            for row in batch.to_pylist():
                if row["text_hash"] in left:
                    left.discard(row["text_hash"])
                    yield Text(row["text_hash"], *embedding_parts(row["heading_path"], row["lead"], row["text"]))


def split_known(texts: Sequence[Text], scripts: frozenset[str]) -> tuple[list[Text], list[str]]:
    """(texts whose script the model knows, hashes of the others, which stay lexical-only)."""
    known = [text for text in texts if knows(scripts, text.body)]
    kept = {text.text_hash for text in known}
    return known, [text.text_hash for text in texts if text.text_hash not in kept]


def embed_texts(texts: Sequence[Text], out: Path, embedder: Embedder) -> Path:
    """Embed the texts into a part in the folder `out`; all of them or, on an error, nothing.

    A text in which the model finds nothing to embed is named in the footer and has no row; so is one that the model
    refuses however small it is cut, with the reason.
    """
    cut = {text.text_hash: embedder.windows(text.body, text.prefix) for text in texts}
    wordless = [text_hash for text_hash, made in cut.items() if not made]
    refused: dict[str, str] = {}
    vectors = _embed_windows(texts, cut, refused, embedder)
    owners = [(text_hash, number) for text_hash, made in cut.items() for number in range(len(made))]
    if vectors.shape != (len(owners), embedder.dimensions) or not np.isfinite(vectors).all():
        raise EmbedderError(
            f"embedder {embedder.spec} answered {vectors.shape} for {len(owners)} texts of {embedder.dimensions} "
            "dimensions; nothing was stored, try `canonry reindex` again"
        )
    key = hashlib.sha256("\n".join(text.text_hash for text in texts).encode()).hexdigest()[:20]
    path = out / f"{key}.parquet"
    without = dict.fromkeys(wordless, UNREADABLE) | refused
    _write([owner for owner, _ in owners], [number for _, number in owners], vectors, path, embedder, without)
    return path


def _embed_windows(
    texts: Sequence[Text], cut: dict[str, list[str]], refused: dict[str, str], embedder: Embedder
) -> np.ndarray:
    """Vectors of all windows in order. A text that is refused for its length is cut smaller in `cut`, and tried again."""
    parts = {text.text_hash: text for text in texts}
    halvings: dict[str, int] = {}
    while True:
        owners = [text_hash for text_hash, made in cut.items() for _ in made]
        windows = [window for made in cut.values() for window in made]
        if not windows:
            return np.empty((0, embedder.dimensions), np.float32)
        try:
            return embedder.embed_documents(windows)
        except TextTooLong as error:
            for text_hash in {owners[place] for place in error.places}:
                text, before = parts[text_hash], cut[text_hash]
                halvings[text_hash] = halvings.get(text_hash, 0) + 1
                cut[text_hash] = error.smaller(text.body, text.prefix, halvings[text_hash])
                if not cut[text_hash] or cut[text_hash] == before:
                    cut[text_hash] = []
                    refused[text_hash] = TOO_LONG


def _write(
    hashes: list[str], windows: list[int], vectors: np.ndarray, path: Path, embedder: Embedder, without: dict[str, str]
) -> None:
    schema = schemas.embedding_schema(embedder.dimensions)
    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).ravel())
    columns = [
        pa.array(hashes, pa.string()),
        pa.array(windows, pa.int32()),
        pa.FixedSizeListArray.from_arrays(flat, embedder.dimensions),
    ]
    made_from: dict[str, object] = {
        "embedder": embedder.fingerprint,
        "spec": embedder.spec,
        "stage": VERSION,
        "without": without,
    }
    schemas.write(pa.Table.from_arrays(columns, schema=schema), path, schemas.EMBEDDING_CONTRACT, made_from)


def note_unembedded(hashes: Sequence[str], out: Path, embedder: Embedder) -> Path:
    """Remember texts that this embedder is not meant to embed, as a part without rows."""
    key = hashlib.sha256("\n".join(sorted(hashes)).encode()).hexdigest()[:20]
    path = out / f"without-{key}.parquet"
    _write([], [], np.empty((0, embedder.dimensions), np.float32), path, embedder, dict.fromkeys(hashes, UNREADABLE))
    return path


def dimensions_of(folder: Path) -> int | None:
    """Dimensions of the vectors in a folder of parts; None where there is none."""
    for part in sorted(folder.glob("*.parquet")):
        return int(schemas.read(part, schemas.EMBEDDING_CONTRACT, ["vector"]).schema.field("vector").type.list_size)
    return None


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Every vector of one embedder: (text, window) once each; `without` are texts that get none, with the reason."""

    hashes: list[str]
    windows: np.ndarray  # (n,) int32
    vectors: np.ndarray  # (n, dimensions) float32, unit length
    without: dict[str, str]


def read_embeddings(folder: Path, fingerprint: str, dimensions: int) -> Embeddings:
    """What the parts in `folder` hold of that embedder."""
    tables: list[pa.Table] = []
    without: dict[str, str] = {}
    for part, named in _parts(folder, fingerprint):
        tables.append(schemas.read(part, schemas.EMBEDDING_CONTRACT))
        without |= named
    if not tables:
        return Embeddings([], np.empty(0, np.int32), np.empty((0, dimensions), np.float32), without)
    table = pa.concat_tables(tables).combine_chunks()
    flat = table.column("vector").combine_chunks()
    values = (flat.chunk(0) if isinstance(flat, pa.ChunkedArray) else flat).flatten().to_numpy(zero_copy_only=False)
    hashes = table.column("text_hash").to_pylist()
    return Embeddings(hashes, table.column("window").to_numpy(), values.reshape(-1, dimensions), without)


def known_hashes(folder: Path, fingerprint: str) -> set[str]:
    """Hashes of the texts that this embedder has seen already."""
    known: set[str] = set()
    for part, without in _parts(folder, fingerprint):
        known |= without.keys()
        known.update(schemas.read(part, schemas.EMBEDDING_CONTRACT, ["text_hash"]).column("text_hash").to_pylist())
    return known


def _parts(folder: Path, fingerprint: str) -> Iterator[tuple[Path, dict[str, str]]]:
    """(part, its texts that get no vector, with the reason) of that embedder, sorted; a part that cannot be read is removed and made again."""
    for part in sorted(folder.glob("*.parquet")):
        try:
            origin = schemas.made_from(part, schemas.EMBEDDING_CONTRACT)
        except DamagedData:
            part.unlink()
            continue
        if origin.get("embedder") == fingerprint:
            yield part, without_vector(origin)


def without_vector(origin: Mapping[str, object]) -> dict[str, str]:
    """The texts that a part's footer names as having no vector, with the reason."""
    earlier, named = origin.get("wordless", []), origin.get("without", {})  # the first as footers were once written
    if not isinstance(earlier, list) or not isinstance(named, dict):
        raise ValueError("the footer does not name its texts without a vector")
    return dict.fromkeys(earlier, UNREADABLE) | named


def check_part(file: BinaryIO, fingerprint: str, dimensions: int) -> str | None:
    """What is wrong with a part that comes from elsewhere; None where that embedder could have written it."""
    try:
        with pq.ParquetFile(file) as part:
            footer = part.schema_arrow.metadata or {}
            if footer.get(b"canonry.contract", b"").decode() != schemas.EMBEDDING_CONTRACT:
                return f"is not of contract {schemas.EMBEDDING_CONTRACT}"
            origin = json.loads(footer[b"canonry.made_from"])
            if origin["embedder"] != fingerprint or not all(isinstance(text, str) for text in without_vector(origin)):
                return f"was not made by {fingerprint}"
            if not part.schema_arrow.remove_metadata().equals(schemas.embedding_schema(dimensions)):
                return f"does not hold vectors of {dimensions} dimensions"
            for batch in part.iter_batches(8_192):
                vectors = np.from_dlpack(batch.column("vector").flatten()).reshape(-1, dimensions)
                lengths = np.linalg.norm(vectors, axis=1)
                if batch.column("vector").null_count or not (np.abs(lengths - 1) < LENGTH_TOLERANCE).all():
                    return "holds vectors that are not of unit length"
    except (ValueError, KeyError, TypeError, OSError, pa.ArrowException) as error:
        return f"is not a readable Parquet file ({error})"
    return None


def merge_parts(folder: Path, embedder: Embedder) -> None:
    """Merge many small parts into one; the old ones go after the new one is there."""
    parts = sorted(folder.glob("*.parquet"))
    if len(parts) <= MOST_PARTS:
        return
    held = read_embeddings(folder, embedder.fingerprint, embedder.dimensions)
    names = "".join(part.name for part in parts)
    merged = folder / f"merged-{hashlib.sha256(names.encode()).hexdigest()[:20]}.parquet"
    _write(held.hashes, held.windows.tolist(), held.vectors, merged, embedder, held.without)
    for part in parts:
        part.unlink()
