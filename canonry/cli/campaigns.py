"""`canonry campaign …`"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from canonry.catalog import Catalog
from canonry.cli.show import bold, confirm, plural, print_json, size, table
from canonry.config import Settings
from canonry.deletion import delete_campaign, finish_deletion, is_half_deleted
from canonry.embedders import fingerprint_of
from canonry.errors import UsageError
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


def list_all(given: argparse.Namespace) -> None:
    rows = [_summary(Layout(given.data, campaign)) for campaign in list_campaigns(given.data)]
    if given.json:
        print_json(rows)
    elif rows:
        print(
            table(
                ("campaign", "sources", "on disk"),
                [(row["campaign_id"], row["sources"], size(row["bytes"])) for row in rows],
                right=(1, 2),
            )
        )
    else:
        print(f"There is no campaign in {given.data}. `canonry campaign create ID` makes one.")


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
    if at.catalog.exists() or not is_half_deleted(at):
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


def _summary(at: Layout) -> dict[str, Any]:
    catalog = Catalog.open(at.catalog)
    sources = int(catalog.connection.execute("SELECT count(*) FROM knowledge_source").fetchone()[0])
    catalog.close()
    bytes_ = sum(_folder_bytes(folder) for folder in (at.raw, at.chunks, at.index))
    return {"campaign_id": at.campaign, "sources": sources, "bytes": bytes_}


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
