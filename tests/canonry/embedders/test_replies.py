"""Vectors as servers send them: taken whole or refused whole."""

from __future__ import annotations

import base64
import struct
import time
from contextlib import nullcontext, suppress

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


NAMES = [
    # what is asked for, what the server calls it, whether that is one model
    ("m", None, True),
    ("m", "", True),
    ("m", 7, True),
    ("nomic-embed-text:latest", "nomic-embed-text", True),
    ("nomic-embed-text", "nomic-embed-text:latest", True),
    ("nomic-embed-text", "nomic-embed-text:v1.5", True),
    ("nomic-embed-text:v1.5", "nomic-embed-text", True),
    ("nomic-embed-text:v1.5", "nomic-embed-text-v1.5.Q8_0.gguf", True),
    ("nomic-embed-text-v1.5", "nomic-ai/nomic-embed-text-v1.5", True),
    ("nomic-embed-text-v1.5", "nomic-ai/nomic-embed-text-v1.5-GGUF", True),
    ("nomic-embed-text-v1.5", "nomic-ai/nomic-embed-text-v1.5-GGUF:Q8_0", True),
    ("nomic-embed-text-v1.5", "text-embedding-nomic-embed-text-v1.5", True),
    ("nomic-embed-text-v1.5", "text-embedding-nomic-embed-text-v1.5@q8_0", True),
    ("nomic-embed-text-v1.5", "text-embedding-nomic-embed-text-v1.5:2", True),  # LM Studio's second copy
    ("text-embedding-nomic-embed-text-v1.5", "nomic-embed-text-v1.5", True),
    ("nomic-embed-text-v1.5", "/models/nomic-embed-text-v1.5.Q8_0.gguf", True),
    ("nomic-embed-text-v1.5", "/models/nomic-embed-text-v1.5-Q4_K_M.gguf", True),
    ("nomic-embed-text-v1.5", "nomic-embed-text-v1.5.f16.gguf", True),
    ("nomic-embed-text-v1.5", "nomic-ai_nomic-embed-text-v1.5-GGUF_nomic-embed-text-v1.5.Q8_0.gguf", True),
    ("nomic-embed-text-v1.5", "Nomic Embed Text v1.5", True),
    ("BAAI/bge-m3", r"C:\models\bge-m3.gguf", True),
    ("bge-m3", "/models/BAAI/bge-m3/", True),
    ("bge-m3", "/root/.cache/hub/models--BAAI--bge-m3/snapshots/5617a9f6/", True),
    ("all-minilm-l6-v2", "all-MiniLM-L6-v2", True),
    ("hf.co/CompendiumLabs/bge-m3-gguf:Q4_K_M", "hf.co/CompendiumLabs/bge-m3-gguf:Q4_K_M", True),
    ("qwen3-embedding:0.6b", "qwen3-embedding:0.6b-fp16", True),
    ("qwen3-embedding:0.6b", "Qwen/Qwen3-Embedding-0.6B", True),
    ("qwen3-embedding:0.6b", "Qwen3-Embedding-0.6B-Q8_0.gguf", True),
    ("text-embedding-3-small", "text-embedding-3-small", True),
    ("nomic-embed-text", "nomic-embed-text-v2-moe", False),
    ("nomic-embed-text-v2-moe", "nomic-embed-text", False),
    ("nomic-embed-text:v1.5", "nomic-embed-text-v2-moe", False),
    ("qwen3-embedding:0.6b", "qwen3-embedding:8b", False),
    ("qwen3-embedding:0.6b", "Qwen3-Embedding-8B-Q8_0.gguf", False),
    ("qwen3-embedding:0.6b-q8_0", "qwen3-embedding:0.6b-fp16", False),
    ("bge-m3@q8_0", "bge-m3@q4_k_m", False),
    ("e5", "multilingual-e5-large", False),
    ("multilingual-e5-small", "multilingual-e5-large", False),
    ("bge-small-en", "bge-small-en-v1.5", False),
    ("text-embedding-3-small", "text-embedding-3-large", False),
    ("nomic-embed-text", "all-minilm", False),
]


@pytest.mark.parametrize(("asked", "answered", "same"), NAMES)
def test_one_model_has_several_names_and_another_is_refused(asked: str, answered: object, same: bool) -> None:
    with nullcontext() if same else pytest.raises(EmbedderError, match="another model, ") as refused:
        check_model(answered, asked, f"openai:{asked}")
    if refused:
        assert repr(answered) in str(refused.value)


@pytest.mark.parametrize("piece", ["/", "models--", "-_", "q8_0_"])
def test_a_name_of_a_million_characters_is_judged_at_once(piece: str) -> None:
    started = time.monotonic()
    with suppress(EmbedderError):
        check_model(piece * 1_000_000, "m", "openai:m")
    assert time.monotonic() - started < 1
