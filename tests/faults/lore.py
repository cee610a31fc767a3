"""The lore of the fault tests, in two states: every file has a word of its own, and every section holds it."""

from __future__ import annotations

from pathlib import Path

WORDS = ("anvil", "basalt", "cinder", "dredger", "ember", "falcon", "gantry", "hawthorn")
NEW_WORDS = ("ibex", "juniper")
CHANGED = ("anvil", "dredger", "gantry")
SECTIONS = 3
MARKS = {
    "cinder": "---\nvisibility: hidden\n---\n",
    "falcon": "---\nspoiler_level: 2\n---\n",
    "ember": "---\ntags: [fire]\n---\n",
}


def text_of(word: str, state: str) -> str:
    """A file of some sections; in the second state some files say something else in each of them."""
    saying = "was moved to the harbour" if state == "second" and word in CHANGED else "stands in the square"
    sections = (
        f"## {word.title()} part {number}\n\nThe {word} of part {number} {saying}, and the watch counts it at dusk.\n"
        for number in range(1, SECTIONS + 1)
    )
    return f"{MARKS.get(word, '')}# The {word}\n\n" + "\n".join(sections)


def write_lore(folder: Path, state: str) -> None:
    """Write the files of a state; in the second, one is gone and two are new."""
    words = WORDS if state == "first" else (*(word for word in WORDS if word != "hawthorn"), *NEW_WORDS)
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.iterdir():
        left.unlink()
    for word in words:
        (folder / f"{word}.md").write_text(text_of(word, state), encoding="utf-8")
