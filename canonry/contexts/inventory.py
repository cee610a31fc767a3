"""The items that a role may be given: of a campaign's knowledge, a running game's log, and what the caller supplies.

Knowledge is asked through the campaign's own predicate, everything else through `roles.why_not`. There is no third way
for an item to get in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from canonry.campaign import Campaign
from canonry.canonlog.accepted import accepted_state
from canonry.canonlog.save import Save
from canonry.contexts.game import Game, no_game
from canonry.contexts.item import KNOWLEDGE, LOG, Item, digest, in_order
from canonry.contexts.roles import why_not
from canonry.contexts.statements import NOTHING_SAID, Statement, read_statements
from canonry.eligibility import Scope, sight_of_all
from canonry.records import PRIORITIES
from canonry.retrieval import Answer, Passage

_LOG = "log:"


Notes = Callable[[Campaign, Scope], Sequence[Item]]


def no_notes(campaign: Campaign, scope: Scope) -> Sequence[Item]:
    """There is no memory bank."""
    return ()


@dataclass(frozen=True, slots=True)
class Inventory:
    """What there is for `scope`. `supplied` are a caller's blocks; the game and the notes are looked at whenever they are needed."""

    campaign: Campaign
    scope: Scope
    game: Game = no_game
    supplied: tuple[Item, ...] = ()
    notes: Notes = no_notes

    def items(self) -> list[Item]:
        """Every eligible item: pinned, then by priority, then by id."""
        return in_order([*self._knowledge(self.scope), *self._eligible()])

    def excluded(self) -> list[tuple[Item, str]]:
        """What there is and the scope's role may not be given, with the reason; for eyes that may see everything."""
        there = {item.id for item in self._knowledge(self.scope)}
        hidden = [item for item in self._knowledge(sight_of_all(self.scope)) if item.id not in there]
        reasons = self._out_of_sight([item.id for item in hidden])
        others = self._others()
        reasons |= {item.id: why for item in others if (why := self._why_not(item))}
        found = in_order([*hidden, *(item for item in others if item.id in reasons)])
        return [(item, reasons[item.id]) for item in found]

    def find(self, ids: Iterable[str]) -> dict[str, Item]:
        """Id -> item, of those ids that are eligible."""
        wanted = {*ids}
        found = self._items(self.campaign.standing(self.scope, sorted(wanted))[1].values())
        return {item.id: item for item in (*found, *self._eligible()) if item.id in wanted}

    def pinned(self) -> list[Item]:
        """Eligible items that an author or a caller has pinned, in their order."""
        always = {item.id: item for item in self._items(self.campaign.standing(self.scope)[0])}
        return in_order([*always.values(), *(item for item in self._eligible() if item.pinned)])

    def others(self) -> list[Item]:
        """Eligible items that are no passages, in their order."""
        return in_order(self._eligible())

    def search(self, query: str, *, mode: str | None, limit: int) -> tuple[Answer, list[Item]]:
        """The campaign's answer to a question, and its passages as items, in its order. It makes candidates, no more."""
        scope = self.scope
        answer = self.campaign.retrieve(
            query, spoiler_level=scope.spoiler_level, role=scope.role, mode=mode, limit=limit, classes=scope.classes,
            source_types=scope.source_types, tags=scope.tags, entities=scope.entities, sources=scope.sources,
            forbid_tags=scope.forbid_tags, as_of=scope.as_of, story_time=scope.story_time,
        )  # fmt: skip
        return answer, self._items(answer.results)

    def passages(self, items: Sequence[Item]) -> dict[str, Passage]:
        """Id -> passage, of the items that are knowledge."""
        return self.campaign.standing(self.scope, [item.id for item in items if item.origin == KNOWLEDGE])[1]

    def reason_against(self, id_: str) -> tuple[Item, str] | None:
        """An item that is there and not for the role, and why; for eyes that may see everything. None where it is not there."""
        everything = replace(self, scope=sight_of_all(self.scope))
        for item in self._others():
            if item.id == id_ and (why := self._why_not(item)):
                return item, why
        found = everything.find([id_]).get(id_)
        return (found, self._out_of_sight([id_])[id_]) if found else None

    def invalidated(self, id_: str) -> str:
        """Why an item that the role may otherwise be given no longer holds; empty for any other id."""
        for item in self._others():
            if item.id == id_ and item.invalidated and not why_not(item, self.scope):
                return item.invalidated
        return ""

    def sees_source(self, source_id: str) -> bool:
        """Whether the role may see any passage of a source."""
        there = replace(self.scope, sources=(source_id,))
        return self.campaign.survey(there, lambda passages: next(passages, None) is not None)

    def _out_of_sight(self, ids: Sequence[str]) -> dict[str, str]:
        """Id of each passage that the role may not be given -> the rules against it, by name and in words."""
        rules = self.campaign.rules_against(self.scope, ids)
        said = {id_: "; ".join(f"{name}: {reason}" for name, reason in rules.get(id_, {}).items()) for id_ in ids}
        return {id_: why or f"is out of sight of {self.scope.role}" for id_, why in said.items()}

    def _others(self) -> list[Item]:
        save = self.game()
        state = state_items(save, self.scope.role) if save else []
        return [*state, *self.notes(self.campaign, self.scope), *self.supplied]

    def _eligible(self) -> list[Item]:
        return [item for item in self._others() if not self._why_not(item)]

    def _why_not(self, item: Item) -> str:
        return f"no longer holds: {item.invalidated}" if item.invalidated else why_not(item, self.scope)

    def _knowledge(self, scope: Scope) -> list[Item]:
        def gather(passages: Iterator[Passage]) -> dict[str, Passage]:
            found: dict[str, Passage] = {}
            for passage in passages:
                held = found.setdefault(passage.chunk_id, passage)
                if passage.source_version_id < held.source_version_id:
                    found[passage.chunk_id] = passage  # as `find` takes it: equal texts have one id
            return found

        return self._items(self.campaign.survey(scope, gather).values(), scope)

    def _items(self, passages: Iterable[Passage], scope: Scope | None = None) -> list[Item]:
        pinned = {passage.chunk_id for passage in self.campaign.standing(scope or self.scope)[0]}
        said = read_statements(self.campaign.at)
        return [
            _lore(passage, passage.chunk_id in pinned, said.get(passage.source_id, NOTHING_SAID))
            for passage in passages
        ]


