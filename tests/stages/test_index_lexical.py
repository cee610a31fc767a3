"""The lexical store: built anew or changed, it gives the same answers; a reader sees it before or after."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from canonry import lexical
from canonry.config import ChunkSettings
from canonry.lexical import Ranges, search
from canonry.records import Document
from canonry.text import parse_query
from stages.chunk import chunk_documents, document_key
from stages.index_lexical import LexicalReport, build, change, discard, is_current

SETTINGS = ChunkSettings(30, 5, 60, 0)
EVERYTHING = Ranges(((1, 1 << 40),))


class Bench:
    """Documents cut into parts, and a store to put them in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / "index" / "lexical.sqlite"
        self.parts: list[Path] = []

    def cut(self, *texts: str, level: int = 0, first: int = 0, version: int = 1) -> list[Document]:
        """A document for each text, in one part."""
        (self.folder / "files").mkdir(exist_ok=True)
        documents = []
        for number, text in enumerate(texts, first):
            content = hashlib.sha256(text.encode()).hexdigest()
            (self.folder / "files" / f"{content}.md").write_bytes(text.encode())
            key = document_key(content, "markdown", (), SETTINGS)
            documents.append(
                Document(
                    key,
                    f"s{number}@{version}",
                    f"s{number}",
                    content,
                    "markdown",
                    (),
                    f"note {number}",
                    (number, ""),
                    level,
                )
            )
        part = chunk_documents(documents, self.folder / "files", self.folder, SETTINGS).part
        assert part is not None
        self.parts[:] = sorted({*self.parts, part})
        return documents

    def open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.store)

    def content(self) -> list[tuple[object, ...]]:
        """What the store holds, without row numbers, each chunk with the marks of the run it lies in."""
        with self.open() as db:
            return db.execute(
                "SELECT c.version_id, c.chunk_index, c.chunk_id, c.heading_path, t.title, t.heading, t.body, "
                "r.spoiler_level, r.spoiler_tags, r.hidden "
                "FROM knowledge_chunk c JOIN chunk_terms t USING (row) "
                "JOIN run r ON c.row BETWEEN r.first AND r.last AND r.version_id = c.version_id ORDER BY 1, 2"
            ).fetchall()

    def answers(self, query: str) -> list[tuple[str, int, float]]:
        with self.open() as db:
            found = search(db, parse_query(query), EVERYTHING, 100)
            places = {
                row: (version, index)
                for row, version, index in db.execute("SELECT row, version_id, chunk_index FROM knowledge_chunk")
            }
        return sorted((*places[hit.row], round(hit.score, 9)) for hit in found)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def lore(word: str, sections: int = 4, mark: str = "") -> str:
    return "".join(
        f"# {word} {n}{mark}\n\nThe {word} keeper counts {n} sacks of barley and writes it down at dusk in the ledger.\n\n"
        for n in range(sections)
    )


SECRETS = (
    "# Open\n\nOne open lamp.\n\n# Later {spoiler=2 tags=end}\n\nA late lamp.\n\n"
    "# Hidden {visibility=hidden}\n\nA hidden lamp.\n\n# Open again\n\nAn open lamp again.\n"
)


def test_a_store_that_is_built_and_one_that_grew_give_the_same_answers(bench: Bench, tmp_path: Path) -> None:
    grown = Bench(tmp_path / "grown")
    grown.folder.mkdir()
    texts = [lore("mill"), SECRETS, lore("weir", 3), lore("tide", 2)]
    documents = bench.cut(*texts)
    build(bench.parts, documents, bench.store, 1)
    for number in (2, 0, 3, 1):
        added = grown.cut(texts[number], first=number)
        change(grown.parts, added, (), grown.store, number)
    assert grown.content() == bench.content()
    for query in ("barley", "mill keeper", "lamp open", '"sacks of barley"', "note"):
        assert grown.answers(query) == bench.answers(query)


def test_replacing_and_removing_leaves_what_a_fresh_build_holds(bench: Bench, tmp_path: Path) -> None:
    fresh = Bench(tmp_path / "fresh")
    fresh.folder.mkdir()
    old = bench.cut(lore("mill"), lore("weir"), lore("tide"))
    build(bench.parts, old, bench.store, 1)
    new = bench.cut(lore("lamp"), first=1, version=2)
    change(bench.parts, new, ["s1@1", "s2@1", "never-there@1"], bench.store, 2)
    kept = fresh.cut(lore("mill")) + fresh.cut(lore("lamp"), first=1, version=2)
    build(fresh.parts, kept, fresh.store, 1)
    assert bench.content() == fresh.content()
    for query in ("barley", "lamp keeper", "weir", "tide"):
        assert bench.answers(query) == fresh.answers(query)
    assert bench.answers("tide") == []


