"""What is known of the models that people run behind an address: prefixes, windows, scripts, each with its source.

A family is found by the model's name as servers spell it ("nomic-embed-text:v1.5", "text-embedding-nomic-embed-text-v1.5@q8_0",
"Qwen3-Embedding-0.6B-Q8_0.gguf"). Everything here can be set otherwise in the campaign (`embed.query_prefix`, …).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from canonry.embedders.scripts import EVERY_SCRIPT

LATIN = frozenset({"Latin"})
CHINESE = frozenset({"Latin", "Han"})
_SENTENCE = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True)
class Family:
    """Models that are asked alike. `pattern` is searched in the name in lower case; the first family that fits counts.

    `dimensions` are the sizes that its members give or can be cut to, largest first; `max_tokens` is what they were
    made for, which a server may take less of. `minimum_cosine` is 0 where nobody measured it.
    """

    name: str
    pattern: str
    max_tokens: int
    dimensions: tuple[int, ...]
    source: str
    query_prefix: str = ""
    document_prefix: str = ""
    scripts: frozenset[str] = EVERY_SCRIPT
    minimum_cosine: float = 0.0


FAMILIES = (
    Family(
        "nomic-embed-text-v2",
        r"nomic-embed-text[-_:]?v2",
        512,
        (768, 512, 256),
        "https://ollama.com/library/nomic-embed-text-v2-moe (best practices); https://huggingface.co/nomic-ai/nomic-embed-text-v2-moe",
        "search_query: ",
        "search_document: ",
    ),
    Family(
        "nomic-embed-text",  # v1 and v1.5; 8192 with rotary scaling, 2048 as served
        r"nomic-embed",
        2048,
        (768, 512, 256, 128, 64),
        "https://huggingface.co/nomic-ai/nomic-embed-text-v1.5 (task instruction prefixes, sizes)",
        "search_query: ",
        "search_document: ",
        LATIN,
    ),
    Family(
        "mxbai-embed",
        r"mxbai-embed",
        512,
        (1024, 512, 256),
        "https://huggingface.co/mixedbread-ai/mxbai-embed-large-v1; prompt in embeddings-benchmark/mteb mxbai_models.py",
        _SENTENCE,
        scripts=LATIN,
    ),
    Family(
        "bge-m3",
        r"bge-m3",
        8192,
        (1024,),
        "https://huggingface.co/BAAI/bge-m3 (no instruction needed)",
    ),
    Family(
        "bge-zh",
        r"bge-(small|base|large)-zh",
        512,
        (1024, 768, 512),
        "https://huggingface.co/BAAI/bge-large-zh-v1.5 (query instruction)",
        "为这个句子生成表示以用于检索相关文章：",
        scripts=CHINESE,
    ),
    Family(
        "bge-en",
        r"bge-(small|base|large)",
        512,
        (1024, 768, 384),
        "https://huggingface.co/BAAI/bge-base-en-v1.5 (query instruction); sizes: qdrant.github.io/fastembed Supported_Models",
        _SENTENCE,
        scripts=LATIN,
    ),
    Family(
        "multilingual-e5-instruct",
        r"multilingual-e5.*instruct",
        512,
        (1024,),
        "https://huggingface.co/intfloat/multilingual-e5-large-instruct (instruction before queries alone)",
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ",
    ),
    Family(
        "multilingual-e5",
        r"multilingual-e5",
        512,
        (1024, 768, 384),
        "https://huggingface.co/intfloat/multilingual-e5-small (query and passage prefixes)",
        "query: ",
        "passage: ",
    ),
    Family(
        "e5",
        r"(^|[-_/:])e5-(small|base|large)",
        512,
        (1024, 768, 384),
        "https://huggingface.co/intfloat/e5-base-v2 (query and passage prefixes)",
        "query: ",
        "passage: ",
        LATIN,
    ),
    Family(
        "embeddinggemma",
        r"embedding-?gemma",
        2048,
        (768, 512, 256, 128),
        "https://ai.google.dev/gemma/docs/embeddinggemma/model_card (prompt instructions)",
        "task: search result | query: ",
        "title: none | text: ",
    ),
    Family(
        "qwen3-embedding",
        r"qwen-?3-?embed",
        32_768,
        (4096, 2560, 1024, 512, 256),
        "https://huggingface.co/Qwen/Qwen3-Embedding-0.6B (config_sentence_transformers.json: the prompt ends at the colon)",
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
    ),
    Family(
        "all-minilm",
        r"all-?minilm",
        256,
        (384,),
        "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2 (cut at 256 word pieces); floor as measured for minilm",
        scripts=LATIN,
        minimum_cosine=0.25,
    ),
    Family(
        "paraphrase-multilingual",
        r"paraphrase-multilingual",
        128,
        (768, 384),
        "https://huggingface.co/sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2 (max_seq_length 128)",
    ),
    Family(
        "gte-multilingual",
        r"gte-multilingual",
        8192,
        (768,),
        "https://huggingface.co/Alibaba-NLP/gte-multilingual-base (dimension 768, 8192 tokens, no prefix)",
    ),
    Family(
        "gte-en-v1.5",
        r"gte-(base|large)-en-v1\.5",
        8192,
        (1024, 768),
        "https://huggingface.co/Alibaba-NLP/gte-large-en-v1.5 (8192 tokens, no prefix)",
        scripts=LATIN,
    ),
    Family(
        "gte",
        r"(^|[-_/:])gte-(small|base|large)",
        512,
        (1024, 768, 384),
        "https://huggingface.co/thenlper/gte-large; https://inference.readthedocs.io (gte-large: 1024, 512 tokens)",
        scripts=LATIN,
    ),
    Family(
        "snowflake-arctic-embed-v2",
        r"arctic-embed(2|.*v2)",
        8192,
        (1024, 768, 256),
        "https://huggingface.co/Snowflake/snowflake-arctic-embed-l-v2.0 (prompt query, documents bare)",
        "query: ",
    ),
    Family(
        "snowflake-arctic-embed",
        r"arctic-embed",
        512,
        (1024, 768, 384, 256),
        "https://huggingface.co/Snowflake/snowflake-arctic-embed-m (query prefix; m-long takes 2048)",
        _SENTENCE,
        scripts=LATIN,
    ),
    Family(
        "jina-embeddings-v3",
        r"jina-embeddings-v3",
        8192,
        (1024, 768, 512, 256, 128, 64, 32),
        "https://huggingface.co/jinaai/jina-embeddings-v3 (config_sentence_transformers.json); prompts in mteb jina_models.py",
        "Represent the query for retrieving evidence documents: ",
        "Represent the document for retrieval: ",
    ),
    Family(
        "jina-embeddings-v2-zh",
        r"jina-embeddings-v2-base-zh",
        8192,
        (768,),
        "https://huggingface.co/jinaai/jina-embeddings-v2-base-zh (no prefix)",
        scripts=CHINESE,
    ),
    Family(
        "jina-embeddings-v2",
        r"jina-embeddings-v2",
        8192,
        (768, 512),
        "https://huggingface.co/jinaai/jina-embeddings-v2-base-en (no prefix); sizes: fastembed Supported_Models",
        scripts=LATIN,
    ),
    Family(
        "granite-embedding-multilingual",
        r"granite-embedding.*(107m|278m|multilingual)",
        512,
        (768, 384),
        "https://ollama.com/library/granite-embedding (278m: twelve languages; bert.context_length 512)",
    ),
    Family(
        "granite-embedding",
        r"granite-embedding",
        512,
        (768, 384),
        "https://ollama.com/library/granite-embedding (30m: English); https://huggingface.co/ibm-granite/granite-embedding-30m-english",
        scripts=LATIN,
    ),
)


def family_of(model: str) -> Family | None:
    """The family of a model by its name, or None for a model that the table does not know."""
    name = model.lower()
    return next((family for family in FAMILIES if re.search(family.pattern, name)), None)