def _lore(passage: Passage, pinned: bool, said: Statement) -> Item:
    return Item(
        id=passage.chunk_id, origin=KNOWLEDGE, kind="lore", authority=passage.class_, text=passage.exact_text,
        title=passage.title, place=tuple(passage.heading_path), source_id=passage.source_id,
        source_version_id=passage.source_version_id, source_fingerprint=passage.content_hash,
        priority=PRIORITIES.index(passage.priority) - 1, pinned=pinned, hidden=passage.visibility == "hidden",
        protected=said.protected, spoiler_level=passage.spoiler_level, spoiler_tags=tuple(passage.spoiler_tags),
        roles=said.roles, known_by=said.known_by, known_from=said.known_from,
    )  # fmt: skip


def state_items(save: Save, role: str) -> list[Item]:
    """The accepted state of a game, a statement an item. What an NPC knows is for its own role alone."""
    state = accepted_state(save, role)
    told: list[tuple[str, str, str]] = [("location", "Location", state.location)]
    if state.party:
        told.append(("party", "Party", ", ".join(state.party)))
    quests = zip(state.active_quests, state.objectives, strict=True)
    told += [(f"quest:{digest(name)[:12]}", f"Quest {name}", objective) for name, objective in quests]
    told += [(f"fact:{digest(fact)[:12]}", "Established fact", fact) for fact in state.facts]
    told += [(f"event:{digest(event)[:12]}", "Recent event", event) for event in state.recent_events]
    items = [_said(name, title, text) for name, title, text in told]
    items += [
        replace(_said(f"knowledge:{digest(known)[:12]}", f"What {role} knows", known), roles=(role,))
        for known in state.knowledge
    ]
    return list({item.id: item for item in items}.values())


def _said(name: str, title: str, text: str) -> Item:
    return Item(
        id=_LOG + name, origin=LOG, kind="state", authority="accepted", text=text, title=title, source_id="game",
        source_fingerprint=digest(text), protected=True,
    )  # fmt: skip
