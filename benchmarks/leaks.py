"""Spoilers by chapter: novels whose chapters' order is their level, asked in the words of chapters yet to come.

    python -m benchmarks.leaks LORE/novels [--limits 12] [--questions 200] [--embedder static] [--json FILE]

For each novel and each limit, questions are sentences and names of later chapters. A leak is a passage of a later
chapter, in any mode. What is found of allowed chapters shows that the search was not simply empty.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Sequence
from pathlib import Path

import canonry
from benchmarks.campaigns import create_campaign, import_folder, temporary_folder
from benchmarks.figures import show, write_json

MODES = ("lexical", "semantic", "hybrid")
RULES = '[defaults]\nspoiler = "by-order"\nclass = "canon"\n'
_ORDER = re.compile(r"^order: (\d+)$", re.MULTILINE)
_SENTENCE = re.compile(r"[A-Z“][^.!?]{40,200}[.!?]")
_NAME = re.compile(r"(?<=[a-z,;] )([A-Z][a-z]{3,}(?: [A-Z][a-z]{3,})?)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("novels", type=Path, help="a folder with a folder for each novel")
    parser.add_argument("--limits", type=int, default=12, help="chapter limits a novel")
    parser.add_argument("--questions", type=int, default=200, help="questions a limit")
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = [
        ask_novel(folder, given.limits, given.questions, given.embedder) for folder in sorted(given.novels.iterdir())
    ]
    headers = ("novel", "chapters", "limits", "questions", *(f"leaks {mode}" for mode in MODES), "passages shown")
    show("Passages of later chapters", headers, rows)
    write_json(given.json, {"leaks": [dict(zip(headers, row, strict=True)) for row in rows]})


def ask_novel(folder: Path, limits: int, questions: int, embedder: str) -> tuple[object, ...]:
    """One row: the novel's name, what was asked, leaks by mode, passages of allowed chapters that were shown."""
    chapters = read_chapters(folder)
    levels = sorted(chapters)
    chosen = sorted({levels[(len(levels) - 1) * step // (limits + 1)] for step in range(1, limits + 1)})
    leaks = dict.fromkeys(MODES, 0)
    shown = asked = 0
    with temporary_folder() as root:
        lore = root / "lore"
        lore.mkdir()
        for path in folder.glob("*.md"):
            (lore / path.name).write_bytes(path.read_bytes())
        (lore / "canonry.toml").write_text(RULES)
        import_folder(create_campaign(root / "data", {"embedder": embedder}), lore)
        with canonry.open(root / "data").campaign("bench") as campaign:
            for limit in chosen:
                texts = questions_from([text for level, text in chapters.items() if level > limit], questions, limit)
                asked += len(texts)
                for mode in MODES:
                    for text in texts:
                        for passage in campaign.retrieve(text, spoiler_level=limit, mode=mode, limit=10).results:
                            late = passage.spoiler_level > limit or passage.exact_text not in allowed(chapters, limit)
                            leaks[mode] += late
                            shown += not late
    return (folder.name, len(levels), len(chosen), asked, *leaks.values(), shown)


def read_chapters(folder: Path) -> dict[int, str]:
    """Order of each chapter -> its text."""
    chapters: dict[int, str] = {}
    for path in sorted(folder.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        found = _ORDER.search(text)
        assert found, path
        chapters[int(found[1])] = text
    return chapters


_allowed: dict[tuple[int, int], str] = {}


def allowed(chapters: dict[int, str], limit: int) -> str:
    """The text of every chapter up to the limit."""
    key = (id(chapters), limit)
    if key not in _allowed:
        _allowed.clear()
        _allowed[key] = "\n".join(text for level, text in chapters.items() if level <= limit)
    return _allowed[key]


def questions_from(texts: Sequence[str], count: int, seed: int) -> list[str]:
    """Sentences and names of some texts, half of each, chosen by the seed."""
    whole = "\n".join(text.split("---", 2)[-1] for text in texts).replace("\n", " ")
    sentences, names = _SENTENCE.findall(whole), sorted(set(_NAME.findall(whole)))
    chance = random.Random(seed)
    half = count // 2
    return chance.sample(sentences, min(half, len(sentences))) + chance.sample(names, min(count - half, len(names)))


if __name__ == "__main__":
    main()
