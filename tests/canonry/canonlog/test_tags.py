"""Tags in model text: where they end, what they say, and that no text takes long."""

from __future__ import annotations

import pytest

from canonry.canonlog.tags import BrokenTags, fact_key, read_tags


def said(text: str) -> list[str]:
    return [tag.text for tag in read_tags(text)]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Nothing [here] is one.", []),
        ("[FACT: one] and [FACT: two]", ["one", "two"]),
        ("[FACT: the sign reads [CLOSED] tonight]", ["the sign reads [CLOSED] tonight"]),
        ("[FACT: a [FACT: b] c]", ["a b c", "b"]),
        ('[FACT: the door says "]" in chalk] x]', ['the door says "]" in chalk']),
        ("[FACT: he wrote “[” twice]", ["he wrote “[” twice"]),
        ('[FACT: a beam 6" wide] he said "hi]"', ['a beam 6" wide']),
        ('She said "[FACT: the bridge is out]".', ["the bridge is out"]),
        ("[FACT: Keddle's shop isn't shut] and it's [FACT: late]", ["Keddle's shop isn't shut", "late"]),
        ("[fact:over\n two   lines ]", ["over two lines"]),
        ("[FACT：竹钱不通行]", ["竹钱不通行"]),
        ("[FACT: e\u0301tage 👩\u200d🚀\u0007]", ["étage 👩\u200d🚀"]),
        ("[ FACT : spaced ]", ["spaced"]),
        ("[FACTS: no] [FACT no]", []),
        ("]]] [FACT: after]", ["after"]),
        ("[FACT:]", [""]),
    ],
)
def test_a_tag_ends_at_its_own_bracket(text: str, facts: list[str]) -> None:
    assert said(text) == facts


def test_tags_keep_their_kind_and_their_order() -> None:
    tags = read_tags("[ADJUST_DISPOSITION: +5] [FACT: x] [adjust_disposition: -3]")
    assert [(tag.name, tag.text) for tag in tags] == [
        ("ADJUST_DISPOSITION", "+5"), ("FACT", "x"), ("ADJUST_DISPOSITION", "-3"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[FACT: one] and\nthen [FACT: two", "line 2, column 6"),
        ("[FACT: a paragraph\n\nends it]", "line 1, column 1"),
        ("[FACT: the [sign is torn]", "line 1, column 1"),
        ("x [FACT: a [FACT: b]", "line 1, column 3"),
    ],
)
def test_a_tag_that_never_closes_is_named_with_its_place(text: str, place: str) -> None:
    with pytest.raises(BrokenTags, match=f"{place}.*never closes"):
        read_tags(text)


def test_brackets_beyond_any_use_are_refused() -> None:
    with pytest.raises(BrokenTags, match="more than 16 deep"):
        read_tags("[FACT: " * 30_000)


@pytest.mark.parametrize(
    "text", ["“" * 50_000, "[FACT: " + "“" * 50_000 + "]", "[FACT: " + '"a ' * 30_000 + "]", "[" * 99_000]
)
def test_odd_texts_are_read_to_their_end(text: str) -> None:
    assert all(tag.name == "FACT" for tag in read_tags(text))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The bridge is out.", "the  bridge is out", True),
        ("Oda’s “ledger”", 'oda\'s "ledger"', True),
        ("ＡＢＣ", "abc", True),
        ("雾津下雨。", "雾津下雨", True),
        ("the toll is 1.5", "the toll is 15", False),
        ("the gauge reads -5", "the gauge reads 5", False),
        ("the bridge is out", "the bridge is not out", False),
    ],
)
def test_facts_are_the_same_when_only_their_typography_differs(one: str, other: str, same: bool) -> None:
    assert (fact_key(one) == fact_key(other)) is same
