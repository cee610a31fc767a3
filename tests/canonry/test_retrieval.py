from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from canonry.errors import DamagedData, UsageError
from canonry.ranking import depth
from canonry.retrieval import Passage
from tests.conftest import Workshop
from tests.fakes import WordBag

ANSWER_FIELDS = ["campaign_id", "query", "mode", "degraded", "notices", "results"]
PASSAGE_FIELDS = [
    "chunk_id",
    "exact_text",
    "source_version_id",
    "title",
    "uri",
    "page",
    "lexical_score",
    "semantic_score",
    "fused_score",
    "trust",
    "spoiler_tags",
    "campaign_id",
    "source_id",
    "class",
    "heading_path",
    "chunk_index",
    "spoiler_level",
    "visibility",
    "tags",
    "entities",
    "start_byte",
    "end_byte",
    "start_line",
    "end_line",
    "content_hash",
    "token_count",
    "valid_from",
    "valid_to",
    "reasons",
    "priority",
    "scope",
    "source_type",
]

HARBOUR = """---
title: Harbour rules
class: canon
spoiler_level: 1
spoiler_tags: [oath]
tags: [harbour]
entities: [Warden]
trust: eyewitness
uri: https://example.org/harbour
---
# Harbour

The warden keeps a brass lamp.\r

## Quay {spoiler=2 tags=ravel visibility=hidden}

Zoë’s family 👩‍👩‍👧 lit the lamp — café 城门。
"""


def narrate(workshop: Workshop, query: str, *, text: str = HARBOUR, **asked: object) -> list[Passage]:
    at = workshop.create(embedder="wordbag", chunk_target="20", chunk_overlap="0")
    workshop.bring(at, workshop.write("harbour.md", text))
    asked = {"role": "narrator", "spoiler_level": 9} | asked
    return workshop.ask(at).retrieve(query, **asked).results  # type: ignore[arg-type]


def test_an_answer_has_the_fields_of_the_contract_in_their_order(workshop: Workshop) -> None:
    at = workshop.create()
    assert list(workshop.ask(workshop_with(workshop, at)).retrieve("lamp").as_json()) == ANSWER_FIELDS


def workshop_with(workshop: Workshop, at: object) -> object:
    workshop.bring(at, workshop.write("lamp.md", "# Lamp\n\nA lamp.\n"))  # type: ignore[arg-type]
    return at


def test_a_passage_has_the_fields_of_the_contract_in_their_order(workshop: Workshop, bag: WordBag) -> None:
    for passage in narrate(workshop, "lamp warden", mode="hybrid"):
        assert list(passage.as_json()) == PASSAGE_FIELDS
        json.dumps(passage.as_json())


def test_a_passage_says_what_the_source_and_the_heading_say_of_it(workshop: Workshop, bag: WordBag) -> None:
    quay = next(p for p in narrate(workshop, "Zoë family lamp") if "Zoë" in p.exact_text)
    data = HARBOUR.encode()
    assert quay.as_json() | {"chunk_id": 0, "exact_text": 0, "lexical_score": 0, "fused_score": 0, "reasons": 0, "valid_from": 0} == {
        "chunk_id": 0, "exact_text": 0, "source_version_id": f"{quay.source_id}@1", "title": "Harbour rules",
        "uri": "https://example.org/harbour", "page": None, "lexical_score": 0, "semantic_score": None, "fused_score": 0,
        "trust": "eyewitness", "spoiler_tags": ["oath", "ravel"], "campaign_id": "vell", "source_id": quay.source_id,
        "class": "canon", "heading_path": ["Harbour", "Quay"], "chunk_index": 1, "spoiler_level": 2, "visibility": "hidden",
        "tags": ["harbour"], "entities": ["Warden"], "start_byte": data.index("Zoë".encode()), "end_byte": quay.end_byte,
        "start_line": 17, "end_line": 17, "content_hash": hashlib.sha256(data).hexdigest(), "token_count": quay.token_count,
        "valid_from": 0, "valid_to": None, "reasons": 0, "priority": "normal", "scope": None, "source_type": None,
    }  # fmt: skip


