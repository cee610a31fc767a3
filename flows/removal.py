"""Removal: a source with its versions, and everything that was derived from them."""

from __future__ import annotations

from canonry import schemas
from canonry.catalog import Catalog
from canonry.layout import Layout
from flows.as_of import forget_past
from flows.pipeline import InProcess, read_parts, run_plan
from flows.plan import make_plan
from stages.chunk import part_key


def delete_source(at: Layout, source_id: str) -> None:
    """Forget the source, then purge its rows from every store and its files; the caller holds the campaign's lock."""
    catalog = Catalog.open(at.catalog, write=True)
    try:
        orphans = catalog.delete(source_id)
    finally:
        catalog.close()
    plan = make_plan(at)
    run_plan(at, plan, InProcess())
    forget_past(at)
    purge_parts(at, {document.key for document in plan.documents})
    for content_hash in orphans:
        for path in at.files.glob(f"{content_hash}.*"):
            path.unlink()


def purge_parts(at: Layout, live: set[str]) -> None:
    """Rewrite every part of knowledge_chunk that holds documents no live version needs, without them."""
    for part in sorted(set(read_parts(at).values())):
        documents = schemas.made_from(part, schemas.CHUNK_CONTRACT)["documents"]
        assert isinstance(documents, dict)
        kept = {key: count for key, count in documents.items() if key in live}
        if len(kept) == len(documents):
            continue
        if kept:
            table = schemas.read(part, schemas.CHUNK_CONTRACT)
            keep = [key in kept for key in table.column("document_key").to_pylist()]
            origin = {**schemas.made_from(part, schemas.CHUNK_CONTRACT), "documents": kept}
            schemas.write(table.filter(keep), at.part(part_key(list(kept))), schemas.CHUNK_CONTRACT, origin)
        part.unlink()
