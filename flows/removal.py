"""Removal: a source with its versions, and everything that was derived from them."""

from __future__ import annotations

from pathlib import Path

from canonry import schemas
from canonry.catalog import Catalog
from canonry.config import Settings
from canonry.layout import Layout
from flows.as_of import forget_past
from flows.pipeline import InProcess, read_parts, run_plan
from flows.plan import all_documents, make_plan
from stages import index_lexical
from stages.chunk import part_key


def delete_source(at: Layout, source_id: str) -> None:
    """Forget the source, then purge its rows from every store and its files; the caller holds the campaign's lock."""
    catalog = Catalog.open(at.catalog, write=True)
    try:
        orphans = catalog.delete(source_id)
        needed = {document.key for document in all_documents(catalog, Settings.parse(catalog.settings()))}
    finally:
        catalog.close()
    run_plan(at, make_plan(at), InProcess())
    forget_past(at)
    purge_chunks(at, needed)
    purge_vectors(at)
    if at.lexical.exists():
        index_lexical.compact(at.lexical)
    for content_hash in orphans:
        for path in at.files.glob(f"{content_hash}.*"):
            path.unlink()


def purge_chunks(at: Layout, needed: set[str]) -> None:
    """Rewrite every part of knowledge_chunk that holds documents no version needs, without them."""
    for part in sorted(set(read_parts(at).values())):
        documents = schemas.made_from(part, schemas.CHUNK_CONTRACT)["documents"]
        assert isinstance(documents, dict)
        kept = {key: count for key, count in documents.items() if key in needed}
        if len(kept) == len(documents):
            continue
        if kept:
            origin = {**schemas.made_from(part, schemas.CHUNK_CONTRACT), "documents": kept}
            _rewrite(part, at.part(part_key(list(kept))), schemas.CHUNK_CONTRACT, "document_key", set(kept), origin)
        part.unlink()


def purge_vectors(at: Layout) -> None:
    """Rewrite every part of knowledge_embedding that holds texts no chunk has, without them."""
    used: set[str] = set()
    for part in at.chunks.glob("chunks-*.parquet"):
        used.update(schemas.read(part, schemas.CHUNK_CONTRACT, ["text_hash"]).column("text_hash").to_pylist())
    for part in sorted((at.chunks / "vectors").glob("*/*.parquet")):
        held = set(schemas.read(part, schemas.EMBEDDING_CONTRACT, ["text_hash"]).column("text_hash").to_pylist())
        if held <= used:
            continue
        if held & used:
            origin = schemas.made_from(part, schemas.EMBEDDING_CONTRACT)
            _rewrite(part, part, schemas.EMBEDDING_CONTRACT, "text_hash", used, origin)
        else:
            part.unlink()


def _rewrite(part: Path, to: Path, contract: str, column: str, kept: set[str], origin: dict[str, object]) -> None:
    table = schemas.read(part, contract)
    schemas.write(table.filter([value in kept for value in table.column(column).to_pylist()]), to, contract, origin)
