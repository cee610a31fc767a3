"""The JSON Schemas that are shipped, and what a document does against them, in words.

canon-log  the log            origin  one origin seed        world  world.json and the entities of its folders
event      one event by type  save    a whole game
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from canonry.canonlog.document import pointer_to
from canonry.canonlog.problem import Problem

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

NAMES = ("canon-log", "origin", "world", "event", "save")
_SHOWN = 60  # characters of a value in a message
_KINDS = {
    "object": "an object", "array": "a list", "string": "a text", "integer": "a whole number", "null": "null",
    "number": "a number", "boolean": "true or false",
}  # fmt: skip


def read_schema(name: str) -> dict[str, Any]:
    """One of the shipped schemas (draft 2020-12) as it lies in the package."""
    text = (files("canonry.canonlog") / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def problems_in(value: object, schema: str, shown: str, *before: str | int) -> list[Problem]:
    """What the schema (`origin`, or `world#/$defs/npc`) finds wrong with a value, in order of the pointers.

    `before` are the steps that lead to the value in the file that messages call `shown`.
    """
    found = dict.fromkeys(
        Problem(shown, pointer_to(*before, *steps), message)
        for error in _validator(schema).iter_errors(value)
        for steps, message in _said_of(error)
    )
    return sorted(found)


@cache
def _validator(schema: str) -> Draft202012Validator:
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource

    registry: Registry[Any] = Registry().with_resources(
        (f"{name}.schema.json", Resource.from_contents(read_schema(name))) for name in NAMES
    )
    name, hash_, fragment = schema.partition("#")
    return Draft202012Validator({"$ref": f"{name}.schema.json{hash_}{fragment}"}, registry=registry)


def _said_of(error: ValidationError) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """(steps, message) for each thing that one validation error says."""
    steps = tuple(error.absolute_path)
    value, wanted, schema = error.instance, error.validator_value, dict(error.schema)
    if error.validator == "additionalProperties":
        known = schema.get("properties", {})
        yield from (
            ((*steps, key), f"has no place here; allowed are {', '.join(known)}") for key in value if key not in known
        )
    elif error.validator == "required":
        yield from ((steps, f"lacks {key!r}") for key in wanted if key not in value)
    elif error.validator == "pattern":
        yield (
            steps,
            "is blank" if wanted == "\\S" else f"is {_shown(value)}; must be {schema.get('description', wanted)}",
        )
    else:
        say = _SAYINGS.get(str(error.validator))
        yield steps, say(value, wanted) if say else f"breaks the schema's {error.validator}"


def _kinds(wanted: str | list[str]) -> str:
    return " or ".join(_KINDS[kind] for kind in ([wanted] if isinstance(wanted, str) else wanted))


_SAYINGS: dict[str, Callable[[Any, Any], str]] = {
    "type": lambda value, wanted: f"is {_shown(value)}; must be {_kinds(wanted)}",
    "enum": lambda value, wanted: f"is {_shown(value)}; must be one of {', '.join(map(_shown, wanted))}",
    "const": lambda value, wanted: f"is {_shown(value)}; must be {_shown(wanted)}",
    "maxLength": lambda value, wanted: f"is {len(value):,} characters long; at most {wanted:,}, and it is never cut",
    "minLength": lambda value, wanted: "is empty",
    "maximum": lambda value, wanted: f"is {_shown(value)}; at most {wanted:,}",
    "minimum": lambda value, wanted: f"is {_shown(value)}; at least {wanted:,}",
    "maxItems": lambda value, wanted: f"has {len(value):,} entries; at most {wanted:,}",
    "minItems": lambda value, wanted: f"has {len(value):,} entries; at least {wanted:,}",
    "uniqueItems": lambda value, wanted: "holds the same entry twice",
    "not": lambda value, wanted: "holds a control character or a line break; it must be one line",
}


def _shown(value: object) -> str:
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
