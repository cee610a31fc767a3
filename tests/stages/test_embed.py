from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from canonry import schemas
from canonry.errors import EmbedderError, TextTooLong
from stages.embed import (
    MOST_PARTS,
    TOO_LONG,
    UNREADABLE,
    Text,
    check_part,
    embed_texts,
    known_hashes,
    merge_parts,
    read_embeddings,
    split_known,
    without_vector,
)
from tests.fakes import WordBag


def texts(*bodies: str, prefix: str = "Mill") -> list[Text]:
    return [Text(f"hash of {body[:20]}", prefix, body) for body in bodies]


def test_a_part_holds_one_vector_a_window_and_says_whose_they_are(tmp_path: Path) -> None:
    bag = WordBag()
    long = " ".join(f"word{n}" for n in range(100))
    path = embed_texts(texts("barley at dusk", long), tmp_path, bag)
    rows = schemas.read(path, schemas.EMBEDDING_CONTRACT).to_pylist()
    assert [(row["text_hash"], row["window"]) for row in rows] == [
        ("hash of barley at dusk", 0),
        *((f"hash of {long[:20]}", n) for n in range(3)),
    ]
    assert schemas.made_from(path, schemas.EMBEDDING_CONTRACT)["embedder"] == bag.fingerprint
    for row, window in zip(rows, [*bag.windows("barley at dusk", "Mill"), *bag.windows(long, "Mill")], strict=True):
        assert row["vector"] == pytest.approx(bag.embed_query(window).tolist())


def test_vectors_are_of_a_fixed_length_in_float32(tmp_path: Path) -> None:
    schema = pq.read_schema(embed_texts(texts("barley"), tmp_path, WordBag()))
    assert str(schema.field("vector").type) == "fixed_size_list<element: float>[64]"


def test_what_was_embedded_is_known_to_its_own_embedder_alone(tmp_path: Path) -> None:
    embed_texts(texts("barley", "salt"), tmp_path, WordBag())
    embed_texts(texts("rope"), tmp_path, WordBag("other"))
    assert known_hashes(tmp_path, "wordbag-64") == {"hash of barley", "hash of salt"}
    assert known_hashes(tmp_path, "other-64") == {"hash of rope"}
    assert known_hashes(tmp_path / "nowhere", "wordbag-64") == set()


def test_embeddings_are_read_back_from_all_parts(tmp_path: Path) -> None:
    bag = WordBag()
    for body in ("barley", "salt", "rope"):
        embed_texts(texts(body), tmp_path, bag)
    held = read_embeddings(tmp_path, bag.fingerprint, bag.dimensions)
    assert sorted(held.hashes) == ["hash of barley", "hash of rope", "hash of salt"]
    for text_hash, vector in zip(held.hashes, held.vectors, strict=True):
        assert np.allclose(vector, bag.embed_query(f"Mill {text_hash.removeprefix('hash of ')}"))


def test_without_a_part_there_are_no_embeddings(tmp_path: Path) -> None:
    held = read_embeddings(tmp_path, "wordbag-64", 64)
    assert held.vectors.shape == (0, 64)
    assert held.hashes == []


class Careless(WordBag):
    """Answers with what is no vector of each text."""

    def __init__(self, answer: np.ndarray) -> None:
        super().__init__()
        self.answer = answer

    def embed_documents(self, texts: object) -> np.ndarray:  # type: ignore[override]
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [
        np.ones((1, 64), np.float32),
        np.ones((3, 64), np.float32),
        np.ones((2, 63), np.float32),
        np.full((2, 64), np.nan, np.float32),
        np.full((2, 64), np.inf, np.float32),
    ],
    ids=["one missing", "one too many", "another dimension", "not a number", "infinite"],
)
def test_an_answer_that_cannot_be_used_is_refused_whole(tmp_path: Path, answer: np.ndarray) -> None:
    with pytest.raises(EmbedderError, match="nothing was stored"):
        embed_texts(texts("barley", "salt"), tmp_path, Careless(answer))
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError):
        embed_texts(texts("barley"), tmp_path, WordBag(failures=1))
    assert list(tmp_path.iterdir()) == []


def test_a_text_without_a_word_is_remembered_and_has_no_vector(tmp_path: Path) -> None:
    bag = WordBag()
    embed_texts([Text("wordless", "", ""), *texts("barley")], tmp_path, bag)
    held = read_embeddings(tmp_path, bag.fingerprint, 64)
    assert (held.hashes, set(held.without)) == (["hash of barley"], {"wordless"})
    assert "wordless" in known_hashes(tmp_path, bag.fingerprint)


def test_a_part_that_cannot_be_read_is_removed_and_made_again(tmp_path: Path) -> None:
    bag = WordBag()
    path = embed_texts(texts("barley"), tmp_path, bag)
    path.write_bytes(b"no parquet")
    assert known_hashes(tmp_path, bag.fingerprint) == set()
    assert not path.exists()


