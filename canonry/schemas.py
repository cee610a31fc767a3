"""The Parquet artifacts: their columns, a checked read, a whole write.

knowledge_chunk      one row per chunk of a document; key (document_key, chunk_index)
knowledge_embedding  one row per embedding window of a distinct text; key (text_hash, window)

A file's footer names its contract and what it was made from; a file of another contract is refused.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from canonry.errors import DamagedData
from canonry.files import whole_file

CHUNK_CONTRACT = "canonry/knowledge_chunk/1"
EMBEDDING_CONTRACT = "canonry/knowledge_embedding/1"

CHUNK = pa.schema([
    pa.field("document_key", pa.string(), nullable=False),  # fingerprint of the document's content and of its cutting
    pa.field("chunk_index", pa.int32(), nullable=False),  # from 0, in the order of the text
    pa.field("chunk_id", pa.string(), nullable=False),  # from content hash and span
    pa.field("content_hash", pa.string(), nullable=False),  # SHA-256 of the stored version
    pa.field("start_byte", pa.int64(), nullable=False),
    pa.field("end_byte", pa.int64(), nullable=False),  # exclusive
    pa.field("start_line", pa.int32(), nullable=False),  # from 1
    pa.field("end_line", pa.int32(), nullable=False),  # inclusive
    pa.field("heading_path", pa.list_(pa.string()), nullable=False),
    pa.field("page", pa.int32()),
    pa.field("token_count", pa.int32(), nullable=False),  # by canonry.tokens.COUNTER
    pa.field("spoiler_level", pa.int32(), nullable=False),  # as marked in the text; 0 is safe
    pa.field("spoiler_tags", pa.list_(pa.string()), nullable=False),
    pa.field("hidden", pa.bool_(), nullable=False),
    pa.field("lead", pa.string(), nullable=False),  # a split table's header; indexed, not quoted
    pa.field("text", pa.string(), nullable=False),  # the slice itself
    pa.field("text_hash", pa.string(), nullable=False),  # of what is embedded: heading path, lead and text, normalised
    pa.field("body_hash", pa.string(), nullable=False),  # of the text alone, normalised: equal means the same passage
    pa.field("heading_terms", pa.string(), nullable=False),  # by canonry.text, separated by spaces
    pa.field("body_terms", pa.string(), nullable=False),  # of lead and text
])  # fmt: skip


def embedding_schema(dimensions: int) -> pa.Schema:
    """Columns of knowledge_embedding for vectors of that many dimensions (unit length, float32)."""
    return pa.schema([
        pa.field("text_hash", pa.string(), nullable=False),
        pa.field("window", pa.int32(), nullable=False),  # from 0; a text longer than the model's window has several
        pa.field("vector", pa.list_(pa.float32(), dimensions), nullable=False),
    ])  # fmt: skip


def write(table: pa.Table, path: Path, contract: str, made_from: dict[str, object]) -> None:
    """Write a whole Parquet file whose footer says what it is and what it was made from."""
    footer = {
        b"canonry.contract": contract.encode(),
        b"canonry.made_from": json.dumps(made_from, sort_keys=True).encode(),
    }
    with whole_file(path) as temporary:
        pq.write_table(table.replace_schema_metadata(footer), temporary, compression="zstd", compression_level=1)


def made_from(path: Path, contract: str) -> dict[str, object]:
    """What a Parquet file's footer says it was made from; refuses other contracts and damaged files."""
    try:
        metadata = pq.read_metadata(path).metadata or {}
    except (OSError, pa.ArrowException) as error:
        raise DamagedData(
            f"{path}: not a readable Parquet file ({error}); `canonry reindex --full` writes it anew"
        ) from error
    found = metadata.get(b"canonry.contract", b"").decode()
    if found != contract:
        raise DamagedData(
            f"{path}: contract {found or 'none'}, expected {contract}; `canonry reindex --full` writes it anew"
        )
    origin = json.loads(metadata[b"canonry.made_from"])
    assert isinstance(origin, dict)
    return origin


def read(path: Path, contract: str, columns: list[str] | None = None) -> pa.Table:
    """The rows of a Parquet file of that contract."""
    made_from(path, contract)
    try:
        with pq.ParquetFile(path) as file:
            return file.read(columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise DamagedData(f"{path}: {error}; `canonry reindex --full` writes it anew") from error
