from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from canonry import schemas
from canonry.config import ChunkSettings
from canonry.records import Document, HeadingRule, Marks
from stages.chunk import chunk_documents, chunk_id, document_key, embedding_parts, part_key, searchable

SETTINGS = ChunkSettings(40, 5, 60, 0)


def document(
    files: Path, text: str, *, name: str = "mill", kind: str = "markdown", rules: tuple[HeadingRule, ...] = ()
) -> Document:
    """A stored file and what the stage is told of it."""
    content = hashlib.sha256(text.encode()).hexdigest()
    files.mkdir(exist_ok=True)
    (files / f"{content}.{'md' if kind == 'markdown' else 'txt'}").write_bytes(text.encode())
    return Document(
        document_key(content, kind, rules, SETTINGS), f"{name}@1", name, content, kind, rules, name, (0, name)
    )


def long_text(word: str) -> str:
    return "".join(
        f"# {word} {n}\n\nThe {word} keeper counts {n} sacks of barley, and writes it down at dusk.\n\n"
        for n in range(20)
    )


def test_a_row_holds_the_slice_and_where_it_stands(tmp_path: Path) -> None:
    text = "---\ntitle: Mill\n---\n# The mill {spoiler=2 tags=b,a visibility=hidden}\n\nBarley at dusk.\n"
    told = document(tmp_path / "files", text)
    report = chunk_documents([told], tmp_path / "files", tmp_path, SETTINGS)
    assert report.part is not None
    (row,) = schemas.read(report.part, schemas.CHUNK_CONTRACT).to_pylist()
    assert text.encode()[row["start_byte"] : row["end_byte"]].decode() == row["text"]
    assert row["text"].strip() == "Barley at dusk."
    assert row["heading_path"] == ["The mill"]
    assert (row["spoiler_level"], row["spoiler_tags"], row["hidden"]) == (2, ["a", "b"], True)
    assert (row["start_line"], row["end_line"], row["chunk_index"], row["page"], row["lead"]) == (6, 6, 0, None, "")
    assert (row["document_key"], row["content_hash"]) == (told.key, told.content_hash)
    assert row["chunk_id"] == chunk_id(told.content_hash, row["start_byte"], row["end_byte"])


def test_the_part_is_named_by_its_documents_and_says_so(tmp_path: Path) -> None:
    documents = [document(tmp_path / "files", long_text(word), name=word) for word in ("mill", "weir")]
    report = chunk_documents(documents, tmp_path / "files", tmp_path, SETTINGS)
    assert report.part == tmp_path / f"chunks-{part_key([d.key for d in documents])}.parquet"
    assert (
        schemas.made_from(report.part, schemas.CHUNK_CONTRACT)["documents"]
        == report.chunks
        == {d.key: 20 for d in documents}
    )


def test_the_same_documents_make_the_same_bytes(tmp_path: Path) -> None:
    documents = [document(tmp_path / "files", long_text(word), name=word) for word in ("mill", "weir")]
    (tmp_path / "again").mkdir()
    first, second = (
        chunk_documents(documents, tmp_path / "files", out, SETTINGS).part for out in (tmp_path, tmp_path / "again")
    )
    assert first is not None and second is not None
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


def test_the_key_of_a_part_does_not_depend_on_the_order_of_its_documents() -> None:
    assert part_key(["b", "a"]) == part_key(["a", "b"]) != part_key(["a"])


def test_documents_of_equal_key_are_cut_once(tmp_path: Path) -> None:
    twins = [document(tmp_path / "files", long_text("mill"), name=name) for name in ("one", "two")]
    report = chunk_documents(twins, tmp_path / "files", tmp_path, SETTINGS)
    assert report.part is not None
    assert pq.read_metadata(report.part).num_rows == 20


