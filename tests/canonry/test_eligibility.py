"""Each clause of the predicate, in both legs: what may not be seen is not found, whatever the words."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from canonry.catalog import Catalog
from canonry.eligibility import Scope, failing, failing_of
from canonry.errors import UsageError
from canonry.timestamps import now
from tests.conftest import Workshop
from tests.fakes import WordBag

BODY = "The lamp of the harbour wall burns blue.\n"
MODES = pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])


def headed(mark: str) -> str:
    return f"# Harbour\n\nAn open lamp.\n\n## Vault {mark}\n\n{BODY}"


def stated(line: str) -> str:
    return f"---\n{line}\n---\n{BODY}"


# what the other file says, with what it is asked, and whether its lamp is seen
CLAUSES: dict[str, tuple[str, dict[str, Any], bool]] = {
    "level of the source, below": (stated("spoiler_level: 2"), {"spoiler_level": 1}, False),
    "level of the source, by default": (stated("spoiler_level: 1"), {}, False),
    "level of the source, reached": (stated("spoiler_level: 2"), {"spoiler_level": 2}, True),
    "level of a heading, below": (headed("{spoiler=3}"), {"spoiler_level": 2}, False),
    "level of a heading, reached": (headed("{spoiler=3}"), {"spoiler_level": 3}, True),
    "level of source and heading, the higher counts": (
        "---\nspoiler_level: 3\n---\n" + headed("{spoiler=1}"), {"spoiler_level": 2}, False,
    ),
    "hidden source": (stated("visibility: hidden"), {}, False),
    "hidden source, as writer": (stated("visibility: hidden"), {"role": "writer"}, False),
    "hidden source, as narrator": (stated("visibility: hidden"), {"role": "narrator"}, True),
    "hidden heading": (headed("{visibility=hidden}"), {"spoiler_level": 9}, False),
    "hidden heading, as narrator": (headed("{visibility=hidden}"), {"role": "narrator"}, True),
    "level binds the narrator too": (stated("spoiler_level: 1"), {"role": "narrator"}, False),
    "tag of the source, forbidden": (stated("spoiler_tags: [ending, ravel]"), {"forbid_tags": ["ravel"]}, False),
    "tag of the source, in other letters": (stated("spoiler_tags: [Ending]"), {"forbid_tags": ["ending"]}, False),
    "tag of the source, another forbidden": (stated("spoiler_tags: [ending]"), {"forbid_tags": ["opening"]}, True),
    "tag of a heading, forbidden": (headed("{tags=ending,ravel}"), {"forbid_tags": ["opening", "ending"]}, False),
    "tag of a heading, in other letters": (headed("{tags=Ending}"), {"forbid_tags": ["ending"]}, False),
    "tag of a heading, not forbidden": (headed("{tags=ending}"), {}, True),
    "roles, another": (stated("allowed_roles: ['npc:mara']"), {}, False),
    "roles, this one": (stated("allowed_roles: [writer, 'npc:mara']"), {"role": "npc:mara"}, True),
    "class, another": (stated("class: inspiration"), {"classes": ["canon", "reference"]}, False),
    "class, this one": (stated("class: inspiration"), {"classes": ["inspiration"]}, True),
    "type, another": (stated("type: walkthrough"), {"source_types": ["rules"]}, False),
    "type, none": (BODY, {"source_types": ["rules"]}, False),
    "type, this one": (stated("type: walkthrough"), {"source_types": ["rules", "walkthrough"]}, True),
    "tags, another": (stated("tags: [harbour]"), {"tags": ["river"]}, False),
    "tags, one of them": (stated("tags: [harbour, night]"), {"tags": ["river", "night"]}, True),
    "a tag is no entity": (stated("tags: [mara]"), {"entities": ["mara"]}, False),
    "entities, another": (stated("entities: [Mara]"), {"entities": ["Ravel"]}, False),
    "entities, one of them": (stated("entities: [Mara, Ravel]"), {"entities": ["Ravel"]}, True),
    "a spoiler tag is no tag": (stated("spoiler_tags: [ending]"), {"tags": ["ending"]}, False),
    "two conditions, one fails": (stated("class: canon\ntags: [harbour]"), {"classes": ["canon"], "tags": ["river"]}, False),
    "two conditions, both hold": (stated("class: canon\ntags: [harbour]"), {"classes": ["canon"], "tags": ["harbour"]}, True),
}  # fmt: skip


@pytest.mark.parametrize(("text", "asked", "seen"), CLAUSES.values(), ids=CLAUSES)
def test_a_clause_decides_what_is_seen_in_every_mode(
    workshop: Workshop, bag: WordBag, text: str, asked: dict[str, Any], seen: bool
) -> None:
    at = workshop.create(embedder="wordbag")
    workshop.bring(at, workshop.write("other.md", text))
    campaign = workshop.ask(at)
    for mode in ("lexical", "semantic", "hybrid"):
        answer = campaign.retrieve("lamp harbour wall blue", mode=mode, **asked)
        assert answer.degraded is None
        assert any("burns blue" in passage.exact_text for passage in answer.results) is seen, mode


@MODES
def test_a_disabled_source_is_not_found(workshop: Workshop, bag: WordBag, mode: str) -> None:
    at = workshop.create(embedder="wordbag")
    report = workshop.bring(at, workshop.write("lamp.md", BODY))
    catalog = Catalog.open(at.catalog, write=True)
    catalog.set_enabled(report.imported[0].source_id, False)
    catalog.close()
    assert workshop.ask(at).retrieve("lamp harbour wall blue", mode=mode).results == []


@MODES
def test_sources_can_be_named(workshop: Workshop, bag: WordBag, mode: str) -> None:
    at = workshop.create(embedder="wordbag")
    report = workshop.bring(at, workshop.write("one.md", BODY), workshop.write("two.md", BODY + "Twice.\n"))
    for file in report.imported:
        found = workshop.ask(at).retrieve("lamp harbour wall blue", mode=mode, sources=[file.source_id]).results
        assert [passage.source_id for passage in found] == [file.source_id]
    assert workshop.ask(at).retrieve("lamp", mode=mode, sources=["nothing"]).results == []


@MODES
def test_an_old_question_gets_the_old_text(workshop: Workshop, bag: WordBag, mode: str) -> None:
    at = workshop.create(embedder="wordbag")
    before = now()
    workshop.bring(at, workshop.write("lamp.md", "The lamp burns blue.\n"))
    between = now()
    workshop.bring(at, workshop.write("lamp.md", "The lamp burns red.\n"))
    campaign = workshop.ask(at)

    def texts(as_of: str | None) -> list[str]:
        return [
            passage.exact_text.strip() for passage in campaign.retrieve("lamp burns", mode=mode, as_of=as_of).results
        ]

    assert texts(before) == []
    assert texts(between) == ["The lamp burns blue."]
    assert texts(now()) == texts(None) == ["The lamp burns red."]


@MODES
def test_what_is_secret_now_is_secret_in_an_old_question_too(workshop: Workshop, bag: WordBag, mode: str) -> None:
    """Secrecy is a fact of the source, not of the version."""
    at = workshop.create(embedder="wordbag")
    report = workshop.bring(at, workshop.write("lamp.md", "The lamp burns blue.\n"))
    between = now()
    workshop.bring(at, workshop.write("lamp.md", "The lamp burns red.\n"), visibility="hidden")
    assert report.imported[0].outcome == "new"
    assert workshop.ask(at).retrieve("lamp burns blue", mode=mode, as_of=between).results == []


def test_nothing_of_a_forbidden_section_shows_through_an_allowed_one(workshop: Workshop) -> None:
    """No heading, text, count or neighbour of it, in any field of what is answered."""
    at = workshop.create()
    text = (
        "# Harbour\n\nThe open lamp by the wall.\n\n## Ravel betrays Mara {spoiler=3 tags=treason}\n\nThe zinc lamp betrays all.\n\n"
        "### Her zinc lamp\n\nStill secret lamp.\n\n## Quay\n\nAnother open lamp.\n"
    )
    workshop.bring(at, workshop.write("harbour.md", text))
    answer = str(
        workshop.ask(at).retrieve("open lamp wall zinc betrays Ravel treason", explain=True).as_json()["results"]
    )
    assert "open lamp" in answer
    for secret in ("Ravel", "zinc", "secret", "treason"):
        assert secret not in answer


def test_a_heading_of_a_forbidden_section_is_not_searched_through_its_neighbours(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(
        at,
        workshop.write(
            "harbour.md", "# Harbour\n\nOpen.\n\n## Ravel {visibility=hidden}\n\nSecret.\n\n## Quay\n\nOpen.\n"
        ),
    )
    assert workshop.ask(at).retrieve("Ravel", spoiler_level=9).results == []


@pytest.mark.parametrize("change", ["level", "hidden", "tag", "disabled"])
def test_a_cached_scope_does_not_outlive_a_change(workshop: Workshop, change: str) -> None:
    at = workshop.create()
    report = workshop.bring(at, workshop.write("lamp.md", BODY))
    campaign = workshop.ask(at)
    assert len(campaign.retrieve("lamp", forbid_tags=["x"]).results) == 1
    source = report.imported[0].source_id
    with Catalog.open(at.catalog, write=True).connection as db:
        db.execute({
            "level": "UPDATE knowledge_source SET spoiler_level = 1 WHERE source_id = ?",
            "hidden": "UPDATE knowledge_source SET visibility = 'hidden' WHERE source_id = ?",
            "tag": "INSERT INTO source_label VALUES (?, 'spoiler_tag', 'x', 'x')",
            "disabled": "UPDATE knowledge_source SET enabled = 0 WHERE source_id = ?",
        }[change], (source,))  # fmt: skip
    assert campaign.retrieve("lamp", forbid_tags=["x"]).results == []


IMPOSSIBLE: dict[str, Callable[[], Scope]] = {
    "an empty role": lambda: Scope(role=""),
    "a role with a blank": lambda: Scope(role="the narrator"),
    "a role in capitals": lambda: Scope(role="Narrator"),
    "a negative level": lambda: Scope(spoiler_level=-1),
    "a level beyond all numbers": lambda: Scope(spoiler_level=10**30),
    "an unknown class": lambda: Scope(classes=("gospel",)),
}


@pytest.mark.parametrize("make", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_an_impossible_scope_is_wrong_usage(make: Callable[[], Scope]) -> None:
    with pytest.raises(UsageError):
        make()


def test_the_strict_defaults_are_the_player_at_level_0() -> None:
    assert (Scope().role, Scope().spoiler_level) == ("player", 0)


def test_marks_and_levels_in_every_combination_filter_alike_in_both_legs(workshop: Workshop, bag: WordBag) -> None:
    """Sixteen sections: what each mode sees is exactly what a plain reading of the marks allows."""
    at = workshop.create(embedder="wordbag", chunk_target="20", chunk_overlap="0")
    kinds = list(itertools.product([0, 2], ["", "ending"], [False, True], ["lamp", "gate"]))
    sections = []
    for number, (level, tag, hidden, word) in enumerate(kinds):
        mark = " ".join(
            part
            for part in (f"spoiler={level}", f"tags={tag}" if tag else "", "visibility=hidden" if hidden else "")
            if part
        )
        sections.append(f"# Part {number} {{{mark}}}\n\nAn old {word} by the wall, number n{number}.\n")
    workshop.bring(at, workshop.write("parts.md", "\n".join(sections)))
    campaign = workshop.ask(at)
    for level, forbid, role in itertools.product([0, 1, 2], [[], ["ending"]], ["player", "narrator"]):
        may = {
            number for number, (its_level, tag, hidden, _) in enumerate(kinds)
            if its_level <= level and not (tag and tag in forbid) and (role == "narrator" or not hidden)
        }  # fmt: skip
        for mode in ("lexical", "semantic", "hybrid"):
            found = campaign.retrieve(
                "old lamp gate wall", mode=mode, limit=50, spoiler_level=level, forbid_tags=forbid, role=role
            )
            numbers = {int(passage.exact_text.rsplit("n", 1)[1].strip(" .\n")) for passage in found.results}
            assert numbers == may, (mode, level, forbid, role)


SUCCESSORS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "in sight": ("class: canon", {}, False),
    "above the level": ("spoiler_level: 2", {"spoiler_level": 1}, True),
    "at the level": ("spoiler_level: 2", {"spoiler_level": 2}, False),
    "hidden": ("visibility: hidden", {}, True),
    "hidden, for the narrator": ("visibility: hidden", {"role": "narrator"}, False),
    "for another role": ("allowed_roles: [writer]", {}, True),
    "for this role": ("allowed_roles: [writer]", {"role": "writer"}, False),
    "with a forbidden tag": ("spoiler_tags: [ending]", {"forbid_tags": ["ending"]}, True),
    "with another tag": ("spoiler_tags: [ending]", {"forbid_tags": ["opening"]}, False),
}


@pytest.mark.parametrize(("marks", "asked", "seen"), SUCCESSORS.values(), ids=SUCCESSORS)
def test_a_source_gives_way_to_a_successor_that_is_in_sight(
    workshop: Workshop, marks: str, asked: dict[str, Any], seen: bool
) -> None:
    at = workshop.create()
    report = workshop.bring(at, workshop.write("old.md", BODY), workshop.write("new.md", stated(marks) + "And red.\n"))
    old, new = sorted((file.source_id for file in report.imported), reverse=True)
    before = now()
    catalog = Catalog.open(at.catalog, write=True)
    catalog.supersede(old, new)
    campaign = workshop.ask(at)

    def titles(**more: Any) -> list[str]:
        return sorted(passage.title for passage in campaign.retrieve("lamp harbour", **asked, **more).results)

    assert ("old" in titles()) is seen
    assert ("new" in titles()) is not seen
    assert "old" in titles(as_of=before)
    catalog.set_enabled(new, False)
    assert titles() == ["old"]
    catalog.set_enabled(new, True)
    catalog.delete(new)
    catalog.close()
    assert titles() == ["old"]


def test_a_chain_of_successors_leaves_the_last_and_no_ring_is_made(workshop: Workshop) -> None:
    at = workshop.create()
    files = [workshop.write(f"{name}.md", BODY + name) for name in "abc"]
    ids = sorted(file.source_id for file in workshop.bring(at, *files).imported)
    catalog = Catalog.open(at.catalog, write=True)
    catalog.supersede(ids[0], ids[1])
    catalog.supersede(ids[1], ids[2])
    with pytest.raises(UsageError, match="supersede each other"):
        catalog.supersede(ids[2], ids[0])
    catalog.close()
    assert [passage.title for passage in workshop.ask(at).retrieve("lamp").results] == ["c"]


def test_the_clauses_against_many_rows_are_those_against_each(workshop: Workshop) -> None:
    at = workshop.create()
    for number, (text, _, _) in enumerate(CLAUSES.values()):
        workshop.write(f"many/{number}.md", text.replace("blue", f"blue {number}"))
    workshop.bring(at, workshop.root / "lore", decide="separate")
    db = workshop.ask(at)._connection()
    rows = [row for (row,) in db.execute("SELECT row FROM knowledge_chunk")]
    asked = [asked for _, asked, _ in CLAUSES.values()] + [{"role": "npc:mara", "story_time": 1}]
    for scope in {Scope(**{key: _as_given(value) for key, value in one.items()}) for one in asked}:
        each = {row: found for row in rows if (found := failing(db, row, scope))}
        assert failing_of(db, rows, scope) == each


def _as_given(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
