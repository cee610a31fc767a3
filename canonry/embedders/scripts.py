"""Which writing systems a text is in, so that a model that cannot read it has no vote."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection
from functools import lru_cache

_RANGES = sorted(
    (first, last, script)
    for script, ranges in {
        "Latin": "41-24F 250-2AF 1D00-1DBF 1E00-1EFF 2C60-2C7F A720-A7FF AB30-AB6F FB00-FB06 FF21-FF5A",
        "Greek": "370-3FF 1F00-1FFF",
        "Cyrillic": "400-52F 1C80-1C8F 2DE0-2DFF A640-A69F",
        "Hebrew": "590-5FF FB1D-FB4F",
        "Arabic": "600-6FF 750-77F 870-8FF FB50-FDFF FE70-FEFC",
        "Devanagari": "900-97F A8E0-A8FF",
        "Thai": "E00-E7F",
        "Armenian": "530-58F",
        "Bengali": "980-9FF",
        "Gurmukhi": "A00-A7F",
        "Gujarati": "A80-AFF",
        "Oriya": "B00-B7F",
        "Tamil": "B80-BFF",
        "Telugu": "C00-C7F",
        "Kannada": "C80-CFF",
        "Malayalam": "D00-D7F",
        "Sinhala": "D80-DFF",
        "Lao": "E80-EFF",
        "Myanmar": "1000-109F",
        "Georgian": "10A0-10FF 1C90-1CBF 2D00-2D2F",
        "Ethiopic": "1200-139F",
        "Khmer": "1780-17FF",
        "Hangul": "1100-11FF 3130-318F A960-A97F AC00-D7FF FFA0-FFDC",
        "Hiragana": "3041-309F 1B001-1B11F",
        "Katakana": "30A0-30FF 31F0-31FF FF66-FF9F",
        "Han": "2E80-2FDF 3005-3007 3021-303B 3400-4DBF 4E00-9FFF F900-FAFF 20000-323AF",
    }.items()
    for first, last in (tuple(int(end, 16) for end in span.split("-")) for span in ranges.split())
)
_FIRSTS = [first for first, _, _ in _RANGES]
EVERY_SCRIPT = frozenset({*(script for _, _, script in _RANGES), "other"})
_LEAST_KNOWN = 0.5


@lru_cache(maxsize=20_000)
def script_of(letter: str) -> str:
    """The writing system of a letter, or "other"."""
    _, last, script = _RANGES[max(0, bisect_right(_FIRSTS, ord(letter)) - 1)]
    return script if ord(letter) <= last else "other"


def scripts_of(text: str) -> dict[str, float]:
    """The share of the text's letters in each writing system, largest first; empty without letters."""
    counts: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if character.isalpha():
            counts[script_of(character)] += count
    letters = counts.total()
    return {script: count / letters for script, count in counts.most_common()}


def knows_scripts(scripts: Collection[str], text: str) -> bool:
    """Whether at least half of the text's letters are in `scripts`, or it has none."""
    shares = scripts_of(text)
    return not shares or sum(shares.get(script, 0.0) for script in scripts) >= _LEAST_KNOWN
