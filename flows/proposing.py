"""A new text of a locked source: kept for a decision, while what it hides is hidden at once."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import replace

from canonry import passing_files, proposals
from canonry.catalog import Catalog
from canonry.config import ChunkSettings
from canonry.errors import RejectedFile
from canonry.files import read_stored, whole_file
from canonry.holdings import extension_of
from canonry.layout import Layout
from canonry.proposals import Change, Proposal, ProposedText
from canonry.records import HeadingRule, Marks, Source, SourceFacts
from canonry.source_rows import dump_heading_rules, load_heading_rules
from flows.import_reading import Statement
from flows.plan import KINDS
from flows.restating import Restated, tighten
from stages.chunking import MarkError, chunk_document
from stages.hash import EXTENSIONS
from stages.statements import with_secrecy


class Proposer:
    """Makes proposals of texts in one run of an import, for the holder of the campaign's lock."""

    def __init__(
        self, at: Layout, catalog: Catalog, settings: ChunkSettings, stated: Sequence[str], origin: str
    ) -> None:
        self._at, self._catalog, self._settings = at, catalog, settings
        self._stated, self._origin = tuple(stated), origin

    def propose(self, source: Source, said: Statement, text: ProposedText, data: bytes) -> Restated:
        """Keep a text for a decision; the same text again is the same proposal, rejected or not.

        `said` is what its file and folders say, earlier edits applied. RejectedFile where the text marks a secret in a
        way that cannot be read.
        """
        try:
            marks = _marks_by_heading(data, text.kind, self._settings, said.rules)
        except MarkError as error:
            raise RejectedFile(text.original_filename, str(error)) from None
        rules_json = dump_heading_rules(dict.fromkeys((*said.rules, *self._newly_hidden(source, marks))))
        facts = with_secrecy(said.facts, _as_facts(marks.get("", [])))
        held, rules = tighten(self._catalog, source, facts, rules_json, self._stated)
        change = Change(held, said.facts, rules, said.rules_json, self._stated, text)
        same = proposals.find_same(self._catalog.connection, source, change)
        return Restated(held, same or self._keep(source, change, text, data))

    def _keep(self, source: Source, change: Change, text: ProposedText, data: bytes) -> Proposal:
        """The bytes first, then the row."""
        passing_files.announce_now(self._catalog.connection, [text.content_hash])
        with whole_file(self._at.proposed_file(text.content_hash, EXTENSIONS[text.kind])) as path:
            path.write_bytes(data)
        made = proposals.add(self._catalog.connection, source, change, self._origin)
        passing_files.settle(self._catalog.connection, [text.content_hash])
        return made

    def _newly_hidden(self, source: Source, marks: Mapping[str, Sequence[Marks]]) -> list[HeadingRule]:
        """Rules for the headings that a new text marks more strictly than the live one, so that they hold for that one."""
        live = read_stored(self._at.file(source.content_hash, extension_of(source.mime_type)))
        rules = load_heading_rules(self._catalog.heading_rules(source.source_id))
        known = _marks_by_heading(live, KINDS[source.mime_type], self._settings, rules)
        found: list[HeadingRule] = []
        for heading, new in marks.items():
            wanted = _strictest(new)
            if heading and any(old | wanted != old for old in known.get(heading, ())):
                found.append(HeadingRule(glob.escape(heading), wanted))
        return found


def _marks_by_heading(
    data: bytes, kind: str, settings: ChunkSettings, rules: Sequence[HeadingRule]
) -> dict[str, list[Marks]]:
    """Innermost heading ('' where there is none) -> the marks of each passage under it."""
    found: dict[str, list[Marks]] = {}
    for chunk in chunk_document(data, kind, settings, rules):
        found.setdefault(chunk.heading_path[-1] if chunk.heading_path else "", []).append(chunk.marks)
    return found


def _strictest(marks: Sequence[Marks]) -> Marks:
    all_ = Marks()
    for one in marks:
        all_ |= one
    return all_


def _as_facts(marks: Sequence[Marks]) -> SourceFacts:
    """What a text says of all of itself, in the form of a statement about a source."""
    all_ = _strictest(marks)
    open_ = SourceFacts("", spoiler_level=all_.spoiler_level, spoiler_tags=all_.spoiler_tags)
    return replace(open_, visibility="hidden") if all_.hidden else open_
