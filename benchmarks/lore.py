"""What canonry makes of real lore: files accepted and refused, chunks and their sizes, seconds by stage, bytes on disk.

python -m benchmarks.lore FOLDER… [--embedder none|static] [--json FILE]

A folder that holds a corpus.jsonl is first written out as one .md file a document. Equal texts are imported apart.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from pathlib import Path

from benchmarks.campaigns import bytes_in, create_campaign, import_folder, temporary_folder, text_files
from benchmarks.figures import show, write_json
from canonry.config import ChunkSettings
from canonry.database import open_reader
from canonry.layout import Layout
from flows.import_report import ImportReport

SMALL = ChunkSettings().min_tokens
HEADERS = (
    "corpus", "files", "refused", "MB text", "chunks", "mean tokens", "max", f"% < {SMALL}", "s", "raw MB", "chunks MB", "index MB",
)  # fmt: skip
STAGES = ("validate", "classify", "copy", "hash", "chunk", "index lexical", "embed", "index vectors")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    settings = {"embedder": given.embedder, **dict(setting.split("=", 1) for setting in given.settings)}
    rows, stages, reasons = [], [], []
    for folder in given.folders:
        with temporary_folder() as work:
            at = create_campaign(work / "data", settings)
            started = time.perf_counter()
            report = import_folder(at, as_files(folder, work / "files"))
            seconds = time.perf_counter() - started
            rows.append(corpus_row(folder.name, at, report, seconds))
            spent = {**report.seconds, **{k: report.seconds.get(k, 0) + v for k, v in report.index.seconds.items()}}
            stages.append((folder.name, *(spent.get(stage, 0.0) for stage in STAGES)))
            reasons += [(folder.name, count, reason) for reason, count in refusals(report).most_common()]
    show(f"Real lore, embedder {given.embedder}", HEADERS, rows)
    show("Seconds by stage", ("corpus", *STAGES), stages)
    show("Refused, and warnings", ("corpus", "files", "reason"), reasons)
    write_json(given.json, {"corpora": [dict(zip(HEADERS, row, strict=True)) for row in rows],
                            "seconds": [dict(zip(("corpus", *STAGES), row, strict=True)) for row in stages],
                            "refused": reasons})  # fmt: skip


def as_files(folder: Path, out: Path) -> Path:
    """The folder itself, or a folder with the documents of its corpus.jsonl."""
    if not (folder / "corpus.jsonl").exists():
        return folder
    text_files(folder / "corpus.jsonl", out)
    return out


def corpus_row(name: str, at: Layout, report: ImportReport, seconds: float) -> tuple[object, ...]:
    db = open_reader(at.lexical)
    chunks, mean, most, small = db.execute(
        "SELECT count(*), avg(token_count), max(token_count), avg(token_count < ?) * 100.0 FROM knowledge_chunk",
        (SMALL,),
    ).fetchone()
    db.close()
    sizes = (bytes_in(path) / 1e6 for path in (at.raw, at.chunks, at.index))
    return (
        name, len(report.imported), len(report.rejected), report.bytes / 1e6, chunks, mean, most, small, seconds, *sizes
    )  # fmt: skip


def refusals(report: ImportReport) -> Counter[str]:
    """Reasons, with what differs from file to file taken out, and how many files each."""
    lines = [error.reason for error in report.rejected]
    lines += [f"warning: {warning.partition(': ')[2]}" for warning in report.warnings]
    return Counter(re.sub(r"byte \d+( \(0x[0-9a-f]+\))?|[\d,]+ bytes", "byte …", line) for line in lines)


if __name__ == "__main__":
    main()
