"""`canonry proposals …`"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import closing

from canonry import proposals
from canonry.catalog import Catalog
from canonry.cli.show import bold, chosen, colour, plural, print_json, printable, table
from canonry.errors import CanonryError
from canonry.files import read_stored
from canonry.holdings import stored_text
from canonry.layout import Layout
from canonry.locking import writing
from canonry.proposals import Proposal, differences, plainly, shown

DEGRADED = 3
_COLOURS = {"+": "32", "-": "31"}


def list_all(given: argparse.Namespace) -> None:
    at = chosen(given)
    with closing(Catalog.open(at.catalog)) as catalog:
        found = proposals.find_all(catalog.connection, decided=given.all)
        stale = {proposal.proposal_id: _why_stale(catalog, proposal) for proposal in found}
    if given.json:
        print_json([_json(proposal, stale[proposal.proposal_id]) for proposal in found])
        return
    if not found:
        if not given.quiet:
            print(f"No proposal waits in campaign {at.campaign}.")
        return
    rows = [
        (p.proposal_id, p.source_id, _what(p), p.origin, p.created_at[:16].replace("T", " "),
         "does not fit any more" if stale[p.proposal_id] else p.state, p.note)
        for p in found
    ]  # fmt: skip
    print(table(("id", "source", "changes", "by", "made (UTC)", "state", "note"), rows, right=(0,)))


def show(given: argparse.Namespace) -> None:
    at = chosen(given)
    with closing(Catalog.open(at.catalog)) as catalog:
        proposal = proposals.find(catalog.connection, given.id)
        stale = _why_stale(catalog, proposal)
        diff = _diff(at, catalog, proposal)
    if given.json:
        print_json({**_json(proposal, stale), "diff": None if diff is None else list(diff)})
        return
    state = proposal.state + (f" on {proposal.decided_at[:19]} UTC" if proposal.decided_at else "")
    print(f"{bold(f'Proposal {proposal.proposal_id}')} for {proposal.source_id}, by {proposal.origin}: {state}")
    for line in (proposal.note, stale and f"It does not fit any more: {stale}."):
        if line:
            print(printable(line))
    change = proposal.change
    for name, (old, new) in differences(change.before, change.after).items():
        print(printable(f"{plainly(name)}: {shown(old)} → {shown(new)}"))
    if change.rules_before != change.rules_after:
        print(printable(f"rules for headings: {change.rules_before} → {change.rules_after}"))
    if change.text and diff is None:
        print("Its text is no longer kept.")
    for line in diff or ():
        print(colour(printable(line), _COLOURS.get(line[:1], "0")))
    if proposal.state == "pending":
        number = proposal.proposal_id
        print(f"`canonry proposals accept {number}` carries it out, `canonry proposals reject {number}` drops it.")


def accept(given: argparse.Namespace) -> int:
    from canonry.cli.indexing import plain_failures, print_vectors
    from flows.acceptance import accept as carry_out

    at = chosen(given)
    with writing(at), plain_failures(at):
        proposal, report = carry_out(at, given.id, given.note)
    with closing(Catalog.open(at.catalog)) as catalog:
        source = catalog.source(proposal.source_id)
    if given.json:
        print_json({**_json(proposal, None), "source_version_id": source.version_id, "index": report.as_json()})
    elif not given.quiet:
        done = f"{source.version_id} is live" if proposal.change.text else f"{source.source_id} is changed"
        print(f"Accepted proposal {proposal.proposal_id}: {done}; the next query sees it so.")
        print_vectors(report)
    return DEGRADED if report.degraded else 0


def reject(given: argparse.Namespace) -> None:
    from flows.acceptance import reject as drop

    at = chosen(given)
    with writing(at):
        proposal = drop(at, given.id, given.note)
    if given.json:
        print_json(_json(proposal, None))
    elif not given.quiet:
        print(f"Rejected proposal {proposal.proposal_id}; {proposal.source_id} stays as it is.")


def waiting_line(numbers: Sequence[int]) -> str:
    """Which proposals wait, and what to do; empty where none does."""
    if not numbers:
        return ""
    if len(numbers) == 1:
        return f"proposal {numbers[0]} is waiting; `canonry proposals show {numbers[0]}`, then `canonry proposals accept {numbers[0]}`"
    named = ", ".join(map(str, numbers[:5])) + (", …" if len(numbers) > 5 else "")
    return f"{plural(len(numbers), 'proposal')} are waiting ({named}); `canonry proposals list` shows them"


def changes_json(changes: Mapping[str, tuple[object, object]]) -> dict[str, object]:
    """Field -> from and to, for a program."""
    return {plainly(name).replace(" ", "_"): {"from": old, "to": new} for name, (old, new) in changes.items()}


def _why_stale(catalog: Catalog, proposal: Proposal) -> str | None:
    if proposal.state != "pending":
        return None
    source = catalog.source(proposal.source_id)
    return proposals.why_stale(proposal, source, catalog.heading_rules(source.source_id))


def _what(proposal: Proposal) -> str:
    change = proposal.change
    words = ["text"] if change.text else []
    words += [plainly(name) for name in differences(change.before, change.after)]
    return ", ".join([*words, "rules for headings"] if change.rules_before != change.rules_after else words)


def _diff(at: Layout, catalog: Catalog, proposal: Proposal) -> Sequence[str] | None:
    """How the text would change, or has; None where there is none or it is no longer kept."""
    text = proposal.change.text
    if text is None or proposal.state == "rejected":
        return None
    before = stored_text(at, catalog.connection, proposal.base_version_id)
    place = at.proposed_file if proposal.state == "pending" else at.file
    try:
        after = read_stored(place(text.content_hash, "md" if text.kind == "markdown" else "txt")).decode("utf-8-sig")
    except CanonryError:
        if proposal.state == "pending":
            raise
        return None
    return proposals.text_diff(before, after)


def _json(proposal: Proposal, stale: str | None) -> dict[str, object]:
    change = proposal.change
    rules = {"from": change.rules_before, "to": change.rules_after}
    return {
        "proposal_id": proposal.proposal_id, "source_id": proposal.source_id, "kind": change.kind, "state": proposal.state,
        "origin": proposal.origin, "created_at": proposal.created_at, "base_version_id": proposal.base_version_id,
        "changes": changes_json(differences(change.before, change.after)), "heading_rules": rules if len({*rules.values()}) > 1 else None,
        "content_hash": change.text.content_hash if change.text else None, "does_not_fit": stale,
        "decided_at": proposal.decided_at, "note": proposal.note,
    }  # fmt: skip
