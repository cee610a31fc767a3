"""Derived things that are whole but of no use any more, or not made yet: what a reindex or a clean-up would do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from canonry import database, lexical
from flows.checks.findings import ADVICE, FIX_REMOVES, Examination, Finding
from flows.plan import make_plan


def check(look: Examination) -> Iterator[Finding]:
    """Advice on what is stale, on chunks of earlier settings, on vectors of other embedders and of passages that are gone."""
    at = look.at
    plan = make_plan(at)
    told = {plan.unwritten}  # verify says that the manifest is missing
    for reason in () if plan.litter or plan.lost else [one for one in plan.reasons if one not in told]:
        yield Finding(
            "stale", reason, look.named(at.index), "`canonry reindex` brings it up to date", ADVICE, fixable=True
        )
    if look.stale_documents:
        what = f"holds the chunks of {look.stale_documents} documents as they were cut with earlier settings"
        yield Finding("part-stale", what, look.named(at.chunks), FIX_REMOVES, ADVICE, fixable=True)
    with closing(database.open_reader(at.lexical)) as db:
        in_use = {lexical.meta(db, "vector_fingerprint"), plan.fingerprint}
        generation = lexical.meta(db, "generation")
    for folder in sorted((at.chunks / "vectors").glob("*")):
        if folder.is_dir() and folder.name not in in_use:
            what = "holds vectors of an embedder that the campaign does not use"
            yield Finding(
                "vectors-unused", what, look.named(folder), FIX_REMOVES, ADVICE, fixable=True, remove=(folder,)
            )
    if look.dead_vectors and generation:
        what = f"holds {look.dead_vectors} vectors of passages that are gone"
        yield Finding("vectors-dead", what, look.named(at.vectors(generation)), FIX_REMOVES, ADVICE, fixable=True)
