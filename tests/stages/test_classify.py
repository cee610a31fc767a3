"""What the folder, the file and the user say of a source: the later wins, on secrecy the stricter."""

from __future__ import annotations

import itertools
import json
from contextlib import suppress
from pathlib import Path

import pytest

from canonry.errors import RejectedFile, UsageError
from canonry.records import Marks, SourceFacts
from stages.chunking.front_matter import FrontMatter, read_front_matter
from stages.classify import classify
from stages.folder_rules import FolderRules, matches, read_folder_rules, unmatched_rules
from stages.select import select_files
from stages.statements import after_edits, parse_facts, with_options


def facts_of(
    *,
    toml: str = "",
    front: dict[str, object] | None = None,
    options: dict[str, object] | None = None,
    name: str = "acts/one.md",
    folder: Path,
) -> SourceFacts:
    (folder / "canonry.toml").write_text(toml, encoding="utf-8")
    return classify(name, read_folder_rules(folder), FrontMatter(front or {}), options or {})[0]


def test_without_any_statement_the_defaults_hold(tmp_path: Path) -> None:
    assert facts_of(folder=tmp_path) == SourceFacts(title="one")


@pytest.mark.parametrize(
    ("toml", "front", "options", "value"),
    [
        ('[defaults]\nclass = "canon"', {}, {}, "canon"),
        ('[defaults]\nclass = "canon"\n[[files]]\nmatch = "acts/*"\nclass = "inspiration"', {}, {}, "inspiration"),
        ('[[files]]\nmatch = "other/*"\nclass = "inspiration"', {}, {}, "reference"),
        ('[[files]]\nmatch = "**/one.md"\nclass = "inspiration"', {"class": "canon"}, {}, "canon"),
        ('[defaults]\nclass = "inspiration"', {"class": "reference"}, {"class": "canon"}, "canon"),
        ('[defaults]\nclass = "canon"', {}, {"class": None}, "canon"),
        ('[defaults]\nclass = "canon"', {"class": None}, {}, "canon"),
        (
            '[[files]]\nmatch = "acts/*"\nclass = "canon"\n[[files]]\nmatch = "*.md"\nclass = "inspiration"',
            {},
            {},
            "inspiration",
        ),
    ],
    ids=[
        "folder",
        "file over folder",
        "another file",
        "front matter over file",
        "option over all",
        "an option not given",
        "a key without value",
        "the later rule",
    ],
)
def test_the_later_statement_wins(
    tmp_path: Path, toml: str, front: dict[str, object], options: dict[str, object], value: str
) -> None:
    assert facts_of(folder=tmp_path, toml=toml, front=front, options=options).class_ == value


SECRETS = {
    "spoiler_level": ([0, 2, 5], lambda facts: facts.spoiler_level, max),
    "visibility": (["normal", "hidden", "normal"], lambda facts: facts.visibility, min),
}


@pytest.mark.parametrize("key", SECRETS)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_on_secrecy_the_stricter_statement_wins_in_every_order(
    tmp_path: Path, key: str, order: tuple[int, ...]
) -> None:
    values, read, strictest = SECRETS[key]
    by_folder, by_file, by_user = (values[at] for at in order)
    toml = f"[defaults]\n{key} = {json.dumps(by_folder)}"
    facts = facts_of(folder=tmp_path, toml=toml, front={key: by_file}, options={key: by_user})
    assert read(facts) == strictest(values)  # type: ignore[call-overload]


def test_tags_entities_and_spoiler_tags_add_up_without_repeats(tmp_path: Path) -> None:
    toml = '[defaults]\ntags = ["a", "b"]\nentities = ["Mara"]\nspoiler_tags = ["x"]'
    facts = facts_of(
        folder=tmp_path, toml=toml, front={"tags": ["b", "c"], "spoiler_tags": "y, x"}, options={"entities": ("Ravel",)}
    )
    assert facts.tags == ("a", "b", "c")
    assert facts.entities == ("Mara", "Ravel")
    assert facts.spoiler_tags == ("x", "y")


@pytest.mark.parametrize(
    ("by_folder", "by_file", "roles"),
    [
        (["writer", "npc:mara"], ["npc:mara"], ("npc:mara",)),
        (["writer"], ["npc:mara"], ("nobody",)),
        ([], ["writer"], ("writer",)),
        (["writer"], [], ("writer",)),
    ],
    ids=["common ones stay", "none in common is nobody", "the file narrows", "an empty list opens nothing"],
)
def test_roles_are_those_that_every_statement_allows(
    tmp_path: Path, by_folder: list[str], by_file: list[str], roles: tuple[str, ...]
) -> None:
    facts = facts_of(
        folder=tmp_path, toml=f"[defaults]\nallowed_roles = {json.dumps(by_folder)}", front={"allowed_roles": by_file}
    )
    assert facts.allowed_roles == roles


