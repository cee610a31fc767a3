"""Luck: a number that the game keeps, and the words that a model is given in its place.

The number is the average of five rolls of a twenty-sided die, rounded half up, plus the origin's modifier, kept within
1 to 20. A roll is `int(random.Random(seed).random() * 20) + 1`, five in a row: Python promises that `random()` gives
the same sequence for a seed in every version, so a seed gives the same game everywhere.
"""

from __future__ import annotations

import random
from functools import cache

from canonry.canonlog.schema import read_schema

ROLLS = 5
SIDES = 20
_WIDTH = 4  # luck values to one descriptor: too wide to calculate with


def roll_luck(seed: int) -> tuple[int, ...]:
    """The five rolls of a seed, each 1 to 20."""
    generator = random.Random(seed)  # noqa: S311 - a game's dice
    return tuple(int(generator.random() * SIDES) + 1 for _ in range(ROLLS))


def luck_of(rolls: tuple[int, ...], modifier: int) -> int:
    """The number, 1 to 20: the average rounded half up, plus the modifier."""
    return kept_within((2 * sum(rolls) + len(rolls)) // (2 * len(rolls)) + modifier)


def kept_within(luck: int) -> int:
    return max(1, min(SIDES, luck))


def descriptor_of(luck: int) -> str:
    """The words for a luck of 1 to 20: the schema's closed list, worst first, each for four values."""
    return _descriptors()[(luck - 1) // _WIDTH]


@cache
def _descriptors() -> list[str]:
    player = read_schema("canon-log")["properties"]["player"]
    words: list[str] = player["properties"]["luck_descriptor"]["enum"]
    return words
