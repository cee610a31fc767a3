"""Items that a caller supplies, from JSON: a list of objects, or an object with that list under `blocks`.

A block states what it is and who may be given it. A field that says how relevant it is, is refused: that is not the
caller's to say. Every problem is reported, each with its place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from canonry.canonlog.document import parse_document, pointer_to, read_bytes
from canonry.canonlog.problem import InvalidData, Problem
from canonry.contexts.failures import RelevanceRefused
from canonry.contexts.item import AUTHORITIES, CALLER, KINDS, Item, digest
from canonry.contexts.roles import RECEIVERS
from canonry.eligibility import HIGHEST_LEVEL, is_role
from canonry.errors import UsageError
from canonry.perspective import parse_known_by

_Check = Callable[[object], str]  # a field's value -> what is wrong with it
PREFIX = "block:"
MOST_BYTES = 16 << 20
MOST_BLOCKS = 10_000
_ID = re.compile(r"[\w.:-]{1,100}\Z", re.ASCII)
_RELEVANCE = re.compile(
    r"(?i)(.*[_-])?(scores?|scored|relevance|relevant|relevancy|similarity|similar|distance|cosine|bm25|rank|ranking|weight|"
    r"confidence|usefulness|importance|salience|recency|embedding|top_?k)([_-].*)?\Z"
)
_RELEVANT = "says how relevant the block is, which only selecting decides; leave it out"
_LARGEST_PRIORITY = 1_000_000


def read_blocks(path: Path) -> list[Item]:
    """The blocks of a file, in its order; InvalidData with every problem, RelevanceRefused where one is of that kind."""
    return parse_blocks(read_bytes(path, str(path), MOST_BYTES), str(path))


def parse_blocks(data: bytes, shown: str) -> list[Item]:
    """The blocks of UTF-8 JSON."""
    said = parse_document(data, shown)
    inside: tuple[str, ...] = ()
    if isinstance(said, dict) and "blocks" in said:
        said, inside = said["blocks"], ("blocks",)
    if not isinstance(said, list) or len(said) > MOST_BLOCKS:
        raise InvalidData([Problem(shown, "", f"holds no list of at most {MOST_BLOCKS:,} blocks")])
    problems: list[Problem] = []
    items: list[Item] = []
    for at, block in enumerate(said):
        found = list(_problems(block, shown, (*inside, at)))
        problems += found
        if not found:
            items.append(_item(block))
    for id_, count in Counter(item.id for item in items).items():
        if count > 1:
            problems.append(Problem(shown, pointer_to(*inside), f"names the id {id_!r} {count} times"))
    if any(map(is_relevance, problems)):
        raise RelevanceRefused(problems)
    if problems:
        raise InvalidData(problems)
    return items


def relevance_problem(shown: str, pointer: str, key: str) -> Problem | None:
    """The problem of a field that says how relevant something is; None for any other field."""
    return Problem(shown, pointer, _RELEVANT) if _RELEVANCE.match(key) else None


def is_relevance(problem: Problem) -> bool:
    return problem.message == _RELEVANT


def _problems(block: object, shown: str, steps: tuple[str | int, ...]) -> Iterator[Problem]:
    if not isinstance(block, dict):
        yield Problem(shown, pointer_to(*steps), "is no object with an id and a text")
        return
    for name in ("id", "text"):
        if name not in block:
            yield Problem(shown, pointer_to(*steps), f"has no {name}")
    for key, value in block.items():
        place = pointer_to(*steps, key)
        if key not in _FIELDS:
            unknown = Problem(shown, place, f"is no field of a block; there are {', '.join(_FIELDS)}")
            yield relevance_problem(shown, place, key) or unknown
        elif problem := _FIELDS[key](value):
            yield Problem(shown, place, problem)
    kind, roles = block.get("kind", "text"), block.get("roles")
    if kind in RECEIVERS and isinstance(roles, list):
        for role in roles:
            if role not in RECEIVERS[kind]:
                only = " and ".join(RECEIVERS[kind])
                yield Problem(shown, pointer_to(*steps, "roles"), f"{kind} is never for {role!r}: for {only} alone")


def _is_text(value: object) -> str:
    return "" if isinstance(value, str) and value.strip() else "is no text"


def _is_id(value: object) -> str:
    return (
        "" if isinstance(value, str) and _ID.match(value) else "is no id: take 1 to 100 of letters, digits and _ . : -"
    )


def _is_flag(value: object) -> str:
    return "" if isinstance(value, bool) else "is neither true nor false"


def _is_whole(least: int, most: int) -> _Check:
    def check(value: object) -> str:
        good = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        return "" if good else f"is no whole number from {least} to {most}"

    return check


def _among(choices: tuple[str, ...]) -> _Check:
    return lambda value: "" if value in choices else f"is none of {', '.join(choices)}"


def _are_roles(value: object) -> str:
    good = isinstance(value, list) and value and all(isinstance(role, str) and is_role(role) for role in value)
    return "" if good else "is no list of roles; leave it out where every role may be given the block"


def _are_words(value: object) -> str:
    good = isinstance(value, list) and all(isinstance(word, str) and word.strip() for word in value)
    return "" if good else "is no list of words"


def _by(parse: Callable[[object], object]) -> _Check:
    def check(value: object) -> str:
        try:
            parse(value)
        except UsageError as error:
            return f"is {error}"
        return ""

    return check


_FIELDS: dict[str, _Check] = {
    "id": _is_id, "text": _is_text, "title": _is_text, "kind": _among(KINDS), "authority": _among(AUTHORITIES), "roles": _are_roles,
    "priority": _is_whole(-_LARGEST_PRIORITY, _LARGEST_PRIORITY), "pinned": _is_flag, "derived": _is_flag, "hidden": _is_flag,
    "invalidated": _is_text, "spoiler_level": _is_whole(0, HIGHEST_LEVEL), "spoiler_tags": _are_words,
    "known_by": _by(parse_known_by), "known_from": _is_whole(0, HIGHEST_LEVEL), "source_fingerprint": _is_text,
}  # fmt: skip


def _item(block: Mapping[str, Any]) -> Item:
    kind = block.get("kind", "text")
    known_by = parse_known_by(block["known_by"]) if "known_by" in block else None
    return Item(
        id=PREFIX + block["id"].removeprefix(PREFIX), origin=CALLER, kind=kind, authority=block.get("authority", "none"),
        text=block["text"], title=block.get("title", block["id"]), source_id="caller",
        source_fingerprint=block.get("source_fingerprint", digest(block["text"])), roles=tuple(block.get("roles", ())),
        priority=block.get("priority", 0), pinned=block.get("pinned", False),
        derived=block.get("derived", kind in ("note", "reasoning", "trace")), hidden=block.get("hidden", False),
        invalidated=block.get("invalidated", ""), spoiler_level=block.get("spoiler_level", 0),
        spoiler_tags=tuple(block.get("spoiler_tags", ())), known_by=known_by,
        known_from=block.get("known_from"),
    )  # fmt: skip
