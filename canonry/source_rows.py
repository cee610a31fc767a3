"""Rows of the catalog that say what a source is: as the values that pass between modules, and back.

knowledge_source with its source_label rows <-> SourceFacts; a Draft -> knowledge_source_version; heading rules <-> JSON.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from canonry import perspective
from canonry.records import Draft, HeadingRule, Marks, Source, SourceFacts
from canonry.text import fold

_LABELS = {"tag": "tags", "entity": "entities", "spoiler_tag": "spoiler_tags", "allowed_role": "allowed_roles"}
_EDITABLE = {
    "title": "title", "class_": "class", "visibility": "visibility", "spoiler_level": "spoiler_level",
    "priority": "priority", "always_include": "always_include", "trust": "trust", "edition": "edition", "uri": "uri",
    "notes": "notes", "source_type": "source_type", "chapter": "chapter", "order": "reading_order", "scope": "scope",
    "importance": "importance", "status": "status", "foreshadow_state": "foreshadow_state",
    "source_chapter": "source_chapter", "last_mention_chapter": "last_mention_chapter", "extra": "extra",
}  # fmt: skip
_SOURCE_COLUMNS = ", ".join(f"s.{column}" for column in _EDITABLE.values())


def read_sources(db: sqlite3.Connection, where: str, parameters: Iterable[object]) -> list[Source]:
    """Sources with a live version, by reading order, title and id; `where` speaks of `s`, the source, and `v`, the version."""
    rows = db.execute(
        f"""
        SELECT s.source_id, s.campaign_id, {_SOURCE_COLUMNS}, s.enabled, s.original_filename, s.original_path,
               s.imported_at, s.updated_at, v.version_id, v.content_hash, v.file_size, v.mime_type, v.encoding,
               v.parser_version, v.chunking_version, s.locked, s.superseded_by
        FROM knowledge_source s JOIN knowledge_source_version v ON v.source_id = s.source_id AND v.valid_to IS NULL
        WHERE {where} ORDER BY s.reading_order IS NULL, s.reading_order, s.title, s.source_id
        """,
        tuple(parameters),
    ).fetchall()
    labels = _read_labels(db, [row[0] for row in rows]) if rows else {}
    return [_source(row, labels.get(row[0], {})) for row in rows]


def _read_labels(db: sqlite3.Connection, source_ids: list[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    one = len(source_ids) == 1
    rows = db.execute(
        "SELECT source_id, kind, label FROM source_label" + (" WHERE source_id = ?" if one else ""),
        tuple(source_ids) if one else (),
    )
    labels: dict[str, dict[str, tuple[str, ...]]] = {}
    for source_id, kind, label in rows:
        kinds = labels.setdefault(source_id, {})
        kinds[kind] = (*kinds.get(kind, ()), label)
    return labels


def _source(row: tuple[object, ...], labels: dict[str, tuple[str, ...]]) -> Source:
    facts_row, rest = row[2 : 2 + len(_EDITABLE)], row[2 + len(_EDITABLE) :]
    facts = dict(zip(_EDITABLE, facts_row, strict=True))
    facts["always_include"] = bool(facts["always_include"])
    facts |= {name: labels.get(kind, ()) for kind, name in _LABELS.items()}
    rest = (bool(rest[0]), *rest[1:-2], bool(rest[-2]), rest[-1])
    return Source(row[0], row[1], SourceFacts(**facts), *rest)  # type: ignore[arg-type]


def insert_source(db: sqlite3.Connection, draft: Draft, instant: str) -> None:
    """A row for a source that is new; `write_facts` says the rest."""
    db.execute(
        "INSERT INTO knowledge_source (source_id, campaign_id, title, original_filename, original_path, class, "
        "visibility, spoiler_level, priority, always_include, imported_at, updated_at) "
        "VALUES (?, (SELECT value FROM meta WHERE key = 'campaign_id'), '', ?, ?, 'reference', 'normal', 0, 'normal', 0, ?, ?)",
        (draft.document.source_id, draft.original_filename, draft.original_path, instant, instant),
    )


def write_facts(db: sqlite3.Connection, source_id: str, facts: SourceFacts, instant: str) -> None:
    """Let the row and the labels of a source that is there say these facts and no others."""
    assignments = ", ".join(f"{column} = ?" for column in _EDITABLE.values())
    values = [getattr(facts, name) for name in _EDITABLE]
    db.execute(
        f"UPDATE knowledge_source SET {assignments}, updated_at = ? WHERE source_id = ?",
        (*values, instant, source_id),
    )
    db.execute("DELETE FROM source_label WHERE source_id = ?", (source_id,))
    for kind, name in _LABELS.items():
        for label in getattr(facts, name):
            db.execute("INSERT OR IGNORE INTO source_label VALUES (?, ?, ?, ?)", (source_id, kind, label, fold(label)))


def insert_version(
    db: sqlite3.Connection, draft: Draft, instant: str, parser_version: str, chunking_version: str
) -> None:
    """Make a draft the live version of its source from that instant on."""
    document, facts = draft.document, draft.facts
    row = {
        "version_id": document.version_id, "source_id": document.source_id,
        "number": int(document.version_id.rpartition("@")[2]), "content_hash": document.content_hash,
        "original_hash": draft.original_hash, "file_size": draft.file_size,
        "mime_type": "text/markdown" if document.kind == "markdown" else "text/plain", "encoding": draft.encoding,
        "text_title": document.title, "parser_version": parser_version, "chunking_version": chunking_version,
        "imported_at": instant, "valid_from": instant, "stated_level": facts.spoiler_level,
        "stated_hidden": int(facts.visibility == "hidden"), "stated_tags": json.dumps([fold(t) for t in facts.spoiler_tags]),
        "stated_roles": json.dumps([fold(role) for role in facts.allowed_roles]), "heading_rules": draft.heading_rules_json,
        "normal_hash": draft.normal_hash, "stated_known": json.dumps(perspective.said_in(json.loads(facts.extra))),
    }  # fmt: skip
    names = ", ".join(row)
    db.execute(
        f"INSERT INTO knowledge_source_version ({names}) VALUES ({', '.join('?' * len(row))})", tuple(row.values())
    )


def dump_heading_rules(rules: Iterable[HeadingRule]) -> str:
    """Heading rules as the catalog keeps them."""
    return json.dumps(
        [[rule.pattern, rule.marks.spoiler_level, list(rule.marks.spoiler_tags), rule.marks.hidden] for rule in rules],
        ensure_ascii=False,
    )


def load_heading_rules(text: str) -> tuple[HeadingRule, ...]:
    return tuple(
        HeadingRule(pattern, Marks(level, tuple(tags), hidden)) for pattern, level, tags, hidden in json.loads(text)
    )
