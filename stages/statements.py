"""One statement about a source -> values of SourceFacts, and two statements -> one: the later wins, on secrecy the stricter."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from canonry.eligibility import HIGHEST_LEVEL
from canonry.errors import UsageError
from canonry.records import (
    CLASSES,
    ENTRY_STATUSES,
    FORESHADOW_STATES,
    PRIORITIES,
    SCOPES,
    VISIBILITIES,
    SourceFacts,
)
from canonry.text import fold
from stages.chunking.marks import unmasked

BY_ORDER = "by-order"
FIELD_NAMES = {"class": "class_", "type": "source_type"}
_LISTS = ("tags", "entities", "spoiler_tags", "allowed_roles")
_TEXTS = ("title", "trust", "edition", "uri", "notes", "source_type", "chapter")
_CHOICES = {"class_": CLASSES, "visibility": VISIBILITIES, "priority": PRIORITIES, "scope": SCOPES}
KNOWN_KEYS = {"class", "type", "spoiler", "spoiler_level", "always_include", "order", *_LISTS, *_TEXTS, *_CHOICES} - {
    "class_",
    "source_type",
}
SECRECY_KEYS = {"visibility", "spoiler", "spoiler_level", "spoiler_tags", "allowed_roles"}
KNOWLEDGE_KEYS = {"importance", "status", "foreshadow_state", "source_chapter", "last_mention_chapter"}
_ENTRY_CHOICES = {"status": ENTRY_STATUSES, "foreshadow_state": FORESHADOW_STATES}
IMPORTANCES = range(1, 6)
_MEANT = {
    "visibility": "visibility", "hidden": "hidden", "spoiler": "spoiler", "spoilerlevel": "spoiler_level", "spoilertag": "spoiler_tags",
    "spoilertags": "spoiler_tags", "allowedrole": "allowed_roles", "allowedroles": "allowed_roles",
}  # fmt: skip
_FLAGS = {"true": "hidden", "yes": "hidden", "on": "hidden", "1": "hidden"} | dict.fromkeys(
    ("false", "no", "off", "0"), "normal"
)
VALUES_WANTED = {
    "visibility": "normal or hidden", "spoiler": "a whole number", "spoiler_level": "a whole number",
    "spoiler_tags": "words, as in [ending, ravel]", "allowed_roles": "roles, as in [narrator]",
}  # fmt: skip


def plainly(statement: Mapping[str, object], *, stated_by_file: bool = False) -> list[dict[str, object]]:
    """The statement, and after it one for each secrecy key that is written otherwise (`Visibility`, `spoilerLevel`, `hidden`)."""
    plain: dict[str, object] = {}
    otherwise: list[dict[str, object]] = []
    for key, value in statement.items():
        meant = meant_key(key)
        if meant and stated_by_file and (value is None or (isinstance(value, str) and not value.strip())):
            raise UsageError(
                f"{key} without a value; write {VALUES_WANTED.get(meant, 'true or false')} behind it, or remove the line"
            )
        if meant == "hidden":
            otherwise.append({"visibility": _hidden(key, value)})
        elif meant and meant != key:
            otherwise.append({meant: value})
        else:
            plain[key] = value
    return [plain, *otherwise]


def meant_key(key: str) -> str | None:
    """The secrecy key that is meant, in whatever spelling; None for any other key."""
    compact = re.sub(r"[\s_.:-]+", "", unmasked(key)).lower()
    return _MEANT.get(compact.removeprefix("canonry"))


def _hidden(key: str, value: object) -> str:
    found = _FLAGS.get(str(value).strip().lower())
    if found is None:
        raise UsageError(f"{key} {value!r}, which is neither true nor false")
    return found


def parse_facts(statement: Mapping[str, object], *, order: object = None) -> dict[str, object]:
    """The known keys of one statement as values of SourceFacts; UsageError for a value that means nothing."""
    facts: dict[str, object] = {}
    for key, value in statement.items():
        name = FIELD_NAMES.get(key, key)
        if key not in KNOWN_KEYS or value is None:
            continue
        if name in _CHOICES:
            facts[name] = _choice(key, value, _CHOICES[name])
        elif name in _LISTS:
            facts[name] = _labels(key, value)
        elif name in _TEXTS:
            facts[name] = _text(key, value)
            if name == "title" and not facts[name]:
                raise UsageError(f"{key} {value!r}, which names nothing; give it a word or leave it away")
        elif name == "always_include":
            facts[name] = _flag(key, value)
        elif name == "order":
            facts[name] = _level(key, value)
        elif name == "spoiler_level" or (name == "spoiler" and value != BY_ORDER):
            facts["spoiler_level"] = max(_level(key, value), int_of(facts.get("spoiler_level", 0)))
        elif name == "spoiler":
            if order is None:
                raise UsageError('spoiler = "by-order" without an `order` in the file; give the file its order')
            facts["spoiler_level"] = max(_level("order", order), int_of(facts.get("spoiler_level", 0)))
    return facts


def parse_entry_value(key: str, value: object) -> object:
    """The value of one of KNOWLEDGE_KEYS as SourceFacts has it; UsageError for one that means nothing."""
    if key in _ENTRY_CHOICES:
        return _choice(key, value, _ENTRY_CHOICES[key])
    if key == "importance":
        if isinstance(value, bool) or value not in IMPORTANCES or not isinstance(value, int):
            raise UsageError(f"{key} {value!r}, which is no whole number from 1 to 5")
        return value
    if isinstance(value, (bool, float)):
        raise UsageError(f"{key} {value!r}, which is neither a chapter's number nor its name")
    return _text(key, value) or None


def after_edits(imported: SourceFacts, current: SourceFacts, edited: Sequence[str]) -> SourceFacts:
    """What an import says of a source that is here already: the user's later changes stay, on secrecy the stricter wins."""
    kept = {name: getattr(current, name) for name in edited}
    return replace(
        imported, **{name: value for name, value in kept.items() if name not in _STRICTER}, **_stricter(imported, kept)
    )