def test_every_key_of_front_matter_is_read() -> None:
    text = """---
title: The  harbour
class: canon
visibility: hidden
spoiler_level: 2
spoiler_tags: [ending]
tags: [a]
entities: [Mara]
priority: high
always_include: true
trust: rumour
edition: second
uri: https://example.org
notes: n
chapter: 3
order: 7
scope: historical
type: walkthrough
allowed_roles: [writer]
mood: grim
---
Body.
"""
    facts, rules, warnings = classify("a.md", FolderRules(), read_front_matter(text.encode()), {})
    assert facts == SourceFacts(
        "The harbour",
        "canon",
        "hidden",
        2,
        ("ending",),
        ("a",),
        ("Mara",),
        ("writer",),
        "high",
        True,
        "rumour",
        "second",
        "https://example.org",
        "n",
        "walkthrough",
        "3",
        7,
        "historical",
        '{"mood": "grim"}',
    )
    assert (rules, warnings) == ((), [])


def test_unknown_keys_are_kept(tmp_path: Path) -> None:
    facts = facts_of(
        folder=tmp_path, toml="[defaults]\nimportance = 2", front={"mood": ["grim"], "importance": 3, "status": "open"}
    )
    assert json.loads(facts.extra) == {"mood": ["grim"], "importance": 3, "status": "open"}


@pytest.mark.parametrize(
    ("front", "kept"),
    [
        ({"class": ["Wizard"]}, {"class": ["Wizard"]}),
        ({"class": "Wizard"}, {"class": "Wizard"}),
        ({"priority": 3}, {"priority": 3}),
        ({"order": "third"}, {"order": "third"}),
        ({"always_include": "sometimes"}, {"always_include": "sometimes"}),
        ({"title": ["a", "b"]}, {"title": ["a", "b"]}),
        ({"tags": {"a": 1}}, {"tags": {"a": 1}}),
    ],
    ids=str,
)
def test_a_foreign_value_of_a_known_key_is_kept_as_a_note_with_a_warning(
    front: dict[str, object], kept: dict[str, object]
) -> None:
    facts, _, (warning,) = classify("a.md", FolderRules(), FrontMatter(front), {})
    assert facts == SourceFacts(title="a", extra=json.dumps(kept))
    assert next(iter(front)) in warning
    assert "kept as a note" in warning


BAD_SECRETS = [
    {"spoiler_level": "high"}, {"spoiler_level": -1}, {"spoiler_level": 1.5}, {"spoiler_level": True}, {"spoiler_level": [1]},
    {"spoiler_level": 10**9}, {"spoiler_level": "２"}, {"spoiler": "very"}, {"spoiler": {"level": 2}},
    {"visibility": "secret"}, {"visibility": ["hidden"]},
    {"visibility": True}, {"spoiler_tags": {"a": 1}}, {"spoiler_tags": [["a"]]}, {"spoiler_tags": 5}, {"allowed_roles": {"a": 1}},
]  # fmt: skip


@pytest.mark.parametrize("front", BAD_SECRETS, ids=str)
def test_a_secret_that_cannot_be_read_refuses_the_file(front: dict[str, object]) -> None:
    with pytest.raises(RejectedFile, match=next(iter(front))) as caught:
        classify("a.md", FolderRules(), FrontMatter(front), {})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spelling", ["Visibility", "VISIBILITY", "spoiler-level", "Spoiler_Level", "spoiler level"])
def test_a_key_that_looks_like_secrecy_is_not_passed_over_in_silence(spelling: str) -> None:
    """`Visibility: hidden` in capitals must not make an open source without a word."""
    value: object = "hidden" if spelling.lower() == "visibility" else 3
    try:
        facts, _, warnings = classify("a.md", FolderRules(), FrontMatter({spelling: value}), {})
    except RejectedFile:
        return
    assert facts.visibility == "hidden" or facts.spoiler_level == 3 or warnings


@pytest.mark.parametrize("spelling", ["HIDDEN", "Hidden", " hidden "])
def test_hidden_in_other_letters_is_hidden_or_refused(spelling: str) -> None:
    with suppress(RejectedFile):
        assert classify("a.md", FolderRules(), FrontMatter({"visibility": spelling}), {})[0].visibility == "hidden"


