"""Proposals as records: what they hold, and when they do not fit any more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from canonry.proposals import Change, Proposal, ProposedText, differences, plainly, shown, text_diff, why_stale
from canonry.records import Source, SourceFacts

FACTS = SourceFacts("Lamp", tags=("a", "b"), spoiler_tags=("x",), order=3)
TEXT = ProposedText("c" * 64, "markdown", "o" * 64, "n" * 64, "utf-8", 10, "/lore/lamp.md", "lamp.md", "Lamp")
SOURCE = Source(
    "lamp-1", "vell", FACTS, True, "lamp.md", "/lore/lamp.md", "t", "t", "lamp-1@2", "c" * 64, 1, "text/markdown", "utf-8", "1", "1"
)  # fmt: skip


def proposal(change: Change, base: str = "lamp-1@2") -> Proposal:
    return Proposal(1, "lamp-1", base, change, "edit", "t", "pending", None, "")


@pytest.mark.parametrize("text", [None, TEXT], ids=["facts", "text"])
def test_a_change_comes_back_from_json_as_it_was(text: ProposedText | None) -> None:
    change = Change(
        FACTS, replace(FACTS, class_="canon", entities=("Zoë",)), "[]", '[["E", 1, [], false]]', ("class_",), text
    )
    assert Change.from_json(change.as_json()) == change


def test_differences_are_the_fields_that_differ_whatever_the_order_of_labels() -> None:
    assert differences(FACTS, replace(FACTS, tags=("b", "a"))) == {}
    assert differences(FACTS, replace(FACTS, tags=("b",), order=None)) == {
        "tags": (("a", "b"), ("b",)),
        "order": (3, None),
    }


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (FACTS, None),
        (replace(FACTS, title="The lamp"), None),
        (replace(FACTS, class_="inspiration"), "class is inspiration now, and was reference"),
    ],
    ids=["as it was", "another field", "the same field"],
)
def test_facts_do_not_fit_when_what_they_change_has_changed(facts: SourceFacts, reason: str | None) -> None:
    change = Change(FACTS, replace(FACTS, class_="canon"), "[]", "[]")
    told = why_stale(proposal(change), replace(SOURCE, facts=facts), "[]")
    assert told is None if reason is None else reason in str(told)


def test_rules_do_not_fit_when_the_rules_have_changed() -> None:
    change = Change(FACTS, FACTS, "[1]", "[2]")
    assert why_stale(proposal(change), SOURCE, "[1]") is None
    assert "headings" in str(why_stale(proposal(change), SOURCE, "[3]"))


def test_a_text_does_not_fit_when_another_version_is_live_whatever_was_said_since() -> None:
    change = Change(FACTS, FACTS, "[]", "[]", text=TEXT)
    assert why_stale(proposal(change), replace(SOURCE, facts=replace(FACTS, class_="canon")), "[1]") is None
    assert "lamp-1@2 is live" in str(why_stale(proposal(change, "lamp-1@1"), SOURCE, "[]"))


@pytest.mark.parametrize(
    ("value", "text"),
    [((), "none"), (("a", "b"), "a, b"), (None, "none"), ("", "none"), (True, "yes"), (False, "no"), (0, "0")],
)
def test_values_are_shown_for_a_person(value: object, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    ("name", "text"), [("class_", "class"), ("source_type", "type"), ("spoiler_level", "spoiler level")]
)
def test_fields_have_the_names_that_a_person_writes(name: str, text: str) -> None:
    assert plainly(name) == text


def test_a_diff_is_unified_and_empty_where_nothing_differs() -> None:
    assert text_diff("a\nb\n", "a\nc\n") == ["--- live", "+++ proposed", "@@ -1,2 +1,2 @@", " a", "-b", "+c"]
    assert text_diff("a\r\n", "a\r\n") == []
