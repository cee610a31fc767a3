"""Refresh: the originals of sources, where they were imported from, read again.

What changed becomes a version exactly as by an import of the file; what is gone is told and kept. New files of a folder
are nobody's original: importing the folder again brings them. Where a path came with an export, it is read only by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from canonry.catalog import Catalog
from canonry.config import Settings
from canonry.errors import RejectedFile
from canonry.holdings import is_gone, was_typed
from canonry.layout import Layout
from canonry.records import Source
from canonry.restored import unread_originals
from flows.import_files import Choices, import_files
from flows.import_reading import Reader
from flows.import_report import Imported, ImportReport
from flows.progress import Progress, silent
from stages.select import Selected, Selection


@dataclass(slots=True)
class Originals:
    """Where the originals of some sources lie: to be read, refused because they lead elsewhere, or gone.

    `restored` came with an export and were not named: their paths are not even looked at.
    """

    selection: Selection = field(default_factory=Selection)
    missing: list[Source] = field(default_factory=list)
    restored: list[Source] = field(default_factory=list)
    encodings: dict[Path, str] = field(default_factory=dict)  # of those that were converted when they were imported


def find_originals(at: Layout, names: Sequence[str] = ()) -> Originals:
    """The originals of the named sources, of all where none is named; NotFound for a name that is none."""
    with closing(Catalog.open(at.catalog)) as catalog:
        sources = [catalog.source(name) for name in names] if names else catalog.sources()
        unread = set() if names else unread_originals(catalog)
    found = Originals()
    for source in {source.source_id: source for source in sources}.values():
        path = Path(source.original_path)
        if was_typed(source) and not names:
            continue
        if source.source_id in unread:
            found.restored.append(source)
        elif is_gone(source.original_path):
            found.missing.append(source)
        elif (leads_to := path.resolve()) != path:
            reason = f"leads to {leads_to} now; import it from there if it is meant"
            found.selection.rejected.append(RejectedFile(source.original_filename, reason))
        else:
            found.selection.files.append(Selected(path, source.original_filename, None))
            if source.encoding != "utf-8":
                found.encodings[path] = source.encoding
    return found


def refresh(
    at: Layout, originals: Originals, progress: Progress = silent, *, with_vectors: bool = True
) -> ImportReport:
    """Import what changed; outcomes are those of an import. The caller holds the campaign's lock."""
    choices = Choices(encodings=originals.encodings, with_vectors=with_vectors, origin="refresh")
    return import_files(at, originals.selection, choices, progress)


def preview(at: Layout, originals: Originals) -> ImportReport:
    """What a refresh would do with the texts; nothing is written. Statements of folders are not compared."""
    report = ImportReport(rejected=list(originals.selection.rejected))
    with closing(Catalog.open(at.catalog)) as catalog:
        known = catalog.by_path()
        sources = {source.source_id: source for source in catalog.sources()}
        limit_bytes = Settings.parse(catalog.settings()).max_file_bytes
    reader = Reader({}, originals.encodings.get, limit_bytes, report)
    for selected in originals.selection.files:
        if str(selected.path) not in known:  # deleted or moved by another process meanwhile
            continue
        try:
            valid = reader.read(selected)
            reader.classify(selected, valid)
        except RejectedFile as error:
            report.rejected.append(error)
            continue
        source_id, original_hash, _ = known[str(selected.path)]
        source = sources[source_id]
        changed = "proposed" if source.locked else "updated"
        outcome = "unchanged" if valid.original_hash == original_hash else changed
        report.imported.append(Imported(selected.name, source_id, outcome, source.facts.class_, 0))
    return report
