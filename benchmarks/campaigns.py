"""Temporary campaigns for the benchmarks: a folder is imported through the same functions that the command calls."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from canonry.catalog import Catalog
from canonry.layout import Layout
from canonry.locking import writing
from flows.import_files import Choices, import_files
from flows.import_report import ImportReport
from stages.select import select_files

CAMPAIGN = "bench"


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="canonry-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def create_campaign(root: Path, settings: Mapping[str, str]) -> Layout:
    """An empty campaign in the data directory `root`."""
    at = Layout(root, CAMPAIGN)
    catalog = Catalog.create(at.catalog, CAMPAIGN)
    catalog.set_settings(dict(settings))
    catalog.close()
    return at


def import_folder(at: Layout, folder: Path) -> ImportReport:
    """Import everything in a folder, equal texts too, with vectors where the campaign has an embedder."""
    with writing(at):
        return import_files(at, select_files([folder]), Choices(decide=lambda name, twin: "separate"))


def read_jsonl(path: Path) -> list[dict[str, object]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def text_files(corpus: Path, folder: Path) -> list[str]:
    """Write each document of a corpus.jsonl as `d<number>.md` under its title; returns the ids by number."""
    folder.mkdir(parents=True, exist_ok=True)
    ids = []
    for number, document in enumerate(read_jsonl(corpus)):
        title = " ".join(str(document.get("title") or "").split())
        text = f"# {title}\n\n{document['text']}\n" if title else f"{document['text']}\n"
        (folder / f"d{number}.md").write_text(text, encoding="utf-8")
        ids.append(str(document["_id"]))
    return ids


def bytes_in(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
