"""Entries are added from files, lines of JSON and by hand: everything that is wrong is said at once."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from canonry.canonlog.problem import InvalidData
from canonry.catalog import Catalog
from canonry.eligibility import Scope
from canonry.errors import UsageError
from canonry.layout import Layout
from canonry.locking import writing
from canonry.records import Source
from canonry.suggest.entries import Entry, list_entries, read_texts
from flows.entries import add_entries, id_of, typed_entry
from flows.import_report import ImportReport
from flows.refresh import find_originals
from flows.restating import edit_source
from tests.conftest import Workshop, set_lock

LAMP = {"title": "旧油灯", "type": "foreshadow", "content": "从不熄灭。", "importance": 4, "foreshadowState": "partial",
        "sourceChapterId": 3, "lastMentionChapterId": "第八章", "status": "approved", "tags": ["灯"]}  # fmt: skip
KAEL = "---\ntitle: Kael\ntype: character\nimportance: 5\nstatus: approved\n---\nA keeper.\n"


def lines(workshop: Workshop, *entries: object, name: str = "list.jsonl") -> Path:
    return workshop.write(
        name, "\n".join(e if isinstance(e, str) else json.dumps(e, ensure_ascii=False) for e in entries)
    )


def add(at: Layout, *paths: Path) -> ImportReport:
    with writing(at):
        return add_entries(at, paths)


def entries(at: Layout) -> dict[str, Entry]:
    with closing(Catalog.open(at.catalog)) as catalog:
        return {entry.title: entry for entry in list_entries(catalog)}


def source(at: Layout, name: str) -> Source:
    with closing(Catalog.open(at.catalog)) as catalog:
        return catalog.source(name)


def problems(at: Layout, *paths: Path) -> list[str]:
    with pytest.raises(InvalidData) as error:
        add(at, *paths)
    assert entries(at) == {}
    return [str(problem) for problem in error.value.problems]


def test_a_line_of_json_is_an_entry_and_a_source(workshop: Workshop) -> None:
    at = workshop.create()
    report = add(at, lines(workshop, LAMP))
    entry = entries(at)["旧油灯"]
    assert report.imported[0].outcome == "new"
    assert (entry.type, entry.importance, entry.status, entry.foreshadow_state) == (
        "foreshadow",
        4,
        "approved",
        "partial",
    )
    assert (entry.source_chapter, entry.last_mention_chapter) == ("3", "第八章")
    assert source(at, entry.entry_id).facts.tags == ("灯",)
    assert [passage.exact_text for passage in workshop.ask(at).retrieve("熄灭").results] == ["从不熄灭。"]


def test_the_same_lines_again_change_nothing_and_another_text_is_a_version(workshop: Workshop, tmp_path: Path) -> None:
    at = workshop.create()
    add(at, lines(workshop, LAMP))
    again = add(at, lines(workshop, LAMP, name="elsewhere/other.jsonl"))
    assert [file.outcome for file in again.imported] == ["unchanged"]
    changed = add(at, lines(workshop, LAMP | {"content": "熄灭了。", "foreshadowState": "resolved"}))
    assert [file.outcome for file in changed.imported] == ["updated"]
    assert entries(at)["旧油灯"].foreshadow_state == "resolved"
    with closing(Catalog.open(at.catalog)) as catalog:
        assert len(catalog.versions(entries(at)["旧油灯"].entry_id)) == 2


def test_an_id_joins_what_a_new_title_would_part(workshop: Workshop) -> None:
    at = workshop.create()
    add(at, lines(workshop, LAMP | {"id": "lamp"}))
    add(at, lines(workshop, LAMP | {"id": "lamp", "title": "灯"}))
    assert list(entries(at)) == ["灯"]


def test_a_review_outlives_another_import_of_the_list(workshop: Workshop) -> None:
    at = workshop.create()
    add(at, lines(workshop, LAMP | {"status": "pending"}))
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        edit_source(catalog, catalog.source("旧油灯"), {"status": "rejected"})
    add(at, lines(workshop, LAMP | {"content": "Another.", "importance": 1}))
    assert (entries(at)["旧油灯"].status, entries(at)["旧油灯"].importance) == ("rejected", 1)


def test_without_importance_and_status_an_entry_is_middling_and_waits(workshop: Workshop) -> None:
    at = workshop.create()
    add(at, lines(workshop, {"title": "A", "type": "fact", "content": "x", "status": None}))
    assert (entries(at)["A"].importance, entries(at)["A"].status) == (3, "pending")


def test_a_file_is_an_entry_by_import_too(workshop: Workshop) -> None:
    at = workshop.create()
    report = add(at, workshop.write("kael.md", KAEL))
    again = workshop.bring(at, workshop.write("kael.md", KAEL.replace("5", "2")))
    assert (report.imported[0].outcome, again.imported[0].outcome) == ("new", "updated")
    assert entries(at)["Kael"].importance == 2


def test_a_folder_says_what_its_entries_are(workshop: Workshop) -> None:
    """And its secrecy holds for lists of entries in it."""
    at = workshop.create()
    workshop.write("canonry.toml", '[defaults]\ntype = "location"\nimportance = 2\nvisibility = "hidden"\n')
    add(at, workshop.write("tower.md", "---\nstatus: approved\n---\nA tower.\n"), lines(workshop, LAMP))
    assert (entries(at)["tower"].type, entries(at)["tower"].importance) == ("location", 2)
    assert [source(at, name).facts.visibility for name in ("tower", "旧油灯")] == ["hidden", "hidden"]


def test_a_note_with_the_same_words_for_other_things_stays_a_note(workshop: Workshop) -> None:
    at = workshop.create()
    report = workshop.bring(
        at, workshop.write("mara.md", "---\ntype: character\nstatus: alive\n---\nA sailor.\n"),
        workshop.write("todo.md", "---\nstatus: done\nimportance: high\n---\nBuy oil.\n"),
    )  # fmt: skip
    assert entries(at) == {}
    assert list(report.warnings) == [
        "mara.md: metadata of this character says status 'alive', which is none of approved, pending, rejected; kept as a note, not used"
    ]
    assert json.loads(source(at, "mara.md").facts.extra) == {"status": "alive"}
    assert json.loads(source(at, "todo.md").facts.extra) == {"status": "done", "importance": "high"}


def test_what_counts_is_not_kept_a_second_time_as_a_note(workshop: Workshop) -> None:
    at = workshop.create()
    add(at, workshop.write("kael.md", KAEL.replace("status", "mood: grim\nstatus")))
    assert json.loads(source(at, "Kael").facts.extra) == {"mood": "grim"}


def test_everything_wrong_in_files_is_said_with_its_line_and_key(workshop: Workshop) -> None:
    at = workshop.create()
    bad = workshop.write(
        "bad.md",
        "---\ntitle: Bad\ntype: dragon\nimportance: 9\nstatus: maybe\nforeshadow_state: open\nsource_chapter: [1]\n---\nx\n",
    )
    found = problems(
        at, bad, workshop.write("plain.md", "Just text.\n"), workshop.write("open.md", "---\ntype: fact\nimportance: 1\n"),
        workshop.write("empty.md", "---\ntype: fact\nimportance: 2\n---\n\n"), workshop.write("few.md", "---\ntype: fact\n---\nx\n"),
        workshop.write("secret.md", "---\ntype: fact\nimportance: 2\nvisibility: hiden\n---\nx\n"), workshop.write("good.md", KAEL),
        workshop.write("bad.bin", b"\0"), workshop.root / "none.md",
    )  # fmt: skip
    said = "\n".join(found)
    for line in (
        "bad.md:3: type 'dragon' is unknown; choose from character,", "bad.md:4: importance 9, which is no whole number from 1 to 5",
        "bad.md:5: status 'maybe', which", "bad.md:6: foreshadow_state 'open', which", "bad.md:7: source_chapter [1], which is no text",
        "plain.md:1: has no front matter", "open.md:1: front matter is not closed", "empty.md:1: has no text",
        "few.md:1: importance is missing", "secret.md: its metadata says visibility 'hiden'", "bad.bin: is neither", "none.md: does not exist",
    ):  # fmt: skip
        assert line in said
    assert len(found) == 12
    assert "good.md" not in said


def test_everything_wrong_in_lines_is_said_with_its_line_and_key(workshop: Workshop) -> None:
    at = workshop.create()
    good = {"title": "A", "type": "fact", "content": "x"}
    path = lines(
        workshop, good | {"importance": "high"}, "not json", "", "[]", good, {"type": "fact", "content": "x"},
        {"title": "B", "type": "fact"}, good | {"title": "C", "visibility": "hiden"}, good | {"title": "D", "foreshadow_state": "buried"},
        good | {"title": "E", "type": None}, good | {"title": "F", "id": "../x"}, good | {"title": "!!"}, good | {"title": "G", "id": 7},
        '{"title": "H", "title": "I"}', '{"title": "\\ud800", "type": "fact", "content": "x"}', good | {"title": "J", "content": " "},
        good | {"title": "K", "importance": True}, good | {"title": "L", "importance": 0, "status": 4}, "[" * 50_000,
    )  # fmt: skip
    found = problems(at, path)
    said = "\n".join(found)
    for number, text in (
        (1, "importance 'high'"), (2, "is not JSON"), (4, "is no JSON object"), (5, "id 'a' is that of list.jsonl:1 too"),
        (6, "title is missing"), (7, "content is missing"), (8, "its metadata says visibility 'hiden'"),
        (9, "foreshadow_state belongs to type foreshadow"), (10, "type is missing"), (11, "id '../x' is not usable"),
        (12, "id '' is not usable"), (13, "id 7 is not usable"), (14, "a key stands in it twice"), (15, "holds half a character"),
        (16, "content is missing"), (17, "importance True"), (18, "importance 0"), (18, "status 4"), (19, "is not JSON"),
    ):  # fmt: skip
        assert f"list.jsonl:{number}: {text}" in said
    assert len(found) == 19
    assert found[-1].startswith("list.jsonl:19")


@pytest.mark.parametrize(
    ("data", "said"), [(b"", "holds no entry"), (b" \n\n", "holds no entry"), (b"\xff\xfe", "is not UTF-8")]
)
def test_a_list_that_is_none_is_named(workshop: Workshop, data: bytes, said: str) -> None:
    (found,) = problems(workshop.create(), workshop.write("list.jsonl", data))
    assert said in found


def test_a_text_that_looks_like_front_matter_or_yaml_stays_what_it_is(workshop: Workshop) -> None:
    at = workshop.create()
    title, content = 'No: "yes" # - {007} \u2028 \x85 1:30 😀', "---\nvisibility: none of yours\n---\n\nText."
    add(at, lines(workshop, {"title": title, "type": "fact", "content": content, "importance": 1}))
    assert entries(at)['No: "yes" # - {007} 1:30 😀'].importance == 1
    source_id = next(iter(entries(at).values())).entry_id
    seen = read_texts(workshop.ask(at), Scope(), [source_id])[source_id]
    assert seen.text == "---\n\nvisibility: none of yours\n\nText."  # a rule, and a heading by its underline


def test_a_list_entry_has_no_original_that_could_be_gone(workshop: Workshop) -> None:
    at = workshop.create()
    path = lines(workshop, LAMP)
    add(at, path, workshop.write("kael.md", KAEL))
    path.unlink()
    originals = find_originals(at)
    assert ([file.name for file in originals.selection.files], originals.missing) == (["kael.md"], [])


def test_a_mark_that_cannot_be_read_is_refused_with_its_line(workshop: Workshop) -> None:
    at = workshop.create()
    report = add(at, lines(workshop, LAMP, {"title": "A", "type": "fact", "content": "# A {spoiler=x}\n\nText."}))
    assert [error.name for error in report.rejected] == ["list.jsonl:2"]
    assert list(entries(at)) == ["旧油灯"]


def test_of_a_locked_entry_a_review_is_a_proposal(workshop: Workshop) -> None:
    at = workshop.create()
    add(at, lines(workshop, LAMP))
    set_lock(at, entries(at)["旧油灯"].entry_id)
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        assert edit_source(catalog, catalog.source("旧油灯"), {"status": "rejected"}).waiting == 1
    assert entries(at)["旧油灯"].status == "approved"


@pytest.mark.parametrize(
    ("title", "expected"),
    [("The Old Lamp!", "the-old-lamp"), ("旧 油灯", "旧-油灯"), ("É", "e"), ("***", "")],
)
def test_the_id_of_a_title(title: str, expected: str) -> None:
    assert id_of(title) == expected


def test_long_titles_that_begin_alike_have_two_ids() -> None:
    ids = {id_of("a" * 99), id_of("a" * 98), id_of("a" * 64)}
    assert len(ids) == 3
    assert all(len(one) == 64 for one in ids)


def test_a_typed_entry_needs_a_usable_id() -> None:
    assert typed_entry("***", "x", {"type": "fact"}, "stars").entry_id == "stars"
    for entry_id in (None, "a b", "x" * 65, "../x"):
        with pytest.raises(UsageError, match="with --id"):
            typed_entry("***", "x", {"type": "fact"}, entry_id)
