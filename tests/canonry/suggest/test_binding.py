from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from canonry.canonlog.problem import InvalidData
from canonry.errors import UsageError
from canonry.suggest.binding import Binding, RefusedBinding, parse_binding, read_binding


def test_a_binding_is_read_and_written_under_the_same_names() -> None:
    text = json.dumps(
        {"chapterIds": ["c"], "outlineIds": [], "settingIds": ["s"], "inspirationIds": [], "knowledgeIds": ["k", "l"]}
    )
    assert json.dumps(parse_binding(text, "b.json").as_json()) == text


@pytest.mark.parametrize("text", ["{}", '{"knowledgeIds": null}', '{"knowledgeIds": []}'])
def test_a_kind_that_is_left_out_is_empty(text: str) -> None:
    assert parse_binding(text, "b.json").all_ids == ()


def test_an_id_counts_once_where_it_is_named_first() -> None:
    binding = parse_binding('{"settingIds": ["b", "a", "b"], "chapterIds": ["a"], "knowledgeIds": ["k", "k"]}', "b")
    assert (binding.of_kind("chapter"), binding.of_kind("setting"), binding.of_kind("knowledge")) == (
        ("a",),
        ("b",),
        ("k",),
    )
    assert binding.repeated == ("a", "b", "k")


def test_entries_are_joined_after_those_that_are_there() -> None:
    assert Binding.of(knowledge=["b", "a"], chapter=["c"]).joined(["a", "z"]).as_json()["knowledgeIds"] == [
        "b",
        "a",
        "z",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ["b.json: is not JSON"]),
        ("[" * 100_000, ["b.json: is not JSON"]),
        ("[]", ["b.json: is no JSON object"]),
        ('{"knowledgeIds": ["\\ud800"]}', ["b.json#/knowledgeIds/0: is no id"]),
        ('{"knowledgeids": []}', ["b.json#/knowledgeids: is unknown; a binding has chapterIds"]),
        (
            '{"knowledgeIds": "k", "relevance": 1, "chapterIds": ["a", 3, ""]}',
            ["b.json#/knowledgeIds: is no list", "b.json#/relevance: is unknown", "b.json#/chapterIds/1: is no id", "b.json#/chapterIds/2: is no id"],
        ),
    ],
    ids=["nothing", "deep", "a list", "half a character", "another key", "everything at once"],
)  # fmt: skip
def test_everything_that_is_wrong_is_said(text: str, said: list[str]) -> None:
    with pytest.raises(InvalidData) as error:
        parse_binding(text, "b.json")
    assert all(line in str(error.value) for line in said)
    assert len(error.value.problems) == len(said)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.json").write_bytes(b'{"knowledgeIds": ["\xe9"]}')
    with pytest.raises(UsageError, match=r"none\.json: no such file"):
        read_binding(tmp_path / "none.json")
    with pytest.raises(UsageError, match="is a directory"):
        read_binding(tmp_path)
    with pytest.raises(InvalidData, match="is not UTF-8"):
        read_binding(tmp_path / "latin.json")


def test_a_kind_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="kind 'mood'"):
        Binding.of(mood=["a"])


def test_the_error_travels_between_processes() -> None:
    error = RefusedBinding([("a", "is not there"), ("b\x1b", "is not there")])
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert "\x1b" not in str(error)
