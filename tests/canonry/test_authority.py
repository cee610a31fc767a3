from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from canonry import authority
from canonry.claims import claims
from canonry.retrieval import Passage
from tests.conftest import Workshop

STATE = claims("The north gate is collapsed.")


@pytest.fixture
def passage(workshop: Workshop) -> Callable[..., Passage]:
    """A passage of canon with a text; its facts as given."""
    at = workshop.create()

    def make(text: str = "The north gate is open.", **facts: object) -> Passage:
        workshop.bring(at, workshop.write("gate.md", f"# The gate\n\n{text}\n"), class_="canon", decide="separate")
        (found,) = workshop.ask(at).retrieve("gate", role="narrator").results
        return replace(found, **facts)  # type: ignore[arg-type]

    return make


@pytest.mark.parametrize(
    ("facts", "holds"),
    [
        ({}, "state"),
        ({"scope": "initial"}, "state"),
        ({"scope": "descriptive"}, "state"),
        ({"scope": "invariant"}, "canon"),
        ({"source_type": "correction"}, "canon"),
        ({"scope": "historical"}, None),
        ({"class_": "reference"}, None),
    ],
)
def test_what_holds_when_the_state_says_otherwise(
    passage: Callable[..., Passage], facts: dict[str, object], holds: str | None
) -> None:
    found = authority.disagreements(passage(**facts), STATE)
    assert [one.holds for one in found] == ([holds] if holds else [])
    assert all(one.statement == "The north gate is open." for one in found)


def test_a_state_that_agrees_or_says_nothing_disagrees_with_nothing(passage: Callable[..., Passage]) -> None:
    made = passage()
    assert authority.disagreements(made, claims("The north gate is open. Mara is tall.")) == []
    assert authority.disagreements(made, []) == []


def test_a_passage_that_says_little_else_is_mostly_overtaken(passage: Callable[..., Passage]) -> None:
    short = passage()
    long = replace(short, exact_text=short.exact_text + " Carts come through it each morning until noon." * 3)
    assert authority.is_mostly(short, authority.disagreements(short, STATE))
    assert not authority.is_mostly(long, authority.disagreements(long, STATE))
    invariant = replace(short, scope="invariant")
    assert not authority.is_mostly(invariant, authority.disagreements(invariant, STATE))


def test_corrections_stand_above_campaign_canon_above_scope_above_priority(passage: Callable[..., Passage]) -> None:
    made = passage()
    rising = [
        replace(made, scope="initial", priority="high"),
        replace(made, priority="low"),
        made,
        replace(made, priority="high"),
        replace(made, scope="invariant", priority="low"),
        replace(made, source_type="campaign", scope="initial", priority="low"),
        replace(made, source_type="correction", scope="initial", priority="low"),
    ]
    ranks = [authority.rank(one) for one in rising]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) == len(ranks)


@pytest.mark.parametrize(
    ("path", "name"),
    [(["Mara", "Appearance"], "Mara"), (["Mara", "The sword"], "The sword"), (["概述"], "gate"), ([], "gate")],
)
def test_lines_are_about_the_nearest_heading_that_names_something(
    passage: Callable[..., Passage], path: list[str], name: str
) -> None:
    assert authority.about(replace(passage(), heading_path=path)) == name


def test_the_frame_is_told_how_far_canon_holds(passage: Callable[..., Passage]) -> None:
    made = passage()
    found = authority.disagreements(made, STATE)
    assert authority.notes(made, found, corrected=False) == (authority.OVERTAKEN,)
    assert authority.notes(made, [], corrected=True) == (authority.CORRECTED,)
    assert authority.notes(replace(made, scope="invariant"), [], corrected=False) == ("always holds",)
    assert authority.notes(replace(made, class_="reference"), [], corrected=True) == ()
