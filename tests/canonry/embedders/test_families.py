"""The table of model families."""

from __future__ import annotations

import pytest

from canonry.embedders.families import FAMILIES, family_of


@pytest.mark.parametrize(
    ("model", "family", "query", "document"),
    [
        ("nomic-embed-text", "nomic-embed-text", "search_query: ", "search_document: "),
        ("nomic-embed-text:v1.5", "nomic-embed-text", "search_query: ", "search_document: "),
        ("text-embedding-nomic-embed-text-v1.5@q8_0", "nomic-embed-text", "search_query: ", "search_document: "),
        ("nomic-embed-text-v2-moe", "nomic-embed-text-v2", "search_query: ", "search_document: "),
        ("mxbai-embed-large:latest", "mxbai-embed", "Represent this sentence for searching relevant passages: ", ""),
        ("bge-m3", "bge-m3", "", ""),
        ("BAAI/bge-base-en-v1.5", "bge-en", "Represent this sentence for searching relevant passages: ", ""),
        ("bge-large-zh-v1.5", "bge-zh", "为这个句子生成表示以用于检索相关文章：", ""),
        ("intfloat/multilingual-e5-small", "multilingual-e5", "query: ", "passage: "),
        ("multilingual-e5-large-instruct", "multilingual-e5-instruct", None, ""),
        ("intfloat/e5-large-v2", "e5", "query: ", "passage: "),
        ("embeddinggemma:300m", "embeddinggemma", "task: search result | query: ", "title: none | text: "),
        ("Qwen3-Embedding-0.6B-Q8_0.gguf", "qwen3-embedding", None, ""),
        ("all-minilm:l6-v2", "all-minilm", "", ""),
        ("sentence-transformers/all-MiniLM-L6-v2", "all-minilm", "", ""),
        ("paraphrase-multilingual", "paraphrase-multilingual", "", ""),
        ("thenlper/gte-large", "gte", "", ""),
        ("gte-multilingual-base", "gte-multilingual", "", ""),
        ("snowflake-arctic-embed2", "snowflake-arctic-embed-v2", "query: ", ""),
        ("snowflake-arctic-embed-l-v2.0", "snowflake-arctic-embed-v2", "query: ", ""),
        ("snowflake-arctic-embed:22m", "snowflake-arctic-embed", "Represent this sentence for searching relevant passages: ", ""),
        ("jina-embeddings-v2-base-en", "jina-embeddings-v2", "", ""),
        ("jinaai/jina-embeddings-v3", "jina-embeddings-v3", None, "Represent the document for retrieval: "),
        ("granite-embedding:30m", "granite-embedding", "", ""),
        ("granite-embedding:278m", "granite-embedding-multilingual", "", ""),
    ],
)  # fmt: skip
def test_a_model_is_known_by_its_name(model: str, family: str, query: str | None, document: str) -> None:
    found = family_of(model)
    assert found is not None
    assert found.name == family
    assert found.document_prefix == document
    assert query is None or found.query_prefix == query


@pytest.mark.parametrize("model", ["stub-embed", "lantern", "me5", "gpt-4", ""])
def test_other_models_are_of_no_family(model: str) -> None:
    assert family_of(model) is None


def test_every_family_names_its_source_and_possible_sizes() -> None:
    for family in FAMILIES:
        assert "http" in family.source
        assert list(family.dimensions) == sorted(family.dimensions, reverse=True)
        assert 64 <= family.max_tokens <= 32_768
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


def test_a_chinese_question_is_for_models_that_read_it() -> None:
    knowing = {family.name for family in FAMILIES if "Han" in family.scripts}
    assert {"bge-m3", "bge-zh", "multilingual-e5", "qwen3-embedding", "embeddinggemma"} <= knowing
    assert not {"all-minilm", "nomic-embed-text", "mxbai-embed", "bge-en"} & knowing
