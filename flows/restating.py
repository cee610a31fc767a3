"""What is said of a source changes: at once, or of a locked one as a proposal. Stricter secrecy always holds at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from canonry import proposals
from canonry.catalog import Catalog
from canonry.layout import Layout
from canonry.proposals import Change, Proposal, differences
from canonry.records import Source, SourceFacts
from canonry.source_rows import dump_heading_rules, load_heading_rules
from flows.pipeline import index_titles
from flows.plan import make_plan
from flows.progress import Report
from stages.statements import with_secrecy


@dataclass(frozen=True, slots=True)
class Restated:
    """What is said of a source now, and the proposal that holds the rest, waiting or rejected before."""

    facts: SourceFacts
    proposal: Proposal | None = None

    @property
    def waiting(self) -> int | None:
        """The proposal's number, where it waits for a decision."""
        return self.proposal.proposal_id if self.proposal and self.proposal.state == "pending" else None


def restate(
    catalog: Catalog, source: Source, facts: SourceFacts, heading_rules: str, stated: Collection[str], *, origin: str
) -> Restated:
    """Say this of a source whose text stays. `stated` are the fields that the user named, `origin` who says it."""
    if source.locked:
        held, rules = tighten(catalog, source, facts, heading_rules, stated)
        left = differences(held, facts)
        if not left and rules == heading_rules:
            return Restated(held)
        change = Change(held, facts, rules, heading_rules, tuple(name for name in stated if name in left))
        return Restated(held, _propose(catalog, source, change, origin))
    same = not differences(source.facts, facts) and heading_rules == catalog.heading_rules(source.source_id)
    if not same or set(stated) - {*catalog.edited(source.source_id)}:
        catalog.restate(source.source_id, facts, heading_rules, stated)
    return Restated(facts)


def tighten(
    catalog: Catalog, source: Source, facts: SourceFacts, heading_rules: str, stated: Collection[str]
) -> tuple[SourceFacts, str]:
    """Put into force what `facts` and the rules say more strictly on secrecy, and nothing else; what then holds."""
    known = catalog.heading_rules(source.source_id)
    held = with_secrecy(source.facts, facts)
    rules = stricter_rules(known, heading_rules)
    changed = differences(source.facts, held)
    if changed or rules != known:
        catalog.restate(source.source_id, held, rules, [name for name in stated if name in changed])
    return (held if changed else source.facts), rules


def stricter_rules(known: str, other: str) -> str:
    """Heading rules (as JSON) that hide what either hides."""
    if known == other:
        return known
    return dump_heading_rules(dict.fromkeys((*load_heading_rules(known), *load_heading_rules(other))))


def edit_source(catalog: Catalog, source: Source, changes: Mapping[str, object]) -> Restated:
    """Change fields of SourceFacts by hand."""
    facts = replace(source.facts, **changes)  # type: ignore[arg-type]
    return restate(catalog, source, facts, catalog.heading_rules(source.source_id), tuple(changes), origin="edit")


def index_new_titles(at: Layout) -> None:
    """Let sources that were given a new title be found by it, if there is an index; for the lock's holder."""
    plan = make_plan(at)
    if plan.retitled and not plan.rebuild:
        index_titles(at, plan, Report())


def _propose(catalog: Catalog, source: Source, change: Change, origin: str) -> Proposal:
    """A proposal for this change; the same again is the same one, but that an edit by hand may ask anew."""
    same = proposals.find_same(catalog.connection, source, change)
    if same and (same.state == "pending" or origin != "edit"):
        return same
    return proposals.add(catalog.connection, source, change, origin)
