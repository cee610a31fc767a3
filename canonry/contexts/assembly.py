"""An exact selection, checked and put into a text for a prompt.

Checked is what a program can check: that each item exists and is eligible for the role, is what it was when it was
selected, that what is required was selected, and that a passage stands beside what corrects it. Whether the selection
is relevant or enough is not asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from canonry import authority, frame
from canonry.claims import Claim, claims
from canonry.conflicts import among
from canonry.contexts.failures import (
    ContextFailure,
    ForbiddenRole,
    InvalidatedItem,
    MissingEvidence,
    StaleReference,
    named,
    raise_all,
)
from canonry.contexts.inventory import Inventory
from canonry.contexts.item import CALLER, LOG, MEMORY, Item
from canonry.contexts.roles import as_told
from canonry.contexts.tiers import Block, Budgets, pack_tiers
from canonry.retrieval import Passage
from canonry.tokens import COUNTER, count_tokens

_SECTIONS = {
    LOG: "THE CURRENT STATE: accepted in this game.\n",
    **frame.SECTIONS,
    MEMORY: "NOTES: derived from the lore; they establish nothing, and where they differ from it, the lore holds.\n",
    CALLER: "SUPPLIED: beside the lore, by whoever asks; each is what its opening line says, and establishes nothing more.\n",
}
_ORDER = list(_SECTIONS)
_HEADINGS = {"": count_tokens(frame.GUARD), **{name: count_tokens(text) for name, text in _SECTIONS.items()}}


@dataclass(frozen=True, slots=True)
class Ref:
    """An item as it was selected. What is empty is not checked."""

    id: str
    fingerprint: str = ""
    source_fingerprint: str = ""
    source_id: str = ""

    @classmethod
    def of(cls, item: Item) -> Ref:
        return cls(item.id, item.fingerprint, item.source_fingerprint, item.source_id)


@dataclass(frozen=True, slots=True)
class Assembly:
    """A checked context. `text` is what a prompt is given; `left` found no room, with the reason."""

    campaign_id: str
    role: str
    budgets: Budgets
    hot: tuple[Block, ...]
    working: tuple[Block, ...]
    left: tuple[tuple[Block, str], ...]
    warnings: tuple[str, ...]
    text: str
    total_tokens: int

    def as_json(self) -> dict[str, object]:
        return {
            "campaign_id": self.campaign_id, "role": self.role, "budgets": asdict(self.budgets), "counter": COUNTER,
            "total_tokens": self.total_tokens, "hot": [_shown(block, self.role) for block in self.hot],
            "working": [_shown(block, self.role) for block in self.working],
            "left": [_shown(block, self.role) | {"reason": reason} for block, reason in self.left],
            "warnings": list(self.warnings), "text": self.text,
        }  # fmt: skip


def failures_of(
    inventory: Inventory,
    selected: Sequence[Ref],
    required: Sequence[Ref] = (),
    *,
    told_all: bool = False,
    alone: bool = False,
) -> list[ContextFailure]:
    """Everything that is wrong with a selection, one failure a kind, each with all its ids; empty where nothing is.

    `told_all` is for eyes that may see everything: it tells a forbidden item from one that is not there. `alone` asks
    only whether each item is what it was, not what must stand beside it.
    """
    refs = [*selected, *required]
    found = inventory.find(ref.id for ref in refs)
    stale = [ref.id for ref in refs if ref.id in found and not _is_as_it_was(found[ref.id], ref)]
    missing: list[str] = []
    invalidated: list[str] = []
    forbidden: dict[str, str] = {}
    for ref in refs:
        if ref.id in found:
            continue
        against = inventory.reason_against(ref.id) if told_all else None
        if inventory.invalidated(ref.id):
            invalidated.append(ref.id)
        elif against:
            forbidden[ref.id] = against[1]
        elif ref.source_id and ref.fingerprint and inventory.sees_source(ref.source_id):
            stale.append(ref.id)
        else:
            missing.append(ref.id)
    chosen = {ref.id for ref in selected} | {item.id for item in inventory.pinned()}
    unselected = [ref.id for ref in required if ref.id in found and ref.id not in chosen]
    lone = {} if alone else _lone(inventory, [found[ref.id] for ref in selected if ref.id in found], chosen)
    return _told(inventory, stale, missing, invalidated, forbidden, unselected, lone)


def assemble(
    inventory: Inventory,
    selected: Sequence[Ref],
    required: Sequence[Ref] = (),
    *,
    budgets: Budgets | None = None,
    told_all: bool = False,
    mark: str | None = None,
) -> Assembly:
    """The text of a selection and of what is pinned. Raises the failures of the selection; `mark` is for tests."""
    budgets = budgets or Budgets()
    raise_all(failures_of(inventory, selected, required, told_all=told_all))
    pinned = inventory.pinned()
    found = inventory.find(ref.id for ref in selected)
    must = {item.id: item for item in pinned} | {ref.id: found[ref.id] for ref in required if ref.id in found}
    must |= _correcting(inventory, must)
    may = {ref.id: found[ref.id] for ref in selected if ref.id not in must}
    passages = inventory.passages([*must.values(), *may.values()])
    beside = _beside(inventory, passages)
    write = _Writer(inventory, passages, beside, mark or frame.new_mark())
    packed = pack_tiers(
        sorted(map(write, must.values()), key=lambda block: _ORDER.index(block.section)),
        [write(item) for item in may.values()], budgets, _HEADINGS, beside,
    )  # fmt: skip
    working = tuple(sorted(packed.working, key=lambda block: _ORDER.index(block.section)))
    text = _text(packed.hot) + _text(working)
    text = frame.GUARD + text if text else ""
    return Assembly(
        inventory.campaign.at.campaign, inventory.scope.role, budgets, packed.hot, working, packed.left,
        tuple(write.warnings(packed.hot + working)), text, count_tokens(text),
    )  # fmt: skip


class _Writer:
    """Renders items, with what our own words say of how far each holds."""

    def __init__(
        self,
        inventory: Inventory,
        passages: Mapping[str, Passage],
        beside: Mapping[str, Sequence[str]],
        mark: str,
    ) -> None:
        self._passages = passages
        self._mark = mark
        self._state = _state_claims(inventory)
        self._at = inventory.campaign.at
        conflicts = among(self._at, list(passages.values()))
        self._open = [conflict for conflict in conflicts if conflict.is_open]
        losers = {conflict.loser.passage.chunk_id for conflict in conflicts if conflict.loser}
        self._corrected = losers | beside.keys()

    def __call__(self, item: Item) -> Block:
        passage = self._passages.get(item.id)
        place = (item.title, *(name for name in item.place if name != item.title))
        if passage is None:
            name = {LOG: "state", MEMORY: "note"}.get(item.origin, "supplied")
            said = [f"{item.kind}, authority {item.authority}"] if item.origin == CALLER else []
            block, section = frame.frame(name, place, item.text, self._mark, notes=said), item.origin
        else:
            against = authority.disagreements(passage, self._state)
            notes = authority.notes(passage, against, corrected=item.id in self._corrected)
            block = frame.frame(passage.class_, place, item.text, self._mark, notes=notes)
            is_correction = passage.class_ == "canon" and passage.source_type == authority.CORRECTION_TYPE
            section = frame.CORRECTION if is_correction else passage.class_
        return Block(item, section, block, count_tokens(block))

    def warnings(self, blocks: Sequence[Block]) -> list[str]:
        """Where what stands in the text disagrees, with the state or with each other."""
        there = {block.item.id for block in blocks}
        told = [
            one.warning
            for id_ in sorted(there & self._passages.keys())
            for one in authority.disagreements(self._passages[id_], self._state)
        ]
        open_ = [conflict for conflict in self._open if {side.passage.chunk_id for side in conflict.sides} <= there]
        return [*told, *(conflict.warning for conflict in open_)]


def _state_claims(inventory: Inventory) -> list[Claim]:
    save = inventory.game()
    if save is None:
        return []
    log = save.log
    return claims("\n".join((*log.established_facts, *log.recent_events)))


def _beside(inventory: Inventory, passages: Mapping[str, Passage]) -> dict[str, list[str]]:
    """Id of a passage that others correct -> their ids, as far as the role may see them."""
    found = inventory.campaign.corrections(inventory.scope, list(passages.values()))
    return {chunk_id: [other.chunk_id for other in others] for (_, chunk_id), others in found.items()}


def _correcting(inventory: Inventory, items: Mapping[str, Item]) -> dict[str, Item]:
    """What corrects pinned passages, by id: an author pins them together."""
    beside = _beside(inventory, inventory.passages(list(items.values())))
    return inventory.find(other for others in beside.values() for other in others)


def _lone(inventory: Inventory, items: Sequence[Item], chosen: set[str]) -> dict[str, list[str]]:
    """Id of a selected passage -> ids of its corrections that were not selected."""
    beside = _beside(inventory, inventory.passages(items))
    lone = {id_: [other for other in others if other not in chosen] for id_, others in beside.items()}
    return {id_: others for id_, others in lone.items() if others}


def _is_as_it_was(item: Item, ref: Ref) -> bool:
    same_text = not ref.fingerprint or ref.fingerprint == item.fingerprint
    return same_text and (not ref.source_fingerprint or ref.source_fingerprint == item.source_fingerprint)


def _told(
    inventory: Inventory,
    stale: Sequence[str],
    missing: Sequence[str],
    invalidated: Sequence[str],
    forbidden: Mapping[str, str],
    unselected: Sequence[str],
    lone: Mapping[str, Sequence[str]],
) -> list[ContextFailure]:
    role, level = inventory.scope.role, inventory.scope.spoiler_level
    told: list[ContextFailure] = []
    if stale:
        told.append(StaleReference(f"{named(stale)}: changed since selected; fetch and select again", stale))
    if missing:
        told.append(MissingEvidence(
            f"{named(missing)}: not there for {role} at spoiler level {level}; search shows what is", missing
        ))  # fmt: skip
    if invalidated:
        told.append(
            InvalidatedItem(f"{named(invalidated)}: derived from what has changed; derive it anew", invalidated)
        )
    for id_, why in forbidden.items():
        told.append(ForbiddenRole(f"{named([id_])}: not for {role}: {why}; leave it out", [id_]))
    if unselected:
        told.append(MissingEvidence(f"{named(unselected)}: required and not selected; select it", unselected))
    for id_, others in lone.items():
        told.append(MissingEvidence(
            f"{named([id_])}: corrected by {named(others)}, which must stand beside it; select both or neither", [id_, *others]
        ))  # fmt: skip
    return told


def _text(blocks: Sequence[Block]) -> str:
    parts: list[str] = []
    section = ""
    for block in blocks:
        if block.section != section:
            section = block.section
            parts.append(_SECTIONS[section])
        parts.append(block.text)
    return "".join(parts)


def _shown(block: Block, role: str) -> dict[str, object]:
    told = as_told(block.item, role).as_json(with_text=False)
    return {"section": block.section, "rendered_tokens": block.tokens, **told}
