"""What the tests of the checks share: a campaign with vectors and a past, the paths of its files, and ways to break them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from canonry import schemas
from canonry.embedders import register
from canonry.layout import Layout
from canonry.locking import writing
from flows.doctor import repair
from flows.pipeline import loaded
from flows.verify import verify
from tests.conftest import Workshop
from tests.fakes import WordBag

TEXTS = {
    "gate.md": "# The Gate\n\nAn iron gate stands by the quay. It is shut at dusk.\n\n## Its Key {spoiler=2 tags=key}\n\nThe warden keeps the key.\n",
    "lamp.md": "---\nentities: [Oswin]\n---\n# The Lamp\r\n\r\nA brass lamp, \u201cOswin\u2019s\u201d, burns in the hall. 灯は廊下にある。\r\n",
    "well.txt": "The well is deep, and dry since the flood.\n\nNobody draws from it.\n",
}
QUESTIONS = ("iron gate at dusk", "who keeps the key", "brass lamp hall", "deep well flood")
FOREIGN = {
    "empty": b"",
    "text": b"not a file of ours\n" * 300,
    "sqlite": b"SQLite format 3\0" + bytes(84),
    "parquet": b"PAR1" + bytes(60) + b"PAR1",
}


def build(workshop: Workshop) -> Layout:
    at = workshop.create(embedder="wordbag")
    for name, text in TEXTS.items():
        workshop.write(name, text)
    workshop.bring(at, workshop.root / "lore")
    workshop.bring(at, workshop.write("well.txt", TEXTS["well.txt"].replace("deep", "very deep")))
    return at


@pytest.fixture
def at(workshop: Workshop) -> Layout:
    """A campaign with three sources, vectors, and an earlier version of one."""
    register(WordBag())
    loaded.cache_clear()
    return workshop.once(build)


def codes(at: Layout) -> list[str]:
    return [found.code for found in verify(at).findings]


def answers(workshop: Workshop, at: Layout) -> str:
    """What the campaign answers, to the byte."""
    campaign = workshop.ask(at)
    found = [
        campaign.retrieve(question, mode="hybrid", role="narrator", spoiler_level=2).as_json() for question in QUESTIONS
    ]
    campaign.close()
    return json.dumps(found, ensure_ascii=False)


def mend(at: Layout) -> list[str]:
    """Codes of what a repair leaves."""
    with writing(at):
        return [found.code for found in repair(at).findings]


def store(at: Layout) -> Path:
    (path,) = at.index.glob("vectors-*.duckdb")
    return path


def scan(at: Layout) -> Path:
    (path,) = at.index.glob("scan-*.bin")
    return path


def chunk_part(at: Layout) -> Path:
    return min(at.chunks.glob("chunks-*.parquet"), key=lambda part: -part.stat().st_size)


def vector_part(at: Layout) -> Path:
    return min(at.chunks.glob("vectors/*/*.parquet"), key=lambda part: -part.stat().st_size)


def flip(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x55
    path.write_bytes(data)


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def change_sql(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def rewrite(part: Path, contract: str, change: Callable[[pa.Table], pa.Table]) -> None:
    origin = schemas.made_from(part, contract)
    schemas.write(change(schemas.read(part, contract)), part, contract, origin)


def replaced(column: str, value: Callable[[object], object]) -> Callable[[pa.Table], pa.Table]:
    """A table whose first row has another value in a column."""

    def change(table: pa.Table) -> pa.Table:
        values = table[column].to_pylist()
        values[0] = value(values[0])
        at = table.schema.get_field_index(column)
        return table.set_column(at, table.schema.field(column), pa.array(values, table.schema.field(column).type))

    return change
