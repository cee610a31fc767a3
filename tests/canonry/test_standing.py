"""Rows that are taken without a ranking stand inside the scope all the same."""

from __future__ import annotations

from contextlib import closing

from canonry import database, standing
from canonry.eligibility import Scope
from tests.conftest import Workshop


def test_every_chunk_of_a_rule_comes_in_the_order_of_the_text_and_of_nothing_else(workshop: Workshop) -> None:
    at = workshop.create()
    sections = "\n\n".join(f"## Part {number}\n\nClause {number} of the rule." for number in range(5))
    stated = "---\nclass: canon\nalways_include: true\n---\n"
    workshop.bring(
        at, workshop.write("rule.md", f"{stated}# Rule\n\n{sections}\n\n## End {{spoiler=2}}\n\nThe last.\n")
    )
    workshop.bring(at, workshop.write("other.md", "---\nclass: canon\n---\nNo rule.\n"))
    campaign = workshop.ask(at)
    always, named = campaign.standing(Scope())
    assert [passage.exact_text for passage in always] == [f"Clause {number} of the rule." for number in range(5)]
    assert named == {}
    assert [p.exact_text for p in campaign.standing(Scope(spoiler_level=2))[0]][5:] == ["The last."]


def test_a_named_chunk_is_there_where_the_scope_sees_one_of_its_copies(workshop: Workshop) -> None:
    at = workshop.create()
    hidden, open_ = (workshop.write(f"{name}.md", "A lamp.\n") for name in ("hidden", "open"))
    workshop.bring(at, hidden, visibility="hidden")
    campaign = workshop.ask(at)
    chunk_id = campaign.retrieve("lamp", role="narrator").results[0].chunk_id
    assert campaign.standing(Scope(), [chunk_id, "c1"])[1] == {}
    workshop.bring(at, open_, decide="separate")
    assert [p.uri for p in campaign.standing(Scope(), [chunk_id, "c1"])[1].values()] == ["open.md"]


def test_what_is_always_included_is_found_without_going_through_every_chunk(workshop: Workshop) -> None:
    """The work of SQLite, in its own steps, grows with the sources and not with their square."""
    steps = []
    for count in (20, 80):
        at = workshop.create(f"with-{count}")
        files = [workshop.write(f"{count}/{number}.md", f"Lamp {number} hangs here.\n") for number in range(count)]
        workshop.bring(at, *files)
        with closing(database.open_reader(at.lexical)) as db:
            db.execute("ATTACH ? AS cat", (str(at.catalog),))
            taken = 0

            def step() -> int:
                nonlocal taken
                taken += 1
                return 0

            db.set_progress_handler(step, 1)
            assert standing.always_rows(db, Scope()) == []
            steps.append(taken)
    assert steps[1] < 6 * steps[0]
