"""Reading JSON strictly: one value, UTF-8, no key twice, nothing that Python reads and JSON does not allow."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from canonry.canonlog.problem import InvalidData, Problem
from canonry.errors import NotFound

DEEPEST = 32  # levels of nesting
_TOO_DEEP = f"nests deeper than {DEEPEST} levels, which nothing here does; is it a file of another program?"
_WHOLE_FLOAT = 2.0**53


class _Repeated(dict[str, Any]):
    """An object in which these keys stood more than once."""

    keys_twice: tuple[str, ...] = ()


def read_document(path: Path, shown: str, most_bytes: int) -> Any:
    """The value that a file holds; InvalidData names the place. `shown` is the file as messages call it."""
    return parse_document(read_bytes(path, shown, most_bytes), shown)


def read_bytes(path: Path, shown: str, most_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except FileNotFoundError:
        raise NotFound(f"{shown}: there is no such file; check the name") from None
    except OSError as error:
        raise NotFound(f"{shown}: {(error.strerror or 'cannot be read').lower()}; name another file") from None
    if len(data) > most_bytes:
        raise InvalidData([Problem(shown, "", f"is larger than {most_bytes:,} bytes")])
    return data


def parse_document(data: bytes, shown: str) -> Any:
    """The value that UTF-8 bytes hold; InvalidData where they do not hold exactly one, or hold a key twice."""
    try:
        text = data.decode("utf-8-sig")
        value = json.loads(
            text, object_pairs_hook=_pairs, parse_constant=_refuse_constant, parse_float=_number, parse_int=_integer
        )
    except UnicodeDecodeError as error:
        raise InvalidData([Problem(shown, "", f"is not UTF-8 text (byte {error.start})")]) from None
    except json.JSONDecodeError as error:
        what = error.msg.lower().removesuffix(" at")  # some of json's messages end so
        where = f"line {error.lineno}, column {error.colno}"
        raise InvalidData([Problem(shown, "", f"is not JSON, or not all of it: {what} at {where}")]) from None
    except RecursionError:
        raise InvalidData([Problem(shown, "", _TOO_DEEP)]) from None
    except ValueError as error:
        raise InvalidData([Problem(shown, "", str(error))]) from None
    problems = list(_oddities(value, shown))
    if problems:
        raise InvalidData(problems)
    return value


def pointer_to(*steps: str | int) -> str:
    """The JSON pointer (RFC 6901) along these keys and positions."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    repeated = _Repeated(value)
    repeated.keys_twice = tuple(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
    return repeated


def _refuse_constant(name: str) -> None:
    raise ValueError(f"holds {name}, which is no JSON")


def _number(digits: str) -> float | int:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"holds the number {digits[:30]}, which is too large")
    return int(number) if number.is_integer() and abs(number) < _WHOLE_FLOAT else number


def _integer(digits: str) -> int:
    if len(digits) > 30:
        raise ValueError(f"holds a number of {len(digits):,} digits, which is too large")
    return int(digits)


def _oddities(root: Any, shown: str) -> Iterator[Problem]:
    """Keys that stand twice, halves of surrogate pairs, too many levels; without recursion, whatever the depth."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), root)]
    while waiting:
        steps, value = waiting.pop()
        if len(steps) > DEEPEST:
            yield Problem(shown, pointer_to(*steps[:3]), _TOO_DEEP)
            return
        if isinstance(value, str):
            if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
                yield Problem(shown, pointer_to(*steps), "holds half of a character (a lone surrogate)")
        elif isinstance(value, dict):
            if isinstance(value, _Repeated):
                for key in value.keys_twice:
                    yield Problem(shown, pointer_to(*steps, key), "stands twice in the same object; keep one")
            waiting += [((*steps, "a key"), key) for key in value if not key.isascii()]
            waiting += [((*steps, key), below) for key, below in value.items()]
        elif isinstance(value, list):
            waiting += [((*steps, at), below) for at, below in enumerate(value)]
