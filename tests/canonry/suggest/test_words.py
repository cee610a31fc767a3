from __future__ import annotations

from fractions import Fraction

import pytest

from canonry.suggest.words import Goal, Overlap


@pytest.mark.parametrize(
    ("goal", "text", "shared", "asked"),
    [
        ("find the lamp", "A brass lamp, found by the quay.", 1, 2),  # found and find have different stems
        ("Lamps burning", "The lamp burned.", 2, 2),
        ("the of and", "The lamp of the quay and the gate.", 0, 0),
        ("", "A lamp.", 0, 0),
        ("lamp lamp LAMP", "lamp", 1, 1),
        ("灯塔", "北岸的灯塔，废弃二十年。", 1, 1),
        ("寻找灯塔", "北岸的灯塔", 1, 3),  # 寻找 找灯 灯塔
        ("林晚的剑", "剑，林晚所有", 2, 2),  # 林晚 and 剑, wherever it stands
        ("林晚的剑", "她有长剑", 1, 2),
        ("我们的因为", "我们因为", 0, 0),
        ("林晚 finds 灯塔", "灯塔 lamp", 1, 3),
        ("「灯塔」", "灯塔", 1, 1),
        ('"brass lamp"', "a lamp of brass", 2, 2),
        ("***", "***", 0, 0),
    ],
)
def test_the_share_of_the_goals_words(goal: str, text: str, shared: int, asked: int) -> None:
    assert Goal(goal).overlap(text) == Overlap(shared, asked)


def test_the_ratio_is_exact_and_never_divides_by_nothing() -> None:
    assert Overlap(1, 3).ratio == Fraction(1, 3)
    assert Overlap().ratio == 0
