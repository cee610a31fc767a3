from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from canonry.catalog import Catalog
from canonry.eligibility import HIGHEST_LEVEL, NARRATOR, Scope
from canonry.errors import UsageError
from canonry.export import export_campaign
from canonry.layout import Layout
from canonry.locking import writing
from canonry.pack import Limits, Pack, build_pack
from canonry.retrieval import Passage
from flows.correction import add_correction
from flows.pipeline import InProcess, run_plan
from flows.plan import make_plan
from flows.removal import delete_source
from flows.restore import restore
from tests.conftest import Workshop, built_once

FRONT = "---\nclass: canon\n---\n"


@built_once
def at(workshop: Workshop) -> Layout:
    at = workshop.create()
    workshop.bring(
        at,
        workshop.write("bridge.md", f"{FRONT}# The bridge\n\nThe stone bridge carries carts over the Vell.\n"),
        workshop.write("mill.md", f"{FRONT}# The mill\n\nThe mill grinds barley.\n"),
    )
    return at


def passage_about(workshop: Workshop, at: Layout, text: str) -> Passage:
    return workshop.ask(at).retrieve(text, role=NARRATOR, spoiler_level=HIGHEST_LEVEL).results[0]


def correct(at: Layout, text: str, *of: Passage, **options: object) -> str:
    with writing(at):
        return add_correction(at, text, of, options)


def titles(pack: Pack) -> list[str]:
    return [item.passage.title for item in pack.items]


def test_a_correction_is_canon_that_comes_with_the_passage_it_corrects(workshop: Workshop, at: Layout) -> None:
    correct(at, "Nobody crosses there since the flood.", passage_about(workshop, at, "stone bridge"))
    pack = build_pack(workshop.ask(at), "carts over the Vell")
    assert titles(pack) == ["Correction: Nobody crosses there since the flood", "bridge"]
    assert [item.section for item in pack.items] == ["correction", "canon"]
    assert pack.text.index("CORRECTIONS:") < pack.text.index("CANON:")
    assert titles(build_pack(workshop.ask(at), "barley")) == ["mill"]


def test_its_source_is_like_any_other_and_has_no_original(workshop: Workshop, at: Layout) -> None:
    source_id = correct(at, "Nobody crosses there.", passage_about(workshop, at, "stone bridge"), title="The flood")
    source = Catalog.open(at.catalog).source(source_id)
    assert (source.facts.title, source.facts.class_, source.facts.source_type) == ("The flood", "canon", "correction")
    assert (source.original_path, source.original_filename, source.facts.priority) == ("", "correction.md", "high")


def test_two_corrections_of_the_same_words_are_two(workshop: Workshop, at: Layout) -> None:
    assert correct(at, "It fell.", passage_about(workshop, at, "bridge")) != correct(
        at, "It fell.", passage_about(workshop, at, "mill")
    )


def test_a_corrected_passage_is_left_out_where_its_correction_finds_no_room(workshop: Workshop, at: Layout) -> None:
    before = build_pack(workshop.ask(at), "carts over the Vell")
    correct(at, "Nobody crosses there since the flood. " * 40, passage_about(workshop, at, "stone bridge"))
    pack = build_pack(workshop.ask(at), "carts over the Vell", limits=Limits(before.total_tokens + 60))
    assert titles(pack) == []
    assert [left.reason for left in pack.omitted] == ["over the whole budget"]


@pytest.mark.parametrize(
    "marks", ["spoiler_level: 4", "visibility: hidden", "spoiler_tags: [ending]", "allowed_roles: [writer]"]
)
def test_it_is_as_secret_as_what_it_corrects(workshop: Workshop, at: Layout, marks: str) -> None:
    workshop.bring(
        at, workshop.write("crypt.md", f"---\nclass: canon\n{marks}\n---\n# Crypt\n\nThe crypt holds a crown.\n")
    )
    crypt = workshop.ask(at).survey(
        Scope("writer" if "roles" in marks else NARRATOR, 9), lambda found: [p for p in found if p.title == "crypt"]
    )
    correct(at, "The crypt holds a mask.", *crypt, spoiler_level=1)
    strict = Scope(forbid_tags=("ending",))
    assert not any(
        "mask" in item.passage.exact_text for item in build_pack(workshop.ask(at), "crypt mask", scope=strict).items
    )
    facts = Catalog.open(at.catalog).source("Correction: The crypt holds a mask").facts
    assert facts.spoiler_level == (4 if "level" in marks else 1)


