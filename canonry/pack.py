"""A pack: the passages that a prompt is given for one question, whole, framed, and never above a budget of tokens.

The part that always holds stands first and is the same, byte for byte, in every pack of the same campaign, scope, budget
and state, so that a model's prompt cache keeps it. Everything else is framed with a mark of that pack alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass

from canonry import authority, frame
from canonry.authority import Disagreement
from canonry.campaign import Campaign
from canonry.claims import Claim, claims
from canonry.conflicts import Conflict, among
from canonry.context import NO_CONTEXT, QueryContext
from canonry.eligibility import HIGHEST_LEVEL, NARRATOR, Scope
from canonry.errors import NotFound, PinDoesNotFit
from canonry.overlap import shingles
from canonry.ranking import LARGEST_LIMIT
from canonry.records import CLASSES
from canonry.retrieval import Answer, Passage
from canonry.room import DEFAULT_BUDGET, Candidate, Key, Limits, Room
from canonry.secret import campaign_secret
from canonry.tokens import COUNTER, count_tokens

CANDIDATES = 50  # ranked passages that a pack chooses from; more where the budget could hold more
_SMALL_PASSAGE = 100  # tokens


@dataclass(frozen=True, slots=True)
class Item:
    """A passage of a pack. `tokens` as it is rendered, frame included; `section` is always or its class."""

    passage: Passage
    section: str
    tokens: int
    why: str

    @property
    def name(self) -> str:
        return _name(self.passage.title, self.passage.heading_path)

    def as_json(self) -> dict[str, object]:
        """The passage with the fields of an answer; no score where it was not ranked."""
        fields = self.passage.as_json()
        if not self.passage.reasons:
            fields["fused_score"] = None
        return {"section": self.section, "tokens": self.tokens, "why": self.why, **fields}


@dataclass(frozen=True, slots=True)
class Omitted:
    """A passage that was eligible and found, and is not in the pack."""

    chunk_id: str
    title: str
    heading_path: tuple[str, ...]
    class_: str
    tokens: int
    reason: str

    @property
    def name(self) -> str:
        return _name(self.title, self.heading_path)

    def as_json(self) -> dict[str, object]:
        return {("class" if name == "class_" else name): value for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Pack:
    """What one question supplies. `text` is what a prompt is given; `total_tokens` is its count by `counter`.

    `disagreements` are those between canon and the accepted state. `pack_id` is null until it is recorded, `degraded`
    says why less was searched than was asked for.
    """

    campaign_id: str
    query: str
    scope: Scope
    context: QueryContext
    mode: str
    degraded: str | None
    limits: Limits
    pins: tuple[str, ...]
    total_tokens: int
    items: tuple[Item, ...]
    omitted: tuple[Omitted, ...]
    warnings: tuple[str, ...]
    notices: tuple[str, ...]
    disagreements: tuple[Disagreement, ...]
    text: str
    pack_id: int | None = None
    counter: str = COUNTER

    def as_json(self) -> dict[str, object]:
        """Everything that was supplied, and what was asked for under `settings`."""
        budgets = {class_: self.limits.of(class_) for class_ in CLASSES}
        return {
            "pack_id": self.pack_id,
            "campaign_id": self.campaign_id,
            "query": self.query,
            "role": self.scope.role,
            "mode": self.mode,
            "degraded": self.degraded,
            "budget": self.limits.whole,
            "counter": self.counter,
            "total_tokens": self.total_tokens,
            "settings": asdict(self.scope) | {"context": asdict(self.context), "budgets": budgets, "pins": self.pins},
            "warnings": self.warnings,
            "notices": self.notices,
            "disagreements": [one.as_json() for one in self.disagreements],
            "items": [item.as_json() for item in self.items],
            "omitted": [omitted.as_json() for omitted in self.omitted],
            "text": self.text,
        }


def build_pack(
    campaign: Campaign,
    query: str,
    *,
    scope: Scope | None = None,
    limits: Limits | None = None,
    mode: str | None = None,
    context: QueryContext = NO_CONTEXT,
    pins: Sequence[str] = (),
    state: str = "",
    judge: bool = False,
    mark: str | None = None,
) -> Pack:
    """The pack for a question. Only what the scope may see is in it, in what is omitted, and in every warning.

    `pins` are chunk ids that must be in it: NotFound for one that the scope does not see, PinDoesNotFit for one without
    room. `state` is what the prompt says already; passages that it holds are left out. `judge` as of
    `Campaign.retrieve`. `mark` is for tests.
    """
    scope, limits = scope or Scope(), limits or Limits()
    always, pinned = campaign.standing(scope, pins)
    for chunk_id in pins:
        if chunk_id not in pinned:
            raise NotFound(
                f"pin {chunk_id!r}: no passage that this question may see has that id; `canonry query --json` shows ids"
            )
    answer = _ask(campaign, query, scope, mode, context, limits, judge=judge)
    standing_mark, warning = _standing_mark(campaign, always) if always else ("", "")
    every = [*always, *pinned.values(), *answer.results]
    correcting = campaign.corrections(scope, every)
    settled, unsettled = _conflicts(campaign, [*every, *(one for found in correcting.values() for one in found)])
    for key, holding in settled.items():
        correcting[key] = [*correcting.get(key, []), *holding]
    prepare = _Preparer(standing_mark, mark or frame.new_mark(), claims(state), correcting.keys())
    before = [prepare(passage, frame.ALWAYS, "always included") for passage in always]
    room = Room(limits, state, _companions(prepare, before, every, correcting))
    warnings = [warning] if warning else []
    warnings += room.take_always(before)
    room.take_pins(
        [prepare(pinned[chunk_id], _section(pinned[chunk_id]), "pinned") for chunk_id in dict.fromkeys(pins)]
    )
    ranked = [prepare(passage, _section(passage), "; ".join(passage.reasons)) for passage in answer.results]
    for candidate in ranked:
        overtaken = prepare.disagreements[candidate.key]
        if authority.is_mostly(candidate.passage, overtaken) and all(candidate.key != one.key for one in room.chosen):
            room.leave(candidate, f"{authority.CURRENT_STATE} says otherwise: {overtaken[0].state!r}")
    room.take_ranked(ranked)
    text = _render(room.chosen)
    total = count_tokens(text)
    assert total <= limits.whole, f"{total} tokens in a pack of {limits.whole}"
    shown = {candidate.key for candidate in (*room.chosen, *(left for left, _ in room.omitted()))}
    disagreements = tuple(one for key, found in prepare.disagreements.items() if key in shown for one in found)
    warnings += [one.warning for one in disagreements]
    chosen_keys = {candidate.key for candidate in room.chosen}
    warnings += [
        conflict.warning for conflict in unsettled if {_key(side.passage) for side in conflict.sides} <= chosen_keys
    ]
    return Pack(
        campaign.at.campaign, query, scope, context, answer.mode, answer.degraded, limits, tuple(dict.fromkeys(pins)), total,
        tuple(Item(chosen.passage, chosen.section, chosen.tokens, chosen.why) for chosen in room.chosen),
        tuple(_omitted(left, reason) for left, reason in room.omitted()), tuple(warnings), tuple(answer.notices),
        disagreements, text,
    )  # fmt: skip


def _section(passage: Passage) -> str:
    is_correction = passage.class_ == "canon" and passage.source_type == authority.CORRECTION_TYPE
    return frame.CORRECTION if is_correction else passage.class_


def _companions(
    prepare: _Preparer,
    before: Sequence[Candidate],
    every: Sequence[Passage],
    correcting: Mapping[Key, Sequence[Passage]],
) -> dict[Key, list[Candidate]]:
    """What must stand beside each corrected passage, as a candidate of its own."""
    always = {candidate.key: candidate for candidate in before}
    made: dict[Key, Candidate] = {}
    found: dict[Key, list[Candidate]] = {}
    for passage in every:
        key = _key(passage)
        for other in correcting.get(key, ()):
            its_key = _key(other)
            if its_key not in made:
                made[its_key] = always.get(its_key) or prepare(other, _section(other), "corrects another passage")
        found[key] = [made[_key(other)] for other in correcting.get(key, ())]
    return found


def _conflicts(campaign: Campaign, passages: Sequence[Passage]) -> tuple[dict[Key, list[Passage]], list[Conflict]]:
    """By its key, what holds over a passage of less authority that contradicts it; and the conflicts that are open."""
    settled: dict[Key, list[Passage]] = {}
    unsettled: list[Conflict] = []
    for conflict in among(campaign.at, passages):
        if conflict.holds is not None and conflict.loser is not None:
            settled.setdefault(_key(conflict.loser.passage), []).append(conflict.holds.passage)
        elif conflict.is_open:
            unsettled.append(conflict)
    return settled, unsettled


def _key(passage: Passage) -> Key:
    return passage.source_version_id, passage.chunk_id


def warn_of_always(campaign: Campaign) -> str:
    """A warning where canon that is always included would take over half of a pack of the default budget; else empty."""
    always, _ = campaign.standing(Scope(NARRATOR, HIGHEST_LEVEL))
    tokens = sum(passage.token_count for passage in always)
    if 2 * tokens <= DEFAULT_BUDGET:
        return ""
    return (
        f"canon that is always included has {tokens:,} tokens, more than half of a pack of {DEFAULT_BUDGET:,}, the default; "
        "let fewer sources be always included, or ask for larger packs"
    )


def only_in(pack: Pack, other: Pack) -> list[Item]:
    """The items of a pack that another has not."""
    there = {(item.passage.source_version_id, item.passage.chunk_id) for item in other.items}
    return [item for item in pack.items if (item.passage.source_version_id, item.passage.chunk_id) not in there]


def _ask(
    campaign: Campaign,
    query: str,
    scope: Scope,
    mode: str | None,
    context: QueryContext,
    limits: Limits,
    *,
    judge: bool,
) -> Answer:
    return campaign.retrieve(
        query, spoiler_level=scope.spoiler_level, role=scope.role, mode=mode,
        limit=min(LARGEST_LIMIT, max(CANDIDATES, limits.whole // _SMALL_PASSAGE)), classes=scope.classes,
        source_types=scope.source_types, tags=scope.tags, entities=scope.entities, sources=scope.sources,
        forbid_tags=scope.forbid_tags, as_of=scope.as_of, story_time=scope.story_time, context=context, copies=True,
        judge=judge,
    )  # fmt: skip


def _standing_mark(campaign: Campaign, always: Sequence[Passage]) -> tuple[str, str]:
    """The mark of what always holds: the same in every pack until one of these passages changes; and a warning or none."""
    content = "\0".join(
        part for passage in always for part in (passage.title, *passage.heading_path, passage.exact_text)
    )
    secret, warning = campaign_secret(campaign.at)
    return frame.derived_mark(secret, content), warning


class _Preparer:
    """Frames passages: those that always hold with their own mark, all others with that of the pack.

    `disagreements` are what the framed passages and the accepted state cannot both have, by the passage's key.
    """

    def __init__(self, standing_mark: str, fresh_mark: str, state: Sequence[Claim], corrected: Set[Key]) -> None:
        self._marks = tuple(mark for mark in (standing_mark, fresh_mark) if mark)
        self._standing_mark = standing_mark
        self._fresh_mark = fresh_mark
        self._state = state
        self._corrected = corrected
        self.disagreements: dict[Key, list[Disagreement]] = {}

    def __call__(self, passage: Passage, section: str, why: str) -> Candidate:
        key = _key(passage)
        if key not in self.disagreements:
            self.disagreements[key] = authority.disagreements(passage, self._state)
        place = frame.place(passage.title, passage.heading_path)
        mark = self._standing_mark if section == frame.ALWAYS else self._fresh_mark
        notes = authority.notes(passage, self.disagreements[key], corrected=key in self._corrected)
        block = frame.frame(passage.class_, place, passage.exact_text, mark, self._marks, notes)
        return Candidate(
            passage, section, why, " > ".join(place), block, count_tokens(block), shingles(passage.exact_text)
        )


def _name(title: str, headings: Sequence[str]) -> str:
    return " > ".join(frame.place(title, headings))


def _omitted(left: Candidate, reason: str) -> Omitted:
    passage = left.passage
    return Omitted(passage.chunk_id, passage.title, tuple(passage.heading_path), passage.class_, left.tokens, reason)


def _render(chosen: Sequence[Candidate]) -> str:
    parts = [frame.GUARD] if chosen else []
    section = ""
    for candidate in chosen:
        if candidate.section != section:
            section = candidate.section
            parts.append(frame.SECTIONS[section])
        parts.append(candidate.block)
    return "".join(parts)


__all__ = ["Item", "Limits", "Omitted", "Pack", "PinDoesNotFit", "build_pack", "only_in", "warn_of_always"]
