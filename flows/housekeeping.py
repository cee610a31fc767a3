"""The parts and stored files of a campaign: which there are, merged when there are many, purged of what no version holds."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pyarrow as pa

from canonry import passing_files, schemas
from canonry.catalog import Catalog
from canonry.config import Settings
from canonry.errors import CanonryError
from canonry.layout import Layout
from flows.plan import all_documents, read_index, unknown_files
from stages import embed, index_lexical, index_vectors
from stages.chunk import part_key
from stages.embed import without_vector

MOST_PARTS = 48  # of chunks; above this the small ones are merged
SMALL_PART_BYTES = 2_000_000


def read_parts(at: Layout, *, mend: bool = True) -> dict[str, Path]:
    """Document key -> the part that holds it. A writer (`mend`) removes a part that cannot be read: it is made again."""
    held: dict[str, Path] = {}
    for part in sorted(at.chunks.glob("chunks-*.parquet")):
        try:
            documents = schemas.made_from(part, schemas.CHUNK_CONTRACT)["documents"]
        except CanonryError:
            if mend:
                part.unlink(missing_ok=True)
            continue
        assert isinstance(documents, dict)
        held |= dict.fromkeys(documents, part)
    return held


def count_chunks(at: Layout) -> dict[str, int]:
    """Version id -> its number of chunks, superseded versions too; without those that no part holds."""
    counts: dict[str, int] = {}
    for part in set(read_parts(at, mend=False).values()):
        documents = schemas.made_from(part, schemas.CHUNK_CONTRACT)["documents"]
        assert isinstance(documents, dict)
        counts |= documents
    with closing(Catalog.open(at.catalog)) as catalog:
        versions = all_documents(catalog, Settings.parse(catalog.settings()))
    return {document.version_id: counts[document.key] for document in versions if document.key in counts}


def merge_parts(at: Layout) -> None:
    """Merge small parts of chunks into one where there are many; the old ones go after the new one is there."""
    parts = sorted(at.chunks.glob("chunks-*.parquet"))
    small = [part for part in parts if part.stat().st_size < SMALL_PART_BYTES]
    if len(parts) <= MOST_PARTS or len(small) < 2:
        return
    documents: dict[str, object] = {}
    tables: list[pa.Table] = []
    for part in small:
        origin = schemas.made_from(part, schemas.CHUNK_CONTRACT)
        held = origin["documents"]
        assert isinstance(held, dict)
        fresh = {key: count for key, count in held.items() if key not in documents}
        table = schemas.read(part, schemas.CHUNK_CONTRACT)
        tables.append(table.filter([key in fresh for key in table.column("document_key").to_pylist()]))
        documents |= fresh
    merged = at.part(part_key(list(documents)))
    schemas.write(pa.concat_tables(tables), merged, schemas.CHUNK_CONTRACT, {**origin, "documents": documents})
    for part in small:
        if part != merged:
            part.unlink()


def purge(at: Layout) -> None:
    """Remove everything that no version holds: chunks, vectors, words in the store, stored files. For the lock's holder."""
    catalog = Catalog.open(at.catalog)
    try:
        needed = {document.key for document in all_documents(catalog, Settings.parse(catalog.settings()))}
        unknown = unknown_files(at, catalog)
    finally:
        catalog.close()
    _relay_generation(at)
    _purge_chunks(at, needed)
    _purge_vectors(at)
    if at.lexical.exists():
        index_lexical.compact(at.lexical)
    for path in unknown:
        path.unlink(missing_ok=True)
    with closing(
        Catalog.open(at.catalog, write=True)
    ) as catalog:  # last: until then the next run knows of a stopped purge
        passing_files.settle(catalog.connection)


def settle(at: Layout) -> None:
    """Take back what a stopped run announced, where nothing of it is left. For the lock's holder."""
    with closing(Catalog.open(at.catalog)) as catalog:
        if not passing_files.announced(catalog.connection):
            return
    with closing(Catalog.open(at.catalog, write=True)) as catalog:
        passing_files.settle(catalog.connection)


def _relay_generation(at: Layout) -> None:
    """Lay the vectors in use out anew, without those of rows that the lexical store no longer has."""
    meta = read_index(at).meta
    fingerprint = meta.get("vector_fingerprint", "")
    folder = at.embeddings(fingerprint) if meta.get("generation") and fingerprint else None
    dimensions = embed.dimensions_of(folder) if folder else None
    if folder is None or dimensions is None:
        return
    name = index_vectors.new_generation()
    made = index_vectors.Generation(
        name, at.vectors(name), at.scan(name), folder, meta["vector_spec"], fingerprint, dimensions
    )
    index_vectors.index_vectors(at.lexical, made)
    index_vectors.remove_other_generations(at.index, name)


def _purge_chunks(at: Layout, needed: set[str]) -> None:
    """Rewrite every part of knowledge_chunk that holds documents no version needs, without them."""
    for part in sorted(set(read_parts(at).values())):
        origin = schemas.made_from(part, schemas.CHUNK_CONTRACT)
        documents = origin["documents"]
        assert isinstance(documents, dict)
        kept = {key: count for key, count in documents.items() if key in needed}
        if len(kept) == len(documents):
            continue
        if kept:
            to = at.part(part_key(list(kept)))
            _rewrite(part, to, schemas.CHUNK_CONTRACT, "document_key", set(kept), {**origin, "documents": kept})
        part.unlink()


def _purge_vectors(at: Layout) -> None:
    """Rewrite every part of knowledge_embedding that holds texts no chunk has, without them."""
    used: set[str] = set()
    for part in at.chunks.glob("chunks-*.parquet"):
        used.update(schemas.read(part, schemas.CHUNK_CONTRACT, ["text_hash"]).column("text_hash").to_pylist())
    for part in sorted((at.chunks / "vectors").glob("*/*.parquet")):
        origin = schemas.made_from(part, schemas.EMBEDDING_CONTRACT)
        held = set(schemas.read(part, schemas.EMBEDDING_CONTRACT, ["text_hash"]).column("text_hash").to_pylist())
        without = without_vector(origin)
        if held <= used and without.keys() <= used:
            continue
        if (held | without.keys()) & used:
            _rewrite(
                part,
                part,
                schemas.EMBEDDING_CONTRACT,
                "text_hash",
                used,
                {**origin, "wordless": [], "without": {key: why for key, why in without.items() if key in used}},
            )
        else:
            part.unlink()


def _rewrite(part: Path, to: Path, contract: str, column: str, kept: set[str], origin: dict[str, object]) -> None:
    table = schemas.read(part, contract)
    schemas.write(table.filter([value in kept for value in table.column(column).to_pylist()]), to, contract, origin)