def test_many_small_parts_become_one_that_holds_the_same(tmp_path: Path) -> None:
    bag = WordBag()
    for number in range(MOST_PARTS + 1):
        embed_texts(texts(f"barley {number}"), tmp_path, bag)
    embed_texts([Text("wordless", "", "")], tmp_path, bag)
    before = read_embeddings(tmp_path, bag.fingerprint, 64)
    merge_parts(tmp_path, bag)
    after = read_embeddings(tmp_path, bag.fingerprint, 64)
    assert len(list(tmp_path.glob("*.parquet"))) == 1
    assert sorted(after.hashes) == sorted(before.hashes)
    assert set(after.without) == {"wordless"}
    vectors = dict(zip(before.hashes, before.vectors, strict=True))
    assert all(
        np.array_equal(vectors[text_hash], vector)
        for text_hash, vector in zip(after.hashes, after.vectors, strict=True)
    )


def test_few_parts_stay_as_they_are(tmp_path: Path) -> None:
    bag = WordBag()
    path = embed_texts(texts("barley"), tmp_path, bag)
    merge_parts(tmp_path, bag)
    assert list(tmp_path.iterdir()) == [path]


def test_texts_in_a_script_that_the_model_does_not_know_are_left_to_words() -> None:
    latin, chinese, mixed = (
        Text("latin", "", "The mill"),
        Text("chinese", "", "守将每夜关闭城门"),
        Text("digits", "", "3.5"),
    )
    assert split_known([latin, chinese, mixed], frozenset({"Latin"})) == ([latin, mixed], ["chinese"])


class Strict(WordBag):
    """Refuses texts of more than six words, of which it cuts none below three."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        places = [at for at, text in enumerate(texts) if len(text.split()) > 6 or "never" in text]
        if places:
            raise TextTooLong("too long", places, self.smaller)
        return super().embed_documents(texts)

    def smaller(self, body: str, prefix: str, times: int) -> list[str]:
        words, step = body.split(), 16 >> times
        return [" ".join(words[at : at + step]) for at in range(0, len(words), step)] if step >= 3 else []


def test_what_is_too_long_is_cut_smaller_until_it_fits(tmp_path: Path) -> None:
    bag = Strict()
    embed_texts(texts("barley at dusk", " ".join(f"w{n}" for n in range(16)), prefix=""), tmp_path, bag)
    assert [len(text.split()) for text in bag.embedded] == [3, 4, 4, 4, 4]
    assert read_embeddings(tmp_path, bag.fingerprint, 64).without == {}


def test_what_never_fits_is_named_with_the_reason_and_not_asked_for_again(tmp_path: Path) -> None:
    bag = Strict()
    embed_texts(texts("never " * 9, "barley", prefix=""), tmp_path, bag)
    (refused,) = (text.text_hash for text in texts("never " * 9))
    assert read_embeddings(tmp_path, bag.fingerprint, 64).without == {refused: TOO_LONG}
    assert refused in known_hashes(tmp_path, bag.fingerprint)


def test_a_footer_as_they_once_were_is_still_read() -> None:
    assert without_vector({"wordless": ["a"]}) == {"a": UNREADABLE}
    assert without_vector({"without": {"b": TOO_LONG}, "wordless": []}) == {"b": TOO_LONG}


def part_of(
    tmp_path: Path, vectors: np.ndarray, fingerprint: str = "wordbag-4", contract: str = schemas.EMBEDDING_CONTRACT
) -> Path:
    """A part as an embedder of four dimensions could have written it."""
    flat = pa.array(vectors.astype(np.float32).ravel())
    columns = [
        pa.array(["a"] * len(vectors)),
        pa.array(range(len(vectors)), pa.int32()),
        pa.FixedSizeListArray.from_arrays(flat, 4),
    ]
    table = pa.Table.from_arrays(columns, schema=schemas.embedding_schema(4))
    schemas.write(
        table, tmp_path / "part.parquet", contract, {"embedder": fingerprint, "spec": "wordbag", "wordless": []}
    )
    return tmp_path / "part.parquet"


UNIT = np.eye(4)


@pytest.mark.parametrize(
    ("made", "dimensions", "wrong"),
    [
        ({"vectors": UNIT}, 4, None),
        ({"vectors": UNIT[:0]}, 4, None),
        ({"vectors": UNIT}, 5, "5 dimensions"),
        ({"vectors": UNIT * 2}, 4, "unit length"),
        ({"vectors": UNIT * np.nan}, 4, "unit length"),
        ({"vectors": UNIT, "fingerprint": "other"}, 4, "not made by wordbag-4"),
        ({"vectors": UNIT, "contract": "canonry/else/1"}, 4, "not of contract"),
    ],
)
def test_a_part_from_elsewhere_is_looked_through(
    tmp_path: Path, made: dict[str, Any], dimensions: int, wrong: str | None
) -> None:
    with part_of(tmp_path, **made).open("rb") as file:
        found = check_part(file, "wordbag-4", dimensions)
    assert (found is None) == (wrong is None)
    assert (wrong or "") in (found or "")


@pytest.mark.parametrize("size", [0, 10, 100, 300])
def test_a_part_from_elsewhere_that_is_cut_off_is_told(tmp_path: Path, size: int) -> None:
    path = part_of(tmp_path, UNIT)
    path.write_bytes(path.read_bytes()[:size])
    with path.open("rb") as file:
        assert "not a readable Parquet file" in str(check_part(file, "wordbag-4", 4))
