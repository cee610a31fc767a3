"""Which approved entries belong into the context of a chapter, the best first, and why.

Only entries that the scope may see are scored. A suggestion may be ignored: what a prompt is given is what is confirmed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace

from canonry.campaign import Campaign
from canonry.catalog import Catalog
from canonry.eligibility import HIGHEST_LEVEL, Scope
from canonry.errors import UsageError
from canonry.suggest.entries import APPROVED, Entry, SeenText, list_entries, read_texts
from canonry.suggest.labels import REASON_LABELS, TYPE_LABELS, language_of
from canonry.suggest.score import Score, chapter_order, score_entry
from canonry.suggest.words import Goal

DEFAULT_TOP = 8
FEWEST, MOST = 3, 15


@dataclass(frozen=True, slots=True)
class Situation:
    """What suggestions are made for: a chapter (a number or a name; None leaves nearness out) and a goal in words."""

    chapter: str | None = None
    goal: str = ""


NOWHERE = Situation()


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An entry with its score and with what of it may be seen."""

    entry: Entry
    seen: SeenText
    score: Score

    def as_json(self, language: str) -> dict[str, object]:
        return {
            **self.entry.as_json(),
            "title": self.seen.title,
            "type_label": TYPE_LABELS[language][self.entry.type],
            **self.score.as_json(),
            "reason_labels": [REASON_LABELS[language][reason] for reason in self.score.reasons],
        }


def suggest(
    campaign: Campaign, scope: Scope, situation: Situation = NOWHERE, top: int = DEFAULT_TOP
) -> list[Suggestion]:
    """The `top` approved entries (3 to 15) that the scope may see: the best first, equal scores by id."""
    if not FEWEST <= top <= MOST:
        raise UsageError(f"top {top} must lie between {FEWEST} and {MOST}; give another")
    return score_all(campaign, scope, situation)[:top]


def score_all(
    campaign: Campaign, scope: Scope, situation: Situation, among: Collection[str] | None = None
) -> list[Suggestion]:
    """Every approved entry in sight, or those of the ids `among`: the best first, equal scores by id.

    UsageError where the chapter is named and no source in sight has that name and an order.
    """
    with closing(Catalog.open(campaign.at.catalog)) as catalog:
        every = list_entries(catalog)
        approved = [e for e in every if e.status == APPROVED and (among is None or e.entry_id in among)]
        named = [situation.chapter, *(name for e in approved for name in (e.source_chapter, e.last_mention_chapter))]
        orders = _orders(campaign, catalog, scope, named)
    current = _current(situation.chapter, orders, scope)
    goal = Goal(situation.goal)
    texts = read_texts(campaign, scope, [entry.entry_id for entry in approved])
    found = []
    for entry in approved:
        if seen := texts.get(entry.entry_id):
            overlap = goal.overlap(f"{seen.title}\n{seen.text}")
            known = _without_unseen_chapters(entry, orders)
            found.append(Suggestion(known, seen, score_entry(known, current, orders, overlap)))
    return sorted(found, key=lambda one: (-one.score.total, one.entry.entry_id))


def pick_language(language: str, goal: str, titles: Iterable[str]) -> str:
    """The language itself; for auto that of the goal, or of the titles where there is none."""
    if language != "auto":
        return language
    return language_of([goal] if goal.strip() else titles)


def _orders(campaign: Campaign, catalog: Catalog, scope: Scope, names: Iterable[str | None]) -> dict[str, int]:
    """The order of each chapter that one of the names is: of a source in sight, by its id, chapter, title or file name."""
    asked = {name for name in names if name and chapter_order(name, {}) is None}
    if not asked:
        return {}
    in_sight = campaign.sources_in_sight(scope)
    orders: dict[str, int] = {}
    for source in catalog.sources(where="s.reading_order IS NOT NULL"):
        facts = source.facts
        for name in {source.source_id, facts.chapter, facts.title, source.original_filename} & asked:
            if name and facts.order is not None and source.source_id in in_sight:
                orders[name] = min(facts.order, orders.get(name, facts.order))
    return orders


def _without_unseen_chapters(entry: Entry, orders: Mapping[str, int]) -> Entry:
    """The entry without the name of a chapter that is not in sight: a chapter's name can tell what happens in it."""
    source, last = (
        name if chapter_order(name, orders) is not None else None
        for name in (entry.source_chapter, entry.last_mention_chapter)
    )
    return replace(entry, source_chapter=source, last_mention_chapter=last)


def _current(name: str | None, orders: dict[str, int], scope: Scope) -> int | None:
    if name is None:
        return None
    current = chapter_order(name.strip(), orders)
    if current is None or current > HIGHEST_LEVEL:
        raise UsageError(
            f"chapter {name!r} is neither a number up to {HIGHEST_LEVEL} nor a source with an `order` that role "
            f"{scope.role!r} sees at spoiler level {scope.spoiler_level}; give its number"
        )
    return current
