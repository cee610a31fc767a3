"""What doctor says beyond damage: each piece of advice on a campaign that earns it, and silence on one that does not."""

from __future__ import annotations

from pathlib import Path

import pytest

import canonry
from canonry.catalog import Catalog
from canonry.embedders import register
from canonry.layout import Layout
from canonry.locking import writing
from flows.checks.findings import Finding
from flows.checks.passages import opened
from flows.doctor import diagnose, repair
from flows.pipeline import InProcess, loaded, run_plan
from flows.plan import make_plan
from tests.conftest import Workshop
from tests.fakes import WordBag

SECRET = "The lighthouse keeper buried the silver crown beneath the ninth cypress."
LONG = (
    "The river bends twice before it meets the salt road, where carters rest their oxen under tall poplars. Beyond the "
    "ferry a baker keeps four ovens and a parrot. Each spring the council counts hives, nets, barrels and debts, then "
    "burns last year's tallies in front of everyone. Children learn the tune of that bonfire long before their letters. "
)


@pytest.fixture
def at(workshop: Workshop) -> Layout:
    return workshop.create()


def advice(at: Layout, *codes: str) -> list[Finding]:
    """The findings of those codes; with none named, all."""
    return [found for found in diagnose(at).findings if not codes or found.code in codes]


def sql(at: Layout, statement: str) -> None:
    catalog = Catalog.open(at.catalog, write=True)
    catalog.connection.execute(statement)
    catalog.close()


def test_there_is_nothing_to_say_of_the_campaign_that_comes_with_canonry(workshop: Workshop, at: Layout) -> None:
    workshop.bring(at, Path(canonry.__file__).parent / "demo_campaign")
    assert advice(at) == []


# secrets that are told


@pytest.mark.parametrize(
    "secret",
    [
        f"---\nvisibility: hidden\n---\n{SECRET}\n",
        f"---\nspoiler_level: 3\n---\n{SECRET}\n",
        f"---\nallowed_roles: [narrator]\n---\n{SECRET}\n",
        f"Open.\n\n# Ending {{visibility=hidden}}\n\nSo it was. {SECRET}\n",
        f"Open.\n\n# Ending {{spoiler=1}}\n\n- {SECRET}\n",
    ],
)
def test_a_secret_sentence_in_a_public_passage_is_a_problem_whatever_its_typography(
    workshop: Workshop, at: Layout, secret: str
) -> None:
    workshop.bring(at, workshop.write("secret.md", secret))
    told = "Some say:\n\n\u201cthe LIGHTHOUSE keeper buried the silver crown beneath\nthe ninth cypress\u201d, but who knows.\n"
    workshop.bring(at, workshop.write("rumours.md", told))
    (found,) = advice(at, "secret-quoted")
    assert found.severity == "problem"
    assert found.where.startswith("rumours-")
    assert "secret-" in found.what
    assert "crown" not in f"{found.what} {found.where} {found.do}"
    assert "silver crown" in found.text


def test_a_secret_in_a_script_without_spaces_is_found_too(workshop: Workshop, at: Layout) -> None:
    workshop.bring(
        at, workshop.write("secret.md", "---\nvisibility: hidden\n---\n灯台守は銀の冠を九番目の糸杉の下に埋めた。\n")
    )
    workshop.bring(at, workshop.write("open.md", "噂によれば、灯台守は銀の冠を九番目の糸杉の下に埋めた。\n"))
    assert len(advice(at, "secret-quoted")) == 1


def test_what_is_secret_in_both_or_short_or_disabled_is_no_leak(workshop: Workshop, at: Layout) -> None:
    report = workshop.bring(
        at, workshop.write("secret.md", f"---\nvisibility: hidden\n---\n{SECRET} He knew it well.\n")
    )
    workshop.bring(at, workshop.write("also.md", f"---\nspoiler_level: 9\n---\n{SECRET}\n"))
    workshop.bring(at, workshop.write("open.md", "He knew it well. The keeper was silver.\n"))
    assert advice(at, "secret-quoted") == []
    workshop.bring(at, workshop.write("open.md", f"{SECRET}\n"))
    told = sorted(found.what.rpartition(" in ")[2].partition("-")[0] for found in advice(at, "secret-quoted"))
    assert told == ["also", "secret"]
    catalog = Catalog.open(at.catalog, write=True)
    catalog.set_enabled(report.imported[0].source_id, False)
    catalog.close()
    assert len(advice(at, "secret-quoted")) == 1


def test_names_that_only_secret_sources_have_are_advice_without_the_name(workshop: Workshop, at: Layout) -> None:
    hidden = "---\nvisibility: hidden\nentities: [Ravel Oswin, Tolleth]\n---\n# Vault of Ash\n\nHe is the heir.\n"
    workshop.bring(at, workshop.write("heir.md", hidden))
    workshop.bring(
        at, workshop.write("town.md", "---\nentities: [Tolleth]\n---\nTolleth is old. Ravel Oswin sells ash there.\n")
    )
    (found,) = advice(at, "secret-name")
    assert (found.severity, found.text) == ("advice", "Ravel Oswin")
    assert "Oswin" not in f"{found.what} {found.where} {found.do}"
    assert found.where.startswith("town-")


