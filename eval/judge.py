"""Judging by place: where in the stored files the judged places lie, and which of them a passage covers.

A passage covers a place when it holds at least half of the place's bytes, or lies at least half inside it, at the
place's own position in the source. So a short quote must be mostly there, and any passage of a judged section counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from canonry.errors import UsageError
from eval.questions import Judgement


class Spot(Protocol):
    """Where something that was found stands; a passage is one."""

    @property
    def chunk_id(self) -> str: ...
    @property
    def source_version_id(self) -> str: ...
    @property
    def source_id(self) -> str: ...
    @property
    def start_byte(self) -> int: ...
    @property
    def end_byte(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Place:
    """A judged stretch of bytes of a source's file. `place_id` holds no white space."""

    place_id: str
    source_id: str
    start_byte: int
    end_byte: int
    relevance: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes [start_byte, end_byte) of a file that stand under one heading path; empty before the first heading."""

    heading_path: tuple[str, ...]
    start_byte: int
    end_byte: int


@dataclass(frozen=True, slots=True)
class SourceText:
    """A source's stored file and what stands under its headings, in the order of the file."""

    source_id: str
    data: bytes
    stretches: tuple[Stretch, ...] = ()


Span = tuple[int, int]  # bytes, the end excluded


def locate(judgements: Sequence[Judgement], sources: Mapping[str, SourceText]) -> dict[str, list[Place]]:
    """Query id -> its places. `sources`: by file name. UsageError names a place that is not there, not one, or judged twice."""
    places: dict[str, list[Place]] = {}
    stated: dict[tuple[str, str], str] = {}  # (query id, place id) -> where
    for judgement in judgements:
        if judgement.source not in sources:
            raise UsageError(
                f"{judgement.where}: is about source {judgement.source!r}, which the campaign does not have; import it"
            )
        source = sources[judgement.source]
        start, end = find_place(judgement, source)
        text = source.data[start:end].decode("utf-8", "replace")
        place = Place(f"{source.source_id}:{start}-{end}", source.source_id, start, end, judgement.relevance, text)
        if earlier := stated.get((judgement.query_id, place.place_id)):
            raise UsageError(
                f"{judgement.where}: judges a place for {judgement.query_id} that {earlier} judges; keep one of them"
            )
        stated[judgement.query_id, place.place_id] = judgement.where
        places.setdefault(judgement.query_id, []).append(place)
    return places


def find_place(judgement: Judgement, source: SourceText) -> Span:
    """Where a judgement's place lies. UsageError where the source does not hold it any more, or holds it several times."""
    within = [(0, len(source.data))]
    if judgement.heading:
        within = _sections(judgement, source)
    if judgement.lines:
        lines = _line_span(judgement, source.data)
        within = [both for section in within if (both := _overlap(section, lines))]
        if not within:
            raise _gone(judgement, f"has under {_named(judgement)} none of the lines {_shown(judgement.lines)}")
    if judgement.quote:
        quotes = _occurrences(source.data, judgement.quote.encode("utf-8"))
        found = [span for span in quotes if any(first <= span[0] and span[1] <= last for first, last in within)]
        what = repr(judgement.quote)
        if not found:
            there = " in that place" if quotes else ""
            raise _gone(judgement, f"does not hold {what}{there}")
    else:
        found, what = within, f"the heading {_named(judgement)}"
    if len(found) > 1:
        numbers = [str(source.data.count(b"\n", 0, start) + 1) for start, _ in found]
        raise UsageError(
            f"{judgement.where}: {judgement.source} holds {what} {len(found)} times, at lines {', '.join(numbers)}; "
            "narrow it with 'heading' or 'lines'"
        )
    return found[0]


def covered(passage: Spot, places: Sequence[Place]) -> list[Place]:
    """The places that a passage covers."""
    return [
        place
        for place in places
        if place.source_id == passage.source_id
        and 2 * (min(passage.end_byte, place.end_byte) - max(passage.start_byte, place.start_byte))
        >= min(place.end_byte - place.start_byte, passage.end_byte - passage.start_byte)
    ]


def _sections(judgement: Judgement, source: SourceText) -> list[Span]:
    """The sections whose heading path ends as the judgement says, each with its subsections."""
    spans: list[Span] = []
    open_path: tuple[str, ...] | None = None
    for stretch in source.stretches:
        path = _ending(stretch.heading_path, judgement.heading)
        if path and path == open_path:
            spans[-1] = (spans[-1][0], stretch.end_byte)
        elif path:
            spans.append((stretch.start_byte, stretch.end_byte))
        open_path = path
    if not spans:
        raise _gone(judgement, f"has no heading {_named(judgement)}")
    return spans


def _ending(path: tuple[str, ...], ending: tuple[str, ...]) -> tuple[str, ...] | None:
    """The shortest beginning of a heading path that ends with `ending`."""
    for length in range(len(ending), len(path) + 1):
        if path[length - len(ending) : length] == ending:
            return path[:length]
    return None


def _line_span(judgement: Judgement, data: bytes) -> Span:
    assert judgement.lines
    first, last = judgement.lines
    starts = [0, *(at + 1 for at, byte in enumerate(data) if byte == 0x0A)]
    if starts[-1] == len(data):
        starts.pop()
    if last > len(starts):
        raise _gone(judgement, f"ends at line {len(starts)}, before the lines {_shown(judgement.lines)}")
    end = starts[last] if last < len(starts) else len(data)
    return starts[first - 1], end


def _overlap(one: Span, other: Span) -> Span | None:
    start, end = max(one[0], other[0]), min(one[1], other[1])
    return (start, end) if start < end else None


def _occurrences(data: bytes, quote: bytes) -> list[Span]:
    found: list[Span] = []
    at = data.find(quote)
    while at >= 0:
        found.append((at, at + len(quote)))
        at = data.find(quote, at + 1)
    return found


def _gone(judgement: Judgement, what: str) -> UsageError:
    return UsageError(
        f"{judgement.where}: {judgement.source} {what}, which question {judgement.query_id} is judged by; mend the judgement"
    )


def _named(judgement: Judgement) -> str:
    return repr(" > ".join(judgement.heading))


def _shown(lines: tuple[int, int]) -> str:
    return f"{lines[0]}-{lines[1]}"
