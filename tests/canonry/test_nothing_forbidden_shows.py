"""Generated campaigns, asked in every way there is: no word of a chunk outside the scope shows, in results or in errors."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

import canonry
from canonry.catalog import Catalog
from canonry.conflicts import contradicted_by, find_conflicts
from canonry.context import QueryContext
from canonry.contexts.assembly import Ref, assemble
from canonry.contexts.inventory import Inventory
from canonry.contexts.journal import open_journal
from canonry.contexts.memory import remembered
from canonry.contexts.session import begin
from canonry.contexts.task import Task
from canonry.contexts.tiers import Budgets
from canonry.eligibility import NARRATOR, Scope
from canonry.embedders import register
from canonry.errors import CanonryError, NotFound
from canonry.layout import Layout
from canonry.locking import writing
from canonry.pack import Limits, build_pack
from canonry.timestamps import now
from flows.correction import add_correction
from tests.conftest import Workshop
from tests.fakes import WordBag

OWNER = Scope(NARRATOR, 99)
ROLES = ("player", "narrator", "writer", "npc:mara")


@dataclass
class Lore:
    """One source as it was made, and what it holds in each of its versions: words that are nowhere else."""

    name: str
    class_: str
    level: int
    hidden: bool
    tag: str
    role: str
    kind: str
    enabled: bool
    always: bool
    words: list[str]  # of each version
    fact: str  # in its title, entities and tags, which are of the source and not of a version
    made_later: bool = False
    known_by: str = ""  # "" is everyone
    known_from: int = -1  # -1 is from the beginning
    inherited: str = ""  # of a correction: what it is about, as the source is that it corrects, for whoever sees it

    def text(self, version: int) -> str:
        word = self.words[version]
        lines = [
            f"title: {self.fact}", f"class: {self.class_}", f"spoiler_level: {self.level}", f"always_include: {str(self.always).lower()}",
            f"entities: [{self.fact}, Mara]", f"tags: [harbour, {self.fact}]", f"type: {self.kind}",
        ]  # fmt: skip
        lines += ["visibility: hidden"] if self.hidden else []
        lines += [f"spoiler_tags: [{self.tag}]"] if self.tag else []
        lines += [f"allowed_roles: [{self.role}]"] if self.role else []
        lines += [f"known_by: [{self.known_by}]"] if self.known_by else []
        lines += [f"known_from: {self.known_from}"] if self.known_from >= 0 else []
        front = "\n".join(lines)
        return f"---\n{front}\n---\n# Lamp {word}\n\nThe lamp {word} burns over the harbour wall. The capital of Vell is {word.title()}.\n"

    def is_for(self, scope: Scope, before: bool) -> bool:
        return (
            self.enabled
            and not (before and self.made_later)
            and self.level <= scope.spoiler_level
            and (not self.hidden or scope.role == NARRATOR)
            and (not self.tag or self.tag not in scope.forbid_tags)
            and (not self.role or self.role == scope.role)
            and (not scope.classes or self.class_ in scope.classes)
            and (not scope.source_types or self.kind in scope.source_types)
            and (not scope.role.startswith("npc:") or self.is_known_to(scope))
        )

    def is_known_to(self, scope: Scope) -> bool:
        told_until = -1 if scope.story_time is None else scope.story_time
        return (not self.known_by or scope.role == f"npc:{self.known_by}") and self.known_from <= told_until


def beside(dice: random.Random, number: int) -> random.Random:
    """Dice of their own, which leave the others where they are."""
    return random.Random(f"{dice.getstate()[1][-1]} {dice.getstate()[1][0]} {number}")


def invented(dice: random.Random, number: int) -> Lore:
    word = f"zq{number}"
    apart = beside(dice, number)
    return Lore(
        f"lore{number}.md", dice.choice(["canon", "canon", "reference", "inspiration"]), dice.choice([0, 0, 1, 3]), dice.random() < 0.25,
        dice.choice(["", "", "ending"]), dice.choice(["", "", "", "writer", "npc:mara"]), dice.choice(["rule", "place"]),
        dice.random() < 0.85, dice.random() < 0.3, [f"{word}a", *([f"{word}b"] if dice.random() < 0.4 else [])], f"{word}f",
        known_by=apart.choice(["", "", "mara", "perrin"]), known_from=apart.choice([-1, -1, 0, 5]),
    )  # fmt: skip


def scopes(dice: random.Random, between: str) -> Iterator[tuple[Scope, bool]]:
    """Questions as different people ask them, some of the time before the second import."""
    for _ in range(5):
        before = dice.random() < 0.4
        yield (
            Scope(
                dice.choice(ROLES), dice.choice([0, 1, 2, 9]), dice.choice([(), ("ending",)]), dice.choice([(), ("canon",), ("reference", "canon")]),
                dice.choice([(), (), ("rule",)]), as_of=between if before else None, story_time=beside(dice, 0).choice([None, 0, 4, 5]),
            ),
            before,
        )  # fmt: skip


@pytest.fixture(params=[*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 12))])
def dice(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


def settled(workshop: Workshop, at: Layout, lore: list[Lore], dice: random.Random) -> str:
    """Import all, revise some, disable some, correct and supersede some; returns the moment before the revisions."""
    workshop.bring(at, *(workshop.write(f"{at.campaign}/{one.name}", one.text(0)) for one in lore), decide="separate")
    between = now()
    revised = [one for one in lore if len(one.words) > 1]
    if revised:
        workshop.bring(at, *(workshop.write(f"{at.campaign}/{one.name}", one.text(1)) for one in revised))
    catalog = Catalog.open(at.catalog, write=True)
    for one in lore:
        catalog.set_enabled(catalog.source(one.name).source_id, one.enabled)
    catalog.close()
    with canonry.open(at.root).campaign(at.campaign) as campaign:
        of = {passage.title: passage for passage in campaign.survey(OWNER, list)}
    for one in [one for one in lore if one.fact in of][:2]:
        word = one.fact[:-1] + "k"
        with writing(at):
            add_correction(at, f"The lamp {word} is so.", [of[one.fact]], {})
        lore.append(
            replace(
                one,
                name="",
                class_="canon",
                kind="correction",
                enabled=True,
                always=False,
                words=[word],
                fact=word,
                made_later=True,
                inherited=one.fact,
            )
        )
    return between


def test_nothing_outside_the_scope_shows(workshop: Workshop, dice: random.Random) -> None:
    register(WordBag())
    at, other = workshop.create("vell", embedder="wordbag"), workshop.create("tarn", embedder="wordbag")
    lore = [invented(dice, number) for number in range(10, 22)]
    between = settled(workshop, at, lore, dice)
    workshop.bring(other, workshop.write("tarn.md", "# Lamp zq99a\n\nThe lamp zq99a burns over the harbour wall.\n"))
    campaign = workshop.ask(at)
    assert len(lore) > 12
    ids = [passage.chunk_id for passage in campaign.survey(OWNER, list)]
    for scope, before in scopes(dice, between):
        seen = [one for one in lore if one.is_for(scope, before)]
        allowed = {word for one in seen for word in (one.words[0 if before else -1], one.fact, one.inherited)}
        forbidden = {word for one in lore for word in (*one.words, one.fact)} - allowed | {"zq99"}
        for shown in everything(campaign, scope, ids, dice):
            assert not [word for word in forbidden if word in shown.casefold()], (scope, shown)


def everything(campaign: canonry.Campaign, scope: Scope, ids: list[str], dice: random.Random) -> Iterator[str]:
    """Whatever a caller of that scope can be shown."""
    query = "lamp harbour wall"
    asked = {
        "spoiler_level": scope.spoiler_level, "role": scope.role, "forbid_tags": scope.forbid_tags, "classes": scope.classes,
        "source_types": scope.source_types, "as_of": scope.as_of, "story_time": scope.story_time,
    }  # fmt: skip
    context = QueryContext("the lamp", "harbour", ("Mara", "lamp"), "", "", ("wall",))
    for mode in ("lexical", "semantic", "hybrid"):
        for limit, rerank in ((1, True), (50, True), (50, False)):
            answer = campaign.retrieve(
                query, mode=mode, limit=limit, rerank=rerank, context=context, explain=True, copies=limit == 50, **asked,  # type: ignore[arg-type]
            )  # fmt: skip
            yield json.dumps(answer.as_json())
    for chunk_id in ids:
        try:
            yield json.dumps(campaign.why(chunk_id, query, **asked).as_json())  # type: ignore[arg-type]
        except NotFound as error:
            yield str(error)
    for pins in ([], dice.sample(ids, 1), dice.sample(ids, 2)):
        for budget in (150, 900, 5000):
            try:
                pack = build_pack(
                    campaign, query, scope=scope, limits=Limits(budget), mode="hybrid", context=context, pins=pins,
                    state="The capital of Vell is Orm.",
                )  # fmt: skip
                assert pack.total_tokens <= budget
                yield json.dumps(pack.as_json())
            except CanonryError as error:
                yield str(error)
    yield from contexts(campaign, scope, ids, beside(dice, 1))
    yield json.dumps(
        [one.as_json() | {"warning": one.warning} for one in find_conflicts(campaign, replace(scope, as_of=None))]
        if scope.as_of is None
        else []
    )
    yield str(contradicted_by(campaign, scope, "The capital of Vell is Orm."))


def contexts(campaign: canonry.Campaign, scope: Scope, ids: list[str], dice: random.Random) -> Iterator[str]:
    """Items, a selection put together, and what a session answers."""
    inventory = Inventory(campaign, scope, notes=remembered)
    items = inventory.items()
    yield json.dumps([item.as_json() for item in items])
    for chosen in ([item.id for item in items], dice.sample(ids, 3)):
        try:
            yield json.dumps(assemble(inventory, [Ref(id_) for id_ in chosen], budgets=Budgets(9000, 9000)).as_json())
        except CanonryError as error:
            yield str(error)
    with open_journal(campaign.at, make=True) as journal:
        session = begin(journal, campaign, Task("Write.", scope))
        yield json.dumps(session.opening())
        for name, arguments in (
            ("search", {"query": "lamp harbour wall", "mode": "hybrid"}), ("fetch", {"ids": dice.sample(ids, 2)}),
            ("select", {"items": [item.id for item in items]}), ("stop", {}),
        ):  # fmt: skip
            yield json.dumps(session.call(name, arguments))
        yield json.dumps([one.as_json() for one in session.verify()])
