"""What a person said stays in force, and what was derived comes back."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from canonry.catalog import Catalog
from canonry.embedders import register
from canonry.layout import Layout
from canonry.locking import writing
from canonry.semantic import Scan
from canonry.timestamps import now
from flows.housekeeping import MOST_PARTS
from flows.pipeline import InProcess, loaded, run_plan
from flows.plan import make_plan
from flows.removal import delete_source
from tests.conftest import Workshop
from tests.fakes import WordBag

HIDE = '[[files]]\nmatch = "secret/**"\nvisibility = "hidden"\n[[headings]]\nmatch = "Ending"\nspoiler_level = 5\n'


def found(workshop: Workshop, at: Layout, question: str, **named: object) -> list[str]:
    return [passage.uri for passage in workshop.ask(at).retrieve(question, **named).results]  # type: ignore[arg-type]


@pytest.fixture
def bag() -> WordBag:
    bag = WordBag()
    register(bag)
    loaded.cache_clear()
    return bag


def reindex(at: Layout, *, full: bool = False) -> None:
    with writing(at):
        run_plan(at, make_plan(at, full=full), InProcess())


@pytest.mark.parametrize("by", ["file", "folder", "parent"])
def test_a_folder_rule_holds_by_whatever_path_a_file_is_imported_again(workshop: Workshop, by: str) -> None:
    at = workshop.create()
    workshop.write("canonry.toml", HIDE)
    twist = workshop.write("secret/twist.md", "The okapi did it.\n\n# Ending\n\nThe okapi escapes.\n")
    workshop.bring(at, workshop.root / "lore")
    workshop.bring(at, {"file": twist, "folder": twist.parent, "parent": workshop.root / "lore"}[by])
    assert found(workshop, at, "okapi") == []
    assert found(workshop, at, "okapi escapes", role="narrator") == ["secret/twist.md"]


def test_a_canonry_toml_further_down_holds_for_its_own_folder(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.write("deep/canonry.toml", "[defaults]\nspoiler_level = 3\n")
    workshop.write("deep/a.md", "The okapi did it.\n")
    workshop.write("b.md", "The okapi was seen.\n")
    workshop.bring(at, workshop.root / "lore")
    assert found(workshop, at, "okapi") == ["b.md"]
    assert sorted(found(workshop, at, "okapi", spoiler_level=3)) == ["b.md", "deep/a.md"]


@pytest.mark.parametrize("said", ["visibility: hidden", "spoiler_level: 3", "allowed_roles: [narrator]"])
def test_an_earlier_version_is_never_shown_more_openly_than_it_was(workshop: Workshop, said: str) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("a.md", f"---\n{said}\n---\nThe okapi did it.\n"))
    then = now()
    time.sleep(0.01)
    workshop.bring(at, workshop.write("a.md", "Nothing is known of the okapi.\n"))
    assert found(workshop, at, "okapi") == ["a.md"]
    assert found(workshop, at, "okapi", as_of=then) == []
    (passage,) = workshop.ask(at).retrieve("okapi", as_of=then, role="narrator", spoiler_level=3).results
    assert passage.exact_text == "The okapi did it."


def test_forbidden_tags_of_an_earlier_version_still_forbid(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("a.md", "---\nspoiler_tags: [Ending]\n---\nThe okapi did it.\n"))
    then = now()
    time.sleep(0.01)
    workshop.bring(at, workshop.write("a.md", "Nothing is known of the okapi.\n"))
    assert found(workshop, at, "okapi", as_of=then, forbid_tags=["ending"]) == []


def test_what_a_folder_says_of_a_copy_holds_for_the_source_that_stands_for_it(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("open/a.md", "The okapi did it.\n"))
    workshop.write("canonry.toml", HIDE)
    workshop.bring(at, workshop.write("secret/copy.md", "The okapi did it.\n"), decide="reuse")
    assert found(workshop, at, "okapi") == []


def test_deleted_chunks_and_vectors_are_made_again(workshop: Workshop, bag: WordBag) -> None:
    at = workshop.create(embedder="wordbag")
    for name in ("gate", "lamp", "well"):
        workshop.write(f"{name}.md", f"An old {name} stands here.\n")
    workshop.bring(at, workshop.root / "lore")
    before = [(p.chunk_id, p.fused_score) for p in workshop.ask(at).retrieve("old lamp", mode="hybrid").results]
    shutil.rmtree(at.chunks)
    plan = make_plan(at)
    assert not plan.is_empty
    assert any("missing" in reason for reason in plan.reasons)
    workshop.bring(at, workshop.write("tree.md", "A young tree.\n"))
    answer = workshop.ask(at).retrieve("old lamp", mode="hybrid")
    assert [(p.chunk_id, p.fused_score) for p in answer.results if p.uri != "tree.md"][:3] == before[:3]
    assert answer.degraded is None
    assert make_plan(at).is_empty


def test_a_deleted_index_gives_the_same_answers_again(workshop: Workshop, bag: WordBag) -> None:
    at = workshop.create(embedder="wordbag")
    for name in ("gate", "lamp", "well"):
        workshop.write(f"{name}.md", f"An old {name} stands here.\n")
    workshop.bring(at, workshop.root / "lore")
    before = [p.chunk_id for p in workshop.ask(at).retrieve("old lamp", mode="hybrid").results]
    workshop.close()
    shutil.rmtree(at.index)
    reindex(at)
    assert [p.chunk_id for p in workshop.ask(at).retrieve("old lamp", mode="hybrid").results] == before


def test_a_rebuild_takes_its_vectors_along(workshop: Workshop, bag: WordBag) -> None:
    """The new build names a generation from its first commit on: no question in between goes without meaning."""
    at = workshop.create(embedder="wordbag")
    workshop.bring(at, workshop.write("lamp.md", "An old lamp stands here.\n"))
    with writing(at):
        run_plan(at, make_plan(at, full=True), InProcess(), with_vectors=False)
    answer = workshop.ask(at).retrieve("old lamp", mode="semantic")
    assert answer.degraded is None
    assert [passage.uri for passage in answer.results] == ["lamp.md"]


def test_new_words_on_old_files_do_not_put_the_index_behind(workshop: Workshop) -> None:
    """After an import that changes metadata alone, the next one is still published file by file."""
    at = workshop.create()
    workshop.bring(at, workshop.write("a.md", "A lamp.\n"))
    workshop.bring(at, workshop.root / "lore" / "a.md", class_="canon")
    campaign = workshop.ask(at)
    assert campaign.retrieve("lamp").degraded is None
    workshop.bring(at, workshop.write("b.md", "A lamp.\nAnd a gate.\n"))
    assert campaign.retrieve("lamp").degraded is None
    assert make_plan(at).is_empty


def test_a_deletion_that_was_stopped_is_finished_by_the_next_run(workshop: Workshop, bag: WordBag) -> None:
    at = workshop.create(embedder="wordbag")
    report = workshop.bring(at, workshop.write("a.md", "The quokka did it.\n"), workshop.write("b.md", "A lamp.\n"))
    with writing(at):
        catalog = Catalog.open(at.catalog, write=True)
        catalog.delete(report.imported[0].source_id)  # and here the power went
        catalog.close()
    assert found(workshop, at, "quokka") == []
    workshop.close()
    assert not make_plan(at).is_empty
    reindex(at)
    assert b"quokka" not in b"".join(path.read_bytes() for path in at.root.rglob("*") if path.is_file())
    assert make_plan(at).is_empty


def test_many_small_parts_become_few(workshop: Workshop) -> None:
    at = workshop.create()
    for number in range(MOST_PARTS + 3):
        workshop.bring(at, workshop.write("a.md", f"Lamp number {number}.\n"))
    assert len(list(at.chunks.glob("chunks-*.parquet"))) <= MOST_PARTS
    assert found(workshop, at, f"lamp number {MOST_PARTS + 2}") == ["a.md"]
    reindex(at, full=True)
    assert found(workshop, at, "lamp number") == ["a.md"]


def test_a_source_that_others_share_text_with_keeps_its_parts(workshop: Workshop) -> None:
    at = workshop.create()
    report = workshop.bring(
        at, workshop.write("a.md", "A zinc lamp.\n"), workshop.write("b.md", "A zinc lamp.\n"), decide="separate"
    )
    with writing(at):
        delete_source(at, report.imported[1].source_id)
    reindex(at, full=True)
    assert found(workshop, at, "zinc") == ["a.md"]


def test_a_catalog_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    at = Layout(tmp_path, "vell")
    Catalog.create(at.catalog, "vell", {"embedder": "none"}).close()
    assert sorted(path.name for path in at.raw.iterdir()) == ["catalog.sqlite"]
    catalog = Catalog.open(at.catalog)
    assert (catalog.settings(), catalog.meta("campaign_id")) == ({"embedder": "none"}, "vell")


def test_an_edit_is_made_on_what_the_source_is_by_then(workshop: Workshop) -> None:
    """Facts of one moment written back at another would undo what came between."""
    at = workshop.create()
    report = workshop.bring(at, workshop.write("a.md", "A lamp.\n"))
    with writing(at):
        catalog = Catalog.open(at.catalog, write=True)
        source = catalog.source(report.imported[0].source_id)
        catalog.edit(source.source_id, replace(source.facts, visibility="hidden"), ["visibility"])
        assert catalog.source(source.source_id).facts.visibility == "hidden"
    assert found(workshop, at, "lamp") == []


def test_the_scan_file_is_of_the_build_that_names_it(workshop: Workshop, bag: WordBag) -> None:
    at = workshop.create(embedder="wordbag")
    workshop.bring(at, workshop.write("a.md", "A lamp.\n"))
    reindex(at, full=True)
    (path,) = at.index.glob("scan-*.bin")
    assert len(Scan.open(path).rows) == 1


def test_an_earlier_time_is_answered_by_meaning_after_everything_derived_is_lost(
    workshop: Workshop, bag: WordBag
) -> None:
    at = workshop.create(embedder="wordbag")
    workshop.bring(at, workshop.write("lamp.md", "A lamp of brass.\n"))
    between = now()
    workshop.bring(at, workshop.write("lamp.md", "A lamp of tin.\n"))
    asked = {"mode": "semantic", "as_of": between}
    before = workshop.ask(at).retrieve("brass lamp", **asked).as_json()  # type: ignore[arg-type]
    for _ in range(2):  # the second time with an index of that time that was made without vectors
        shutil.rmtree(at.chunks)
        shutil.rmtree(at.index)
        reindex(at)
        assert workshop.ask(at).retrieve("brass lamp", **asked).as_json() == before  # type: ignore[arg-type]
        shutil.rmtree(at.chunks / "vectors")
        shutil.rmtree(at.index / "as-of")
        assert workshop.ask(at).retrieve("brass lamp", **asked).degraded  # type: ignore[arg-type]


def test_an_earlier_time_is_embedded_by_another_model_once(workshop: Workshop, bag: WordBag) -> None:
    at = workshop.create(embedder="wordbag")
    workshop.bring(at, workshop.write("lamp.md", "A lamp of brass.\n"))
    workshop.bring(at, workshop.write("lamp.md", "A lamp of tin.\n"))
    assert len(bag.embedded) == 2
    other = WordBag("otherbag", dimensions=32)
    register(other)
    catalog = Catalog.open(at.catalog, write=True)
    catalog.set_settings({"embedder": "otherbag"})
    catalog.close()
    reindex(at)
    reindex(at, full=True)
    assert sorted(other.embedded) == sorted(bag.embedded)


def test_files_of_an_earlier_generation_are_seen_and_removed(workshop: Workshop, bag: WordBag) -> None:
    """A run that was stopped after the switch has left them; with nothing else to do, nobody would."""
    at = workshop.create(embedder="wordbag")
    workshop.bring(at, workshop.write("a.md", "A lamp.\n"))
    live = {path.name for path in at.index.glob("scan-*.bin")}
    for name in ("scan-0123456789ab.bin", "vectors-0123456789ab.duckdb"):
        (at.index / name).write_bytes(b"of yesterday")
    assert "2 files of earlier generations" in " ".join(make_plan(at).reasons)
    reindex(at)
    assert make_plan(at).is_empty
    assert {path.name for path in at.index.glob("scan-*.bin")} == live
    assert len(list(at.index.glob("vectors-*.duckdb"))) == 1
