"""The estimate against real tokenizers: recorded counts, and Llama 2's tokenizer where wordllama is installed."""

from __future__ import annotations

import random
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.tokens import COUNTER, count_tokens

MODELS = ("o200k", "cl100k", "llama3", "qwen3", "gemma3", "deepseek", "claude2")
# Counted with each model's own tables on 2026-11-29; the texts are ours.
RECORDED = {
    "english": (
        "The lighthouse keeper counted the ships twice, as he did every evening"
        ", and wrote both numbers in the ledger. When they differed he lit the "
        "second lamp and waited for someone to come and ask him why.",
        (41, 42, 42, 42, 41, 41, 43),
    ),
    "dialogue": (
        "“You can't go down there,” said Marrow. “Why not?” “Because it's flood"
        "ed — and because I say so.” She shrugged, took the rope, and went.",
        (35, 37, 37, 37, 40, 38, 38),
    ),
    "names": (
        "Vexillar Quoth-Zhaan of Xir'jaqua swore by Kythrax, Jhuq and the nine Wyrzkin of Zhevok.",
        (35, 36, 36, 36, 35, 35, 37),
    ),
    "table": (
        "| Weapon | Cost | Damage |\n|---|---:|---|\n| Axe | 5 gp | 1d6 |\n| Longb"
        "ow | 50 gp | 1d8 |\n| Net | 1 gp | — |\n",
        (49, 49, 48, 50, 52, 46, 47),
    ),
    "python": (
        "def lit(lamps: list[Lamp], *, since: int = 0) -> Iterator[Lamp]:\n    f"
        "or lamp in lamps:\n        if lamp.lit_at is not None and lamp.lit_at >"
        "= since:\n            yield lamp\n",
        (49, 49, 49, 49, 54, 52, 53),
    ),
    "hex": (
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        (43, 43, 43, 59, 59, 43, 44),
    ),
    "base64": (
        "VGhlIGxpZ2h0aG91c2Uga2VlcGVyIGNvdW50ZWQgdGhlIHNoaXBzIHR3aWNlLiBRdXo4MzE3NjQ=",
        (52, 54, 54, 56, 53, 52, 51),
    ),
    "numbers": (
        "1 2 3 5 8 13 21 34 55 89 144; 3.14159, 2.71828, 1024 x 768",
        (40, 40, 40, 57, 57, 40, 25),
    ),
    "chinese": (
        "守塔人每天傍晚都要把船数上两遍，并把两个数字都写进账簿。如果数字不一样，他就点亮第二盏灯，等着有人来问他原因。",
        (46, 66, 47, 38, 42, 37, 60),
    ),
    "japanese": (
        "灯台守は毎晩、船を二度数えて両方の数を帳簿に書いた。数が合わないときは、二つ目のランプに火をともし、誰かが理由を尋ねに来るのを待った。",
        (63, 79, 60, 58, 49, 57, 79),
    ),
    "korean": (
        "등대지기는 매일 저녁 배를 두 번 세고 두 숫자를 모두 장부에 적었다. 숫자가 다르면 두 번째 등불을 켰다.",
        (37, 58, 39, 41, 36, 40, 64),
    ),
    "thai": (
        "คนเฝ้าประภาคารนับเรือสองครั้งทุกเย็น แล้วจดตัวเลขทั้งสองลงในสมุดบัญชี",
        (29, 68, 36, 42, 27, 31, 124),
    ),
    "russian": (
        "Смотритель маяка каждый вечер дважды пересчитывал корабли и записывал "
        "оба числа в книгу. Если они расходились, он зажигал вторую лампу.",
        (38, 59, 42, 46, 39, 44, 72),
    ),
    "polish": (
        "Latarnik co wieczór dwa razy liczył statki i zapisywał obie liczby w k"
        "siędze. Gdy się różniły, zapalał drugą lampę i czekał.",
        (45, 50, 50, 49, 42, 46, 59),
    ),
    "emoji": (
        "🐉🔥🏰 ⚔️🛡️ 🧙‍♂️ 👨‍👩‍👧 🇵🇱",
        (30, 43, 40, 28, 20, 31, 41),
    ),
}
LORE = "".join(text for text, _ in RECORDED.values())


@pytest.mark.parametrize("kind", RECORDED)
def test_the_estimate_is_never_a_third_below_a_recorded_count(kind: str) -> None:
    text, counts = RECORDED[kind]
    for model, count in zip(MODELS, counts, strict=True):
        assert count_tokens(text) >= count * 2 / 3, model


def test_english_prose_is_counted_within_a_quarter_of_modern_models() -> None:
    for kind in ("english", "dialogue"):
        text, counts = RECORDED[kind]
        for model, count in zip(MODELS, counts, strict=True):
            assert 0.9 <= count_tokens(text) / count <= 1.25, model


def test_the_estimate_is_never_a_third_below_llama_2() -> None:
    if find_spec("wordllama") is None:
        pytest.skip("wordllama (canonry[static]) is not installed")
    from canonry.embedders.static import Static

    tokenizer = Static()._tokenizer
    texts = [
        *_windows_of(Path(__file__).read_text(encoding="utf-8")),
        *_junk(),
        *(text for text, _ in RECORDED.values()),
    ]
    for text in texts:
        real = len(tokenizer.encode(text, add_special_tokens=False).ids)
        assert count_tokens(text) >= real * 2 / 3, text[:80]


def _windows_of(text: str) -> list[str]:
    return [text[at : at + 400] for at in range(0, len(text), 400)]


def _junk() -> list[str]:
    chance = random.Random(7)
    alphabets = (
        "0123456789abcdef",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        "abcdefghijklmnopqrstuvwxyz",
        "ACGT",
        "01",
        "#/\\=+",
    )
    return ["".join(chance.choices(alphabet, k=600)) for alphabet in alphabets]


def test_nothing_counts_nothing_and_anything_counts_at_least_one() -> None:
    assert count_tokens("") == 0
    assert [count_tokens(text) for text in ("a", "?", " ", "I", "7", "龍")] == [1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    "text", ["\ud800", "\x00", "<|endoftext|>", "[CLS]", "</s>" * 100, "\u200b", "\ufffe", "\U0010ffff"]
)
def test_odd_characters_and_special_strings_are_text(text: str) -> None:
    assert count_tokens(text) >= 1


@given(st.text(), st.text())
def test_pieces_may_be_counted_apart(before: str, after: str) -> None:
    apart = count_tokens(before) + count_tokens(after)
    assert apart - 2 <= count_tokens(before + after) <= apart + 1


@given(st.text(alphabet="ab 0Z.\n\u00e9\u4e00"), st.text(alphabet="ab 0Z.\n\u00e9\u4e00"))
def test_more_text_never_counts_less(before: str, after: str) -> None:
    assert count_tokens(before + after) >= max(count_tokens(before), count_tokens(after))


def test_counting_is_quick() -> None:
    text = (LORE * 3)[:3_000]
    count_tokens(text)
    best = min(_seconds(text) for _ in range(20))
    assert best < 0.001  # some 0.05 ms on a quiet machine


def _seconds(text: str) -> float:
    start = time.perf_counter()
    count_tokens(text)
    return time.perf_counter() - start


def test_the_counter_has_a_name_that_stored_counts_can_carry() -> None:
    assert COUNTER == "canonry-estimate-1"
