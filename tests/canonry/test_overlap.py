from __future__ import annotations

import pytest

from canonry.overlap import ALL, NEARLY_ALL, Said, shingles

RULE = "No one returns from death, and no bell that was rung for the drowned is ever rung again in the city."


@pytest.mark.parametrize(
    ("text", "enough", "said"),
    [
        (RULE, ALL, True),
        (RULE.upper().replace(",", "\n—"), ALL, True),
        ("Before. " + RULE, ALL, False),
        (RULE.partition(",")[0], ALL, True),
        (RULE + " Twice.", ALL, False),
        (RULE + " Twice.", NEARLY_ALL, True),
        ("The lamp burns blue behind the harbour wall at night.", NEARLY_ALL, False),
        ("No one", NEARLY_ALL, False),
        ("", NEARLY_ALL, False),
    ],
    ids=ascii,
)
def test_a_text_is_said_where_one_other_holds_enough_of_it(text: str, enough: float, said: bool) -> None:
    heard = Said()
    heard.add("lamp", shingles("The lamp burns red."))
    heard.add("rule", shingles(RULE))
    assert heard.by(shingles(text), enough) == ("rule" if said else "")


@pytest.mark.parametrize(
    "change", [("3", "4"), ("3", "13"), ("is lit", "is not lit"), ("is lit", "isn't lit")], ids=str
)
def test_a_text_with_another_number_or_a_negation_more_is_another_text(change: tuple[str, str]) -> None:
    text = f"{RULE} The lamp is lit for 3 nights. {RULE.replace('death', 'exile')}"
    heard = Said()
    heard.add("lamp", shingles(text))
    assert heard.by(shingles(text.replace("city", "town", 1)), NEARLY_ALL) == "lamp"
    assert heard.by(shingles(text.replace(*change)), NEARLY_ALL) == ""


def test_unspaced_scripts_are_compared_by_pairs() -> None:
    heard = Said()
    heard.add("灯", shingles("守夜人在潮汐灯塔上点灯，每夜三次。"))
    assert heard.by(shingles("守夜人在潮汐灯塔上点灯"), NEARLY_ALL) == "灯"
    assert heard.by(shingles("守夜人在城门下睡觉"), NEARLY_ALL) == ""


def test_texts_without_a_word_are_compared_as_they_are() -> None:
    heard = Said()
    heard.add("stars", shingles("* * *"))
    assert heard.by(shingles(" * * *\n"), ALL) == "stars"
    assert heard.by(shingles("- - -"), ALL) == ""


def test_the_first_of_several_is_named() -> None:
    heard = Said()
    for name in "abc":
        heard.add(name, shingles(RULE))
    assert heard.by(shingles(RULE), NEARLY_ALL) == "a"
