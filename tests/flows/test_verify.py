"""Break each kind of file in a way that happens, and see that it is found, named, and healed where it can be."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from canonry import schemas
from canonry.catalog import Catalog
from canonry.embedders import register
from canonry.layout import Layout
from canonry.locking import writing
from canonry.semantic import Scan
from canonry.timestamps import now
from flows.doctor import repair
from flows.pipeline import loaded
from flows.verify import verify
from stages.select import select_files
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


@pytest.fixture
def at(workshop: Workshop) -> Layout:
    """A campaign with three sources, vectors, and an earlier version of one."""
    register(WordBag())
    loaded.cache_clear()
    at = workshop.create(embedder="wordbag")
    for name, text in TEXTS.items():
        workshop.write(name, text)
    workshop.bring(at, workshop.root / "lore")
    workshop.bring(at, workshop.write("well.txt", TEXTS["well.txt"].replace("deep", "very deep")))
    return at


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


# what is whole


def test_a_clean_campaign_has_no_finding_and_everything_was_counted(at: Layout) -> None:
    health = verify(at)
    assert health.findings == []
    assert health.checked["versions"] == 4
    assert health.checked["rows"] == health.checked["vectors"] == 4
    assert health.checked["chunks"] == health.checked["embeddings"] == 5
    assert health.checked["checksums"] == 2


@pytest.mark.parametrize("embedder", ["none", "wordbag"])
def test_the_campaign_that_comes_with_canonry_is_clean(workshop: Workshop, embedder: str) -> None:
    import canonry

    register(WordBag())
    at = workshop.create(embedder=embedder)
    workshop.bring(at, Path(canonry.__file__).parent / "demo_campaign")
    assert verify(at).findings == []


def test_every_fixture_that_is_imported_is_clean(workshop: Workshop, fixtures: Path) -> None:
    at = workshop.create(chunk_target="40")
    for folder in sorted((fixtures / "cases").iterdir()):
        if select_files([folder]).files:
            workshop.bring(at, folder, decide="separate")
    assert verify(at).findings == []
    assert verify(at).checked["versions"] > 20


def test_a_campaign_without_a_source_is_clean(workshop: Workshop) -> None:
    assert verify(workshop.create()).findings == []


def test_verify_changes_no_byte(at: Layout) -> None:
    def everything() -> dict[str, bytes]:
        return {
            str(path): path.read_bytes()
            for path in at.root.rglob("*")
            if path.is_file() and path.suffix != ".sqlite-shm"
        }

    before = everything()
    verify(at)
    assert everything() == before


def test_settings_that_are_not_carried_out_yet_are_no_damage(at: Layout) -> None:
    catalog = Catalog.open(at.catalog, write=True)
    catalog.set_settings({"chunk.target": "60"})
    catalog.close()
    assert codes(at) == []


# the truth: stored files and the catalog


def test_a_flipped_byte_of_a_stored_file_is_found_and_cured_by_importing_it_again(
    workshop: Workshop, at: Layout
) -> None:
    before = answers(workshop, at)
    path = next(path for path in at.files.iterdir() if b"iron gate" in path.read_bytes())
    flip(path, 20)
    (found,) = verify(at).findings
    assert (found.code, found.fixable) == ("file-changed", False)
    assert path.name in found.where
    assert "gate.md again" in found.do
    assert mend(at) == ["file-changed"]
    workshop.bring(at, workshop.root / "lore" / "gate.md")
    assert codes(at) == []
    assert answers(workshop, at) == before


def test_a_missing_stored_file_is_found_and_cured_by_importing_it_again(workshop: Workshop, at: Layout) -> None:
    next(path for path in at.files.iterdir() if b"brass lamp" in path.read_bytes()).unlink()
    assert codes(at) == ["file-missing"]
    workshop.bring(at, workshop.root / "lore" / "lamp.md")
    assert codes(at) == []


def test_the_file_of_an_earlier_version_can_only_be_restored(at: Layout) -> None:
    next(path for path in at.files.iterdir() if b"is deep" in path.read_bytes()).unlink()
    (found,) = verify(at).findings
    assert (found.code, found.do) == ("file-missing", "restore the campaign from an export")


def test_a_damaged_source_takes_no_other_out_of_an_index_that_is_made_anew(workshop: Workshop, at: Layout) -> None:
    next(path for path in at.files.iterdir() if b"iron gate" in path.read_bytes()).unlink()
    at.lexical.write_bytes(FOREIGN["text"])
    shutil.rmtree(at.chunks)
    assert {"file-missing", "index-behind"} <= set(mend(at))
    assert [passage.uri for passage in workshop.ask(at).retrieve("brass lamp").results] == ["lamp.md"]


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_catalog_is_one_finding_and_nothing_is_repaired(at: Layout, kind: str) -> None:
    at.catalog.with_name("catalog.sqlite-wal").unlink(missing_ok=True)
    at.catalog.write_bytes(FOREIGN[kind])
    assert codes(at) == ["catalog-damaged"]
    before = sorted(at.root.rglob("*"))
    assert "catalog-damaged" in mend(at)
    assert sorted(at.root.rglob("*")) == before


def test_a_truncated_catalog_is_a_finding(at: Layout) -> None:
    change_sql(at.catalog, "VACUUM")
    cut_short(at.catalog)
    assert "catalog-damaged" in codes(at)


def test_a_missing_catalog_is_a_finding_and_the_files_are_still_hashed(at: Layout) -> None:
    at.catalog.unlink()
    flip(next(at.files.iterdir()), 3)
    assert codes(at) == ["catalog-missing", "file-changed"]


def test_a_row_of_the_catalog_without_its_source_is_a_finding(at: Layout) -> None:
    change_sql(at.catalog, "PRAGMA foreign_keys = OFF", "INSERT INTO source_label VALUES ('nobody', 'tag', 'x', 'x')")
    assert codes(at) == ["catalog-inconsistent"]


def test_the_catalog_of_another_campaign_is_a_finding(at: Layout) -> None:
    change_sql(at.catalog, "UPDATE meta SET value = 'other' WHERE key = 'campaign_id'")
    assert codes(at) == ["catalog-foreign"]


def test_settings_that_mean_nothing_are_a_finding(at: Layout) -> None:
    change_sql(at.catalog, "INSERT INTO setting VALUES ('chunk.goal', '7')")
    assert "settings-invalid" in codes(at)


# what is derived: every breakage is found, healed, and the answers are what they were

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


# what is left over


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
