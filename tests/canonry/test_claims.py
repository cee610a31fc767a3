from __future__ import annotations

import pytest

from canonry.claims import IS, claims, contradict
from canonry.vocabulary import exclude, state_of

CONTRADICTIONS = [
    ("The north gate is open.", "The north gate is collapsed."),
    ("The gate is open.", "The gate collapses."),
    ("The bridge is intact.", "The bridge is destroyed by the flood."),
    ("The bridge is still intact.", "The Bridge is now in pieces. The bridge is destroyed."),
    ("Odile is alive.", "Odile has died."),
    ("The capital of Vell is Orm.", "Vell's capital is Karth."),
    ("Mara's eyes are green.", "Mara has blue eyes."),
    ("Mara is a knight.", "Mara is not a knight."),
    ("Mara isn’t the heir.", "Mara is the heir."),
    ("Mara is the queen of Vell.", "Odile is the queen of Vell."),
    ("Mara is 40 years old.", "- **Age:** 52"),
    ("| Age | 40 |", "Age: 52"),
    ("Mara has three sons.", "Mara has 2 sons."),
    ("The ferry was built in 1204.", "The ferry was built in 1310."),
    ("Mara was born in Orm.", "Mara was born in Karth."),
    ("[[Mara]] is a *knight*.", "Mara is not a knight."),
    ("> The well is full.", "1. The well is empty."),
    ("马拉的年龄是52岁。", "马拉的年龄是40岁。"),
    ("马拉是骑士。", "马拉不是骑士。"),
    ("石桥已毁。", "石桥是完好。"),
]
BOTH_CAN_HOLD = [
    ("Mara is a smith.", "Mara is tall."),
    ("Mara is a knight.", "Mara is a knight of the river."),
    ("The gate is open.", "The north gate is closed."),
    ("The bridge was intact.", "The bridge is destroyed."),
    ("The gate is open to strangers.", "The gate is closed."),
    ("If the gate is open, run.", "The gate is closed."),
    ('"The gate is open," said Mara.', "The gate is closed."),
    ("Is the gate open?", "The gate is closed."),
    ("Some say the gate is open.", "The gate is closed."),
    ("It is open.", "It is closed."),
    ("The banner of Vell is red and gold.", "The banner of Vell is blue."),
    ("The name of the tower is Vell.", "The name of the tower is old."),
    ("The name of the tower is Vell.", "The name of the tower is Vell Keep."),
    ("The tower is 40 feet high.", "The tower is 12 paces wide."),
    ("The mill has 3 wheels.", "The mill has 2 doors."),
    ("- Notes: see page 4", "- Notes: see page 5"),
    ("- Allies: Orm, Karth", "- Allies: Vell"),
    ("```\nThe gate is open.\n```", "The gate is closed."),
    ("Tonight's sponsor is Orm.", "Tonight's sponsor is Karth."),
    ("The gate opens onto the market.", "The gate is closed."),
    ("Mara is not a knight.", "Mara is not a smith."),
]


def clash(one: str, other: str) -> bool:
    return any(contradict(a, b) for a in claims(one, "Mara") for b in claims(other, "Mara"))


@pytest.mark.parametrize(("one", "other"), CONTRADICTIONS)
def test_a_contradiction_is_seen_from_both_sides(one: str, other: str) -> None:
    assert clash(one, other)
    assert clash(other, one)


@pytest.mark.parametrize(("one", "other"), BOTH_CAN_HOLD)
def test_what_can_both_hold_is_no_contradiction(one: str, other: str) -> None:
    assert not clash(one, other)


@pytest.mark.parametrize("text", [text for pair in CONTRADICTIONS for text in pair])
def test_nothing_contradicts_itself(text: str) -> None:
    assert not clash(text, text)


def test_the_statement_is_verbatim_and_the_value_as_written() -> None:
    (claim,) = claims("They came late. Mara's eyes are pale Green. They left.")
    assert (claim.subject, claim.attribute, claim.value) == ("mara", "eye", "pale Green")
    assert claim.statement == "Mara's eyes are pale Green."


def test_a_line_of_a_list_is_about_the_heading_over_it() -> None:
    (claim,) = claims("* Age: 52\n", about="Mara of Orm")
    assert (claim.subject, claim.attribute, claim.value) == ("mara of orm", "age", "52")


@pytest.mark.parametrize("line", ["bridge = destroyed", "Bridge: destroyed", "the bridge: destroyed"])
def test_without_a_heading_a_line_is_about_what_it_names(line: str) -> None:
    (claim,) = claims(line)
    assert (claim.subject, claim.attribute, claim.value) == ("bridg", IS, "destroyed")


def test_lines_of_a_paragraph_are_one_text() -> None:
    assert [claim.value for claim in claims("The north\ngate is\nopen.")] == ["open"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "# A heading\n",
        "is",
        "的是",
        "Age:",
        ": 52",
        "x" * 100_000,
        "is a " * 20_000,
        "[[" * 200_000,
        "[a](" * 100_000,
        "| " * 200_000,
        "- " * 200_000,
    ],
)
def test_text_without_a_claim_has_none(text: str) -> None:
    assert claims(text, "Mara") == []


@pytest.mark.parametrize(
    ("word", "state"),
    [("Open", "open"), ("burned down", "destroyed"), ("GRAY", "grey"), ("open door", None), ("", None)],
)
def test_a_state_is_one_of_its_words_and_nothing_else(word: str, state: str | None) -> None:
    assert state_of(word) == state


def test_states_exclude_each_other_in_both_orders_and_never_themselves() -> None:
    assert exclude("alive", "slain")
    assert exclude("slain", "alive")
    assert not exclude("slain", "dead")
    assert not exclude("alive", "open")