def test_the_full_text_table_agrees_with_its_content_after_every_change(bench: Bench) -> None:
    build(bench.parts, bench.cut(lore("mill"), SECRETS), bench.store, 1)
    change(bench.parts, bench.cut(lore("weir"), first=5), ["s0@1"], bench.store, 2)
    with bench.open() as db:
        db.execute("INSERT INTO chunk_fts (chunk_fts, rank) VALUES ('integrity-check', 1)")
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_rows_are_clustered_by_secrecy_and_then_by_source_and_place(bench: Bench) -> None:
    build(bench.parts, bench.cut(SECRETS, lore("mill", 2), SECRETS.replace("lamp", "oil")), bench.store, 1)
    with bench.open() as db:
        rows = db.execute(
            "SELECT r.hidden, r.spoiler_level, c.version_id, c.chunk_index "
            "FROM knowledge_chunk c JOIN run r ON c.row BETWEEN r.first AND r.last ORDER BY c.row"
        ).fetchall()
    assert rows == sorted(rows)
    assert len({(hidden, level) for hidden, level, _, _ in rows}) == 3


def test_a_source_s_own_level_is_part_of_the_clustering_but_not_of_the_runs(bench: Bench) -> None:
    """It may change at any time: the catalog knows it, the run holds the marks of the text alone."""
    documents = bench.cut(lore("mill"), level=3) + bench.cut(lore("weir"), first=1)
    build(bench.parts, documents, bench.store, 1)
    with bench.open() as db:
        assert db.execute("SELECT DISTINCT spoiler_level FROM run").fetchall() == [(0,)]
        assert [row[0] for row in db.execute("SELECT version_id FROM run ORDER BY first")] == ["s1@1", "s0@1"]


def test_runs_cover_every_row_once_and_hold_one_version_and_one_set_of_marks(bench: Bench) -> None:
    build(bench.parts, bench.cut(SECRETS, lore("mill")), bench.store, 1)
    change(bench.parts, bench.cut(SECRETS.replace("lamp", "oil"), first=7), ["s1@1"], bench.store, 2)
    with bench.open() as db:
        rows = [row[0] for row in db.execute("SELECT row FROM knowledge_chunk ORDER BY row")]
        runs = db.execute("SELECT first, last, version_id FROM run ORDER BY first").fetchall()
        owners = dict(db.execute("SELECT row, version_id FROM knowledge_chunk"))
    assert [row for first, last, _ in runs for row in range(first, last + 1)] == rows
    assert all(owners[row] == version for first, last, version in runs for row in range(first, last + 1))


def test_row_numbers_are_never_used_twice_within_one_build(bench: Bench) -> None:
    build(bench.parts, bench.cut(lore("mill"), lore("weir")), bench.store, 1)
    highest = rows_of(bench)[-1]
    change((), (), ["s1@1"], bench.store, 2)
    change(bench.parts, bench.cut(lore("tide"), first=3), (), bench.store, 3)
    assert [row for row in rows_of(bench) if row > highest] == list(range(highest + 1, highest + 5))


def rows_of(bench: Bench) -> list[int]:
    with bench.open() as db:
        return [row[0] for row in db.execute("SELECT row FROM knowledge_chunk ORDER BY row")]


def test_a_build_has_a_name_of_its_own_and_a_change_keeps_it(bench: Bench) -> None:
    documents = bench.cut(lore("mill"))
    names = []
    for act in (
        lambda: build(bench.parts, documents, bench.store, 1),
        lambda: change((), (), (), bench.store, 2),
        lambda: build(bench.parts, documents, bench.store, 3),
    ):
        act()
        with bench.open() as db:
            names.append(lexical.meta(db, "build"))
    assert names[0] == names[1] != names[2]


def test_the_report_counts_rows(bench: Bench) -> None:
    documents = bench.cut(lore("mill", 3), lore("weir", 2))
    assert build(bench.parts, documents, bench.store, 1) == LexicalReport(5, 0, 5)
    assert build(bench.parts, documents, bench.store, 2) == LexicalReport(5, 5, 5)
    assert change(bench.parts, documents[:1], (), bench.store, 3) == LexicalReport(3, 3, 5)
    assert change((), (), ["s1@1"], bench.store, 4) == LexicalReport(0, 2, 3)


