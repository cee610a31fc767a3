"""What commands share in printing: JSON, colours where a person looks, tables, sizes, the chosen campaign, questions."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence

from canonry.errors import NotFound, UsageError
from canonry.layout import Layout, list_campaigns


def chosen(given: argparse.Namespace) -> Layout:
    """The campaign that the options name, or the only one there is."""
    if given.campaign:
        return Layout(given.data, given.campaign)
    there = list_campaigns(given.data)
    if len(there) == 1:
        return Layout(given.data, there[0])
    if there:
        raise UsageError(
            f"there are {len(there)} campaigns in {given.data} ({', '.join(there[:5])}); name one with -c ID"
        )
    raise NotFound(
        f"there is no campaign in {given.data}; `canonry campaign create ID` makes one, or name another folder with --data"
    )


def print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def note(given: argparse.Namespace, line: str) -> None:
    """A line for a person, on standard error; not with --quiet."""
    if line and not given.quiet:
        print(printable(line), file=sys.stderr)


def colour(text: str, code: str) -> str:
    """The text in a colour where standard output is a terminal and NO_COLOR is not set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{code}m{text}\x1b[0m"


def bold(text: str) -> str:
    return colour(text, "1")


def dim(text: str) -> str:
    return colour(text, "2")


def printable(text: str) -> str:
    """Text of a source for a terminal: control characters shown, never sent."""
    if text.isprintable():  # nearly always
        return text
    return "".join(
        char
        if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") or char in "\u200d\ufe0f"
        else f"\\x{ord(char):02x}"
        for char in text
    )


def width(text: str) -> int:
    """Columns that a text takes in a terminal."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(char: str) -> int:
    return 2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.combining(char) else 1


def cut(text: str, columns: int) -> str:
    """The text in at most that many columns, with an ellipsis where it was longer."""
    if width(text) <= columns:
        return text
    taken = 0
    for at, char in enumerate(text):
        taken += _width(char)
        if taken > columns - 1:
            return f"{text[:at]}…"
    return f"{text}…"


def table(headers: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[int] = ()) -> str:
    """An aligned table; columns numbered in `right` are right-aligned, the widest shrinks to the terminal."""
    cells = [[printable(str(cell)).replace("\n", " ") for cell in row] for row in (headers, *rows)]
    widths = [max(width(row[at]) for row in cells) for at in range(len(headers))]
    spare = shutil.get_terminal_size((100, 24)).columns - sum(widths) - 2 * (len(widths) - 1)
    if spare < 0 and widths:
        widest = widths.index(max(widths))
        widths[widest] = max(12, widths[widest] + spare)
    lines = []
    for number, row in enumerate(cells):
        shown = [cut(cell, widths[at]) for at, cell in enumerate(row)]
        padded = [
            " " * (widths[at] - width(cell)) + cell if at in right else cell + " " * (widths[at] - width(cell))
            for at, cell in enumerate(shown)
        ]
        line = "  ".join(padded).rstrip()
        lines.append(bold(line) if number == 0 else line)
    return "\n".join(lines)


def size(count: float) -> str:
    """Bytes for a person."""
    for unit in ("B", "kB", "MB"):
        if count < 999.95:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def confirm(question: str, *, yes: bool) -> None:
    """Ask for a yes on a terminal; without one, `--yes` must have been given."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"{question} Not asked without a terminal: repeat the command with --yes")
    if input(f"{question} [y/N] ").strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was changed")


class Bar:
    """Progress for `flows`: a bar for each step with its rate and the time that is left, on a terminal only."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._shown = sys.stderr.isatty() and not given.quiet and not given.json
        self._step = ""
        self._bar: object = None

    def __call__(self, step: str, done: int, total: int) -> None:
        if not self._shown or total == 0:
            return
        from tqdm import tqdm

        if step != self._step:
            self.close()
            self._step, self._bar = step, tqdm(total=total, desc=step, leave=False, dynamic_ncols=True)
        assert isinstance(self._bar, tqdm)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()  # type: ignore[attr-defined]
        self._bar = None
        self._step = ""
