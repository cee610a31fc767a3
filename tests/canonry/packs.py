"""What the tests of packs share: sources with a class, and what a pack holds and left out."""

from __future__ import annotations

import canonry
from canonry.pack import Pack

FILLER = (
    "It was told by {} old men on the quay who had nothing else to do and who agreed on nothing but this one thing. "
)


def lore(class_: str, body: str, *more: str) -> str:
    return "\n".join(["---", f"class: {class_}", *more, "---", body, ""])


def words(count: int, seed: str) -> str:
    """A paragraph that shares no shingle with another seed's."""
    return " ".join(f"{seed}{number}" for number in range(count)) + "."


def uris(pack: Pack) -> list[str]:
    return [item.passage.uri for item in pack.items]


def reasons(pack: Pack) -> dict[str, str]:
    return {omitted.title: omitted.reason for omitted in pack.omitted}


def chunk_of(campaign: canonry.Campaign, query: str, **asked: str) -> str:
    return campaign.retrieve(query, **asked).results[0].chunk_id  # type: ignore[arg-type]
