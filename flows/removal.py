"""Removal: a source with its versions, and everything that was derived from them."""

from __future__ import annotations

from contextlib import closing

from canonry.catalog import Catalog
from canonry.errors import CanonryError
from canonry.layout import Layout
from canonry.upgrade import forget_copies
from flows.as_of import forget_past
from flows.housekeeping import purge
from flows.manifest import write_manifest
from flows.pipeline import InProcess, run_plan
from flows.plan import make_plan, part_names
from stages import index_lexical


def delete_source(at: Layout, source_id: str) -> None:
    """Forget the source, then purge its rows from every store and its files; the caller holds the campaign's lock.

    A locked source is refused. Stopped after the first step, the source is gone for every question and the next run
    purges what is left.
    """
    with closing(Catalog.open(at.catalog, write=True)) as catalog:
        if catalog.source(source_id).locked:
            raise CanonryError(f"source {source_id!r} is locked; `canonry source unlock {source_id}`, then delete it")
        catalog.delete(source_id)
    forget_copies(at.raw)
    clean_up(at)


def clean_up(at: Layout) -> None:
    """Bring the index up to the catalog and remove what no version holds."""
    plan = make_plan(at)
    run_plan(at, plan, InProcess())
    forget_past(at)
    purge(at)
    if at.lexical.exists():
        index_lexical.note_parts(at.lexical, part_names(at))
        write_manifest(at, plan)
