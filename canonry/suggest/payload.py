"""A context: the confirmed binding and the whole prompt text that it makes. Kept as it was, never as a summary.

A stored context is read by whom it was made for, or who sees no less, as a past pack is (`canonry.history`): asked as a
role, up to a spoiler level, one finds the contexts of that role and of player, made at that level or below and at that
story time or before, that hold nothing with a forbidden tag. It stays readable when its sources have changed or gone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field

from canonry import database, readership
from canonry.campaign import Campaign
from canonry.catalog import Catalog
from canonry.eligibility import Scope
from canonry.errors import NotFound
from canonry.layout import Layout
from canonry.locking import writing
from canonry.suggest.binding import KNOWLEDGE, Binding, check_binding
from canonry.suggest.blocks import Block, Budgets, Dropped, fit, make_block, render
from canonry.suggest.entries import SeenText, list_entries, read_texts
from canonry.suggest.labels import KINDS, summary
from canonry.suggest.suggestions import NOWHERE, Situation, Suggestion, pick_language, score_all
from canonry.text import fold
from canonry.timestamps import now

DEFAULT_BUDGETS = Budgets()
_COLUMNS = "context_id, created_at, role, spoiler_level, binding, system_prompt, context_summary, details"


@dataclass(frozen=True, slots=True)
class Context:
    """What a prompt is given. `details` are preview, dropped blocks, versions and settings, for a program."""

    campaign_id: str
    role: str
    spoiler_level: int
    binding: Binding
    system_prompt: str
    context_summary: str
    spoiler_tags: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    details: dict[str, object] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """The payload under the names of a writing flow (binding, systemPrompt, contextSummary), and the details."""
        return {
            "campaign_id": self.campaign_id, "role": self.role, "spoiler_level": self.spoiler_level,
            "binding": self.binding.as_json(), "systemPrompt": self.system_prompt,
            "contextSummary": self.context_summary, "charCount": len(self.system_prompt), **self.details,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class StoredContext:
    """A context that was confirmed. `payload` is its JSON document."""

    context_id: int
    created_at: str
    role: str
    summary: str
    payload: dict[str, object]

    def as_json(self) -> dict[str, object]:
        return {"context_id": self.context_id, "created_at": self.created_at, **self.payload}


def build_context(
    campaign: Campaign, binding: Binding, scope: Scope, situation: Situation = NOWHERE, *, language: str = "auto",
    budgets: Budgets = DEFAULT_BUDGETS,
) -> Context:  # fmt: skip
    """The context that a binding makes for a scope; nothing is stored.

    RefusedBinding with every id that cannot be used. Scores, by which knowledge is dropped, are those of a suggestion.
    Sources of any other kind stand in story order, and are dropped from its end.
    """
    with closing(Catalog.open(campaign.at.catalog)) as catalog:
        entries = {entry.entry_id: entry for entry in list_entries(catalog)}
        placed = catalog.sources(where="s.reading_order IS NOT NULL")
    orders = {source.source_id: source.facts.order for source in placed}
    texts = read_texts(campaign, scope, binding.all_ids)
    check_binding(binding, scope, campaign.at.campaign, texts, entries)
    scored = {one.entry.entry_id: one for one in score_all(campaign, scope, situation, binding.of_kind(KNOWLEDGE))}
    language = pick_language(language, situation.goal, (text.title for text in texts.values()))
    blocks = [
        _block(kind, source_id, texts[source_id], scored.get(source_id), language, budgets)
        for kind in KINDS
        for source_id in _in_story_order(binding.of_kind(kind), orders)
    ]
    kept, dropped = fit(blocks, language, budgets)
    counts = [(kind, sum(block.kind == kind for block in kept)) for kind in KINDS]
    seen = {block.source_id: texts[block.source_id] for block in kept}
    tags = sorted({fold(tag) for text in seen.values() for tag in text.spoiler_tags})
    details: dict[str, object] = {
        "preview": [block.as_json() for block in kept],
        "dropped": [one.as_json() for one in dropped],
        "versions": {source_id: text.source_version_id for source_id, text in seen.items()},
        "chapter": situation.chapter, "goal": situation.goal, "language": language, "budgets": asdict(budgets),
        "story_time": scope.story_time,
    }  # fmt: skip
    return Context(
        campaign.at.campaign, scope.role, scope.spoiler_level, binding, render(kept, language), summary(counts, language),
        tuple(tags), tuple(kept), tuple(dropped), details,
    )  # fmt: skip


def _in_story_order(source_ids: Sequence[str], orders: Mapping[str, int | None]) -> list[str]:
    """By the `order` of the sources; after them those that have none, as the binding names them."""
    return sorted(source_ids, key=lambda source_id: (orders.get(source_id) is None, orders.get(source_id) or 0))


def _block(
    kind: str, source_id: str, seen: SeenText, scored: Suggestion | None, language: str, budgets: Budgets
) -> Block:
    type_, score = (scored.entry.type, scored.score.total) if scored else (None, None)
    return make_block(kind, source_id, seen.title, seen.text, language, budgets, type_, score)


def store_context(at: Layout, context: Context) -> int:
    """Keep a confirmed context, whole; returns its id. Busy where another process writes to the campaign."""
    row = (
        now(), context.role, context.spoiler_level, _dumped(context.spoiler_tags), _dumped(context.binding.as_json()),
        context.system_prompt, context.context_summary, _dumped(context.details),
    )  # fmt: skip
    with (
        database.plain_errors(at.catalog, "restore the campaign from an export"),
        writing(at),
        closing(Catalog.open(at.catalog, write=True)) as catalog,
        database.transaction(catalog.connection) as db,
    ):
        cursor = db.execute(
            "INSERT INTO context_payload (created_at, role, spoiler_level, spoiler_tags, binding, system_prompt, "
            "context_summary, details) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        return int(cursor.lastrowid or 0)


def list_contexts(at: Layout, scope: Scope, limit: int) -> list[StoredContext]:
    """The latest contexts that the scope's role may read at its spoiler level, the last first."""
    return _stored(at, scope, "1", [], limit)


