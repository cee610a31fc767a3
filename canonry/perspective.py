"""What a character may know, and from when: said of a source in front matter, and asked about by an NPC's role.

    known_by: [perrin_dray, mother_keddle]     # nobody else's packet holds it; [] is nobody's; `everyone` is the default
    known_from: 7                              # in story order, or the `chapter` of a source that has an `order`

It bounds the packets of NPCs alone; what a character makes of what it knows is for the model. Without a story time an
NPC is given nothing that has a `known_from`. Both are kept with the keys that a source's row has no column for.
"""

from __future__ import annotations

from collections.abc import Mapping

from canonry.errors import UsageError
from canonry.text import fold

NPC = "npc:"
KEYS = ("known_by", "known_from")
_EVERYONE = "everyone"
_LATEST = 1_000_000
_BEFORE_ALL = -1


def is_character(role: str) -> bool:
    return fold(role).startswith(NPC)


def parse_known_by(value: object) -> tuple[str, ...] | None:
    """Characters by id, folded; None for everyone. UsageError for what names nobody."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) and part.strip() for part in parts):
        raise UsageError(f"known_by {value!r}, which is no list of characters")
    names = tuple(dict.fromkeys(map(character, parts)))
    return None if _EVERYONE in names else names


def parse_known_from(value: object) -> int | str:
    """A place in story order, or a chapter's name. UsageError for anything else."""
    if isinstance(value, str) and value.strip():
        text = " ".join(value.split())
        return int(text) if text.isascii() and text.isdigit() and len(text) < 8 else text
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LATEST:
        return value
    raise UsageError(f"known_from {value!r}, which is neither a whole number from 0 on nor a chapter")


def normal(extra: Mapping[str, object]) -> dict[str, object]:
    """Unknown keys of a source with these two as the predicate reads them; UsageError where one means nothing."""
    known = dict(extra)
    if "known_by" in known:
        named = parse_known_by(known.pop("known_by"))
        if named is not None:
            known["known_by"] = list(named)
    if "known_from" in known:
        known["known_from"] = parse_known_from(known["known_from"])
    return known


def said_in(extra: Mapping[str, object]) -> dict[str, object]:
    """What a source's unknown keys say of who knows it."""
    return {key: extra[key] for key in KEYS if key in extra}


def stricter(one: Mapping[str, object], other: Mapping[str, object]) -> dict[str, object]:
    """Both statements at once, normal ones: known to whom both name, from the later time on.

    Known to nobody where one names a chapter and the other another time: which is later cannot be told.
    """
    both = {**one, **other}
    if "known_by" in one and "known_by" in other:
        allowed, named = other["known_by"], one["known_by"]
        both["known_by"] = [name for name in _names(named) if name in _names(allowed)]
    if "known_from" in one and "known_from" in other and one["known_from"] != other["known_from"]:
        times = [one["known_from"], other["known_from"]]
        whole = [time for time in times if isinstance(time, int)]
        both["known_from"] = max(whole, default=_LATEST)
        if len(whole) < len(times):
            both["known_by"] = []
    return both


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def knows(role: str, story_time: int | None, known_by: tuple[str, ...] | None, known_from: int | str | None) -> bool:
    """Whether what is known by these, from then on, may be in the packet of that role. A time in words never comes."""
    if not is_character(role):
        return True
    if known_by is not None and character(role) not in known_by:
        return False
    if isinstance(known_from, str):
        return False
    return known_from is None or known_from <= (_BEFORE_ALL if story_time is None else story_time)


def condition(said: str, role: str, story_time: int | None) -> tuple[str, tuple[object, ...]]:
    """The same as SQL over a column of JSON that holds such statements, with its values; for the role of a character."""
    listed = f"EXISTS (SELECT 1 FROM json_each({said}, '$.known_by') k WHERE k.value = ?)"
    since = f"json_extract({said}, '$.known_from')"
    chapter = f"(SELECT max(h.reading_order) FROM cat.knowledge_source h WHERE h.chapter = {since})"
    begun = f"CASE json_type({said}, '$.known_from') WHEN 'integer' THEN {since} ELSE {chapter} END <= ?"
    sql = (
        f"((json_type({said}, '$.known_by') IS NULL OR {listed}) "
        f"AND (json_type({said}, '$.known_from') IS NULL OR ifnull({begun}, 0)))"
    )
    return sql, (character(role), _BEFORE_ALL if story_time is None else story_time)


def character(name: str) -> str:
    """The character of a role or a name, as statements name it."""
    return "_".join(fold(name).strip().removeprefix(NPC).split())
