from __future__ import annotations

import pytest

from canonry.contexts.failures import UnsatisfiablePin
from canonry.contexts.tiers import Block, Budgets, pack_tiers
from canonry.errors import UsageError
from tests.canonry.contexts.conftest import blocks

HEADINGS = {"": 10, "a": 2, "b": 3}


def block(name: str, tokens: int, section: str = "a", priority: int = 0) -> Block:
    return Block(blocks({"id": name, "text": "x", "priority": priority})[0], section, "", tokens)


def names(found: tuple[Block, ...]) -> str:
    return "".join(one.item.id[-1] for one in found)


def test_whole_items_fill_the_working_budget_by_priority_and_then_as_selected() -> None:
    may = [block("z", 20), block("y", 50), block("x", 20, priority=1), block("w", 20)]
    packed = pack_tiers([], may, Budgets(0, 72), HEADINGS, {})
    assert names(packed.working) == "xzw"
    ((left, why),) = packed.left
    assert (left.item.id, why) == (
        "block:y", "takes 50 tokens, and 20 of the working budget of 72 were left",
    )  # fmt: skip


def test_a_heading_is_counted_once_a_section() -> None:
    may = [block("z", 10), block("y", 10), block("x", 10, "b")]
    assert names(pack_tiers([], may, Budgets(0, 45), HEADINGS, {}).working) == "zyx"
    assert names(pack_tiers([], may, Budgets(0, 44), HEADINGS, {}).working) == "zy"


def test_a_pin_that_does_not_fit_is_a_conflict_with_the_arithmetic() -> None:
    must = [block("p", 30), block("q", 40, "b")]
    assert names(pack_tiers(must, [], Budgets(85, 0), HEADINGS, {}).hot) == "pq"
    with pytest.raises(UnsatisfiablePin) as refused:
        pack_tiers(must, [], Budgets(84, 1000), HEADINGS, {})
    assert refused.value.ids == ("block:p", "block:q")
    assert "needs 85 tokens ('block:p' 30, 'block:q' 40, headings 15); the hot budget of 84 is 1 short" in str(
        refused.value
    )


def test_what_corrects_an_item_comes_with_it_or_neither_does() -> None:
    may = [block("z", 20), block("c", 30)]
    beside = {"block:z": ["block:c"]}
    assert names(pack_tiers([], may, Budgets(0, 62), HEADINGS, beside).working) == "zc"
    assert names(pack_tiers([], may, Budgets(0, 50), HEADINGS, beside).working) == "c"


def test_a_budget_of_zero_holds_nothing_and_one_below_is_refused() -> None:
    packed = pack_tiers([], [block("z", 1)], Budgets(0, 0), HEADINGS, {})
    assert (packed.hot, packed.working, len(packed.left)) == ((), (), 1)
    for wrong in ((-1, 0), (0, -1), (0, 10**9)):
        with pytest.raises(UsageError, match="must lie between"):
            Budgets(*wrong)