TEXTS = {
    "emoji, marks and unspaced scripts": HARBOUR,
    "Windows line ends": HARBOUR.replace("\r\n", "\n").replace("\n", "\r\n"),
    "old Mac line ends": HARBOUR.replace("\r\n", "\n").replace("\n", "\r"),
    "a mark before": "\ufeff" + HARBOUR,
    "no line end at the end": HARBOUR.rstrip("\n"),
    "combining marks": "# Cafe\u0301\n\nThe lamp of Zoe\u0308 and A\u030angstro\u0308m.\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_exact_text_is_the_bytes_of_the_stored_file(workshop: Workshop, bag: WordBag, text: str) -> None:
    found = narrate(workshop, "lamp warden", text=text)
    assert found
    for passage in found:
        (stored,) = (workshop.data / "raw/vell/files").glob(f"{passage.content_hash}.*")
        data = stored.read_bytes()
        assert data == text.encode("utf-8")
        assert data[passage.start_byte : passage.end_byte].decode("utf-8") == passage.exact_text
        lines = data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n").split("\n")
        first = passage.exact_text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")[0]
        assert first in lines[passage.start_line - 1]


def test_without_an_address_the_file_s_name_is_the_address(workshop: Workshop, bag: WordBag) -> None:
    (passage,) = narrate(workshop, "lamp", text="A lamp.\n")
    assert (passage.uri, passage.title, passage.trust) == ("harbour.md", "harbour", None)


def test_pages_are_counted(workshop: Workshop, bag: WordBag) -> None:
    found = narrate(workshop, "lamp gate", text="<!-- page: 6 -->\n\nA lamp.\n\n<!-- page: 7 -->\n\nA gate.\n")
    assert {passage.page: passage.exact_text.split("\n\n")[-1].strip() for passage in found} == {
        6: "A lamp.",
        7: "A gate.",
    }


# scores and reasons


def test_a_leg_that_did_not_find_a_passage_has_no_score_for_it(workshop: Workshop, bag: WordBag) -> None:
    by_words, by_meaning, by_both = (narrate_again(workshop, mode) for mode in ("lexical", "semantic", "hybrid"))
    assert all(p.semantic_score is None and p.lexical_score == p.fused_score for p in by_words)
    assert all(p.lexical_score is None and p.semantic_score == p.fused_score for p in by_meaning)
    assert {p.semantic_score is None for p in by_both} | {p.lexical_score is None for p in by_both} == {True, False}


def narrate_again(workshop: Workshop, mode: str) -> list[Passage]:
    at = workshop.create(f"vell-{mode}", embedder="wordbag")
    workshop.bring(
        at, workshop.write("one.md", "brass lamp harbour\n"), workshop.write("two.md", "lamps " + "oil " * 30 + "\n")
    )
    return workshop.ask(at).retrieve("brass lamp", mode=mode).results


def test_cosine_is_cosine(workshop: Workshop, bag: WordBag) -> None:
    found = narrate_again(workshop, "semantic")
    expected = float(bag.embed_query("brass lamp harbour") @ bag.embed_query("brass lamp"))
    assert found[0].semantic_score == pytest.approx(expected, abs=1e-6)
    assert all(-1 <= p.semantic_score <= 1 for p in found if p.semantic_score is not None)


@pytest.mark.parametrize(
    ("method", "question", "label"),
    [
        ("rrf", "brass lamp oil", "rrf k=10 w=0.25"),
        ("convex", "brass lamp oil", "convex α=0.1"),  # a passage holds every word
        ("convex", "brass lamp candle zinc", "convex α=0.66"),  # the two words that are there are in every passage
    ],
)
def test_hybrid_adds_the_shares_of_both_legs(
    workshop: Workshop, bag: WordBag, method: str, question: str, label: str
) -> None:
    at = workshop.create(embedder="wordbag", **{"fusion.method": method})
    workshop.bring(at, *(workshop.write(f"{n}.md", f"brass lamp {'oil ' * n}number {n}\n") for n in range(5)))
    found = workshop.ask(at).retrieve(question, mode="hybrid", explain=True).results
    for passage in found:
        assert passage.explain is not None
        assert passage.explain["fusion"] == label
        legs = passage.explain["legs"]
        assert isinstance(legs, dict)
        assert passage.fused_score == pytest.approx(sum(leg["share"] for leg in legs.values() if leg))
        assert passage.as_json()["explain"] == passage.explain
    if method == "convex":
        assert found[0].fused_score <= 1.0
    else:
        assert found[0].fused_score <= 1.25 / 11


def test_an_explanation_is_given_only_where_it_is_asked_for(workshop: Workshop, bag: WordBag) -> None:
    assert all(passage.explain is None and "explain" not in passage.as_json() for passage in narrate(workshop, "lamp"))


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("which LAMPS burn?", "LAMPS"),
        ("“brass lamp”", "brass"),
        ("café", "café"),
        ("城门", "城门"),
        ("城", "城"),
        ("Zoe", "Zoe"),
        ("warden's", "warden's"),
    ],
    ids=["stem", "phrase", "accent", "pair", "one character", "accent left out", "possessive"],
)
def test_the_reason_names_the_words_as_they_were_asked(workshop: Workshop, bag: WordBag, query: str, word: str) -> None:
    assert word in narrate(workshop, query)[0].reasons[0]


