"""Places: where a judgement's quote, heading or lines lie, and which passages cover them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from canonry.errors import UsageError
from canonry.retrieval import Passage
from eval.judge import Place, SourceText, Stretch, covered, find_place, locate
from eval.questions import Judgement

TEXT = """# City

The bell is old. 钟很旧。

## Harbour

### Customs

The bell is old.
Boats come in.

### Boats

Twelve of them.

## Market

### Customs

Fish is sold.
""".encode()


def stretch(path: str, first: str, last: str, after: str = "") -> Stretch:
    """What stands under a path, from the first text to the end of the last, looked for behind `after`."""
    start = TEXT.index(first.encode(), TEXT.index(after.encode()))
    return Stretch(tuple(path.split("/")), start, TEXT.index(last.encode(), start) + len(last.encode()))


SOURCE = SourceText(
    "city",
    TEXT,
    (
        stretch("City", "The bell", "旧。"),
        stretch("City/Harbour/Customs", "The bell", "is old.", "### Customs"),
        stretch("City/Harbour/Customs", "Boats come", "in."),
        stretch("City/Harbour/Boats", "Twelve", "them."),
        stretch("City/Market/Customs", "Fish", "sold."),
    ),
)
SOURCES = {"city.md": SOURCE}


def judgement(quote: str = "", *heading: str, lines: tuple[int, int] | None = None, relevance: int = 2) -> Judgement:
    return Judgement("q1", "city.md", quote, relevance, heading, lines, "judgements.jsonl:7")


def located(one: Judgement) -> str:
    start, end = find_place(one, SOURCE)
    return TEXT[start:end].decode()


def test_a_quote_is_found_by_bytes_in_any_script() -> None:
    start, end = find_place(judgement("钟很旧"), SOURCE)
    assert TEXT[start:end] == "钟很旧".encode()
    assert len("钟很旧") < end - start


def test_a_quote_that_stands_twice_is_narrowed_by_its_heading_or_its_lines() -> None:
    in_customs = find_place(judgement("The bell is old.", "Customs"), SOURCE)
    assert in_customs[0] == TEXT.rindex(b"The bell is old.")
    assert find_place(judgement("The bell is old.", lines=(9, 9)), SOURCE) == in_customs
    assert find_place(judgement("The bell is old.", lines=(1, 4)), SOURCE)[0] == TEXT.index(b"The bell is old.")


def test_an_ambiguous_quote_is_refused_with_the_lines_where_it_stands() -> None:
    with pytest.raises(UsageError) as refused:
        find_place(judgement("The bell is old."), SOURCE)
    assert str(refused.value) == (
        "judgements.jsonl:7: city.md holds 'The bell is old.' 2 times, at lines 3, 9; narrow it with 'heading' or 'lines'"
    )


def test_a_heading_alone_is_its_section_with_everything_below_it() -> None:
    assert located(judgement("", "Harbour", "Customs")) == "The bell is old.\nBoats come in."
    assert located(judgement("", "Harbour")).startswith("The bell is old.\nBoats")
    assert located(judgement("", "Harbour")).endswith("Twelve of them.")


def test_a_heading_that_stands_twice_asks_for_more_of_its_path() -> None:
    with pytest.raises(UsageError, match=r"holds the heading 'Customs' 2 times, at lines 9, 20; narrow it"):
        find_place(judgement("", "Customs"), SOURCE)
    assert located(judgement("", "Market", "Customs")) == "Fish is sold."


def test_lines_alone_are_a_place_and_with_a_heading_only_what_both_name() -> None:
    assert located(judgement(lines=(9, 10))) == "The bell is old.\nBoats come in.\n"
    assert located(judgement("", "Harbour", "Customs", lines=(10, 20))) == "Boats come in."
    assert located(judgement(lines=(20, 20))) == "Fish is sold.\n"


@pytest.mark.parametrize(
    ("gone", "message"),
    [
        (judgement("The bell is new."), "city.md does not hold 'The bell is new.', which question q1 is judged by"),
        (judgement("Fish is sold.", "Harbour"), "does not hold 'Fish is sold.' in that place"),
        (judgement("Fish is sold.", lines=(1, 4)), "does not hold 'Fish is sold.' in that place"),
        (judgement("", "Harbour", "Smugglers"), "has no heading 'Harbour > Smugglers'"),
        (judgement("", "Harbor", "Customs"), "has no heading 'Harbor > Customs'"),
        (judgement(lines=(20, 21)), "ends at line 20, before the lines 20-21"),
        (judgement("", "Boats", lines=(1, 3)), "has under 'Boats' none of the lines 1-3"),
    ],
)
def test_a_place_that_is_not_there_any_more_is_named(gone: Judgement, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        find_place(gone, SOURCE)
    assert str(refused.value).startswith("judgements.jsonl:7: city.md ")
    assert message in str(refused.value)
    assert str(refused.value).endswith("; mend the judgement")


def test_places_are_gathered_by_question() -> None:
    judgements = [
        judgement("Twelve of them"),
        judgement("Fish is sold", relevance=-1),
        replace(judgement("Fish is sold"), query_id="q2"),
    ]
    places = locate(judgements, SOURCES)
    assert {query: [place.relevance for place in found] for query, found in places.items()} == {
        "q1": [2, -1],
        "q2": [2],
    }
    assert places["q1"][1].place_id == places["q2"][0].place_id
    assert not any(" " in place.place_id for found in places.values() for place in found)


def test_a_source_that_the_campaign_does_not_have_is_named() -> None:
    with pytest.raises(
        UsageError, match=r"judgements\.jsonl:7: is about source 'town\.md', which the campaign does not"
    ):
        locate([replace(judgement("Fish"), source="town.md")], SOURCES)


def test_a_place_is_judged_once_for_a_question() -> None:
    again = replace(judgement("", lines=(20, 20)), where="judgements.jsonl:9")
    same = replace(judgement("Fish is sold.\n", relevance=-1), where="judgements.jsonl:8")
    with pytest.raises(UsageError, match=r"jsonl:9: judges a place for q1 that judgements\.jsonl:8 judges; keep one"):
        locate([same, again], SOURCES)


def passage(start: int, end: int, source_id: str = "city") -> Passage:
    return Passage(
        chunk_id="c1", exact_text="", source_version_id="v1", title="", uri="", page=None, lexical_score=None,
        semantic_score=None, fused_score=0.0, trust=None, spoiler_tags=[], campaign_id="", source_id=source_id,
        class_="canon", heading_path=[], chunk_index=0, spoiler_level=0, visibility="normal", tags=[], entities=[],
        start_byte=start, end_byte=end, start_line=1, end_line=1, content_hash="", token_count=0, valid_from="",
        valid_to=None, priority="normal", scope=None, source_type=None, reasons=[],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("start", "end", "is_covered"),
    [
        (0, 200, True),  # holds the whole place
        (50, 110, False),  # 10 of the place's 40 bytes
        (50, 120, True),  # half of them
        (110, 130, True),  # a part of the place and nothing else
        (90, 110, True),  # half of the passage lies in the place
        (85, 105, False),
        (140, 180, False),  # beside it
    ],
)
def test_a_passage_covers_a_place_by_half_of_either(start: int, end: int, is_covered: bool) -> None:
    place = Place("city:100-140", "city", 100, 140, 2)
    assert covered(passage(start, end), [place]) == ([place] if is_covered else [])
    assert covered(passage(start, end, "town"), [place]) == []