def test_a_heading_of_ordinary_words_is_no_name(workshop: Workshop, at: Layout) -> None:
    workshop.bring(at, workshop.write("a.md", "---\nvisibility: hidden\n---\n# Ending\n\nIt ends.\n"))
    workshop.bring(at, workshop.write("b.md", "Ending a pledge is hard. The ending is near.\n"))
    assert advice(at, "secret-name") == []


# texts


def test_mojibake_and_lost_characters_are_named_with_their_line(workshop: Workshop, at: Layout) -> None:
    wrong = "Fine.\r\nFine.\r\nThe keeper’s crown — “gone”.".encode().decode("cp1252", "replace")
    workshop.bring(at, workshop.write("a.md", wrong))
    workshop.bring(at, workshop.write("b.md", "One.\n\nA d\ufffdj\ufffd vu.\n"))
    mojibake = advice(at, "mojibake")[0]
    assert mojibake.where.startswith("a-")
    assert mojibake.where.endswith("line 3")
    lost = [found for found in advice(at, "characters-lost") if found.where.startswith("b-")]
    assert lost[0].where.endswith("line 3")
    assert "2 characters" in lost[0].what


@pytest.mark.parametrize(
    "text", ["Où est l’Âge d’or ? À Ægir.", "Ça va ; «ÂGE»", "Ærøskøbing — “naïve” café…", "Ã alone", "日本語。"]
)
def test_typography_and_accents_are_no_mojibake(workshop: Workshop, at: Layout, text: str) -> None:
    workshop.bring(at, workshop.write("a.md", f"{text}\n"))
    assert advice(at, "mojibake", "characters-lost") == []


def test_sources_of_equal_text_are_named_once(workshop: Workshop, at: Layout) -> None:
    for name, text in (("a", LONG), ("b", LONG.replace(". ", ".\n").upper()), ("c", f"---\ntags: [x]\n---\n{LONG}")):
        workshop.bring(at, workshop.write(f"{name}.md", f"{text}\n"))
    (found,) = advice(at, "sources-equal", "sources-nearly-equal", "sources-contained")
    assert found.code == "sources-equal"
    assert found.where.startswith("a-")


def test_nearly_equal_sources_are_named_and_others_are_not(workshop: Workshop, at: Layout) -> None:
    workshop.bring(at, workshop.write("a.md", LONG), workshop.write("b.md", LONG.replace("four ovens", "five ovens")))
    workshop.bring(at, workshop.write("c.md", " ".join(reversed(LONG.split()))))
    (found,) = advice(at, "sources-nearly-equal", "sources-equal", "sources-contained")
    assert found.code == "sources-nearly-equal"
    assert "stands in" in found.what


def test_a_source_that_holds_others_is_named_once_for_all(workshop: Workshop, at: Layout) -> None:
    other = " ".join(f"Entry {number} concerns the {number * 7}th seal of the house." for number in range(60))
    more = " ".join(f"Warden {number} kept watch {number * 3} nights upon the wall." for number in range(60))
    workshop.bring(at, workshop.write("all.md", f"{LONG}\n\n{other}\n\n{more}\n"))
    workshop.bring(at, workshop.write("a.md", LONG), workshop.write("b.md", more))
    (found,) = advice(at, "sources-contained")
    assert found.where.startswith("all-")
    assert "2 other sources" in found.what


# what is said of sources


def test_many_tiny_chunks_are_named(workshop: Workshop, at: Layout) -> None:
    workshop.bring(at, workshop.write("tiny.md", "".join(f"# Item {n}\n\nShort.\n\n" for n in range(25))))
    (found,) = advice(at, "tiny-chunks")
    assert "25 of its 25" in found.what


def test_a_heading_rule_that_matches_nothing_is_named_and_one_that_does_is_not(workshop: Workshop, at: Layout) -> None:
    rules = '[[headings]]\nmatch = "Endnig"\nspoiler_level = 5\n[[headings]]\nmatch = "twist*"\nspoiler_level = 2\n'
    workshop.write("canonry.toml", rules)
    workshop.write("a.md", "# Ending\n\nIt ends.\n\n# Twist one\n\nIt turns.\n")
    workshop.bring(at, workshop.root / "lore")
    (found,) = advice(at, "heading-rule-unmatched")
    assert "'Endnig'" in found.what


def test_statements_without_effect_are_named(workshop: Workshop, at: Layout) -> None:
    workshop.bring(
        at, workshop.write("a.md", "---\nallowed_roles: [narator, npc:oswin]\nalways_include: true\n---\nA lamp.\n")
    )
    found = {one.code: one for one in advice(at)}
    assert set(found) == {"role-unknown", "always-without-effect"}
    assert "did you mean narrator" in found["role-unknown"].do


