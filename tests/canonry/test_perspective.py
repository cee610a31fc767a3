"""What a character may know, and from when: one predicate for queries, packs and packets."""

from __future__ import annotations

from typing import Any

import pytest

from canonry.contexts.inventory import Inventory
from canonry.eligibility import Scope
from canonry.errors import NotFound, UsageError
from canonry.history import list_records, record_pack
from canonry.layout import Layout
from canonry.locking import writing
from canonry.pack import build_pack
from canonry.perspective import knows, parse_known_by, parse_known_from, stricter
from canonry.timestamps import now
from flows.correction import add_correction
from tests.conftest import Workshop, built_once

LORE = {
    "all": "", "mara": "known_by: [mara]\n", "both": "known_by: 'Mara, npc:Perrin Dray'\n", "none": "known_by: []\n",
    "every": "known_by: everyone\n", "late": "known_from: 5\n", "chapter": "known_from: The Flood\n",
    "nowhen": "known_from: The Lost Chapter\n", "maralate": "known_by: [mara]\nknown_from: 5\n",
}  # fmt: skip


@built_once
def at(workshop: Workshop) -> Layout:
    at = workshop.create()
    for name, said in LORE.items():
        workshop.write(f"{name}.md", f"---\n{said}class: canon\n---\n# Lamp\n\nThe lamp of {name}word burns.\n")
    workshop.write("flood.md", "---\nchapter: The Flood\norder: 7\n---\n# Flood\n\nWater.\n")
    workshop.bring(at, workshop.root / "lore")
    return at


@pytest.mark.parametrize(
    ("role", "story_time", "seen"),
    [
        ("npc:mara", None, {"all", "every", "mara", "both"}),
        ("npc:mara", 4, {"all", "every", "mara", "both"}),
        ("npc:mara", 5, {"all", "every", "mara", "both", "late", "maralate"}),
        ("npc:mara", 7, {"all", "every", "mara", "both", "late", "maralate", "chapter"}),
        ("npc:perrin_dray", 9, {"all", "every", "both", "late", "chapter"}),
        ("npc:MARA", 0, {"all", "every", "mara", "both"}),
        ("npc:ouseley", None, {"all", "every"}),
        ("player", None, {*LORE}),
        ("narrator", 0, {*LORE}),
        ("writer", None, {*LORE}),
    ],
)
def test_an_npc_is_given_what_it_may_know_at_that_time(
    workshop: Workshop, at: Layout, role: str, story_time: int | None, seen: set[str]
) -> None:
    scope = Scope(role, story_time=story_time)
    campaign = workshop.ask(at)
    answer = campaign.retrieve("lamp", role=role, story_time=story_time, limit=50, copies=True)
    packed = build_pack(campaign, "lamp", scope=scope)
    items = Inventory(campaign, scope).items()
    for texts in (
        [one.exact_text for one in answer.results], [one.passage.exact_text for one in packed.items], [one.text for one in items],
    ):  # fmt: skip
        assert {name for name in LORE if any(f" {name}word" in text for text in texts)} == seen
    for name in LORE.keys() - seen:
        assert f"{name}word" not in str(packed.as_json())


def test_a_passage_that_a_character_does_not_know_does_not_exist_for_it(workshop: Workshop, at: Layout) -> None:
    campaign = workshop.ask(at)
    (secret,) = [p for p in campaign.retrieve("lamp", limit=50, copies=True).results if "noneword" in p.exact_text]
    with pytest.raises(NotFound, match="is not among what this question may see"):
        campaign.why(secret.chunk_id, "lamp", role="npc:mara")
    verdict = campaign.why(secret.chunk_id, "lamp", role="npc:mara", as_narrator=True)
    assert "not known to this character" in verdict.reason
    with pytest.raises(NotFound):
        build_pack(campaign, "lamp", scope=Scope("npc:mara"), pins=[secret.chunk_id])


def test_a_pack_of_a_later_time_is_not_in_the_history_of_an_earlier_one(workshop: Workshop, at: Layout) -> None:
    record_pack(at, build_pack(workshop.ask(at), "lamp", scope=Scope("npc:mara", story_time=7)))
    for story_time, count in ((None, 0), (6, 0), (7, 1), (8, 1)):
        assert len(list_records(at, Scope("npc:mara", story_time=story_time), 10)) == count


