"""What is left over of an interrupted writer, a deletion or an earlier time is named and removed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from canonry import schemas
from canonry.catalog import Catalog
from canonry.layout import Layout
from canonry.timestamps import now
from flows.verify import verify
from tests.conftest import Workshop
from tests.flows.checks.conftest import TEXTS, codes, cut_short, mend, scan, store


def test_what_an_interrupted_writer_left_is_named_and_swept(at: Layout) -> None:
    for folder in (at.raw, at.files, at.chunks, at.index):
        (folder / ".tmp-1234-x").write_bytes(b"half")
    (at.index / "as-of" / "1234.making-5678").mkdir(parents=True)
    assert codes(at) == ["temporary-left"] * 5
    assert mend(at) == []


def test_files_that_nobody_names_are_named_and_removed(at: Layout) -> None:
    (at.files / f"{'0' * 64}.md").write_bytes(b"nobody's")
    for path in (store(at), scan(at)):
        path.with_name(path.name.replace(path.stem.rpartition("-")[2], "0123456789ab")).write_bytes(path.read_bytes())
    assert sorted(codes(at)) == ["file-orphan", "generation-orphan", "generation-orphan"]
    assert mend(at) == ["file-orphan"]  # a text may be all that is left of a lost catalog
    assert (at.files / f"{'0' * 64}.md").exists()
    assert store(at).exists()


def test_chunks_of_a_text_that_was_deleted_are_named_and_removed(workshop: Workshop, at: Layout) -> None:
    """As a deletion leaves them that was stopped after its stored file went."""
    catalog = Catalog.open(at.catalog, write=True)
    (content,) = catalog.delete(catalog.source("lamp.md").source_id)
    catalog.close()
    next(at.files.glob(f"{content}.*")).unlink()
    found = codes(at)
    assert "part-orphan" in found
    assert "index-ahead" in found
    assert mend(at) == []
    for part in at.chunks.glob("chunks-*.parquet"):
        assert not [row for row in schemas.read(part, schemas.CHUNK_CONTRACT).to_pylist() if "lamp" in row["text"]]


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b"x"), cut_short])
def test_a_damaged_index_of_an_earlier_time_is_named_and_removed(
    workshop: Workshop, at: Layout, damage: Callable[[Path], None]
) -> None:
    then = now()
    workshop.bring(at, workshop.write("gate.md", TEXTS["gate.md"].replace("iron", "wooden")))
    ask = lambda: [p.exact_text for p in workshop.ask(at).retrieve("gate at dusk", as_of=then).results]  # noqa: E731
    before = ask()
    assert "iron" in before[0]
    assert codes(at) == []
    checked = verify(at).checked
    assert (checked["past_indexes"], checked["rows"], checked["vectors"]) == (1, 4, 4)
    (past,) = at.index.glob("as-of/*/lexical.sqlite")
    workshop.close()
    damage(past)
    assert codes(at) == ["past-index-damaged"]
    assert mend(at) == []
    assert ask() == before
