"""What the folder, the file and the user say of a source: the later wins, on secrecy the stricter."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from canonry.errors import RejectedFile
from canonry.records import SourceFacts
from stages.chunking.front_matter import FrontMatter, read_front_matter
from stages.classify import classify
from stages.folder_rules import FolderRules, read_folder_rules


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


OPEN = "allowed_roles names nobody, so everybody may see it"


@pytest.mark.parametrize(
    ("front", "toml", "told"),
    [
        ("allowed_roles: []", "", True),
        ("allowedRoles: [' ']", "", True),
        ("canonry:\n  allowed_roles: []", "", True),
        ("mood: grim", "[defaults]\nallowed_roles = []", True),
        ("allowed_roles: []", "[defaults]\nallowed_roles = ['writer']", False),
        ("allowed_roles: []\nvisibility: hidden", "", False),
        ("known_by: []", "", False),
        ("allowed_roles: [narrator]", "", False),
        ("mood: grim", "", False),
    ],
)
def test_an_empty_list_of_roles_that_opens_a_source_is_told(tmp_path: Path, front: str, toml: str, told: bool) -> None:
    """Whoever writes it means nobody, as `known_by: []` does; it is no list at all, and everybody's."""
    (tmp_path / "canonry.toml").write_text(toml)
    text = f"---\n{front}\n---\nText.\n".encode()
    facts, _, warnings = classify("one.md", read_folder_rules(tmp_path), read_front_matter(text), {})
    assert [OPEN in warning for warning in warnings] == [True] * told
    assert facts.allowed_roles == (("writer",) if "writer" in toml else ("narrator",) if "narrator" in front else ())


def test_a_blank_title_in_front_matter_is_told_and_the_name_of_the_file_is_its_title() -> None:
    facts, _, warnings = classify("acts/one.md", FolderRules(), read_front_matter(b"---\ntitle: ' '\n---\nText.\n"), {})
    assert facts.title == "one"
    (warning,) = warnings
    assert "title ' ', which names nothing" in warning


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


@pytest.mark.parametrize("key", ["hidden", "Hidden"])
def test_a_rule_may_say_hidden(tmp_path: Path, key: str) -> None:
    assert facts_of(folder=tmp_path, toml=f"[defaults]\n{key} = true").visibility == "hidden"
