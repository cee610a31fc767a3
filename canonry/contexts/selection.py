"""A selection as JSON: exact ids, each with the fingerprint that it had when it was selected, where that is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from canonry.canonlog.document import parse_document, pointer_to
from canonry.canonlog.problem import InvalidData, Problem
from canonry.contexts.assembly import Ref
from canonry.contexts.blocks import is_relevance, relevance_problem
from canonry.contexts.failures import RelevanceRefused

MOST_BYTES = 4 << 20
MOST_IDS = 1_000
_REF_FIELDS = ("id", "fingerprint", "source_fingerprint", "source_id")
_LONGEST_ID = 200


def parse_selection(data: bytes, shown: str) -> tuple[list[Ref], list[Ref]]:
    """(selected, required); InvalidData with every problem."""
    said = parse_document(data, shown)
    if isinstance(said, list):
        said = {"selected": said}
    problems = list(_selection_problems(said, shown))
    refuse(problems)
    return read_refs(said.get("selected", [])), read_refs(said.get("required", []))


def refuse(problems: Sequence[Problem]) -> None:
    """Raise the problems, as RelevanceRefused where one is of that kind."""
    if any(is_relevance(problem) for problem in problems):
        raise RelevanceRefused(problems)
    if problems:
        raise InvalidData(problems)


def read_refs(said: Sequence[Any]) -> list[Ref]:
    """Refs of JSON without problems, each id once, the last statement about it in the place of the first."""
    refs = [Ref(one) if isinstance(one, str) else Ref(**one) for one in said]
    return list({ref.id: ref for ref in refs}.values())


def ref_problems(said: object, shown: str, *steps: str | int) -> Iterator[Problem]:
    """What is wrong with a list of ids or of objects with an id."""
    if not isinstance(said, list) or len(said) > MOST_IDS:
        yield Problem(shown, pointer_to(*steps), f"is no list of at most {MOST_IDS:,} items")
        return
    for at, one in enumerate(said):
        fields = {"id": one} if isinstance(one, str) else one
        if not isinstance(fields, dict) or "id" not in fields:
            yield Problem(shown, pointer_to(*steps, at), "is neither an id nor an object with an id")
            continue
        for key, value in fields.items():
            place = pointer_to(*steps, at, key)
            if key not in _REF_FIELDS:
                yield relevance_problem(shown, place, key) or Problem(
                    shown, place, f"is none of {', '.join(_REF_FIELDS)}"
                )
            elif not isinstance(value, str) or len(value) > _LONGEST_ID or (key == "id" and not value):
                yield Problem(shown, place, f"is no text of at most {_LONGEST_ID} characters")


def _selection_problems(said: object, shown: str) -> Iterator[Problem]:
    if not isinstance(said, dict):
        yield Problem(shown, "", 'is no selection; write {"selected": ["ID", …]}')
        return
    for key, value in said.items():
        if key in ("selected", "required"):
            yield from ref_problems(value, shown, key)
        else:
            place = pointer_to(key)
            yield relevance_problem(shown, place, key) or Problem(shown, place, "is neither selected nor required")
