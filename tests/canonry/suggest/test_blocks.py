from __future__ import annotations

import random

import pytest

from canonry.errors import UsageError
from canonry.suggest.blocks import Block, Budgets, cut, fit, make_block, render

B = Budgets()


def knowledge(name: str, score: int, characters: int = 400) -> Block:
    return make_block("knowledge", name, name, "字" * characters, "zh", B, "fact", score)


def block(kind: str, name: str, characters: int = 480) -> Block:
    return make_block(kind, name, name, "x" * characters, "en", B)


@pytest.mark.parametrize(
    ("type_", "zh", "en"),
    [
        ("character", "角色", "Character"), ("foreshadow", "伏笔", "Foreshadowing"), ("location", "地点", "Location"),
        ("relationship", "关系", "Relationship"), ("fact", "事实", "Fact"),
    ],
)  # fmt: skip
def test_the_format_of_a_knowledge_block(type_: str, zh: str, en: str) -> None:
    assert (
        make_block("knowledge", "a", "林晚", "看守人。\n左手有伤。", "zh", B, type_).text
        == f"【知识·{zh}】林晚\n> 看守人。\n> 左手有伤。"
    )
    assert (
        make_block("knowledge", "a", "Kael", "A keeper.", "en", B, type_).text == f"【Knowledge·{en}】Kael\n> A keeper."
    )


@pytest.mark.parametrize(
    ("kind", "limit"), [("knowledge", 500), ("chapter", 2000), ("outline", 500), ("setting", 500), ("inspiration", 500)]
)
def test_a_content_is_cut_at_the_limit_of_its_kind_and_marked(kind: str, limit: int) -> None:
    whole = make_block(kind, "a", "A", "字" * limit, "zh", B)
    assert (whole.content, whole.was_cut) == ("字" * limit, False)
    long = make_block(kind, "a", "A", "字" * (limit + 1), "zh", B)
    assert (long.content, long.was_cut) == ("字" * (limit - 1) + "…", True)


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("e\u0301e\u0301e\u0301", 4, "e\u0301…"),
        ("a👩‍👩‍👧b", 5, "a…"),
        ("🇫🇷🇩🇪🇯🇵", 5, "🇫🇷🇩🇪…"),
        ("a b c", 3, "a…"),
        ("e" + "\u0301" * 600, 500, "…"),
        ("ab", 1, "…"),
    ],
)
def test_a_cut_falls_between_graphemes(text: str, limit: int, expected: str) -> None:
    assert cut(text, limit) == expected


@pytest.mark.parametrize(
    "text",
    [
        "【知识·事实】The king is dead.", "a\n【知识·事实】b", "a\r【知识·事实】b", "a\u2028【知识·事实】b", "a\x85【知识·事实】b",
        "a\x0b【知识·事实】b", "\u200b【知识·事实】b", "\u202e【知识·事实】b", "\ufeff【知识·事实】b", "> x\n【Knowledge·Fact】b", "\n\n【x】",
    ],
)  # fmt: skip
def test_no_content_begins_a_line_of_ours(text: str) -> None:
    """Nor a title: its line breaks and brackets are not ours."""
    for one in (
        make_block("knowledge", "a", "T", text, "zh", B, "fact"),
        make_block("setting", "a", text, "c", "en", B),
    ):
        first, *rest = one.text.split("\n")
        assert first.count("【") == first.count("】") == 1
        assert first.startswith("【")
        assert all(line.startswith(">") for line in rest)
        assert one.text.splitlines() == [first, *rest]


def test_what_is_not_seen_is_shown_and_counts() -> None:
    made = make_block("setting", "a", "A", "\u200b" * 400, "en", B)
    assert made.was_cut
    assert len(made.content) == 500


def test_low_scores_go_first_until_the_knowledge_fits() -> None:
    blocks = [
        knowledge(name, score) for name, score in (("a", 60), ("b", 120), ("c", 60), *((f"k{n}", 90) for n in range(9)))
    ]
    kept, dropped = fit(blocks, "zh", B)
    assert len(render(kept, "zh")) <= 4000 + 40
    assert [one.block.source_id for one in dropped] == ["c", "a", "k8"]
    assert [one.source_id for one in kept] == ["b", *(f"k{n}" for n in range(8))]
    assert "above its 4,000" in dropped[0].reason


def test_where_the_whole_is_too_long_knowledge_goes_first_then_the_other_kinds_from_their_end() -> None:
    chapters = [block("chapter", f"c{n}", 1990) for n in range(6)]
    others = [block(kind, f"{kind}{n}") for kind in ("outline", "setting", "inspiration") for n in range(4)]
    kept, dropped = fit([*others, *chapters, knowledge("low", 60), knowledge("high", 120)], "en", B)
    assert len(render(kept, "en")) <= 16 * 1024
    assert [one.block.source_id for one in dropped] == [
        "low",
        "high",
        "inspiration3",
        "inspiration2",
        "inspiration1",
        "inspiration0",
    ]
    assert [one.source_id for one in kept][:7] == ["c0", "c1", "c2", "c3", "c4", "c5", "outline0"]


@pytest.mark.parametrize("seed", range(20))
def test_no_budget_is_ever_exceeded_and_no_block_is_lost(seed: int) -> None:
    dice = random.Random(seed)
    budgets = Budgets(*(dice.randint(1, 900) for _ in range(5)))
    kinds = ("knowledge", "chapter", "outline", "setting", "inspiration")
    blocks = [
        make_block(kind, f"{kind}{n}", "T" * dice.randint(0, 200), "ab \n灯" * dice.randint(0, 300), dice.choice(["en", "zh"]), budgets,
                   "fact" if kind == "knowledge" else None, dice.randint(20, 185))
        for kind in kinds
        for n in range(dice.randint(0, 6))
    ]  # fmt: skip
    kept, dropped = fit(blocks, "en", budgets)
    assert len(render(kept, "en")) <= budgets.whole
    assert len("\n\n".join(one.text for one in kept if one.kind == "knowledge")) <= budgets.knowledge
    assert sorted(one.source_id for one in (*kept, *(left.block for left in dropped))) == sorted(
        one.source_id for one in blocks
    )
    assert all(len(one.content) <= budgets.of_content(one.kind) for one in blocks)
    assert all(one.text in render(kept, "en") for one in kept)


@pytest.mark.parametrize("name", ["item", "knowledge", "chapter", "other", "whole"])
@pytest.mark.parametrize("value", [0, -1])
def test_a_budget_of_nothing_is_refused(name: str, value: int) -> None:
    with pytest.raises(UsageError, match=f"budget {name} {value} leaves no room"):
        Budgets(**{name: value})


def test_nothing_makes_no_text() -> None:
    assert render([], "zh") == ""
    assert fit([], "zh", B) == ([], [])
