"""A correction by the user: a text of theirs becomes canon above all other, and stands beside the passages it corrects."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from canonry import corrections, database, perspective
from canonry.authority import CORRECTION_TYPE
from canonry.campaign import Campaign
from canonry.catalog import Catalog
from canonry.eligibility import HIGHEST_LEVEL, NARRATOR, Scope
from canonry.errors import UsageError
from canonry.layout import Layout
from canonry.records import SourceFacts
from canonry.retrieval import Passage
from flows.import_files import Choices, import_files
from flows.progress import Progress, silent
from stages.select import select_files
from stages.statements import combined, parse_facts

_TITLE_WORDS = 8


def add_correction(
    at: Layout, text: str, of: Sequence[Passage], options: Mapping[str, object], progress: Progress = silent
) -> str:
    """Import `text` as a correction of the passages `of`; returns its source id. The caller holds the campaign's lock.

    It is canon of type `correction`, of high priority, and at least as secret as every passage that it corrects.
    """
    if not text.strip():
        raise UsageError("a correction without a word in it; say what is so")
    facts = _facts(at, text, of, options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "correction.md"
        path.write_text(text.strip() + "\n", encoding="utf-8")
        choices = Choices(facts, None, lambda name, twin: "separate", follow_moves=False)
        report = import_files(at, select_files([path]), choices, progress)
    if report.rejected:
        raise report.rejected[0]
    source_id = report.imported[0].source_id
    with closing(Catalog.open(at.catalog, write=True)) as catalog:
        catalog.detach(source_id, "correction.md")
        made = _passages(at, source_id)
        hashes = corrections.body_hashes(at, [*made, *of])
        with database.transaction(catalog.connection) as db:
            corrections.link(db, made, of, hashes)
    return source_id


def _facts(at: Layout, text: str, of: Sequence[Passage], options: Mapping[str, object]) -> dict[str, object]:
    facts = SourceFacts("")
    known: dict[str, object] = {}
    with closing(Catalog.open(at.catalog)) as catalog:
        for passage in of:
            source = catalog.source(passage.source_id)
            known = perspective.stricter(known, perspective.said_in(json.loads(source.facts.extra)))
            facts = combined(
                facts,
                {
                    "visibility": passage.visibility, "spoiler_level": passage.spoiler_level,
                    "spoiler_tags": tuple(passage.spoiler_tags),
                    "allowed_roles": source.facts.allowed_roles or facts.allowed_roles,
                },
            )  # fmt: skip
    facts = combined(facts, parse_facts({key: value for key, value in options.items() if value is not None}))
    secrecy = {
        "visibility": facts.visibility, "spoiler_level": facts.spoiler_level, "spoiler_tags": facts.spoiler_tags,
        "allowed_roles": facts.allowed_roles or None,
    }  # fmt: skip
    given = {key: value for key, value in options.items() if value is not None}
    entities = tuple(dict.fromkeys((*facts.entities, *(name for passage in of for name in passage.entities))))
    return {
        "title": _title(text), "priority": "high", **given, "entities": entities or None,
        "class": "canon", "type": CORRECTION_TYPE, **secrecy, **known,
    }  # fmt: skip


def _title(text: str) -> str:
    words = re.sub(r"^[#>\s*-]+", "", text.strip().splitlines()[0]).split()
    return "Correction: " + " ".join(words[:_TITLE_WORDS]).rstrip(".。") + ("…" if len(words) > _TITLE_WORDS else "")


def _passages(at: Layout, source_id: str) -> list[Passage]:
    with Campaign(at) as campaign:
        return campaign.survey(Scope(NARRATOR, HIGHEST_LEVEL, sources=(source_id,)), list)
