"""`canonry entry …`"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

from canonry.catalog import Catalog
from canonry.cli.arguments.options import stated_facts
from canonry.cli.show import Bar, chosen, note, print_json, printable, table
from canonry.errors import CanonryError, NotFound, UsageError
from canonry.locking import writing
from canonry.records import ENTRY_STATUSES, ENTRY_TYPES, FORESHADOW_STATES, Source
from canonry.suggest.entries import Entry, entry_of, list_entries

if TYPE_CHECKING:
    from flows.import_report import ImportReport

DEGRADED = 3
_OWN_FACTS = ("type", "importance", "status", "foreshadow_state", "source_chapter", "last_mention_chapter")


def add(given: argparse.Namespace) -> int:
    from canonry.cli.indexing import plain_failures
    from flows.entries import add_entries, typed_entry

    at = chosen(given)
    Catalog.open(at.catalog).close()
    facts = _typed_facts(given)
    typed = []
    if given.content is not None:
        content = sys.stdin.read() if given.content == "-" else given.content
        typed = [typed_entry(str(facts.pop("title")), content, facts, given.id)]
    with writing(at), plain_failures(at):
        bar = Bar(given)
        try:
            report = add_entries(at, given.paths, typed, bar)
        finally:
            bar.close()
    with closing(Catalog.open(at.catalog)) as catalog:
        entries = {entry.entry_id: entry for entry in list_entries(catalog)}
    added = [entries[file.source_id] for file in report.imported if file.source_id in entries]
    _print_added(given, report, added)
    if report.rejected or not report.imported:
        return 1
    return DEGRADED if report.index.degraded else 0


def _print_added(given: argparse.Namespace, report: ImportReport, added: list[Entry]) -> None:
    from canonry.cli.indexing import file_json, print_complaints

    if given.json:
        print_json({
            "entries": [entry.as_json() for entry in added], "imported": [file_json(file) for file in report.imported],
            "rejected": [{"file": error.name, "reason": error.reason} for error in report.rejected],
            "warnings": report.warnings,
        })  # fmt: skip
    elif not given.quiet:
        outcomes = Counter(file.outcome for file in report.imported)
        counted = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
        print(f"Entries: {counted or 'none added'}.")
        if added:
            print(_as_table(added))
    print_complaints(given, report)
    waiting = sum(entry.status == "pending" for entry in added)
    note(given, f"{waiting} to be reviewed: `canonry entry review ID… --approve`" if waiting else "")


def _typed_facts(given: argparse.Namespace) -> dict[str, object]:
    """What the options say of the entry that is typed in; UsageError where they do not belong together."""
    facts = stated_facts(given) | {
        name: getattr(given, name) for name in _OWN_FACTS if getattr(given, name) is not None
    }
    facts = {name: list(value) if isinstance(value, tuple) else value for name, value in facts.items()}
    if given.content is None:
        if facts or given.id is not None:
            raise UsageError("options say what one typed entry is; give it with --text, or write them into the files")
        if not given.paths:
            raise UsageError("nothing to add; name files, or give one entry with --type, --title and --text")
    elif given.paths:
        raise UsageError("--text is one entry, and files are others; add them one after the other")
    elif not facts.get("title") or not facts.get("type"):
        raise UsageError("an entry needs --type and --title beside --text")
    return facts


def review(given: argparse.Namespace) -> None:
    from flows.restating import edit_source

    at = chosen(given)
    with closing(Catalog.open(at.catalog)) as catalog:
        _named(catalog, given.ids)  # what is not there need not be waited for
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        changed = []
        for source in _named(catalog, given.ids):
            before = _entry(source)
            changed.append((before, edit_source(catalog, source, {"status": given.status}).waiting))
    if given.json:
        print_json([
            {"id": entry.entry_id, "title": entry.title, "before": entry.status, "proposal": waiting,
             "status": entry.status if waiting else given.status}
            for entry, waiting in changed
        ])  # fmt: skip
    elif not given.quiet:
        for entry, waiting in changed:
            told = f"is locked; proposal {waiting} waits" if waiting else f"{entry.status} → {given.status}"
            print(printable(f"{entry.entry_id} ({entry.title}): {told}"))


def _named(catalog: Catalog, names: list[str]) -> list[Source]:
    """The sources of these entries, each once; every name that is none in one error."""
    found: dict[str, Source] = {}
    wrong = []
    for name in names:
        try:
            source = catalog.source(name)
            _entry(source)
            found[source.source_id] = source
        except CanonryError as error:
            wrong.append(error)
    if len(wrong) > 1:
        raise CanonryError("\n  ".join((f"{len(wrong)} names are no entries; nothing was changed:", *map(str, wrong))))
    if wrong:
        raise wrong[0]
    return list(found.values())


def _entry(source: Source) -> Entry:
    entry = entry_of(source)
    if entry is None:
        raise NotFound(f"source {source.source_id!r} is no knowledge entry; `canonry entry list` shows what is")
    return entry


def list_all(given: argparse.Namespace) -> None:
    for option, asked, known in (
        ("--type", given.types, ENTRY_TYPES),
        ("--status", given.statuses, ENTRY_STATUSES),
        ("--foreshadow-state", given.states, FORESHADOW_STATES),
    ):
        if unknown := [word for word in asked if word not in known]:
            raise UsageError(f"{option} {unknown[0]!r} is unknown; choose from {', '.join(known)}")
    at = chosen(given)
    with closing(Catalog.open(at.catalog)) as catalog:
        every = list_entries(catalog)
    shown = [entry for entry in every if _is_asked_for(entry, given)]
    if given.json:
        print_json([entry.as_json() for entry in shown])
    elif shown:
        print(_as_table(shown))
    elif every:
        print(f"None of the {len(every)} entries is like that.")
    else:
        print(f"Campaign {at.campaign} has no entries yet; `canonry entry add PATH` brings some.")


def _is_asked_for(entry: Entry, given: argparse.Namespace) -> bool:
    return (
        (not given.types or entry.type in given.types)
        and (not given.statuses or entry.status in given.statuses)
        and (not given.states or entry.foreshadow_state in given.states)
        and entry.importance >= given.importance
    )


def _as_table(entries: list[Entry]) -> str:
    rows = [
        (
            entry.entry_id, entry.title, entry.type, entry.importance,
            entry.status if entry.enabled else f"{entry.status}, disabled", entry.foreshadow_state or "",
            entry.source_chapter or "", entry.last_mention_chapter or "",
        )
        for entry in entries
    ]  # fmt: skip
    headers = ("id", "title", "type", "importance", "status", "state", "chapter", "last in")
    return table(headers, rows, right=(3,))
