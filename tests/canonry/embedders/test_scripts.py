"""Which scripts a text is in."""

from __future__ import annotations

import unicodedata

import pytest

from canonry.embedders import knows, scripts_of

SAMPLES = {
    "Latin": "Przysięga ǅ ə ẞ Ａｂ ﬁ",
    "Greek": "Ἀλκυόνη και",
    "Cyrillic": "Смотритель ѣ Ԁ",
    "Hebrew": "מגדלור",
    "Arabic": "حارس المنارة",
    "Devanagari": "दीपक",
    "Thai": "ประภาคาร",
    "Hangul": "등대지기 ㅋㅋ",
    "Hiragana": "とうだいもり",
    "Katakana": "ランプ ﾄﾞﾗｺﾞﾝ",
    "Han": "燈塔𠮷々〇",
    "Georgian": "მცველი",
    "Bengali": "বাতিঘর",
    "Tamil": "கலங்கரை",
    "Khmer": "ប៉ម",
    "other": "ᚠᚢᚦᚨᚱᚲ",
}


@pytest.mark.parametrize("script", SAMPLES)
def test_a_text_of_one_script_is_all_of_it(script: str) -> None:
    assert scripts_of(SAMPLES[script]) == {script: 1.0}


def test_shares_count_letters_alone_and_the_largest_comes_first() -> None:
    assert scripts_of("燈塔 12 — ab!? ラ") == {"Han": 0.4, "Latin": 0.4, "Katakana": 0.2}
    assert scripts_of("1d6… 🐉") == {"Latin": 1.0}
    assert scripts_of("12 — 🐉") == {}


def test_names_of_characters_agree() -> None:
    """Every letter of the first plane that is named after a script counts as that script, phonetic signs aside."""
    named = {"LATIN": "Latin", "GREEK": "Greek", "CYRILLIC": "Cyrillic", "HEBREW": "Hebrew", "ARABIC": "Arabic"}
    named |= {"DEVANAGARI": "Devanagari", "THAI": "Thai", "HANGUL": "Hangul", "HIRAGANA": "Hiragana"}
    named |= {"KATAKANA": "Katakana", "CJK": "Han"}
    phonetic = {*range(0x1D00, 0x1DC0), *range(0x2090, 0x209D), 0x2184, 0xAB65}
    for code in set(range(0x10000)) - phonetic:
        character = chr(code)
        first_word = unicodedata.name(character, "").split(" ")[0].split("-")[0]
        if character.isalpha() and first_word in named:
            assert scripts_of(character) == {named[first_word]: 1.0}, hex(code)


def test_half_of_the_letters_must_be_known() -> None:
    assert knows({"Latin"}, "ab 燈塔")
    assert not knows({"Latin"}, "a 燈塔")
    assert knows({"Latin"}, "12 + 7?")
    assert knows({"Latin"}, "")
    assert knows(["Han", "Hiragana"], "燈塔 と")
