"""Import: what becomes of each file, and what a second import changes."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from canonry.catalog import Catalog
from canonry.embedders import register
from canonry.layout import Layout
from canonry.locking import writing
from flows.import_files import Cancelled
from flows.plan import make_plan
from flows.removal import delete_source
from tests.conftest import Workshop
from tests.fakes import WordBag
from tests.flows.importing import edit, one_source, outcomes


def facts_of(at: Layout, name: str) -> object:
    catalog = Catalog.open(at.catalog)
    try:
        return catalog.source(name).facts
    finally:
        catalog.close()


def test_files_are_new_then_unchanged_then_updated(workshop: Workshop) -> None:
    at = workshop.create()
    path = workshop.write("lamp.md", "A brass lamp.\n")
    assert outcomes(workshop.bring(at, path)) == [("lamp.md", "new")]
    assert outcomes(workshop.bring(at, path)) == [("lamp.md", "unchanged")]
    path.write_text("A zinc lamp.\n")
    assert outcomes(workshop.bring(at, path)) == [("lamp.md", "updated")]
    assert [p.exact_text.strip() for p in workshop.ask(at).retrieve("lamp").results] == ["A zinc lamp."]
    assert make_plan(at).is_empty


def test_a_file_that_goes_back_to_an_older_text_is_a_new_version(workshop: Workshop) -> None:
    at = workshop.create()
    for text in ("A brass lamp.\n", "A zinc lamp.\n", "A brass lamp.\n"):
        workshop.bring(at, workshop.write("lamp.md", text))
    catalog = Catalog.open(at.catalog)
    assert len(catalog.versions(catalog.source("lamp.md").source_id)) == 3
    catalog.close()
    assert [p.exact_text.strip() for p in workshop.ask(at).retrieve("lamp").results] == ["A brass lamp."]


def test_ids_come_from_name_and_content_and_are_the_same_in_another_campaign(workshop: Workshop) -> None:
    ids = []
    for campaign in ("vell", "abbey"):
        report = workshop.bring(
            workshop.create(campaign), workshop.write("Żółta Lampa.md", "A lamp.\n"), workshop.write("灯.md", "灯\n")
        )
        ids.append([file.source_id for file in report.imported])
    assert ids[0] == ids[1]
    assert all(source_id.isascii() and " " not in source_id for source_id in ids[0])


@pytest.mark.parametrize(
    ("decide", "imported", "rejected"),
    [
        ("refuse", [("a.md", "new")], ["b.md"]),
        ("reuse", [("a.md", "new"), ("b.md", "reused")], []),
        ("separate", [("a.md", "new"), ("b.md", "new")], []),
    ],
    ids=["refuse", "reuse", "separate"],
)
@pytest.mark.parametrize("together", [True, False], ids=["in one import", "in two"])
def test_equal_content_is_refused_reused_or_kept_apart(
    workshop: Workshop, decide: str, imported: list[object], rejected: list[str], together: bool
) -> None:
    at = workshop.create()
    paths = [workshop.write(name, "A lamp.\n") for name in ("a.md", "b.md")]
    reports = (
        [workshop.bring(at, *paths, decide=decide)]
        if together
        else [workshop.bring(at, path, decide=decide) for path in paths]
    )
    assert sorted(entry for report in reports for entry in outcomes(report)) == imported
    assert [error.name for report in reports for error in report.rejected] == rejected


def test_equal_text_in_another_encoding_is_equal_content(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("a.md", "Zoë's lamp.\n"))
    report = workshop.bring(at, workshop.write("b.md", "Zoë's lamp.\n".encode("utf-16")), decide="reuse")
    assert outcomes(report) == [("b.md", "reused")]


def test_cancel_stops_the_import(workshop: Workshop) -> None:
    at = workshop.create()
    with pytest.raises(Cancelled):
        workshop.bring(at, workshop.write("a.md", "A lamp.\n"), workshop.write("b.md", "A lamp.\n"), decide="cancel")
    assert not at.files.exists() or list(at.files.iterdir()) == []


# what a user changed later


def test_what_the_user_changed_stays_when_the_file_is_imported_again(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "---\nclass: inspiration\ntags: [a]\n---\nA brass lamp.\n"))
    edit(at, "lamp.md", title="The lamp", class_="canon", visibility="hidden", spoiler_level=3)
    workshop.bring(
        at, workshop.write("lamp.md", "---\nclass: inspiration\ntags: [b]\nspoiler_level: 1\n---\nA zinc lamp.\n")
    )
    facts = facts_of(at, "lamp.md")
    assert (facts.title, facts.class_, facts.visibility, facts.spoiler_level, facts.tags) == (
        "The lamp",
        "canon",
        "hidden",
        3,
        ("b",),
    )  # type: ignore[attr-defined]


def test_a_disabled_source_stays_disabled_when_its_file_is_imported_again(workshop: Workshop) -> None:
    at = workshop.create()
    report = workshop.bring(at, workshop.write("lamp.md", "A brass lamp.\n"))
    catalog = Catalog.open(at.catalog, write=True)
    catalog.set_enabled(report.imported[0].source_id, False)
    catalog.close()
    workshop.bring(at, workshop.write("lamp.md", "A zinc lamp.\n"))
    assert workshop.ask(at).retrieve("lamp").results == []


def test_options_hold_for_an_unchanged_file_too(workshop: Workshop) -> None:
    at = workshop.create()
    path = workshop.write("lamp.md", "A brass lamp.\n")
    workshop.bring(at, path)
    workshop.bring(at, path, visibility="hidden", class_="canon")
    facts = facts_of(at, "lamp.md")
    assert (facts.visibility, facts.class_) == ("hidden", "canon")  # type: ignore[attr-defined]


def test_options_hold_for_a_file_that_is_reused(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("a.md", "A brass lamp.\n"))
    workshop.bring(at, workshop.write("b.md", "A brass lamp.\n"), decide="reuse", visibility="hidden")
    assert workshop.ask(at).retrieve("lamp").results == []


def test_new_rules_of_the_folder_hold_for_unchanged_files(workshop: Workshop) -> None:
    """A person writes canonry.toml after the first import, to hide what should not be seen."""
    at = workshop.create()
    workshop.write("lamp.md", "# Lamp\n\nA brass lamp.\n\n# Ending\n\nThe lamp goes out.\n")
    workshop.bring(at, workshop.root / "lore")
    workshop.write("canonry.toml", '[defaults]\nspoiler_level = 2\n[[headings]]\nmatch = "Ending"\nspoiler = 5\n')
    workshop.bring(at, workshop.root / "lore")
    campaign = workshop.ask(at)
    assert campaign.retrieve("lamp", spoiler_level=1).results == []
    assert [p.heading_path for p in campaign.retrieve("lamp", spoiler_level=2).results] == [["Lamp"]]


def test_a_mark_that_is_added_to_a_file_holds_at_once(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "# Ending\n\nThe lamp goes out.\n"))
    workshop.bring(at, workshop.write("lamp.md", "# Ending {spoiler=5}\n\nThe lamp goes out.\n"))
    assert workshop.ask(at).retrieve("lamp").results == []


def test_an_update_whose_mark_cannot_be_read_leaves_the_old_version(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "A brass lamp.\n"))
    report = workshop.bring(at, workshop.write("lamp.md", "# Ending {spoiler=high}\n\nThe lamp goes out.\n"))
    assert [error.name for error in report.rejected] == ["lamp.md"]
    assert [p.exact_text.strip() for p in workshop.ask(at).retrieve("lamp").results] == ["A brass lamp."]
    assert len(list(at.files.iterdir())) == 1


# by order, as a novel is read


def test_chapters_by_order_open_one_by_one(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.write("canonry.toml", '[defaults]\nspoiler = "by-order"\n')
    for number in range(1, 5):
        workshop.write(
            f"ch{number}.md", f"---\norder: {number}\n---\n# Chapter {number}\n\nThe lamp burns for night {number}.\n"
        )
    report = workshop.bring(at, workshop.root / "lore")
    assert report.rejected == []
    campaign = workshop.ask(at)
    for level in range(5):
        assert len(campaign.retrieve("lamp", spoiler_level=level).results) == level


# embedding


def test_nothing_is_embedded_twice(workshop: Workshop) -> None:
    bag = WordBag("counting")
    register(bag)
    at = workshop.create(embedder="counting")
    for number in range(3):
        workshop.write(f"{number}.md", f"# {number}\n\nA brass lamp number {number}.\n")
    workshop.bring(at, workshop.root / "lore")
    assert len(bag.embedded) == 3
    workshop.write("3.md", "# 3\n\nA zinc gate.\n")
    workshop.write("0.md", "# 0\n\nA brass lamp number 0.\n\nAnd more.\n")
    workshop.bring(at, workshop.root / "lore")
    assert len(bag.embedded) == 5
    assert len(set(bag.embedded)) == 5


def test_an_embedder_that_fails_leaves_everything_to_be_found_by_words(workshop: Workshop) -> None:
    bag = WordBag("failing", failures=99)
    register(bag)
    at = workshop.create(embedder="failing")
    report = workshop.bring(at, workshop.write("lamp.md", "A brass lamp.\n"))
    assert "the word bag is away" in str(report.index.degraded)
    assert len(workshop.ask(at).retrieve("lamp").results) == 1
    assert not make_plan(at).is_empty


# nothing half done


def test_the_catalog_and_the_index_agree_after_every_import(workshop: Workshop) -> None:
    at = workshop.create()
    for turn in range(3):
        workshop.bring(
            at, *(workshop.write(f"{n}.md", f"Lamp {n} of turn {turn if n % 2 else 0}.\n") for n in range(5))
        )
        with sqlite3.connect(at.catalog) as db:
            live = {
                row[0] for row in db.execute("SELECT version_id FROM knowledge_source_version WHERE valid_to IS NULL")
            }
        with sqlite3.connect(at.lexical) as db:
            assert {row[0] for row in db.execute("SELECT version_id FROM document")} == live
        assert make_plan(at).is_empty


def test_the_manifest_says_what_the_index_is(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "A brass lamp.\n"))
    manifest = json.loads(at.manifest.read_text())
    assert (manifest["campaign"], manifest["counts"]["documents"], manifest["counts"]["chunks"]) == ("vell", 1, 1)
    assert manifest["generation"] is None


# the same text in another form


def test_the_same_text_in_another_form_is_a_duplicate_and_said_to_be_one(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("a.md", "# Zoë\n\nA lamp.\n"))
    other = workshop.write("b.md", "\ufeff# Zoe\u0308  \r\n\r\n\r\nA lamp.")
    (error,) = workshop.bring(at, other).rejected
    assert "same text as source a-" in error.reason
    assert "line ends, trailing blanks, blank lines or Unicode form" in error.reason
    assert outcomes(workshop.bring(at, other, decide="reuse")) == [("b.md", "reused")]
    assert outcomes(workshop.bring(at, other, decide="separate")) == [("b.md", "new")]


def test_a_version_of_an_older_canonry_is_found_by_its_form_too(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("a.md", "A lamp.\n"))
    with closing(sqlite3.connect(at.catalog)) as db, db:
        db.execute("UPDATE knowledge_source_version SET normal_hash = ''")
    assert [error.name for error in workshop.bring(at, workshop.write("b.md", "A lamp. \r\n")).rejected] == ["b.md"]


def test_a_text_that_its_source_gave_up_in_this_import_is_no_duplicate(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("a.md", "A lamp.\n"))
    report = workshop.bring(at, workshop.write("a.md", "A gate.\n"), workshop.write("b.md", "A lamp.\n"))
    assert outcomes(report) == [("a.md", "updated"), ("b.md", "new")]


def test_equal_passages_of_two_sources_are_embedded_and_shown_once_and_outlive_one_of_them(workshop: Workshop) -> None:
    bag = WordBag("one-for-two")
    register(bag)
    at = workshop.create(embedder="one-for-two")
    shared = "# Lamp\n\nA brass lamp by the quay.\n"
    paths = [workshop.write(f"{name}.md", f"{shared}\n# {name}\n\nMore of {name} here.\n") for name in ("one", "two")]
    report = workshop.bring(at, *paths)
    assert len([text for text in bag.embedded if "brass" in text]) == 1
    for mode in ("lexical", "semantic", "hybrid"):
        assert (
            len([p for p in workshop.ask(at).retrieve("brass lamp", mode=mode).results if "brass" in p.exact_text]) == 1
        )
    with writing(at):
        delete_source(at, report.imported[0].source_id)
    for mode in ("lexical", "semantic", "hybrid"):
        left = [p for p in workshop.ask(at).retrieve("brass lamp", mode=mode).results if "brass" in p.exact_text]
        assert [passage.source_id for passage in left] == [report.imported[1].source_id]


# two at once


def test_two_imports_of_one_file_at_once_make_one_source(workshop: Workshop) -> None:
    at = workshop.create()
    path = workshop.write("a.md", "A lamp.\n")
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda _: workshop.bring(at, path), range(2)))
    assert sorted(outcomes(report)[0][1] for report in reports) == ["new", "unchanged"]
    assert one_source(at).version_id.endswith("@1")