def test_the_reason_names_no_word_that_the_passage_lacks(workshop: Workshop, bag: WordBag) -> None:
    (passage,) = narrate(workshop, "brass zeppelin", text="A brass lamp.\n")
    assert "zeppelin" not in passage.reasons[0]


# order, copies, limits


def test_equal_texts_are_one_passage_that_says_so(workshop: Workshop) -> None:
    at = workshop.create()
    paths = [workshop.write(f"{n}.md", f"# {n}\n\nThe toll is one copper.\n") for n in range(4)]
    workshop.bring(at, *paths, workshop.write("gate.md", "The gate toll is two coppers.\n"))
    campaign = workshop.ask(at)
    alone = campaign.retrieve("toll copper").results
    assert len(alone) == 2
    (first,) = (p for p in alone if "one copper" in p.exact_text)
    assert "stands for 3 more passages with the same text" in first.reasons
    copies = campaign.retrieve("toll copper", copies=True).results
    assert len(copies) == 5
    assert not any("stands for" in reason for p in copies for reason in p.reasons)
    assert first.chunk_id == next(p for p in copies if "one copper" in p.exact_text).chunk_id


def test_a_copy_that_may_not_be_seen_is_not_counted(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("a.md", "# A\n\nThe toll is one copper.\n"))
    workshop.bring(at, workshop.write("b.md", "# B\n\nThe toll is one copper.\n"), visibility="hidden")
    (passage,) = workshop.ask(at).retrieve("toll copper").results
    assert passage.uri == "a.md"
    assert not any("stands for" in reason for reason in passage.reasons)


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
@pytest.mark.parametrize("copies", [False, True], ids=["one for all", "copies"])
def test_a_smaller_limit_is_the_beginning_of_a_larger_one(
    workshop: Workshop, bag: WordBag, mode: str, copies: bool
) -> None:
    at = workshop.create(embedder="wordbag")
    workshop.bring(
        at,
        *(workshop.write(f"{n}.md", f"The brass lamp {'oil ' * (n % 7)}{n % 40}\n") for n in range(150)),
        decide="separate",
    )
    campaign = workshop.ask(at)

    def ids(limit: int) -> list[tuple[str, str]]:
        found = campaign.retrieve("brass lamp oil", mode=mode, limit=limit, copies=copies).results
        return [(passage.chunk_id, passage.source_version_id) for passage in found]

    largest = ids(50)
    for limit in (1, 3, 10, 30):
        assert ids(limit) == largest[:limit]


def test_the_best_come_first_and_equal_scores_by_chunk_id(workshop: Workshop) -> None:
    at = workshop.create()
    workshop.bring(
        at, *(workshop.write(f"{n}.md", f"lamp {chr(97 + n % 3) * 3}\n") for n in range(12)), decide="separate"
    )
    found = workshop.ask(at).retrieve("lamp", copies=True, limit=20).results
    assert len(found) == 12
    assert found == sorted(found, key=lambda p: (-p.fused_score, p.chunk_id, p.source_version_id))


@pytest.mark.parametrize("limit", [0, -1, 1_001, 10**30])
def test_an_impossible_limit_is_wrong_usage(workshop: Workshop, limit: int) -> None:
    with pytest.raises(UsageError, match="limit"):
        workshop.ask(workshop.create()).retrieve("lamp", limit=limit)


def test_the_legs_go_as_deep_for_a_small_limit_as_for_a_larger_one() -> None:
    assert depth(1) == depth(50)
    assert depth(1_000) >= 1_000


# damage


@pytest.mark.parametrize(
    "damage",
    [lambda path: path.unlink(), lambda path: path.write_bytes(b""), lambda path: path.write_bytes(b"\xff" * 500)],
)
def test_a_damaged_stored_file_is_named_with_the_way_out(workshop: Workshop, damage: object) -> None:
    at = workshop.create()
    workshop.bring(at, workshop.write("lamp.md", "A lamp.\n"))
    (stored,) = at.files.iterdir()
    assert callable(damage)
    damage(stored)
    with pytest.raises(DamagedData, match="import the source again") as caught:
        workshop.ask(at).retrieve("lamp")
    assert stored.name in str(caught.value)


def test_the_stored_bytes_are_not_those_of_the_original_path(workshop: Workshop) -> None:
    at = workshop.create()
    path: Path = workshop.write("lamp.md", "A lamp.\n")
    workshop.bring(at, path)
    path.write_text("Something else.\n")
    assert workshop.ask(at).retrieve("lamp").results[0].exact_text.strip() == "A lamp."
