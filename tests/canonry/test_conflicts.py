from __future__ import annotations

import pytest

from canonry import conflicts
from canonry.conflicts import CORRECTED, NO_CONFLICT, PREFERRED, Conflict, find_conflict, find_conflicts
from canonry.eligibility import NARRATOR, Scope
from canonry.errors import NotFound, UsageError
from canonry.layout import Layout
from canonry.locking import writing
from canonry.pack import build_pack
from tests.conftest import Workshop, built_once

PLAYER = Scope()
OWNER = Scope(NARRATOR, 9)


@built_once
def at(workshop: Workshop) -> Layout:
    """Two sources of canon that name another capital, and a secret third."""
    at = workshop.create()
    front = "---\nclass: canon\n---\n"
    workshop.bring(
        at,
        workshop.write("atlas.md", f"{front}# Atlas\n\nThe capital of Vell is Orm. Ships call there.\n"),
        workshop.write("annals.md", f"{front}# Annals\n\nThe capital of Vell is Karth. Kings rest there.\n"),
        workshop.write(
            "cellar.md", "---\nclass: canon\nspoiler_level: 3\n---\n# Cellar\n\nThe capital of Vell is Under.\n"
        ),
        workshop.write("gossip.md", "---\nclass: reference\n---\n# Gossip\n\nThe capital of Vell is Pim.\n"),
    )
    return at


def the_one(workshop: Workshop, at: Layout) -> Conflict:
    (found,) = find_conflicts(workshop.ask(at), PLAYER)
    return found


def settle(at: Layout, conflict: Conflict, decision: str, **how: object) -> None:
    with writing(at):
        conflicts.decide(at, conflict, decision, **how)  # type: ignore[arg-type]


def test_two_sources_of_canon_that_disagree_are_an_open_conflict(workshop: Workshop, at: Layout) -> None:
    found = the_one(workshop, at)
    assert [side.statement for side in found.sides] == ["The capital of Vell is Karth.", "The capital of Vell is Orm."]
    assert [side.passage.title for side in found.sides] == ["annals", "atlas"]
    assert found.is_open
    assert found.holds is None


def test_a_scope_hears_of_no_conflict_with_what_it_may_not_see(workshop: Workshop, at: Layout) -> None:
    assert "Under" not in str([one.as_json() for one in find_conflicts(workshop.ask(at), PLAYER)])
    assert len(find_conflicts(workshop.ask(at), Scope(spoiler_level=3))) == 3
    secret = next(
        one for one in find_conflicts(workshop.ask(at), OWNER) if any(s.statement.endswith("Under.") for s in one.sides)
    )
    with pytest.raises(NotFound, match=f"{secret.conflict_id}' is not among what role 'player' sees"):
        find_conflict(workshop.ask(at), PLAYER, secret.conflict_id)


def test_reference_conflicts_with_nothing(workshop: Workshop, at: Layout) -> None:
    assert "Pim" not in str([one.as_json() for one in find_conflicts(workshop.ask(at), OWNER)])


def test_a_conflict_has_the_same_id_after_a_rebuild_and_in_any_order(workshop: Workshop, at: Layout) -> None:
    before = the_one(workshop, at).conflict_id
    workshop.bring(
        at,
        workshop.write(
            "annals.md", "---\nclass: canon\n---\n# Annals\n\nNew words first.\n\nThe capital of Vell is Karth.\n"
        ),
    )
    assert the_one(workshop, at).conflict_id == before


@pytest.mark.parametrize(
    ("front", "holds"),
    [("priority: high", True), ("scope: invariant", True), ("type: campaign", True), ("type: correction", True)],
)
def test_of_two_sources_the_one_of_more_authority_holds(
    workshop: Workshop, at: Layout, front: str, holds: bool
) -> None:
    workshop.bring(
        at, workshop.write("atlas.md", f"---\nclass: canon\n{front}\n---\n# Atlas\n\nThe capital of Vell is Orm.\n")
    )
    found = the_one(workshop, at)
    assert not found.is_open
    assert found.holds is not None
    assert (found.holds.passage.title == "atlas") is holds


