"""The rules of a folder (canonry.toml): which files and headings they hold for, and what they may not say."""

from __future__ import annotations

from pathlib import Path

import pytest

from canonry.errors import UsageError
from canonry.records import Marks
from stages.chunking.front_matter import FrontMatter
from stages.classify import classify
from stages.folder_rules import FolderRules, matches, read_folder_rules, unmatched_rules
from stages.select import select_files


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