@pytest.mark.parametrize(
    "text",
    [
        "---\nvisibility: hidden\n# Body\n",
        "---\nspoiler: [\n---\nBody\n",
        "---\ntitle: *x\nspoiler_level: 3\n---\nBody\n",
        "---\nspoiler_level: 2\n\nmore\n",
    ],
    ids=["not closed", "no YAML", "an alias", "not closed, with a blank line"],
)
def test_a_broken_block_that_names_a_secret_refuses_the_file(text: str) -> None:
    with pytest.raises(RejectedFile, match="secret"):
        classify("a.md", FolderRules(), read_front_matter(text.encode()), {}, text.encode())


def test_a_secret_after_a_blank_line_of_a_broken_block_refuses_the_file_too() -> None:
    text = b"---\ntitle: [broken\n\nvisibility: hidden\n---\nBody\n"
    with pytest.raises(RejectedFile):
        classify("a.md", FolderRules(), read_front_matter(text), {}, text)


def test_a_broken_block_without_a_secret_is_body_with_a_warning() -> None:
    text = b"---\ntitle: Lost\n# Camp\n"
    facts, _, (warning,) = classify("a.md", FolderRules(), read_front_matter(text), {}, text)
    assert facts.title == "a"
    assert "not closed" in warning


def of_text(text: str) -> tuple[SourceFacts, list[str]]:
    data = text.encode()
    facts, _, warnings = classify("a.md", FolderRules(), read_front_matter(data), {}, data)
    return facts, warnings


@pytest.mark.parametrize(
    "line",
    [
        "Visibility: hidden",
        "spoiler-level: 3",
        '"visibility": hidden',
        "spoilerLevel: 3",
        "'Spoiler Tags': x",
        "hidden: true",
        "  visibility: hidden",
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_broken_block_that_names_a_secret_in_any_spelling_refuses_the_file(line: str, ending: str) -> None:
    for text in (f"---\ntitle: [x\n{line}\n---\nBody\n", f"---\ntitle: x\n\n{line}\n# Body\n"):
        with pytest.raises(RejectedFile, match="secret"):
            of_text(text.replace("\n", ending))


@pytest.mark.parametrize(
    ("block", "hidden", "level"),
    [
        ("spoilerLevel: 3", False, 3),
        ("hidden: true", True, 0),
        ("hidden: yes", True, 0),
        ("Hidden: false", False, 0),
        ("canonry: {visibility: hidden, spoiler: 2}", True, 2),
        ("canonry:\n  - visibility: hidden", True, 0),
        ("canonry.visibility: hidden", True, 0),
        ("\u200bvisibility: hidden", True, 0),
        ("visibility: normal\nVISIBILITY: normal\nVisibility: hidden", True, 0),
        ("Visibility: hidden\nVISIBILITY: normal", True, 0),
    ],
)
def test_a_secret_holds_in_every_known_spelling(block: str, hidden: bool, level: int) -> None:
    facts, warnings = of_text(f"---\n{block}\n---\nBody\n")
    assert (facts.visibility == "hidden", facts.spoiler_level, warnings) == (hidden, level, [])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("---\nvisibility:\n---\n", "normal or hidden"),
        ("---\nspoiler_level: ''\n---\n", "whole number"),
        ("---\nspoilerLevel:\n---\n", "whole number"),
        ("---\nhidden:\n---\n", "true or false"),
        ("---\nhidden: the gate\n---\n", "true"),
        ("---\ncanonry: {visibility: }\n---\n", "normal or hidden"),
        ("---\ncanonry: hidden\n---\n", "lines of their own"),
        ("---\nvisibility: hidden\nvisibility: normal\n---\n", "more than once"),
        ("---\n- visibility: hidden\n---\n", "line 2"),
        ("---\nvisibility=hidden\n---\n", "line 2"),
        ("----\nvisibility: hidden\n----\n", "line 2"),
        ("\u200b---\nvisibility: hidden\n---\n", "line 2"),
        ("+++\ntitle = 'x'\nvisibility = 'hidden'\n+++\n", "line 3"),
    ],
)
def test_a_statement_of_secrecy_without_meaning_refuses_the_file(text: str, word: str) -> None:
    with pytest.raises(RejectedFile, match=word):
        of_text(text + "Body\n")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("\n---\nvisibility: hidden\n---\nBody\n", "line 3"),
        ("visibility: hidden\n\n# Body\n", "line 1"),
        ("---\nmeta: {visibility: hidden}\n---\nBody\n", "inside meta"),
        ("---\nvisiblity: hidden\n---\nBody\n", "write visibility"),
        ("---\nspoilers: 3\n---\nBody\n", "write spoiler"),
        ("# A\n\nThe {hidden} door.\n", "line 3"),
    ],
)
def test_what_may_be_meant_as_secrecy_and_hides_nothing_is_told_of(text: str, word: str) -> None:
    facts, (warning,) = of_text(text)
    assert facts.visibility == "normal"
    assert word in warning and "if it is meant" in warning


