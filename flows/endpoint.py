"""The model behind an address: asked at the start of a run that may embed, remembered for plans and questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from canonry.catalog import Catalog
from canonry.config import Settings
from canonry.embedders.chosen import REMEDY, Chosen, describe_change
from canonry.embedders.recipe import write_facts
from canonry.errors import EmbedderError
from canonry.layout import Layout
from flows.pipeline import InProcess, run_plan
from flows.plan import Plan, make_plan, read_index
from flows.progress import Progress, Report


@dataclass(frozen=True, slots=True)
class Reached:
    """What became of asking: `notes` for a person; `halted` says why nothing can be embedded in this run."""

    notes: tuple[str, ...] = ()
    halted: str | None = None

    def applied_to(self, plan: Plan) -> Plan:
        """The plan, which embeds nothing where that is halted."""
        return replace(plan, halted=self.halted)


def reach(at: Layout, embedder: str | None = None, *, adopt: bool = True) -> Reached:
    """Ask the server of the campaign's model (or of `embedder`) what it has, and remember it; the caller holds the lock.

    A model that changed is adopted, so that a run makes its vectors anew beside the old. With `adopt` off it is so only
    where the index has no vectors of the old one. Nothing happens for an embedder that runs here.
    """
    catalog = Catalog.open(at.catalog)
    try:
        settings = Settings.parse(catalog.settings())
    finally:
        catalog.close()
    chosen = Chosen.of(at, settings, embedder)
    if not chosen.is_served:
        return Reached()
    from canonry.embedders.served import learn

    try:
        facts = learn(chosen.spec, chosen.settings, chosen.facts)
    except EmbedderError as error:
        return Reached(halted=str(error))
    if facts == chosen.facts:
        return Reached(tuple(chosen.notices))
    change = describe_change(chosen.facts, facts) if chosen.facts else ""
    if change and not adopt and read_index(at).meta.get("vector_fingerprint") == chosen.fingerprint:
        halted = f"{change}; {REMEDY}"
        return Reached(halted=halted)
    write_facts(at.endpoints, chosen.spec, facts)
    return Reached((*((change,) if change else ()), *replace(chosen, facts=facts).notices))


def index_imported(at: Layout, progress: Progress, *, with_vectors: bool) -> Report:
    """Index what an import brought; no server is waited for before everything can be found by words. In the lock."""
    plan = make_plan(at)
    asks = with_vectors and plan.chosen is not None and plan.chosen.is_served
    report = run_plan(at, plan, InProcess(), progress, with_vectors=with_vectors and not asks)
    if asks:
        reached = reach(at, adopt=False)
        report.notes += reached.notes
        rest = replace(reached.applied_to(make_plan(at)), add=(), remove=(), rebuild=None, lost=None)
        run_plan(at, rest, InProcess(), progress, report=report)
    return report


def plan_of(at: Layout, *, full: bool = False, embedder: str | None = None) -> tuple[Plan, Sequence[str]]:
    """The plan of a run that embeds, made after its model was asked, and the notes for a person; in the lock."""
    reached = reach(at, embedder)
    return reached.applied_to(make_plan(at, full=full, embedder=embedder)), reached.notes
