"""Whole items into two budgets: what is pinned or required into the hot one, all of it; the rest into the working one.

Within the working budget the order is that of explicit priority, then that of the selection. What finds no room is left
out and named, never cut; what is pinned and finds none is a conflict for a person to solve.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from canonry.contexts.failures import UnsatisfiablePin
from canonry.contexts.item import Item
from canonry.errors import UsageError, shown

DEFAULT_HOT, DEFAULT_WORKING = 1_000, 3_000
_LARGEST = 10_000_000


@dataclass(frozen=True, slots=True)
class Budgets:
    """In tokens, as rendered. A budget of zero holds nothing."""

    hot: int = DEFAULT_HOT
    working: int = DEFAULT_WORKING

    def __post_init__(self) -> None:
        for name, value in (("hot", self.hot), ("working", self.working)):
            if not 0 <= value <= _LARGEST:
                raise UsageError(f"{name} budget {value} must lie between 0 and {_LARGEST:,} tokens; give another")


@dataclass(frozen=True, slots=True)
class Block:
    """An item as it is rendered, under its section's heading; `tokens` without the heading."""

    item: Item
    section: str
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Packed:
    """What stands in each tier, in order, and what was left out, with the reason."""

    hot: tuple[Block, ...]
    working: tuple[Block, ...]
    left: tuple[tuple[Block, str], ...]


def pack_tiers(
    must: Sequence[Block],
    may: Sequence[Block],
    budgets: Budgets,
    headings: Mapping[str, int],
    beside: Mapping[str, Sequence[str]],
) -> Packed:
    """`must` into hot, `may` into working. `headings` are what sections cost; `beside` names, by item id, the ids without
    which an item may not stand. UnsatisfiablePin with the arithmetic where `must` does not fit.
    """
    needed = _cost(must, headings)
    if needed > budgets.hot:
        prices = ", ".join(f"{shown(block.item.id)} {block.tokens:,}" for block in must)
        frames = needed - sum(block.tokens for block in must)
        raise UnsatisfiablePin(
            f"what is pinned or required needs {needed:,} tokens ({prices}, headings {frames:,}); the hot budget of "
            f"{budgets.hot:,} is {needed - budgets.hot:,} short; raise it or pin less",
            [block.item.id for block in must],
        )
    taken: dict[str, Block] = {}
    left: list[tuple[Block, str]] = []
    there = {block.item.id for block in must}
    by_id = {block.item.id: block for block in may}
    for block in sorted(may, key=lambda one: -one.item.priority):
        group = {other.item.id: other for other in _group(block, by_id, beside, there | taken.keys())}
        cost = _cost([*taken.values(), *group.values()], headings)
        if cost <= budgets.working:
            taken |= group
        elif block.item.id not in taken:
            used = _cost(list(taken.values()), headings)
            left.append((
                block,
                f"takes {cost - used:,} tokens, and {budgets.working - used:,} of the working budget of {budgets.working:,} were left",
            ))  # fmt: skip
    return Packed(tuple(must), tuple(taken.values()), tuple(left))


def _cost(blocks: Sequence[Block], headings: Mapping[str, int]) -> int:
    """Of blocks with the headings that they need; the first heading is that of the whole text."""
    if not blocks:
        return 0
    sections = {block.section for block in blocks}
    return headings[""] + sum(headings[section] for section in sections) + sum(block.tokens for block in blocks)


def _group(
    block: Block, by_id: Mapping[str, Block], beside: Mapping[str, Sequence[str]], there: set[str]
) -> list[Block]:
    """What would have to come with a block, and the block itself; empty where it is there."""
    found: dict[str, Block] = {}
    waiting = [block.item.id]
    while waiting:
        id_ = waiting.pop()
        if id_ in by_id and id_ not in there and id_ not in found:
            found[id_] = by_id[id_]
            waiting += beside.get(id_, ())
    return list(found.values())
