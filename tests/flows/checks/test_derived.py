"""Damage to what is derived: every breakage is found, healed, and the answers are what they were."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from canonry import schemas
from canonry.layout import Layout
from canonry.semantic import Scan
from flows.verify import verify
from tests.conftest import Workshop
from tests.flows.checks.conftest import (
    FOREIGN,
    answers,
    change_sql,
    chunk_part,
    codes,
    cut_short,
    flip,
    mend,
    replaced,
    rewrite,
    scan,
    store,
    vector_part,
)

Break = Callable[[Layout], None]


def _drop_chunk_row(at: Layout) -> None:
    change_sql(at.lexical, "DELETE FROM knowledge_chunk WHERE row = 2")


def _other_terms(at: Layout) -> None:
    change_sql(at.lexical, "UPDATE chunk_terms SET body = 'quokka' WHERE row = 1")


def _open_a_secret(at: Layout) -> None:
    change_sql(at.lexical, "UPDATE run SET spoiler_level = 0, spoiler_tags = '[]'")


def _move_a_slice(at: Layout) -> None:
    change_sql(at.lexical, "UPDATE knowledge_chunk SET start_byte = start_byte + 1 WHERE row = 1")


def _forget_a_version(at: Layout) -> None:
    version = "(SELECT version_id FROM document ORDER BY 1 LIMIT 1)"
    change_sql(
        at.lexical, f"CREATE TEMP TABLE gone AS SELECT {version} AS id", "DELETE FROM run WHERE version_id = (SELECT id FROM gone)",
        "DELETE FROM knowledge_chunk WHERE version_id = (SELECT id FROM gone)", "DELETE FROM document WHERE version_id = (SELECT id FROM gone)",
    )  # fmt: skip


def _damage_page(at: Layout) -> None:
    change_sql(at.lexical, "VACUUM")
    data = bytearray(at.lexical.read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    at.lexical.write_bytes(data)


def _other_vector(at: Layout) -> None:
    turned = "list_transform(vector::FLOAT[], lambda x: -x)::FLOAT[64]"
    with duckdb.connect(str(store(at))) as db:
        db.execute(f'UPDATE knowledge_embedding SET vector = {turned} WHERE "row" = 1')


def _drop_vectors(at: Layout) -> None:
    with duckdb.connect(str(store(at))) as db:
        db.execute("DELETE FROM knowledge_embedding")


def _scan_value(at: Layout) -> None:
    vector = np.asarray(Scan.open(scan(at)).vectors[1])
    offset = scan(at).read_bytes().find(vector.tobytes())
    flip(scan(at), offset + 3)


def _long_vectors(at: Layout) -> None:
    rewrite(vector_part(at), schemas.EMBEDDING_CONTRACT, replaced("vector", lambda vector: [2.0 * x for x in vector]))


def _other_vector_in_part(at: Layout) -> None:
    rewrite(vector_part(at), schemas.EMBEDDING_CONTRACT, replaced("vector", lambda vector: vector[::-1]))


def _chunk_value(column: str, value: Callable[[object], object]) -> Break:
    return lambda at: rewrite(chunk_part(at), schemas.CHUNK_CONTRACT, replaced(column, value))


def _drop_part_row(at: Layout) -> None:
    rewrite(chunk_part(at), schemas.CHUNK_CONTRACT, lambda table: table.slice(1))


def _no_manifest_counts(at: Layout) -> None:
    said = json.loads(at.manifest.read_text())
    said["counts"]["chunks"] += 1
    at.manifest.write_text(json.dumps(said))


def _other_checksum(at: Layout) -> None:
    said = json.loads(at.manifest.read_text())
    said["sha256"][scan(at).name] = "0" * 64
    at.manifest.write_text(json.dumps(said))


DAMAGES: dict[str, tuple[Break, str]] = {
    "index: a row less": (_drop_chunk_row, "index-differs"),
    "index: other words": (_other_terms, "index-damaged"),
    "index: a secret opened": (_open_a_secret, "index-differs"),
    "index: a slice moved": (_move_a_slice, "index-differs"),
    "index: a version less": (_forget_a_version, "index-behind"),
    "index: damaged pages": (_damage_page, "index-damaged"),
    "index: cut short": (lambda at: cut_short(at.lexical), "index-damaged"),
    "index: gone": (lambda at: at.lexical.unlink(), "index-missing"),
    "part: cut short": (lambda at: cut_short(chunk_part(at)), "part-damaged"),
    "part: gone": (lambda at: chunk_part(at).unlink(), "parts-missing"),
    "part: a row less": (_drop_part_row, "part-differs"),
    "part: other text": (_chunk_value("text", lambda text: f"{text}!"), "part-differs"),
    "part: a secret opened": (_chunk_value("hidden", lambda hidden: not hidden), "part-differs"),
    "part: another line": (_chunk_value("end_line", lambda line: line + 1), "part-differs"),
    "part: another id": (_chunk_value("chunk_id", lambda chunk_id: f"{chunk_id}x"), "part-differs"),
    "part: another hash": (_chunk_value("text_hash", lambda text_hash: "0" * 32), "part-differs"),
    "part: a span outside": (_chunk_value("end_byte", lambda end: end + 10_000), "part-differs"),
    "part: a path for a hash": (_chunk_value("content_hash", lambda _: "../../../../etc/passwd"), "part-differs"),
    "vectors: cut short": (lambda at: cut_short(vector_part(at)), "embeddings-damaged"),
    "vectors: too long": (_long_vectors, "embeddings-differ"),
    "vectors: others": (_other_vector_in_part, "embeddings-differ"),
    "vectors: gone": (lambda at: vector_part(at).unlink(), "parts-missing"),
    "generation: another vector": (_other_vector, "generation-differs"),
    "generation: no vectors": (_drop_vectors, "generation-differs"),
    "generation: cut short": (lambda at: cut_short(store(at)), "generation-damaged"),
    "generation: gone": (lambda at: store(at).unlink(), "generation-missing"),
    "scan: a flipped byte": (_scan_value, "generation-differs"),
    "scan: cut short": (lambda at: cut_short(scan(at)), "generation-damaged"),
    "scan: gone": (lambda at: scan(at).unlink(), "generation-missing"),
    "manifest: other counts": (_no_manifest_counts, "manifest-differs"),
    "manifest: another checksum": (_other_checksum, "generation-changed"),
    "manifest: gone": (lambda at: at.manifest.unlink(), "manifest-missing"),
    "manifest: cut short": (lambda at: cut_short(at.manifest), "manifest-damaged"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_to_what_is_derived_is_found_and_healed(workshop: Workshop, at: Layout, name: str) -> None:
    damage, code = DAMAGES[name]
    before = answers(workshop, at)
    damage(at)
    found = verify(at).findings
    assert code in [one.code for one in found]
    assert all(one.fixable and one.what and one.where and one.do for one in found)
    raw = {path: path.read_bytes() for path in at.files.iterdir()}
    assert mend(at) == []
    assert codes(at) == []
    assert answers(workshop, at) == before
    assert {path: path.read_bytes() for path in at.files.iterdir()} == raw


PLACES: dict[str, Callable[[Layout], Path]] = {
    "index": lambda at: at.lexical, "part": chunk_part, "vectors": vector_part, "generation": store, "scan": scan,
    "manifest": lambda at: at.manifest,
}  # fmt: skip


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("place", PLACES)
def test_a_foreign_file_in_place_of_ours_is_found_and_replaced(
    workshop: Workshop, at: Layout, place: str, kind: str
) -> None:
    before = answers(workshop, at)
    PLACES[place](at).write_bytes(FOREIGN[kind])
    assert any("damaged" in code for code in codes(at))
    assert mend(at) == []
    assert answers(workshop, at) == before


@pytest.mark.parametrize("place", ["index", "part", "vectors", "generation"])
def test_a_readable_file_of_another_program_in_place_of_ours_is_found_and_replaced(
    workshop: Workshop, at: Layout, place: str
) -> None:
    """A real database, a real table: only what it holds is not ours."""
    path = PLACES[place](at)
    before = answers(workshop, at)
    path.unlink()
    if place == "index":
        change_sql(path, "CREATE TABLE bookmark (url TEXT)")
    elif place == "generation":
        with duckdb.connect(str(path)) as db:
            db.execute("CREATE TABLE bookmark (url TEXT)")
    else:
        contract = schemas.CHUNK_CONTRACT if place == "part" else schemas.EMBEDDING_CONTRACT
        origin: dict[str, object] = {"documents": {"x": 1}, "embedder": path.parent.name}
        schemas.write(pa.table({"document_key": ["x"], "vector": [1]}), path, contract, origin)
    assert any("damaged" in code for code in codes(at))
    assert mend(at) == []
    assert answers(workshop, at) == before