def show_context(at: Layout, context_id: int, scope: Scope) -> StoredContext:
    """One of them; NotFound alike for one that is not there and for one that the role may not read."""
    found = _stored(at, scope, "context_id = ?", [context_id], 1) if abs(context_id) < 1 << 63 else []
    if not found:
        raise NotFound(
            f"context {context_id} is not stored in campaign {at.campaign!r} for role {scope.role!r} at spoiler level "
            f"{scope.spoiler_level}; `canonry context list` shows what is"
        )
    return found[0]


def _stored(at: Layout, scope: Scope, which: str, parameters: Sequence[object], limit: int) -> list[StoredContext]:
    readable, values = readership.condition(scope, story_time="json_extract(details, '$.story_time')")
    conditions, values = [readable, which], [*values, *parameters]
    if scope.forbid_tags:
        marks = ", ".join("?" * len(scope.forbid_tags))
        conditions.append(f"NOT EXISTS (SELECT 1 FROM json_each(spoiler_tags) WHERE value IN ({marks}))")
        values += map(fold, scope.forbid_tags)
    with closing(Catalog.open(at.catalog)) as catalog:
        rows = catalog.connection.execute(
            f"SELECT {_COLUMNS} FROM context_payload WHERE {' AND '.join(conditions)} ORDER BY context_id DESC LIMIT ?",
            (*values, limit),
        ).fetchall()
    return [_from_row(at.campaign, row) for row in rows]


def _from_row(campaign_id: str, row: Sequence[object]) -> StoredContext:
    context_id, created_at, role, level, binding, prompt, line, details = row
    payload = {
        **json.loads(str(details)), "campaign_id": campaign_id, "role": role, "spoiler_level": level,
        "binding": json.loads(str(binding)), "systemPrompt": prompt, "contextSummary": line, "charCount": len(str(prompt)),
    }  # fmt: skip
    return StoredContext(int(str(context_id)), str(created_at), str(role), str(line), payload)


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
