"""`canonry campaign …`"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from canonry.catalog import Catalog
from canonry.cli.show import bold, confirm, note, plural, print_json, size, table
from canonry.config import Settings
from canonry.damage import catalog_damage, list_without_catalog
from canonry.deletion import delete_campaign, finish_deletion, is_half_deleted
from canonry.embedders import fingerprint_of
from canonry.errors import CanonryError, UsageError
from canonry.gate import forget_gate, read_gate
from canonry.layout import Layout, list_campaigns
from canonry.locking import writing
from canonry.tuning import read_tuning


def create(given: argparse.Namespace) -> None:
    at = Layout(given.data, given.id)
    values = _pairs(given.settings)
    _check(values)
    with writing(at):
        if at.catalog.exists():
            raise UsageError(
                f"campaign {given.id!r} exists already in {given.data}; import into it, or choose another id"
            )
        finish_deletion(at)
        Catalog.create(at.catalog, given.id, values).close()
    if given.json:
        print_json({"campaign_id": given.id, "data": str(given.data)})
    elif not given.quiet:
        print(f"Created campaign {bold(given.id)} in {given.data}. Next: canonry import -c {given.id} FOLDER")


def list_all(given: argparse.Namespace) -> int:
    """Exit 0 where every campaign can be read, 1 where one cannot; the others are listed all the same."""
    there = sorted({*list_campaigns(given.data), *list_without_catalog(given.data)})
    rows = [_row(Layout(given.data, campaign)) for campaign in there]
    if given.json:
        print_json(rows)
    elif rows:
        print(
            table(
                ("campaign", "sources", "on disk"),
                [
                    (row["campaign_id"], row["state"] if row["problem"] else row["sources"], size(row["bytes"]))
                    for row in rows
                ],
                right=(1, 2),
            )
        )
    else:
        print(f"There is no campaign in {given.data}. `canonry campaign create ID` makes one.")
    problems = [row["problem"] for row in rows if row["problem"]]
    for problem in problems:
        note(given, problem)
    return 1 if problems else 0


def show(given: argparse.Namespace) -> None:
    at = Layout(given.data, given.id)
    summary = _summary(at)
    catalog = Catalog.open(at.catalog)
    summary["settings"] = Settings.parse(catalog.settings()).as_text()
    summary["created_at"] = catalog.meta("created_at")
    gate = read_gate(catalog.connection)
    if gate is not None:
        voided = gate.voided_by(at, Settings.parse(catalog.settings()))
        summary["gate"] = {
            "passed_at": gate.passed_at,
            "holds": not voided,
            "voided_by": voided,
            "evidence": gate.evidence,
        }
    tuning = read_tuning(catalog.connection)
    if tuning is not None:
        tuned = tuning.holds(Settings.parse(catalog.settings()))
        summary["tuning"] = asdict(tuning) | {"holds": tuned}
    if given.json:
        print_json(summary)
        return
    print(
        f"{bold(given.id)}: {plural(summary['sources'], 'source')}, {size(summary['bytes'])} on disk, created {summary['created_at'][:19]} UTC"
    )
    print(table(("setting", "value"), list(summary["settings"].items())))
    if gate is not None:
        state = "holds" if not voided else f"is void: another {' and '.join(voided)}"
        print(f"hybrid was earned {gate.passed_at[:19]} UTC, which {state}")
        print(table(("evidence", "value"), list(gate.evidence.items())))
    if tuning is not None:
        state = "is set" if tuned else "is not set any more"
        print(
            f"fusion was chosen {tuning.tuned_at[:19]} UTC: {' '.join(map('='.join, tuning.chosen.items()))}, which {state}"
        )
        print(table(("evidence", "value"), list(tuning.evidence.items())))


def settings(given: argparse.Namespace) -> None:
    at = Layout(given.data, given.id)
    values = _pairs(given.settings)
    if values:
        with writing(at):
            catalog = Catalog.open(at.catalog, write=True)
            _check(catalog.settings() | values)
            catalog.set_settings(values)
            if "mode" in values:
                forget_gate(catalog)
            catalog.close()
    current = Settings.parse(Catalog.open(at.catalog).settings()).as_text()
    if given.json:
        print_json(current)
    elif not values or not given.quiet:
        print(table(("setting", "value"), list(current.items())))
        if values:
            print("Changed. `canonry status` shows what that makes stale, `canonry reindex` brings it up to date.")


def delete(given: argparse.Namespace) -> None:
    at = Layout(given.data, given.id)
    damage = catalog_damage(at)
    if damage:
        note(given, f"campaign {given.id!r}: its catalog {damage}, so nobody can say which sources it has")
        confirm(f"Delete campaign {given.id!r} with every file that it holds?", yes=given.yes)
    elif at.catalog.exists() or not is_half_deleted(at):
        count = _summary(at)["sources"]
        confirm(
            f"Delete campaign {given.id!r} with {plural(count, 'source')} and everything derived from them?",
            yes=given.yes,
        )
    with writing(at):
        delete_campaign(at)
    if given.json:
        print_json({"deleted": given.id})
    elif not given.quiet:
        print(f"Deleted campaign {given.id}.")


def _row(at: Layout) -> dict[str, Any]:
    """A campaign in the list; where its catalog cannot be read with the reason, and without its count of sources."""
    unread = {"campaign_id": at.campaign, "sources": None, "bytes": _bytes(at)}
    damage = catalog_damage(at)
    if damage:
        way_out = f"`canonry campaign delete {at.campaign}` removes it, and then an export of it can be restored"
        return unread | {"state": "damaged", "problem": f"campaign {at.campaign!r}: its catalog {damage}; {way_out}"}
    try:
        return _summary(at) | {"state": "whole", "problem": None}
    except CanonryError as error:
        return unread | {"state": "unreadable", "problem": str(error)}


def _summary(at: Layout) -> dict[str, Any]:
    catalog = Catalog.open(at.catalog)
    sources = int(catalog.connection.execute("SELECT count(*) FROM knowledge_source").fetchone()[0])
    catalog.close()
    return {"campaign_id": at.campaign, "sources": sources, "bytes": _bytes(at)}


def _bytes(at: Layout) -> int:
    return sum(_folder_bytes(folder) for folder in (at.raw, at.chunks, at.index))


def _folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _pairs(given: list[str]) -> dict[str, str]:
    pairs = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"setting {text!r} is not KEY=VALUE; write for example chunk.target=400")
        pairs[key.strip()] = value if key.strip().endswith("_prefix") else value.strip()  # a prefix ends in a blank
    return pairs


def _check(values: dict[str, str]) -> None:
    """Refuse impossible settings before anything is stored."""
    fingerprint_of(Settings.parse(values).embedder)