def test_history_is_not_about_now(workshop: Workshop, at: Layout) -> None:
    workshop.bring(
        at,
        workshop.write(
            "atlas.md", "---\nclass: canon\nscope: historical\n---\n# Atlas\n\nThe capital of Vell is Orm.\n"
        ),
    )
    assert find_conflicts(workshop.ask(at), PLAYER) == []


def test_the_preferred_side_stands_beside_the_other_in_every_pack(workshop: Workshop, at: Layout) -> None:
    conflict = the_one(workshop, at)
    settle(at, conflict, PREFERRED, holds=conflict.other, note="the atlas is newer")
    settled = the_one(workshop, at)
    assert not settled.is_open
    assert settled.holds is not None
    assert settled.holds.passage.title == "atlas"
    assert settled.as_json()["note"] == "the atlas is newer"
    pack = build_pack(workshop.ask(at), "where kings rest")
    assert [(item.passage.title, item.why) for item in pack.items] == [
        ("atlas", "corrects another passage"), ("annals", pack.items[1].why),
    ]  # fmt: skip
    assert pack.text.count("where another passage here corrects it, that one holds") == 1
    assert pack.warnings == ()


def test_what_is_no_conflict_is_said_no_more(workshop: Workshop, at: Layout) -> None:
    assert "contradicts itself" in "".join(build_pack(workshop.ask(at), "capital of Vell").warnings)
    settle(at, the_one(workshop, at), NO_CONFLICT)
    assert the_one(workshop, at).status == "is no conflict"
    assert build_pack(workshop.ask(at), "capital of Vell").warnings == ()


def test_a_decision_can_be_changed_and_taken_back(workshop: Workshop, at: Layout) -> None:
    conflict = the_one(workshop, at)
    settle(at, conflict, PREFERRED, holds=conflict.one)
    settle(at, conflict, PREFERRED, holds=conflict.other)
    holds = the_one(workshop, at).holds
    assert holds is not None
    assert holds.passage.title == "atlas"
    assert [item.passage.title for item in build_pack(workshop.ask(at), "ships call").items] == ["atlas"]
    with writing(at):
        conflicts.reopen(at, conflict)
    assert the_one(workshop, at).is_open
    assert [item.passage.title for item in build_pack(workshop.ask(at), "where kings rest").items] == ["annals"]


def test_a_decision_of_correction_leaves_no_side_holding(workshop: Workshop, at: Layout) -> None:
    settle(at, the_one(workshop, at), CORRECTED)
    found = the_one(workshop, at)
    assert (found.is_open, found.holds, found.status) == (False, None, "a correction holds")


def test_an_id_may_be_its_beginning_and_must_be_one(workshop: Workshop, at: Layout) -> None:
    conflict = the_one(workshop, at)
    assert find_conflict(workshop.ask(at), PLAYER, conflict.conflict_id[:6]).conflict_id == conflict.conflict_id
    with pytest.raises(UsageError, match="could be any of 3"):
        find_conflict(workshop.ask(at), OWNER, "")
    with pytest.raises(NotFound):
        find_conflict(workshop.ask(at), PLAYER, "zz")


def test_what_many_sources_name_each_otherwise_is_no_conflict(workshop: Workshop) -> None:
    at = workshop.create()
    for name in ("Ada", "Bo", "Cy", "Di", "Ed"):
        workshop.bring(
            at, workshop.write(f"{name}.md", f"# Session\n\nThe chair of the evening is {name}.\n"), class_="canon"
        )
    assert find_conflicts(workshop.ask(at), PLAYER) == []


def test_a_correction_of_both_sides_settles_their_conflict(workshop: Workshop, at: Layout) -> None:
    workshop.bring(
        at, workshop.write("c.md", "---\nclass: canon\ntype: correction\n---\nThe capital of Vell is Tarn.\n")
    )
    found = find_conflicts(workshop.ask(at), PLAYER)
    assert sorted(one.status for one in found) == ["a correction holds"] + ["the source of more authority holds"] * 2
    assert build_pack(workshop.ask(at), "capital of Vell").warnings == ()
