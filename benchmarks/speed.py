"""How fast canonry is on a folder of files, beside raw floors measured in the same run.

python -m benchmarks.speed FOLDER [--embedder none|static] [--queries FILE] [--prefect] [--json FILE]

Queries: a JSON list of {"text": …}; without a file, the first words of some chunks. Seconds unless a column says ms.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from pathlib import Path

from benchmarks import floors, processes
from benchmarks.campaigns import CAMPAIGN, bytes_in, create_campaign, import_folder, temporary_folder
from benchmarks.figures import show, write_json
from benchmarks.warm import warm_rows
from canonry.database import open_reader
from canonry.layout import Layout
from canonry.lexical import meta

Row = tuple[str, float | None, float | None, float | None, float | None]  # what, value, floor, ratio, peak MB
HEADERS = ("what", "s", "floor s", "ratio", "peak MB")
COLD_RUNS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--queries", type=Path)
    parser.add_argument("--prefect", action="store_true", help="run the full reindex through Prefect too")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with temporary_folder() as work:
        folder = Path(shutil.copytree(given.folder, work / "corpus"))
        at = create_campaign(work / "data", {"embedder": given.embedder})
        figures: dict[str, object] = {"folder": str(given.folder), "embedder": given.embedder}
        floor = floors.read_and_hash(folder)
        figures["build"] = build = build_rows(at, folder, floor, prefect=given.prefect)
        figures["counts"] = counts = count(at, folder)
        show(f"{given.folder}, embedder {given.embedder}", ("what", "number"), list(counts.items()))
        show("Whole runs (floor: read and SHA-256 of every file)", HEADERS, build)
        figures["change"] = change = change_rows(at, folder, floor)
        show("No change, one file changed (floor: read and SHA-256 of every file)", HEADERS, change)
        queries = read_queries(given.queries, at)
        figures["cold"] = cold = cold_rows(at, queries, given.embedder)
        show("A query as a whole process (floor: a Python process that imports sqlite3, and numpy)", HEADERS, cold)
        headers, figures["warm"] = warm_rows(at, queries, work / "plain.sqlite", given.embedder)
        show("Warm queries in one process, milliseconds", headers, figures["warm"])  # type: ignore[arg-type]
    write_json(given.json, figures)


def build_rows(at: Layout, folder: Path, floor: float, *, prefect: bool) -> list[Row]:
    """Import, and the whole index made anew from the stored files, by each way to run the steps."""
    where = ("--data", str(at.root), "-c", CAMPAIGN)
    ran = processes.canonry("import", str(folder), *where, "--on-duplicate", "separate", "--json")
    rows = [row("import", ran, floor), *stage_rows(ran)]
    for name, options in {
        "reindex from the raw files, in-process": ("--in-process",),
        "reindex --full, in-process": ("--full", "--in-process"),
        **({"reindex from the raw files, Prefect process": ("--runner", "process"),
            "reindex from the raw files, Prefect thread": ("--runner", "thread")} if prefect else {}),
    }.items():  # fmt: skip
        if "--full" not in options:
            shutil.rmtree(at.chunks)
            shutil.rmtree(at.index)
        ran = processes.canonry("reindex", *options, *where, "--json")
        rows += [row(name, ran, floor), *stage_rows(ran)]
    return rows


def stage_rows(ran: processes.Ran) -> list[Row]:
    """The seconds of each stage, as the command reports them."""
    document = ran.json()
    seconds: dict[str, float] = dict(document["seconds"])  # type: ignore[call-overload]
    if "index" in document:
        for stage, spent in dict(document["index"])["seconds"].items():  # type: ignore[call-overload]
            seconds[stage] = seconds.get(stage, 0.0) + spent
    return [(f"  {stage}", spent, None, None, None) for stage, spent in seconds.items()]


def change_rows(at: Layout, folder: Path, floor: float) -> list[Row]:
    """A reindex with nothing to do, and one changed file brought in: by function, by command, with its folder."""
    where = ("--data", str(at.root), "-c", CAMPAIGN)
    idle = [processes.canonry("reindex", *where) for _ in range(COLD_RUNS)]
    rows = [median_row("reindex, nothing to do", idle, floor)]
    file = sorted(path for path in folder.rglob("*.md"))[0]
    spent = []
    for number in range(3):
        touch(file, number)
        started = time.perf_counter()
        import_folder(at, file)
        spent.append(time.perf_counter() - started)
    rows.append(("one file changed, function", sorted(spent)[1], floor, sorted(spent)[1] / floor, None))
    for name, path in (("one file changed, command", file), ("one file changed, its folder imported", folder)):
        touch(file, 9 + len(rows))
        rows.append(row(name, processes.canonry("import", str(path), *where, "-q"), floor))
    return rows


def touch(file: Path, number: int) -> None:
    with file.open("a", encoding="utf-8") as end:
        end.write(f"\nThe lamp of Ashwick was lit {number} times.\n")


def cold_rows(at: Layout, queries: list[str], embedder: str) -> list[Row]:
    """`canonry query` from the start of the process to its end, the median of ten questions."""
    rows = []
    for mode, imports in (("lexical", "sqlite3"), ("hybrid", "sqlite3, numpy"))[: 1 if embedder == "none" else 2]:
        floor = processes.median([processes.python(f"import {imports}") for _ in range(COLD_RUNS)])
        command = ("--data", str(at.root), "-c", CAMPAIGN, "--mode", mode, "-q", "--json")
        runs = [processes.canonry("query", text, *command) for text in queries[:COLD_RUNS]]
        rows.append(median_row(f"query {mode}", runs, floor))
    return rows


def read_queries(path: Path | None, at: Layout) -> list[str]:
    if path is not None:
        return [str(query["text"]) for query in json.loads(path.read_text(encoding="utf-8"))]
    db = open_reader(at.lexical)
    bodies = db.execute("SELECT body FROM chunk_terms ORDER BY row").fetchall()
    db.close()
    return [" ".join(body.split()[:6]) for (body,) in bodies[:: max(1, len(bodies) // 200)]]


def count(at: Layout, folder: Path) -> dict[str, int]:
    db = open_reader(at.lexical)
    chunks = int(meta(db, "rows"))
    db.close()
    files = sum(1 for path in folder.rglob("*") if path.is_file())
    sizes = {
        f"{name}, bytes": bytes_in(path) for name, path in (("raw", at.raw), ("chunks", at.chunks), ("index", at.index))
    }
    return {"files": files, "text, bytes": bytes_in(folder), "chunks": chunks, **sizes}


def row(name: str, ran: processes.Ran, floor: float) -> Row:
    return (name, ran.seconds, floor, ran.seconds / floor, ran.peak_bytes / 1e6)


def median_row(name: str, runs: list[processes.Ran], floor: float) -> Row:
    seconds = processes.median(runs)
    return (name, seconds, floor, seconds / floor, max(ran.peak_bytes for ran in runs) / 1e6)


if __name__ == "__main__":
    main()
