"""Spoilers by chapter: real lore whose order is its level, every later chapter asked for in its own words by `eval.leaks`.

    python -m benchmarks.leaks LORE/novels/* [--limits 4] [--chunks 8] [--embedder static] [--json FILE]

Each folder is a campaign; the level of a file is its `order`, or the `spoiler_level` that it states. For each limit, secret
passages of later files are asked for as a player who has read up to it. A leak is any sight of them, in any mode, in
results, packs, `why` or pins. What is shown of allowed chapters tells that the search was not simply empty.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import canonry
from benchmarks.campaigns import CAMPAIGN, create_campaign, import_folder, temporary_folder
from benchmarks.figures import show, write_json
from canonry.eligibility import HIGHEST_LEVEL, NARRATOR, Scope
from eval.leaks import LeakReport, Wanted, find_leaks

RULES = '[defaults]\nspoiler = "by-order"\nclass = "canon"\n'
COUNTED = (
    "secret passages", "secret passages asked for", "questions", "passages shown", "passages in packs", "pin", "leaks", "secret names in sight",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", help="a folder of chapters or session logs each")
    parser.add_argument("--limits", type=int, default=4, help="levels a folder, spread over it")
    parser.add_argument("--chunks", type=int, default=8, help="secret passages a folder")
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = {folder.name: ask(folder, given.limits, given.chunks, given.embedder) for folder in sorted(given.folders)}
    rows = [(name, *(report.counts[counted] for counted in COUNTED)) for name, report in found.items()]
    total = ("all", *(sum(report.counts[counted] for report in found.values()) for counted in COUNTED))
    show("Passages of later chapters", ("folder", *COUNTED), [*rows, total])
    write_json(given.json, {"leaks": {name: report.as_json() for name, report in found.items()}})


def ask(folder: Path, limits: int, chunks: int, embedder: str) -> LeakReport:
    """The leak tests of one folder, as a player at levels spread over those that its passages have."""
    with temporary_folder() as root:
        lore = root / "lore"
        lore.mkdir()
        for path in folder.glob("*.md"):
            (lore / path.name).write_bytes(path.read_bytes())
        if any("\norder: " in path.read_text(encoding="utf-8")[:1000] for path in lore.glob("*.md")):
            (lore / "canonry.toml").write_text(RULES)
        import_folder(create_campaign(root / "data", {"embedder": embedder}), lore)
        with canonry.open(root / "data").campaign(CAMPAIGN) as campaign:
            everything = campaign.survey(Scope(NARRATOR, HIGHEST_LEVEL), list)
            levels = sorted({passage.spoiler_level for passage in everything})
            chosen = {levels[(len(levels) - 1) * step // (limits + 1)] for step in range(1, limits + 1)}
            return find_leaks(campaign, Wanted(tuple(sorted(chosen)), ("player",), max_chunks=chunks))


if __name__ == "__main__":
    main()