_STRICTER = ("visibility", "spoiler_level", "spoiler_tags", "allowed_roles")


def _stricter(imported: SourceFacts, kept: Mapping[str, object]) -> dict[str, Any]:
    both = combined(imported, {name: value for name, value in kept.items() if name in _STRICTER})
    return {name: getattr(both, name) for name in _STRICTER}


def with_secrecy(facts: SourceFacts, other: SourceFacts) -> SourceFacts:
    """The facts with the stricter of both on secrecy."""
    return replace(facts, **_stricter(facts, {name: getattr(other, name) for name in _STRICTER}))


def in_order(facts: SourceFacts) -> SourceFacts:
    """Facts with their labels sorted: two statements in another order are the same."""
    labels: dict[str, Any] = {name: tuple(sorted(getattr(facts, name), key=fold)) for name in _LISTS}
    return replace(facts, **labels)


def with_options(facts: SourceFacts, options: Mapping[str, object]) -> SourceFacts:
    """Facts of a source that is here already, with the options of a new import of it."""
    return combined(facts, parse_facts({key: value for key, value in options.items() if value is not None}))


def combined(facts: SourceFacts, later: Mapping[str, object]) -> SourceFacts:
    """Later values over earlier ones; on secrecy the stricter; tags and entities add up."""
    changes = dict(later)
    if "visibility" in changes and facts.visibility == "hidden":
        changes["visibility"] = "hidden"
    if "spoiler_level" in changes:
        changes["spoiler_level"] = max(facts.spoiler_level, int_of(changes["spoiler_level"]))
    for name in ("tags", "entities", "spoiler_tags"):
        if name in changes:
            changes[name] = tuple(dict.fromkeys((*getattr(facts, name), *strings(changes[name]))))
    if "allowed_roles" in changes and facts.allowed_roles:
        named = strings(changes["allowed_roles"]) or facts.allowed_roles  # an empty list allows every role
        changes["allowed_roles"] = tuple(role for role in facts.allowed_roles if role in named) or ("nobody",)
    return replace(facts, **changes)  # type: ignore[arg-type]


def _choice(key: str, value: object, choices: Sequence[str]) -> str:
    if value not in choices:
        raise UsageError(f"{key} {value!r}, which is none of {', '.join(choices)}")
    return str(value)


def _labels(key: str, value: object) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or any(isinstance(part, (list, dict)) for part in parts):
        raise UsageError(f"{key} {value!r}, which is no list of words")
    return tuple(dict.fromkeys(text for part in parts if (text := _unicode(key, str(part)).strip())))


def _text(key: str, value: object) -> str:
    if isinstance(value, (list, dict)):
        raise UsageError(f"{key} {value!r}, which is no text")
    return " ".join("".join(char if char.isprintable() else " " for char in _unicode(key, str(value))).split())


def _unicode(key: str, value: str) -> str:
    """The text itself, which must be storable: a shell hands over bytes that are no UTF-8 as half characters."""
    if value.encode("utf-8", "replace").decode("utf-8") != value:
        raise UsageError(f"{key} {value!a}, which is not valid Unicode")
    return value


def _flag(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{key} {value!r}, which is neither true nor false")
    return value


def _level(key: str, value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= HIGHEST_LEVEL:
        raise UsageError(f"{key} {value!r}, which is no whole number from 0 on")
    return value


def int_of(value: object) -> int:
    assert isinstance(value, int)
    return value


def strings(value: object) -> tuple[str, ...]:
    assert isinstance(value, (tuple, list))
    return tuple(value)