def test_too_much_canon_that_is_always_included_is_named(workshop: Workshop, at: Layout) -> None:
    long = "\n\n".join(LONG.replace("four", str(n)) for n in range(60))
    workshop.bring(at, workshop.write("a.md", long), class_="canon", always_include=True)
    (found,) = advice(at, "always-overspend")
    assert "more than half" in found.what


def test_successors_and_corrections_that_lead_nowhere_are_named(workshop: Workshop, at: Layout) -> None:
    report = workshop.bring(at, *(workshop.write(f"{name}.md", f"The {name}.\n") for name in ("a", "b", "c", "d")))
    a, b, c, d = (file.source_id for file in report.imported)
    for source, by in ((a, b), (b, a), (c, d)):
        sql(at, f"UPDATE knowledge_source SET superseded_by = '{by}' WHERE source_id = '{source}'")
    assert [found.where for found in advice(at, "successor-missing")] == [a, b]
    sql(at, f"UPDATE knowledge_source SET enabled = 0 WHERE source_id = '{d}'")
    assert [found.where for found in advice(at, "successor-missing")] == [a, b, c]
    with opened(at) as db:
        versions = "knowledge_chunk JOIN cat.knowledge_source_version v USING (version_id)"
        hashes = dict(db.execute(f"SELECT v.source_id, body_hash FROM {versions}"))
    for source, body, of, of_body in (
        (a, hashes[a], b, "gone"),
        (b, "gone", c, hashes[c]),
        (c, hashes[c], d, hashes[d]),
    ):
        sql(at, f"INSERT INTO correction VALUES ('{source}', '{body}', '{of}', '{of_body}', '2026')")
    assert [found.where for found in advice(at, "correction-of-nothing")] == [a, b]


# leftovers, which a repair removes


def build_bagged(workshop: Workshop) -> Layout:
    at = workshop.create("bagged", embedder="wordbag")
    workshop.bring(at, workshop.write("a.md", f"# River\n\n{LONG}\n"), workshop.write("b.md", "A brass lamp.\n"))
    return at


@pytest.fixture
def bagged(workshop: Workshop) -> Layout:
    register(WordBag())
    loaded.cache_clear()
    return workshop.once(build_bagged)


def fix(at: Layout) -> tuple[list[str], list[str]]:
    """(codes of what was fixed, codes of what remains)."""
    with writing(at):
        health = repair(at)
    return [found.code for found in health.fixed], [found.code for found in health.findings]


def test_what_is_stale_is_advice_and_a_repair_carries_it_out(bagged: Layout) -> None:
    catalog = Catalog.open(bagged.catalog, write=True)
    catalog.set_settings({"chunk.target": "40"})
    catalog.close()
    assert {found.code for found in advice(bagged)} == {"stale", "part-stale"}
    fixed, left = fix(bagged)
    assert set(fixed) == {"stale", "part-stale"}
    assert left == []
    assert make_plan(bagged).is_empty


def test_chunks_of_earlier_settings_and_vectors_of_other_embedders_are_removed(
    workshop: Workshop, bagged: Layout
) -> None:
    register(WordBag("otherbag", dimensions=32))
    catalog = Catalog.open(bagged.catalog, write=True)
    catalog.set_settings({"chunk.target": "40", "embedder": "otherbag"})
    catalog.close()
    with writing(bagged):
        run_plan(bagged, make_plan(bagged), InProcess())
    question = ("brass lamp by the river",)
    before = workshop.ask(bagged).retrieve(*question, mode="hybrid").as_json()
    assert {found.code for found in advice(bagged)} == {"part-stale", "vectors-unused"}
    assert fix(bagged)[1] == []
    assert [folder.name for folder in (bagged.chunks / "vectors").iterdir()] == ["otherbag-32"]
    assert workshop.ask(bagged).retrieve(*question, mode="hybrid").as_json() == before


def test_vectors_of_passages_that_are_gone_are_laid_out_without(bagged: Layout) -> None:
    catalog = Catalog.open(bagged.catalog, write=True)
    catalog.delete(catalog.source("b.md").source_id)
    catalog.close()
    with writing(bagged):
        run_plan(bagged, make_plan(bagged), InProcess())
    codes = [found.code for found in advice(bagged)]
    assert codes in ([], ["vectors-dead"])
    assert fix(bagged) == (codes, [])


def test_a_repair_with_nothing_to_do_does_nothing(bagged: Layout) -> None:
    before = {path: path.stat().st_mtime_ns for path in bagged.root.rglob("*.parquet")}
    assert fix(bagged) == ([], [])
    assert {path: path.stat().st_mtime_ns for path in bagged.root.rglob("*.parquet")} == before