def test_the_store_knows_up_to_which_catalog_it_is(bench: Bench) -> None:
    build(bench.parts, bench.cut(lore("mill")), bench.store, 7)
    change((), (), (), bench.store, None)
    with bench.open() as db:
        assert lexical.meta(db, "catalog_sequence") == "7"


def test_two_sources_of_one_content_have_rows_of_their_own(bench: Bench) -> None:
    documents = bench.cut(lore("mill")) + bench.cut(lore("mill"), first=1)
    build(bench.parts, documents, bench.store, 1)
    assert {row[0] for row in bench.content()} == {"s0@1", "s1@1"}
    assert len(bench.content()) == 8
    change((), (), ["s0@1"], bench.store, 2)
    assert {row[0] for row in bench.content()} == {"s1@1"}


def test_a_document_that_two_parts_hold_is_indexed_once(bench: Bench) -> None:
    both = bench.cut(lore("mill"), lore("weir"))
    bench.cut(lore("mill"))
    assert len(bench.parts) == 2
    build(bench.parts, both, bench.store, 1)
    assert len(bench.content()) == 8


def test_an_error_leaves_the_store_as_it_was(bench: Bench) -> None:
    documents = bench.cut(lore("mill"))
    build(bench.parts, documents, bench.store, 1)
    before = bench.content()
    more = bench.cut(lore("weir"), first=1)
    for act in (
        lambda: build([*bench.parts, Path("gone.parquet")], documents, bench.store, 2),
        lambda: change([Path("gone.parquet")], more, ["s0@1"], bench.store, 2),
    ):
        with pytest.raises(Exception, match=r"gone\.parquet"):
            act()
        assert bench.content() == before


@pytest.mark.slow
def test_a_reader_sees_the_store_before_or_after_and_does_not_hold_up_the_writer(bench: Bench) -> None:
    documents = bench.cut(lore("mill"))
    build(bench.parts, documents, bench.store, 1)
    reader = bench.open()
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM knowledge_chunk").fetchone()[0] == 4
    started = time.monotonic()
    change(bench.parts, bench.cut(lore("weir"), first=1), ["s0@1"], bench.store, 2)
    assert time.monotonic() - started < 5
    assert reader.execute("SELECT count(*) FROM knowledge_chunk WHERE version_id = 's0@1'").fetchone()[0] == 4
    reader.rollback()
    assert reader.execute("SELECT count(*) FROM knowledge_chunk WHERE version_id = 's0@1'").fetchone()[0] == 0


SPOIL: dict[str, Callable[[Path], object]] = {
    "missing": lambda store: store.unlink(),
    "empty": lambda store: store.write_bytes(b""),
    "no database": lambda store: store.write_bytes(b"x" * 5_000),
    "cut short": lambda store: store.write_bytes(store.read_bytes()[:5_000]),
    "foreign": lambda store: sqlite3.connect(store, isolation_level=None).execute("PRAGMA application_id = 1"),
    "another contract": lambda store: sqlite3.connect(store, isolation_level=None).execute(
        "UPDATE meta SET value = 'x' WHERE key = 'contract'"
    ),
    "an older tokenizer": lambda store: sqlite3.connect(store, isolation_level=None).execute(
        "UPDATE meta SET value = '0.0' WHERE key = 'version'"
    ),
}


@pytest.mark.parametrize("spoil", SPOIL.values(), ids=SPOIL)
def test_a_store_of_another_kind_is_recognised_and_replaced(bench: Bench, spoil: Callable[[Path], object]) -> None:
    documents = bench.cut(lore("mill"))
    build(bench.parts, documents, bench.store, 1)
    before = bench.content()
    assert is_current(bench.store)
    for suffix in ("-wal", "-shm"):
        bench.store.with_name(bench.store.name + suffix).unlink(missing_ok=True)
    spoil(bench.store)
    assert not is_current(bench.store)
    build(bench.parts, documents, bench.store, 2)
    assert is_current(bench.store)
    assert bench.content() == before


def test_a_discarded_store_leaves_no_log(bench: Bench) -> None:
    build(bench.parts, bench.cut(lore("mill")), bench.store, 1)
    discard(bench.store)
    assert list(bench.store.parent.iterdir()) == []


def test_terms_of_many_rows_are_noted_with_their_number(bench: Bench) -> None:
    build(bench.parts, bench.cut(lore("mill", 60), lore("weir", 40)), bench.store, 1)
    with bench.open() as db:
        noted = dict(db.execute("SELECT term, rows FROM common_term"))
    assert noted["barley"] == 100
    assert (noted["mill"], noted["weir"]) == (60, 40)
    assert "59" not in noted
