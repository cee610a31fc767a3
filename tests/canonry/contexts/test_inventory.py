from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from canonry.canonlog.save import Save
from canonry.contexts.item import in_order
from canonry.contexts.roles import as_told
from canonry.layout import Layout
from tests.canonry.contexts.conftest import Stock, blocks, id_of
from tests.conftest import Workshop

EVERY_WORD = ("GOLDWORD", "SIMWORD", "PLANWORD", "TRACEWORD", "VEILWORD", "PASTWORD", "CELLARWORD", "ENDWORD")


@pytest.mark.parametrize(
    ("role", "words"),
    [
        ("player", set()),
        ("npc:perrin_dray", set()),
        ("writer", {"PLANWORD", "TRACEWORD"}),
        ("simulation", {"SIMWORD", "PLANWORD", "TRACEWORD"}),
        ("blind_reader", set()),
        ("judge", {"GOLDWORD", "TRACEWORD"}),
        ("narrator", {"PLANWORD", "TRACEWORD", "VEILWORD", "CELLARWORD"}),
        ("manager", set()),
    ],
)
def test_each_role_is_given_what_its_kind_allows_and_no_more(stock: Stock, role: str, words: set[str]) -> None:
    inventory = stock(role)
    texts = "\n".join(item.text for item in inventory.items())
    assert {word for word in EVERY_WORD if word in texts} == words
    assert "whale oil" in texts
    everything = {item.id for item in stock("narrator", spoiler_level=9).items()} | {
        item.id for role in ("judge", "simulation") for item in stock(role).items()
    }
    assert inventory.find(everything).keys() == {item.id for item in inventory.items()}


def test_a_spoiler_level_lets_in_what_is_of_that_level(stock: Stock) -> None:
    assert id_of(stock("writer", spoiler_level=3), "ENDWORD")


def test_a_named_role_narrows_what_a_kind_allows(stock: Stock) -> None:
    plan = blocks({"id": "plan", "kind": "reasoning", "text": "PLAN", "roles": ["writer"]})
    assert "block:plan" in stock("writer", supplied=plan).find(["block:plan"])
    assert not stock("simulation", supplied=plan).find(["block:plan"])


def test_a_blind_reader_inherits_nothing_derived(stock: Stock) -> None:
    note = blocks({"id": "n", "kind": "note", "text": "NOTE"}, {"id": "d", "text": "DERIVED", "derived": True})
    assert not stock("blind_reader", supplied=note).find(["block:n", "block:d"])
    assert len(stock("writer", supplied=note).find(["block:n", "block:d"])) == 2


def test_a_tag_that_is_forbidden_keeps_a_block_out(stock: Stock) -> None:
    tagged = blocks({"id": "a", "text": "A", "spoiler_tags": ["Ending"]})
    assert stock(supplied=tagged).find(["block:a"])
    assert not stock(supplied=tagged, forbid_tags=("ending",)).find(["block:a"])


def test_the_order_is_pinned_then_priority_then_id(stock: Stock) -> None:
    items = blocks(
        {"id": "b", "text": "1"}, {"id": "a", "text": "2"}, {"id": "z", "text": "3", "priority": 1},
        {"id": "y", "text": "4", "pinned": True, "priority": -5}, {"id": "x", "text": "5", "pinned": True},
    )  # fmt: skip
    assert [item.id[-1] for item in in_order(items)] == list("xyzab")
    found = stock(supplied=items).items()
    assert found == in_order(found)


def test_canon_that_is_always_included_is_pinned(stock: Stock, workshop, at) -> None:  # type: ignore[no-untyped-def]
    workshop.bring(
        at, workshop.write("law.md", "---\nclass: canon\nalways_include: true\npriority: high\n---\n# Law\n\nLAWWORD\n")
    )
    first = stock(supplied=()).items()[0]
    assert ("LAWWORD" in first.text, first.pinned, first.priority) == (True, True, 1)
    assert stock(supplied=()).pinned() == [first]


def test_the_state_of_a_game_is_accepted_and_protected(stock: Stock, game: Save) -> None:
    items = {item.id: item for item in stock("writer", save=game).items() if item.origin == "log"}
    assert items["log:location"].text == "Mother Keddle's pawnshop"
    assert {(item.authority, item.protected) for item in items.values()} == {("accepted", True)}


