from __future__ import annotations

import os
from pathlib import Path

import pytest

from stages.select import select_files


@pytest.fixture
def lore(tmp_path: Path) -> Path:
    for name in (
        "b.md",
        "a.txt",
        "C.MD",
        "deep/er/d.markdown",
        "deep/image.png",
        "deep/.hidden.md",
        ".git/config.md",
        "notes",
        "canonry.toml",
    ):
        path = tmp_path / "lore" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return tmp_path / "lore"


def test_a_folder_gives_its_texts_in_order_named_by_their_path_inside_it(lore: Path) -> None:
    selection = select_files([lore])
    assert [file.name for file in selection.files] == ["C.MD", "a.txt", "b.md", "deep/er/d.markdown"]
    assert {file.folder for file in selection.files} == {lore}
    assert selection.rejected == []


def test_other_files_are_counted_by_their_ending_and_hidden_ones_are_not(lore: Path) -> None:
    selection = select_files([lore])
    assert selection.ignored == {".png": 1, "": 1}
    assert (
        selection.ignored_line()
        == "2 files of other types left out (1 .png, 1 without ending); canonry reads .md and .txt"
    )


def test_where_nothing_is_left_out_nothing_is_said(lore: Path) -> None:
    assert select_files([lore / "b.md"]).ignored_line() == ""


def test_one_file_left_out_is_said_in_the_singular(lore: Path) -> None:
    assert select_files([lore / "deep"]).ignored_line().startswith("1 file of")


def test_a_named_file_takes_the_rules_beside_it(lore: Path) -> None:
    (file,) = select_files([lore / "b.md"]).files
    assert (file.name, file.folder) == ("b.md", lore)
    (file,) = select_files([lore / "deep" / "er" / "d.markdown"]).files
    assert (file.name, file.folder) == ("d.markdown", None)


@pytest.mark.parametrize("name", ["deep/image.png", "notes", "canonry.toml"])
def test_a_named_file_of_another_type_is_rejected(lore: Path, name: str) -> None:
    (rejected,) = select_files([lore / name]).rejected
    assert "neither .md nor .txt" in rejected.reason


def test_a_path_is_taken_once_however_it_is_named(lore: Path) -> None:
    selection = select_files([lore / "b.md", lore, lore / "deep" / ".." / "b.md"])
    assert sorted(file.path.resolve().name for file in selection.files) == ["C.MD", "a.txt", "b.md", "d.markdown"]


def test_canonry_s_own_data_is_never_selected(lore: Path) -> None:
    (lore / "data" / "raw").mkdir(parents=True)
    (lore / "data" / "raw" / "stored.md").write_text("x")
    assert all("stored" not in file.name for file in select_files([lore], apart_from=lore / "data").files)


@pytest.mark.parametrize(
    "target", ["../outside.md", "b.md", "nowhere", "."], ids=["outside", "inside", "broken", "a folder"]
)
def test_a_link_inside_a_folder_is_rejected_and_says_where_it_leads(lore: Path, target: str) -> None:
    (lore.parent / "outside.md").write_text("secret")
    (lore / "link.md").symlink_to(target)
    selection = select_files([lore])
    (rejected,) = selection.rejected
    assert rejected.name == "link.md"
    assert f"link to {target}" in rejected.reason
    assert len(selection.files) == 4


@pytest.mark.parametrize(
    "name",
    ["a\nb.md", "a\x1b[2Jb.md", b"a\xffb.md", "a\u202eb.md"],
    ids=["line end", "escape", "no Unicode", "direction"],
)
def test_a_name_that_a_terminal_would_not_show_is_rejected_and_shown_safely(lore: Path, name: str | bytes) -> None:
    import os

    try:
        (lore / os.fsdecode(name)).write_text("x")
    except OSError:
        pytest.skip("this file system has no such names")
    (rejected,) = select_files([lore]).rejected
    assert rejected.name.isprintable()
    assert "rename" in rejected.reason
    assert len(select_files([lore]).files) == 4


@pytest.mark.parametrize("name", ["Zoë.md", "城门.md", "a b.md", "-x.md", "x" * 200 + ".md"])
def test_names_in_any_script_are_taken(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    assert [file.name for file in select_files([tmp_path]).files] == [name]


def test_nothing_named_is_nothing_selected() -> None:
    selection = select_files([])
    assert (selection.files, selection.rejected) == ([], [])


@pytest.mark.skipif(os.name == "nt", reason="such names are not allowed there")
def test_messages_show_control_characters_of_names_and_links_and_never_send_them(tmp_path: Path) -> None:
    (tmp_path / "a.x\x1b[2J").write_text("x")
    (tmp_path / "b\x1b.md").symlink_to("to\x1b]0;\u202e")
    (tmp_path / "c\x1b.pdf").write_text("x")
    selection = select_files([tmp_path, tmp_path / "c\x1b.pdf", tmp_path / "no\x1b.md"])
    said = [str(error) for error in selection.rejected] + [selection.ignored_line()]
    assert len(said) == 4
    assert all(line.isprintable() for line in said)
    assert any(r"a link to to\x1b]0;\u202e" in line for line in said)
