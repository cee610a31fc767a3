"""`canonry refresh`"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from canonry.catalog import Catalog
from canonry.cli.indexing import DEGRADED, file_json, plain_failures, print_complaints, print_vectors, warn_of_always
from canonry.cli.proposals import waiting_line
from canonry.cli.show import Bar, chosen, note, plural, print_json, printable
from canonry.locking import writing

if TYPE_CHECKING:
    from canonry.records import Source
    from flows.import_report import ImportReport
    from flows.refresh import Originals

_ORDER = ("updated", "proposed", "declined", "unchanged", "missing", "restored", "refused")
_RESTORED_SHOWN = 10


def refresh(given: argparse.Namespace) -> int:
    from flows.refresh import find_originals, preview
    from flows.refresh import refresh as read_again

    at = chosen(given)
    Catalog.open(at.catalog).close()
    bar = Bar(given)
    with nullcontext() if given.dry_run else writing(at), plain_failures(at):
        originals = find_originals(at, given.sources)
        try:
            report = (
                preview(at, originals)
                if given.dry_run
                else read_again(at, originals, bar, with_vectors=not given.no_embed)
            )
        finally:
            bar.close()
    if not given.dry_run:
        warn_of_always(given, at)
    if given.json:
        print_json(_json(given, originals, report))
    else:
        _print(given, originals, report)
    if report.rejected or (given.sources and originals.missing):
        return 1
    return DEGRADED if report.index.degraded else 0


def _counts(originals: Originals, report: ImportReport) -> dict[str, int]:
    counts = Counter(file.outcome for file in report.imported)
    counts["missing"], counts["restored"] = len(originals.missing), len(originals.restored)
    counts["refused"] = len(report.rejected)
    return {what: counts[what] for what in _ORDER}


def _print(given: argparse.Namespace, originals: Originals, report: ImportReport) -> None:
    counts = _counts(originals, report)
    if not given.quiet:
        told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "nothing to read"
        say = "Nothing was changed; a refresh would find" if given.dry_run else "Read"
        print(f"{say} {plural(sum(counts.values()), 'original')}: {told}.")
        for file in report.imported:
            if file.outcome != "unchanged":
                print(printable(f"  {file.outcome}: {file.name} ({file.source_id})"))
        for source in originals.missing:
            where = source.original_path or "imported elsewhere"
            print(printable(f"  missing: {source.original_filename} ({source.source_id}, {where}); the source stays"))
        for source in originals.restored[:_RESTORED_SHOWN]:
            name = f"{source.original_filename} ({source.source_id})"
            print(printable(f"  restored: {name}; name it to read its original here: {source.original_path}"))
        if len(originals.restored) > _RESTORED_SHOWN:
            print(f"  restored: {len(originals.restored) - _RESTORED_SHOWN:,} more; --json lists all")
        print_vectors(report.index)
    note(given, waiting_line(report.waiting))
    print_complaints(given, report)


def _json(given: argparse.Namespace, originals: Originals, report: ImportReport) -> dict[str, object]:
    return {
        "dry_run": given.dry_run,
        "counts": _counts(originals, report),
        "files": [file_json(file) for file in report.imported],
        "missing": _sources(originals.missing),
        "restored": _sources(originals.restored),
        "refused": [{"file": error.name, "reason": error.reason} for error in report.rejected],
        "warnings": report.warnings,
        "index": None if given.dry_run else report.index.as_json(),
    }


def _sources(sources: Sequence[Source]) -> list[dict[str, object]]:
    return [
        {"file": source.original_filename, "source_id": source.source_id, "original_path": source.original_path or None}
        for source in sources
    ]