@pytest.mark.parametrize(
    "text",
    [
        "---\nsidebar: {hidden: true}\n---\nBody\n",
        "# A\n\nVisibility: 3 miles\n",
        "---\n- a\n---\n",
        "The hidden: gate\n",
        "---\n\nwords\n",
    ],
)
def test_ordinary_beginnings_are_no_statements(text: str) -> None:
    assert of_text(text) == (SourceFacts(title="a", extra=of_text(text)[0].extra), [])


# by order


def test_by_order_takes_the_file_s_order_as_its_level(tmp_path: Path) -> None:
    toml = '[defaults]\nspoiler = "by-order"'
    assert facts_of(folder=tmp_path, toml=toml, front={"order": 7}).spoiler_level == 7
    assert facts_of(folder=tmp_path, toml=toml, front={"order": "7"}).spoiler_level == 7
    assert facts_of(folder=tmp_path, toml=toml, front={"order": 7, "spoiler_level": 9}).spoiler_level == 9
    assert facts_of(folder=tmp_path, toml=toml, front={"order": 7, "spoiler_level": 2}).spoiler_level == 7
    assert facts_of(folder=tmp_path, toml=toml + '\n[[files]]\nmatch = "**"\norder = 4').spoiler_level == 4


@pytest.mark.parametrize("front", [{}, {"order": "third"}, {"order": None}], ids=["no order", "no number", "no value"])
def test_by_order_without_an_order_refuses_the_file(tmp_path: Path, front: dict[str, object]) -> None:
    with pytest.raises(RejectedFile, match="order"):
        facts_of(folder=tmp_path, toml='[defaults]\nspoiler = "by-order"', front=front)


# canonry.toml


def test_heading_rules_hold_for_the_files_that_they_name(tmp_path: Path) -> None:
    toml = (
        '[[headings]]\nmatch = "Ending*"\nspoiler = 3\nspoiler_tags = ["end", "a"]\n'
        '[[headings]]\nmatch = "GM*"\nvisibility = "hidden"\nfiles = "gm/*"\n'
    )
    (tmp_path / "canonry.toml").write_text(toml)
    rules = read_folder_rules(tmp_path)
    for name, expected in (("a.md", 1), ("gm/a.md", 2)):
        _, found, _ = classify(name, rules, FrontMatter(), {})
        assert len(found) == expected
        assert (found[0].pattern, found[0].marks) == ("Ending*", Marks(3, ("a", "end"), False))


BAD_TOML = [
    "[defaults", "[default]\nclass = 'canon'", "[defaults]\nclass = 'gospel'", "[defaults]\nspoiler_level = -1", "[defaults]\nvisibility = 'secret'",
    "[[files]]\nclass = 'canon'", "[[files]]\nmatch = ''\nclass = 'canon'", "[[files]]\nmatch = '*'\nclass = 'gospel'", "[files]\nmatch = '*'",
    "files = 3", "files = ['a']", "defaults = 3", "headings = 3", "[[headings]]\nmatch = '*'", "[[headings]]\nspoiler = 3",
    "[[headings]]\nmatch = '*'\nclass = 'canon'",
    "[[headings]]\nmatch = '*'\nspoiler = 'high'", "[[headings]]\nmatch = '*'\nspoiler = 'by-order'", "top = 1",
]  # fmt: skip


@pytest.mark.parametrize("toml", BAD_TOML, ids=lambda toml: toml.replace("\n", " ")[:40])
def test_rules_that_cannot_be_meant_are_wrong_usage_and_name_the_file(tmp_path: Path, toml: str) -> None:
    (tmp_path / "canonry.toml").write_text(toml)
    with pytest.raises(UsageError, match=r"canonry\.toml") as caught:
        read_folder_rules(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["visiblity", "spoilers", "spoiler-level", "Visibility"])
def test_a_misspelt_secret_in_a_rule_is_not_passed_over(tmp_path: Path, key: str) -> None:
    (tmp_path / "canonry.toml").write_text(f'[[headings]]\nmatch = "*"\nspoiler = 1\n"{key}" = 3\n')
    with pytest.raises(UsageError, match=key):
        read_folder_rules(tmp_path)


