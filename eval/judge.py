"""Judging by place: which judged places a passage covers.

A passage covers a place when it holds at least half of the quote's bytes, at the quote's own position in the source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from canonry.errors import UsageError
from canonry.retrieval import Passage
from eval.questions import Judgement


@dataclass(frozen=True, slots=True)
class Place:
    """A judged stretch of bytes of a source's file. `place_id` holds no white space."""

    place_id: str
    source_id: str
    start_byte: int
    end_byte: int
    relevance: int
    quote: str = ""


def locate(judgements: Sequence[Judgement], sources: Mapping[str, tuple[str, bytes]]) -> dict[str, list[Place]]:
    """Query id -> its places. `sources`: file name -> (source id, stored bytes). UsageError names a quote that is not there."""
    places: dict[str, list[Place]] = {}
    for number, judgement in enumerate(judgements, 1):
        if judgement.source not in sources:
            raise UsageError(
                f"judgement {number} is about source {judgement.source!r}, which the campaign does not have; import it"
            )
        source_id, data = sources[judgement.source]
        quote = judgement.quote.encode("utf-8")
        start = data.find(quote)
        if start < 0:
            raise UsageError(
                f"judgement {number} of question {judgement.query_id} quotes {judgement.quote!r}, "
                f"which {judgement.source} does not hold any more; mend the quote"
            )
        place = Place(
            f"{source_id}:{start}", source_id, start, start + len(quote), judgement.relevance, judgement.quote
        )
        places.setdefault(judgement.query_id, []).append(place)
    return places


def covered(passage: Passage, places: Sequence[Place]) -> list[Place]:
    """The places that a passage covers."""
    return [
        place
        for place in places
        if place.source_id == passage.source_id
        and 2 * (min(passage.end_byte, place.end_byte) - max(passage.start_byte, place.start_byte))
        >= place.end_byte - place.start_byte
    ]
