"""Generated entries and chapters: no word of what a scope may not see shows in suggestions, contexts or errors."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from canonry.eligibility import NARRATOR, Scope
from canonry.errors import CanonryError
from canonry.suggest.binding import Binding
from canonry.suggest.labels import KINDS
from canonry.suggest.payload import build_context, list_contexts, show_context, store_context
from canonry.suggest.suggestions import Situation, suggest
from tests.canonry.suggest.conftest import Story

ROLES = ("player", "narrator", "writer", "npc:mara")


@dataclass(frozen=True)
class Lore:
    """A source with a word that is nowhere else in its title, and one in its text; a half of it is hidden by a mark."""

    word: str
    level: int
    hidden: bool
    tag: str
    role: str
    status: str  # empty where it is a chapter

    def is_for(self, scope: Scope) -> bool:
        return (
            self.level <= scope.spoiler_level
            and (not self.hidden or scope.role == NARRATOR)
            and (not self.tag or self.tag not in scope.forbid_tags)
            and (not self.role or self.role == scope.role)
        )

    def told(self, story: Story, chapter: str) -> str:
        text = f"The lamp {self.word}b burns.\n\n## Below {self.word}c {{visibility=hidden}}\n\nThe {self.word}d."
        facts: dict[str, object] = {
            "spoiler_level": self.level, "visibility": "hidden" if self.hidden else None,
            "spoiler_tags": f"[{self.tag}]" if self.tag else None, "allowed_roles": f"[{self.role}]" if self.role else None,
        }  # fmt: skip
        if not self.status:
            return story.tell(f"{self.word}a", text, order=7, **facts)
        return story.entry(f"{self.word}a", text, status=self.status, source_chapter=chapter, **facts)


def invented(dice: random.Random, number: int) -> Lore:
    return Lore(
        f"zq{number}", dice.choice([0, 0, 1, 3]), dice.random() < 0.3, dice.choice(["", "", "ending"]),
        dice.choice(["", "", "", "writer", "npc:mara"]), dice.choice(["approved", "approved", "pending", "rejected", ""]),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_nothing_outside_the_scope_shows(story: Story, seed: int) -> None:
    dice = random.Random(seed)
    lore = [invented(dice, number) for number in range(10, 20)]
    chapters = [f"{one.word}a" for one in lore if not one.status]
    ids = {one: one.told(story, dice.choice(chapters or ["7"])) for one in lore}
    for _ in range(6):
        scope = Scope(dice.choice(ROLES), dice.choice([0, 1, 9]), dice.choice([(), ("ending",)]))
        allowed = {f"{one.word}{part}" for one in lore if one.is_for(scope) for part in "ab"}
        allowed |= {
            f"{one.word}{part}" for one in lore if one.is_for(scope) and scope.role == NARRATOR for part in "cd"
        }
        forbidden = {f"{one.word}{part}" for one in lore for part in "abcd"} - allowed
        for shown in everything(story, scope, list(ids.values()), dice):
            text = shown
            for source_id in ids.values():  # whoever asks with an id knows it
                text = text.replace(source_id, "")
            assert not [word for word in forbidden if word in text], (scope, text)


def everything(story: Story, scope: Scope, ids: list[str], dice: random.Random) -> Iterator[str]:
    """Whatever a caller of that scope can be shown."""
    campaign = story.workshop.ask(story.at)
    found = suggest(campaign, scope, Situation("7", "who burns the lamp?"), 15)
    yield json.dumps([one.as_json("en") for one in found])
    for _ in range(12):
        binding = Binding.of(**{kind: dice.sample(ids, dice.randint(0, 2)) for kind in KINDS})
        try:
            yield json.dumps(build_context(campaign, binding, scope, Situation("7")).as_json())
        except CanonryError as error:
            yield str(error)
    entries = [one.entry.entry_id for one in found]
    assert set(entries) <= set(ids)
    store_context(story.at, build_context(campaign, Binding.of(knowledge=entries), scope))
    for stored in list_contexts(story.at, scope, 99):
        yield json.dumps(show_context(story.at, stored.context_id, scope).as_json())