def test_a_correction_in_secret_leaves_no_trace_for_who_may_not_see_it(workshop: Workshop, at: Layout) -> None:
    before = build_pack(workshop.ask(at), "carts over the Vell", mark="m" * 16)
    correct(at, "The bridge is an illusion.", passage_about(workshop, at, "stone bridge"), spoiler_level=3)
    after = build_pack(workshop.ask(at), "carts over the Vell", mark="m" * 16)
    assert after.text == before.text
    assert (after.warnings, after.omitted, titles(after)) == (before.warnings, before.omitted, titles(before))
    assert "an illusion" in build_pack(workshop.ask(at), "carts over the Vell", scope=Scope(spoiler_level=3)).text


def test_the_link_outlives_a_rebuild_and_a_new_version_that_keeps_the_passage(workshop: Workshop, at: Layout) -> None:
    correct(at, "Nobody crosses there.", passage_about(workshop, at, "stone bridge"))
    with writing(at):
        run_plan(at, make_plan(at, full=True), InProcess())
    assert titles(build_pack(workshop.ask(at), "carts over the Vell"))[1:] == ["bridge"]
    moved = "## Before it\n\nA ferry went here.\n\n## The bridge\n\nThe stone bridge carries carts over the Vell.\n"
    workshop.bring(at, workshop.write("bridge.md", FRONT + moved))
    assert "Nobody crosses there." in build_pack(workshop.ask(at), "carts over the Vell").text


def test_deleting_it_takes_it_back(workshop: Workshop, at: Layout) -> None:
    before = titles(build_pack(workshop.ask(at), "carts over the Vell"))
    source_id = correct(at, "Nobody crosses there.", passage_about(workshop, at, "stone bridge"))
    with writing(at):
        delete_source(at, source_id)
    assert titles(build_pack(workshop.ask(at), "carts over the Vell")) == before
    assert Catalog.open(at.catalog).connection.execute("SELECT count(*) FROM correction").fetchone() == (0,)


def test_a_correction_of_a_correction_comes_too_and_first(workshop: Workshop, at: Layout) -> None:
    correct(at, "Nobody crosses there.", passage_about(workshop, at, "stone bridge"), title="first")
    correct(at, "Only goats cross.", passage_about(workshop, at, "nobody crosses"), title="second")
    assert titles(build_pack(workshop.ask(at), "carts over the Vell")) == ["second", "first", "bridge"]


@pytest.mark.parametrize("text", ["", "  \n\t"])
def test_a_correction_says_something(at: Layout, text: str) -> None:
    with pytest.raises(UsageError, match="without a word"):
        correct(at, text)


def test_a_correction_and_a_successor_travel_with_the_campaign(workshop: Workshop, at: Layout, tmp_path: Path) -> None:
    """Their rows name rows of tables, or of sources, that come later in the export."""
    bridge = passage_about(workshop, at, "bridge")
    correct(at, "The stone bridge is gone.", bridge)
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        first, last = sorted(source.source_id for source in catalog.sources() if "correction" not in source.source_id)
        catalog.connection.execute("UPDATE knowledge_source SET superseded_by = ? WHERE source_id = ?", (last, first))
    tables = {
        table: f"SELECT * FROM {table} ORDER BY 1"
        for table in ("correction", "conflict_decision", "proposal", "source_label")
    }

    def rows(at: Layout) -> dict[str, object]:
        with closing(Catalog.open(at.catalog)) as catalog:
            found = {table: catalog.connection.execute(sql).fetchall() for table, sql in tables.items()}
            succession = "SELECT source_id, superseded_by FROM knowledge_source ORDER BY 1"
            return {**found, "succession": catalog.connection.execute(succession).fetchall()}

    export_campaign(at, tmp_path / "vell.zip")
    there = restore(tmp_path / "vell.zip", tmp_path / "elsewhere").at
    assert rows(there) == rows(at)
    assert rows(there)["correction"]
