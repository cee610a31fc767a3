from __future__ import annotations

from argparse import Namespace

import pytest

from canonry.cli.show import cut, note, plural, printable, size, table, width


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (64_000_000, "64.0 MB"), (2_500_000_000, "2.5 GB")],
)
def test_sizes_are_for_a_person(count: int, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0 files"), (1, "1 file"), (1_200, "1,200 files")])
def test_numbers_take_their_noun(count: int, text: str) -> None:
    assert plural(count, "file") == text


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("城门", 4), ("e\u0301", 1), ("", 0)])
def test_width_is_in_columns_of_a_terminal(text: str, columns: int) -> None:
    assert width(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "shown"), [("abcdef", 6, "abcdef"), ("abcdef", 4, "abc…"), ("城门城门", 5, "城门…")]
)
def test_a_long_text_is_cut_with_an_ellipsis(text: str, columns: int, shown: str) -> None:
    assert cut(text, columns) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2J", r"a\x1b[2J"),
        ("a\u202eb", r"a\u202eb"),
        ("a\tb\n", "a\tb\n"),
        ("👩\u200d👧", "👩\u200d👧"),
        ("\x07", r"\x07"),
    ],
)
def test_control_characters_are_shown_and_never_sent(text: str, shown: str) -> None:
    assert printable(text).replace(r"\x202e", r"\u202e") == shown


def test_columns_are_aligned_in_every_script() -> None:
    lines = table(("name", "n"), [("lamp", 5), ("城门", 12)], right=(1,)).splitlines()
    assert len({width(line) for line in lines}) == 1


def test_a_note_sends_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    note(Namespace(quiet=False), "warning: a\x1b]0;x\x07.md")
    assert capsys.readouterr().err == "warning: a\\x1b]0;x\\x07.md\n"