@pytest.mark.parametrize(
    ("toml", "near"),
    [
        ('[defaults]\nvisiblity = "hidden"', "visibility"),
        ('[[files]]\nmatch = "*"\nspoiler_lvl = 4', "spoiler_level"),
        ('[defaults]\nsystem = "5e"', "there are allowed_roles"),
    ],
)
def test_an_unknown_key_of_a_rule_is_wrong_usage_with_the_nearest_known(tmp_path: Path, toml: str, near: str) -> None:
    (tmp_path / "canonry.toml").write_text(toml)
    with pytest.raises(UsageError, match=rf"canonry\.toml.*unknown.*{near}"):
        read_folder_rules(tmp_path)


@pytest.mark.parametrize("key", ["hidden", "Hidden"])
def test_a_rule_may_say_hidden(tmp_path: Path, key: str) -> None:
    assert facts_of(folder=tmp_path, toml=f"[defaults]\n{key} = true").visibility == "hidden"


def test_a_secret_of_a_rule_in_other_spelling_is_checked_with_the_rules(tmp_path: Path) -> None:
    (tmp_path / "canonry.toml").write_text('[defaults]\nspoiler-level = "high"')
    with pytest.raises(UsageError, match="spoiler_level"):
        read_folder_rules(tmp_path)


def test_a_rule_that_matches_no_file_of_the_folder_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "gm").mkdir()
    for name in ("a.md", "gm/b.md"):
        (tmp_path / name).write_text("x")
    (tmp_path / "canonry.toml").write_text(
        '[[files]]\nmatch = "gm/*"\nvisibility = "hidden"\n[[files]]\nmatch = "mg/*"\nvisibility = "hidden"\n'
        '[[headings]]\nmatch = "End*"\nspoiler = 3\n[[headings]]\nmatch = "End*"\nfiles = "acts/*"\nspoiler = 3\n'
    )
    for paths in ([tmp_path], [tmp_path / "a.md"]):
        first, second = unmatched_rules(select_files(paths).files)
        assert "[[files]] rule match = 'mg/*'" in first
        assert "[[headings]] rule files = 'acts/*'" in second


def test_a_folder_without_rules_has_none(tmp_path: Path) -> None:
    assert read_folder_rules(tmp_path) == FolderRules()


def test_rules_in_another_encoding_are_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "canonry.toml").write_bytes("[defaults]\ntitle = 'é'".encode("cp1252"))
    with pytest.raises(UsageError, match=r"canonry\.toml"):
        read_folder_rules(tmp_path)


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("a.md", "*.md", True),
        ("acts/a.md", "*.md", True),
        ("acts/a.md", "acts/*", True),
        ("a.md", "acts/*", False),
        ("a.md", "**/a.md", True),
        ("x/y/a.md", "**/a.md", True),
        ("A.md", "a.md", False),
        ("a.md", "**", True),
        ("acts/deep/a.md", "acts/**", True),
        ("acts/a.md", "acts/**/a.md", True),
        ("acts/x/b/a.md", "acts/**/b/**/a.md", True),
        ("acts/b.md", "acts/**/a.md", False),
        ("gm/a.md", "gm/**/*.md", True),
        ("xa.md", "**/a.md", False),
        ("城/门.md", "城/*", True),
        ("a[1].md", "a[[]1].md", True),
    ],
)
def test_a_glob_matches_a_path_inside_the_folder(name: str, pattern: str, expected: bool) -> None:
    assert matches(name, pattern) is expected


# options and later changes


@pytest.mark.parametrize("value", ["a,b", "a, b ,a", ["a", "b"], ("a", "b")], ids=repr)
def test_a_list_may_be_written_with_commas(value: object) -> None:
    assert parse_facts({"tags": value}) == {"tags": ("a", "b")}


def test_text_that_is_not_unicode_is_wrong_usage() -> None:
    for key in ("title", "tags"):
        with pytest.raises(UsageError, match="Unicode"):
            parse_facts({key: "\udcff"})


def test_what_the_user_changed_later_stays_and_on_secrecy_the_stricter_wins() -> None:
    imported = SourceFacts("New", "reference", "normal", 4, ("x",), ("new",))
    current = SourceFacts("Mine", "canon", "hidden", 2, ("y",), ("old",))
    after = after_edits(imported, current, ["title", "visibility", "spoiler_level", "spoiler_tags"])
    assert after == SourceFacts("Mine", "reference", "hidden", 4, ("x", "y"), ("new",))
    assert after_edits(imported, current, []) == imported


def test_options_of_a_later_import_hold_and_never_lower_a_secret() -> None:
    facts = SourceFacts("Mill", "reference", "hidden", 3)
    assert with_options(
        facts, {"class": "canon", "spoiler_level": 1, "visibility": "normal", "title": None}
    ) == SourceFacts("Mill", "canon", "hidden", 3)
