"""Knowledge entries: sources of an entry's type that say how important they are or how far they have been reviewed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from canonry.campaign import Campaign
from canonry.catalog import Catalog
from canonry.eligibility import Scope
from canonry.records import ENTRY_TYPES, Source
from canonry.retrieval import Passage

APPROVED = "approved"
FORESHADOW = "foreshadow"
DEFAULT_IMPORTANCE = 3
_SOURCES_AT_ONCE = 10_000  # as parameters of one query
_OF_ENTRY_TYPE = f"s.source_type IN ({', '.join('?' * len(ENTRY_TYPES))})"


@dataclass(frozen=True, slots=True)
class Entry:
    """What the catalog says of an entry now. `entry_id` is the id of its source; a chapter is a number or a name."""

    entry_id: str
    title: str
    type: str
    importance: int
    status: str
    foreshadow_state: str | None  # of type foreshadow alone; buried until something else is said
    source_chapter: str | None
    last_mention_chapter: str | None
    enabled: bool

    def as_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SeenText:
    """As much of a source's text as a role may see, and which version it is of."""

    title: str
    text: str
    source_version_id: str
    content_hash: str
    spoiler_tags: tuple[str, ...]


def entry_of(source: Source) -> Entry | None:
    """The entry that a source is, or None where it is an ordinary note."""
    facts = source.facts
    stated = (
        facts.importance,
        facts.status,
        facts.foreshadow_state,
        facts.source_chapter,
        facts.last_mention_chapter,
    )
    if facts.source_type not in ENTRY_TYPES or stated == (None,) * len(stated):
        return None
    state = (facts.foreshadow_state or "buried") if facts.source_type == FORESHADOW else None
    return Entry(
        source.source_id, facts.title, str(facts.source_type), facts.importance or DEFAULT_IMPORTANCE,
        facts.status or "pending", state, facts.source_chapter, facts.last_mention_chapter, source.enabled,
    )  # fmt: skip


def list_entries(catalog: Catalog) -> list[Entry]:
    """Every entry, of any status, by id. For the campaign's owner: it asks nobody's role."""
    found = map(entry_of, catalog.sources(where=_OF_ENTRY_TYPE, parameters=ENTRY_TYPES))
    return sorted((entry for entry in found if entry), key=lambda entry: entry.entry_id)


def read_texts(campaign: Campaign, scope: Scope, source_ids: Collection[str]) -> dict[str, SeenText]:
    """Source id -> what the scope may see of it, reviewed or not; a source of which it sees nothing is absent."""
    passages: dict[str, list[Passage]] = {}
    ids = sorted(set(source_ids))
    for at in range(0, len(ids), _SOURCES_AT_ONCE):
        some = replace(scope, sources=tuple(ids[at : at + _SOURCES_AT_ONCE]), unreviewed=True)
        for passage in campaign.survey(some, list):
            passages.setdefault(passage.source_id, []).append(passage)
    return {source_id: _seen(found) for source_id, found in passages.items()}


def _seen(passages: Sequence[Passage]) -> SeenText:
    ordered = sorted(passages, key=lambda passage: passage.chunk_index)
    first = ordered[0]
    tags = tuple(sorted({tag for passage in ordered for tag in passage.spoiler_tags}))
    return SeenText(first.title, "\n\n".join(_parts(ordered)), first.source_version_id, first.content_hash, tags)


def _parts(passages: Sequence[Passage]) -> Iterator[str]:
    """Headings and texts in their order: what two passages share once, and no heading that only says the title again."""
    above: list[str] = []
    end = 0
    for passage in passages:
        common = 0
        while common < min(len(above), len(passage.heading_path)) and above[common] == passage.heading_path[common]:
            common += 1
        said = (passage.title, passage.exact_text.strip("# \t\n"))
        yield from (heading for heading in passage.heading_path[common:] if heading not in said)
        above = passage.heading_path
        text = passage.exact_text.encode()[max(0, end - passage.start_byte) :].decode("utf-8").strip()
        end = max(end, passage.end_byte)
        if text:
            yield text
