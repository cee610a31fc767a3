"""Reading a file for an import: its text, and what its folders, its front matter and the user say of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from canonry.records import HeadingRule, SourceFacts
from canonry.source_rows import dump_heading_rules
from flows.import_report import ImportReport
from flows.progress import timed
from stages import classify, validate
from stages.chunking.front_matter import read_front_matter
from stages.folder_rules import RulesAbove
from stages.select import Selected


@dataclass(frozen=True, slots=True)
class Statement:
    """What is said of a file by everything but earlier imports and edits; `title` is that of the text itself."""

    facts: SourceFacts
    rules: tuple[HeadingRule, ...]
    title: str

    @property
    def rules_json(self) -> str:
        return dump_heading_rules(self.rules)


class Reader:
    """Reads files and notes times, sizes and warnings in the report of the import."""

    def __init__(
        self,
        options: Mapping[str, object],
        encoding_of: Callable[[Path], str | None],
        limit_bytes: int,
        report: ImportReport,
    ) -> None:
        self._options, self._encoding_of, self._limit, self._report = options, encoding_of, limit_bytes, report
        self._rules = RulesAbove()

    def read(self, selected: Selected) -> validate.Validated:
        """The file's text; RejectedFile where it is none."""
        with timed(self._report, "validate"):
            valid = validate.validate_file(selected, encoding=self._encoding_of(selected.path), limit=self._limit)
        self._report.bytes += len(valid.data)
        return valid

    def classify(self, selected: Selected, valid: validate.Validated) -> Statement:
        """What is said of the file; RejectedFile where a statement cannot be read."""
        with timed(self._report, "classify"):
            front = read_front_matter(valid.data)
            rules = self._rules.of(selected.place)
            facts, heading_rules, warnings = classify.classify(selected.name, rules, front, self._options, valid.data)
        self._report.warnings += [f"{selected.name}: {warning}" for warning in warnings]
        title = front.fields.get("title")
        stated = " ".join(title.split()) if isinstance(title, str) else ""
        return Statement(facts, heading_rules, stated or Path(selected.name).stem)
