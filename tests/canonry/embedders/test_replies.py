"""Vectors as servers send them: taken whole or refused whole."""

from __future__ import annotations

import base64
import struct

import numpy as np
import pytest

from canonry.embedders.replies import check_model, in_order, read_vectors
from canonry.errors import EmbedderError


def test_vectors_come_out_at_unit_length() -> None:
    vectors = read_vectors([[3, 4.0], [0.0, -2]], 2, 2, "ollama:m")
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, [[0.6, 0.8], [0, -1]])


def test_base64_holds_the_same_numbers() -> None:
    packed = base64.b64encode(struct.pack("<2f", 3.0, 4.0)).decode()
    assert np.allclose(read_vectors([packed], 1, None, "openai:m"), [[0.6, 0.8]])


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ([[1.0, 0.0]], "1 vectors for 2 texts"),
        ([[1.0, 0.0]] * 3, "3 vectors for 2 texts"),
        ([], "0 vectors for 2 texts"),
        (None, "no list of vectors"),
        ({"0": [1.0]}, "no list of vectors"),
        ([[1.0, 0.0], [1.0]], "1 to 2 dimensions in one reply"),
        ([[1.0], [1.0]], r"re-embedding needed \(2 -> 1\)"),
        ([[1.0, 0.0], [0.0, 0.0]], "vector of length 0.0 for text 1"),
        ([[1.0, 0.0], [float("nan"), 0.0]], "vector of length nan for text 1"),
        ([[1.0, 0.0], [1e999, 0.0]], "vector of length inf for text 1"),
        ([[1.0, 0.0], [1e300, 1e300]], "vector of length inf for text 1"),
        ([[1.0, 0.0], [10**400, 0]], "beyond all bounds"),
        ([[1.0, 0.0], ["1.0", 0.0]], "not a list of numbers"),
        ([[1.0, 0.0], [True, 0.0]], "not a list of numbers"),
        ([[1.0, 0.0], [None, 0.0]], "not a list of numbers"),
        ([[1.0, 0.0], [[1.0], 0.0]], "not a list of numbers"),
        ([[1.0, 0.0], None], "not a list of numbers"),
        ([[1.0, 0.0], "!!!!"], "not base64"),
        ([[1.0, 0.0], "AAAAAAA="], "5 bytes"),
    ],
)
def test_a_list_with_one_fault_is_refused_whole(sent: object, said: str) -> None:
    with pytest.raises(EmbedderError, match=said):
        read_vectors(sent, 2, 2, "ollama:m")


@pytest.mark.parametrize("row", [[], [1.0] * 20_000])
def test_a_vector_of_no_sensible_size_is_refused(row: list[float]) -> None:
    with pytest.raises(EmbedderError, match="dimensions"):
        read_vectors([row], 1, None, "ollama:m")


def test_items_are_put_where_their_index_says() -> None:
    data = [{"index": 2, "embedding": "c"}, {"index": 0, "embedding": "a"}, {"index": 1, "embedding": "b"}]
    assert in_order(data, 3, "openai:m") == ["a", "b", "c"]


@pytest.mark.parametrize(
    "indexes", [[0, 0], [0, None], [0, 2], [-1, 0], ["0", "1"], [False, True], [1.0, 0.0], [0], [0, 1, 2]]
)
def test_indexes_that_are_not_each_place_once_are_refused(indexes: list[object]) -> None:
    with pytest.raises(EmbedderError, match="for 2 texts"):
        in_order([{"index": index, "embedding": [1.0]} for index in indexes], 2, "openai:m")


@pytest.mark.parametrize("data", [None, {}, [[1.0], [2.0]], "data"])
def test_data_that_is_no_list_of_items_is_refused(data: object) -> None:
    with pytest.raises(EmbedderError, match="data"):
        in_order(data, 2, "openai:m")


@pytest.mark.parametrize(
    ("answered", "asked"),
    [
        ("nomic-embed-text", "nomic-embed-text:latest"),
        ("text-embedding-nomic-embed-text-v1.5@q8_0", "nomic-embed-text-v1.5"),
        ("/models/nomic-embed-text-v1.5.Q8_0.gguf", "nomic-embed-text-v1.5"),
        (r"C:\models\bge-m3.gguf", "BAAI/bge-m3"),
        (None, "m"),
        ("", "m"),
    ],
)
def test_one_model_has_several_names(answered: object, asked: str) -> None:
    check_model(answered, asked, "openai:m")


def test_another_model_is_refused_by_name() -> None:
    with pytest.raises(EmbedderError, match="another model, 'all-minilm'"):
        check_model("all-minilm", "nomic-embed-text", "ollama:nomic-embed-text")