@pytest.mark.parametrize("mark", ["{spoiler=high}", "{spoiler=-1}", "{visibility=secret}", "{tags=}", "{spoiler=1"])
def test_a_document_with_a_mark_that_cannot_be_read_is_refused_and_the_others_are_cut(
    tmp_path: Path, mark: str
) -> None:
    good, bad = (
        document(tmp_path / "files", "# Mill\n\nBarley.\n"),
        document(tmp_path / "files", f"# Mill {mark}\n\nSecret.\n", name="bad"),
    )
    report = chunk_documents([bad, good], tmp_path / "files", tmp_path, SETTINGS)
    ((key, reason),) = report.rejected
    assert key == bad.key
    assert reason.startswith("line 1:")
    assert report.part is not None
    assert {row["document_key"] for row in schemas.read(report.part, schemas.CHUNK_CONTRACT).to_pylist()} == {good.key}


def test_where_every_document_is_refused_no_part_is_written(tmp_path: Path) -> None:
    report = chunk_documents(
        [document(tmp_path / "files", "# Mill {spoiler=x}\n")], tmp_path / "files", tmp_path, SETTINGS
    )
    assert (report.part, report.chunks) == (None, {})
    assert list(tmp_path.glob("*.parquet")) == []


def test_a_document_without_text_has_no_chunk_and_is_in_the_part_all_the_same(tmp_path: Path) -> None:
    report = chunk_documents(
        [document(tmp_path / "files", "---\ntitle: Nothing\n---\n")], tmp_path / "files", tmp_path, SETTINGS
    )
    assert list(report.chunks.values()) == [0]
    assert report.part is not None
    assert schemas.read(report.part, schemas.CHUNK_CONTRACT).num_rows == 0


def test_everything_that_decides_the_chunks_is_in_the_key() -> None:
    content = "a" * 64
    rule = HeadingRule("Act*", Marks(1))
    keys = [
        document_key(content, "markdown", (), SETTINGS),
        document_key("b" * 64, "markdown", (), SETTINGS),
        document_key(content, "text", (), SETTINGS),
        document_key(content, "markdown", (rule,), SETTINGS),
        document_key(content, "markdown", (HeadingRule("Act*", Marks(2)),), SETTINGS),
        document_key(content, "markdown", (), ChunkSettings(41, 5, 60, 0)),
    ]
    assert len(set(keys)) == len(keys)
    assert document_key(content, "markdown", (rule,), SETTINGS) == keys[3]


def test_a_chunk_id_comes_from_content_and_span_and_is_one_word() -> None:
    one = chunk_id("a" * 64, 0, 10)
    assert one == chunk_id("a" * 64, 0, 10) == "c" + hashlib.sha256(f"{'a' * 64}:0:10".encode()).hexdigest()[:20]
    assert re.fullmatch(r"\w+", one)
    assert len({one, chunk_id("a" * 64, 0, 11), chunk_id("a" * 64, 1, 10), chunk_id("b" * 64, 0, 10)}) == 4


@pytest.mark.parametrize(
    ("passage", "indexed"),
    [
        ("a\n  b\t c", "a b c"),
        ("<!-- canonry: spoiler=3 -->\nThe mill", "The mill"),
        ("one <!-- page: 4 --> two", "one two"),
        ("<!-- a reader's note -->", "<!-- a reader's note -->"),
    ],
    ids=["white space", "a mark", "a page", "another comment"],
)
def test_what_is_indexed_holds_no_comments_of_ours(passage: str, indexed: str) -> None:
    assert searchable("", passage).split() == indexed.split()


def test_an_embedder_is_given_the_headings_before_and_a_split_table_s_header_with_the_text() -> None:
    assert embedding_parts(["Mill", "Stores"], "| what | how many |", "| barley | 3 |") == (
        "Mill > Stores",
        "| what | how many | | barley | 3 |",
    )


def test_equal_bodies_under_other_headings_are_embedded_apart_and_count_as_copies(tmp_path: Path) -> None:
    text = "# Mill\n\nBarley at dusk.\n\n# Weir\n\nBARLEY  at\ndusk.\n"
    report = chunk_documents(
        [document(tmp_path / "files", text)], tmp_path / "files", tmp_path, ChunkSettings(5, 1, 60, 0)
    )
    assert report.part is not None
    one, other = schemas.read(report.part, schemas.CHUNK_CONTRACT).to_pylist()
    assert one["body_hash"] == other["body_hash"]
    assert one["text_hash"] != other["text_hash"]