@pytest.mark.parametrize(
    "said",
    ["known_by: 7", "known_by: [[mara]]", "known_by: {a: b}", "known_from: [7]", "known_from: -1", "known_from: true"],
)
def test_a_statement_that_cannot_be_read_is_refused_with_the_file(workshop: Workshop, at: Layout, said: str) -> None:
    report = workshop.bring(at, workshop.write("odd/odd.md", f"---\n{said}\n---\nODDWORD\n"))
    ((name, reason),) = [(one.name, one.reason) for one in report.rejected]
    assert (name.endswith("odd.md"), "its metadata says known_" in reason) == (True, True)


def test_values_are_read_as_people_write_them() -> None:
    assert parse_known_by("Mara, npc:Perrin  Dray, mara") == ("mara", "perrin_dray")
    assert parse_known_by(["Everyone", "mara"]) is None
    assert [parse_known_from(value) for value in (0, "12", " The  Flood ")] == [0, 12, "The Flood"]
    for wrong in (None, -1, 1.5, True, " ", [1]):
        with pytest.raises(UsageError):
            parse_known_from(wrong)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ({}, {"known_by": ["mara"]}, {"known_by": ["mara"]}),
        ({"known_by": ["mara", "perrin"]}, {"known_by": ["perrin", "x"]}, {"known_by": ["perrin"]}),
        ({"known_from": 3}, {"known_from": 2}, {"known_from": 3}),
        ({"known_from": "The Flood"}, {"known_from": "The Flood"}, {"known_from": "The Flood"}),
        ({"known_from": "The Flood"}, {"known_from": 2}, {"known_from": 2, "known_by": []}),
    ],
)
def test_of_two_statements_the_stricter_holds(one: Any, other: Any, both: Any) -> None:
    assert stricter(one, other) == both


def test_a_folder_and_a_file_say_it_together(workshop: Workshop, at: Layout) -> None:
    workshop.write("rules/canonry.toml", "[defaults]\nknown_by = ['mara', 'perrin']\nknown_from = 2\n")
    workshop.write("rules/a.md", "---\nknown_by: [perrin, ouseley]\nknown_from: 1\n---\nRULEWORD\n")
    report = workshop.bring(at, workshop.root / "lore" / "rules")
    assert not report.rejected
    for role, story_time, count in (
        ("npc:perrin", 2, 1),
        ("npc:perrin", 1, 0),
        ("npc:mara", 2, 0),
        ("npc:ouseley", 2, 0),
    ):
        assert len(workshop.ask(at).retrieve("RULEWORD", role=role, story_time=story_time).results) == count


def test_an_earlier_text_is_not_told_to_more_characters_than_it_was(workshop: Workshop, at: Layout) -> None:
    workshop.bring(at, workshop.write("open/o.md", "---\nknown_by: [mara]\n---\nEARLIER\n"))
    then = now()
    workshop.bring(at, workshop.write("open/o.md", "LATER\n"))
    campaign = workshop.ask(at)
    assert campaign.retrieve("LATER", role="npc:perrin").results
    assert campaign.retrieve("EARLIER", role="npc:mara", as_of=then).results
    assert not campaign.retrieve("EARLIER", role="npc:perrin", as_of=then).results


def test_a_correction_is_known_to_whom_knows_what_it_corrects(workshop: Workshop, at: Layout) -> None:
    campaign = workshop.ask(at)
    of = [one for one in campaign.retrieve("lamp", limit=50, copies=True).results if "maralateword" in one.exact_text]
    with writing(at):
        add_correction(at, "The lamp of CORRECTWORD burns.", of, {})
    for role, story_time, count in (("npc:mara", 5, 1), ("npc:mara", 4, 0), ("npc:perrin", 9, 0), ("player", None, 1)):
        assert len(campaign.retrieve("CORRECTWORD", role=role, story_time=story_time).results) == count


@pytest.mark.parametrize("wrong", [-1, 10**7])
def test_a_story_time_out_of_range_is_refused(wrong: int) -> None:
    with pytest.raises(UsageError, match="story time"):
        Scope("npc:mara", story_time=wrong)


@pytest.mark.parametrize(
    ("role", "time", "by", "since", "known"),
    [
        ("player", None, (), 9, True),
        ("npc:mara", None, None, None, True),
        ("npc:mara", None, (), None, False),
        ("npc:mara", 9, ("mara",), 9, True),
        ("npc:mara", 8, ("mara",), 9, False),
        ("npc:mara", None, None, 0, False),
    ],
)
def test_the_rule_for_what_is_not_in_the_catalog_is_the_same(
    role: str, time: Any, by: Any, since: Any, known: bool
) -> None:
    assert knows(role, time, by, since) is known