def test_what_an_npc_knows_is_for_its_own_role_alone(stock: Stock, game: Save) -> None:
    own = {item.id for item in stock("npc:perrin_dray", save=game).items() if "bone buttons" in item.text}
    assert len(own) == 1
    for role in ("npc:mother_keddle", "narrator", "player"):
        assert not stock(role, save=game).find(own)


def test_eyes_that_may_see_everything_are_told_what_is_withheld_and_why(stock: Stock) -> None:
    told = {item.id: why for item, why in stock("writer").excluded()}
    assert told["block:gold"] == "answer_key is for judge alone"
    assert "simulation alone" in told["block:sim"]
    assert "narrator alone" in told["block:veiled"]
    assert told["block:old"] == "no longer holds: its source has changed"
    rules = {"visibility: is hidden: for the narrator alone", "spoiler level: is of spoiler level 3"}
    assert rules < {*told.values()}


def test_lore_says_for_whom_it_is_and_who_knows_it_from_when(stock: Stock, workshop: Workshop, at: Layout) -> None:
    workshop.write("flood.md", "---\nchapter: The Flood\norder: 4\n---\n# Flood\n\nWater.\n")
    told: dict[str, tuple[object, ...]] = {"open": ((), None, None)}
    for name, roles, by, since, read in (
        ("both", "[writer, narrator]", "[mara, perrin_dray]", 3, (("narrator", "writer"), ("mara", "perrin_dray"), 3)),
        ("chapter", "[]", "everyone", "The Flood", ((), None, 4)),
        ("nowhen", "[]", "[]", "The Lost Chapter", ((), (), "The Lost Chapter")),
    ):
        said = f"allowed_roles: {roles}\nknown_by: {by}\nknown_from: {since}\n"
        workshop.write(f"said/{name}.md", f"---\n{said}---\n# {name}\n\nSAID {name}.\n")
        told[name] = read
    workshop.write("said/open.md", "# open\n\nSAID open.\n")
    workshop.bring(at, workshop.root / "lore")
    items = {item.title: (item.roles, item.known_by, item.known_from) for item in stock("writer").items()}
    assert {name: items[name] for name in told} == told


def test_the_rules_against_lore_are_named_for_eyes_that_may_see_everything(
    stock: Stock, workshop: Workshop, at: Layout
) -> None:
    told_to = "allowed_roles: [writer, narrator, npc:mara]\nknown_by: [mara]\nknown_from: 3\nspoiler_level: 2\n"
    workshop.bring(at, workshop.write("plan.md", f"---\n{told_to}---\n# Plan\n\nSCHEMEWORD\n"))

    def against(role: str, **scope: Any) -> str:
        (why,) = [why for item, why in stock(role, **scope).excluded() if "SCHEMEWORD" in item.text]
        return why

    assert [rule.partition(":")[0] for rule in against("player").split("; ")] == ["spoiler level", "role"]
    assert against("player", spoiler_level=2).endswith("is for narrator, npc:mara, writer")
    early = against("npc:mara", spoiler_level=2, story_time=1)
    assert early == "perspective: is not known to this character at that time"
    plan = id_of(stock("writer", spoiler_level=2), "SCHEMEWORD")
    found = stock("npc:mara", spoiler_level=2, story_time=1).reason_against(plan)
    assert found is not None
    assert found[1] == early
    assert not [item for item, _ in stock("npc:mara", spoiler_level=2, story_time=3).excluded() if item.id == plan]


def test_who_acts_for_a_role_is_told_what_concerns_that_role_alone() -> None:
    (item,) = blocks({"id": "a", "text": "A", "roles": ["npc:mara", "player"], "known_by": ["mara", "perrin"]})
    item = replace(item, known_from=3)
    assert as_told(item, "Writer") == item
    told = [(one.roles, one.known_by, one.known_from) for one in (as_told(item, "npc:mara"), as_told(item, "player"))]
    assert told == [(("npc:mara",), ("mara",), 3), (("player",), None, None)]
