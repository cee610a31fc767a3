from __future__ import annotations

import json
from typing import Any

import pytest

from canonry.canonlog.problem import InvalidData
from canonry.contexts.failures import RelevanceRefused
from tests.canonry.contexts.conftest import blocks


def test_a_block_is_an_item_of_its_caller() -> None:
    (item,) = blocks({"id": "a", "text": "Rain.", "priority": 3, "roles": ["writer"], "known_by": ["Perrin Dray"]})
    assert (item.id, item.origin, item.kind, item.authority) == ("block:a", "caller", "text", "none")
    assert (item.priority, item.roles, item.known_by) == (3, ("writer",), ("perrin_dray",))


def test_another_text_or_authority_is_another_fingerprint() -> None:
    one, text, authority = (
        blocks(block)[0].fingerprint
        for block in (
            {"id": "a", "text": "Rain."},
            {"id": "a", "text": "Snow."},
            {"id": "a", "text": "Rain.", "authority": "canon"},
        )
    )
    assert len({one, text, authority}) == 3


@pytest.mark.parametrize(
    "field",
    ["score", "relevance", "similarity", "vector_score", "rank", "semantic_similarity", "cosine", "weight", "Relevance_Score", "top_k"],
)  # fmt: skip
def test_a_field_that_says_how_relevant_a_block_is_is_refused(field: str) -> None:
    with pytest.raises(RelevanceRefused, match=f"/0/{field}: says how relevant"):
        blocks({"id": "a", "text": "Rain.", field: 0.9})


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ({"id": "a"}, "has no text"),
        ({"text": "x"}, "has no id"),
        ({"id": "a b", "text": "x"}, "is no id"),
        ({"id": "a", "text": " "}, "is no text"),
        ({"id": "a", "text": "x", "mood": "grim"}, "is no field of a block"),
        ({"id": "a", "text": "x", "kind": "gold"}, "is none of"),
        ({"id": "a", "text": "x", "pinned": "yes"}, "neither true nor false"),
        ({"id": "a", "text": "x", "priority": True}, "is no whole number"),
        ({"id": "a", "text": "x", "roles": []}, "is no list of roles"),
        ({"id": "a", "text": "x", "roles": ["Bad Role"]}, "is no list of roles"),
        ({"id": "a", "text": "x", "spoiler_level": -1}, "is no whole number"),
        ({"id": "a", "text": "x", "known_by": [3]}, "no list of characters"),
        ({"id": "a", "text": "x", "kind": "answer_key", "roles": ["writer"]}, "answer_key is never for 'writer'"),
        ({"id": "a", "text": "x", "kind": "private_state", "roles": ["narrator"]}, "never for 'narrator'"),
        ("a", "is no object"),
    ],
)
def test_a_block_that_cannot_be_read_is_refused_with_its_place(block: Any, problem: str) -> None:
    with pytest.raises(InvalidData, match=problem):
        blocks(block)


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(InvalidData) as refused:
        blocks({"id": "a", "text": "x", "kind": "?"}, {"id": "b"}, {"id": "c", "text": "y"}, {"id": "c", "text": "z"})
    assert len(refused.value.problems) == 3


def test_blocks_may_stand_under_a_name() -> None:
    from canonry.contexts.blocks import parse_blocks

    assert parse_blocks(json.dumps({"blocks": [{"id": "a", "text": "x"}]}).encode(), "f")[0].id == "block:a"
    for wrong in ({"items": []}, 3, {"blocks": {}}):
        with pytest.raises(InvalidData, match="holds no list"):
            parse_blocks(json.dumps(wrong).encode(), "f")
