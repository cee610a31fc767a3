"""A binding: which sources a prompt is given, as a person or a program has confirmed it.

    {"chapterIds": [], "outlineIds": [], "settingIds": [], "inspirationIds": [], "knowledgeIds": ["kael-1f0c9b2a"]}

Ids are those of sources, whole. Knowledge entries stand under knowledgeIds and nowhere else, so that none gets into a
prompt past its review.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from canonry.canonlog.problem import InvalidData, Problem
from canonry.eligibility import Scope
from canonry.errors import CanonryError, UsageError, shown
from canonry.suggest.entries import APPROVED, Entry
from canonry.suggest.labels import KINDS

KEYS = {f"{kind}Ids": kind for kind in KINDS}
KNOWLEDGE = "knowledge"


class RefusedBinding(CanonryError):
    """A binding that cannot be confirmed as it is. `refused` has (id, reason) of each; the text has a line for each."""

    def __init__(self, refused: Iterable[tuple[str, str]]) -> None:
        self.refused = tuple(refused)
        lines = [f"{shown(source_id)} {reason}" for source_id, reason in self.refused]
        head = f"{len(lines)} ids of the binding cannot be used:"
        super().__init__(lines[0] if len(lines) == 1 else "\n  ".join((head, *lines)))

    def __reduce__(self) -> tuple[type[RefusedBinding], tuple[tuple[tuple[str, str], ...]]]:
        return RefusedBinding, (self.refused,)


@dataclass(frozen=True, slots=True)
class Binding:
    """Source ids by kind, each once, in the order in which they were named; `repeated` were named again."""

    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # kind -> ids
    repeated: tuple[str, ...] = ()

    @classmethod
    def of(cls, **ids: Sequence[str]) -> Binding:
        """A binding of ids by kind: `Binding.of(knowledge=[…], chapter=[…])`. An id counts where it is named first."""
        if unknown := ids.keys() - set(KINDS):
            raise UsageError(f"kind {sorted(unknown)[0]!r} is unknown; choose from {', '.join(KINDS)}")
        known: set[str] = set()
        kept: dict[str, tuple[str, ...]] = {}
        repeated: dict[str, None] = {}
        for kind in KINDS:
            fresh = []
            for source_id in ids.get(kind, ()):
                if source_id in known:
                    repeated[source_id] = None
                else:
                    known.add(source_id)
                    fresh.append(source_id)
            kept[kind] = tuple(fresh)
        return cls(kept, tuple(repeated))

    def of_kind(self, kind: str) -> tuple[str, ...]:
        return self.ids.get(kind, ())

    @property
    def all_ids(self) -> tuple[str, ...]:
        return tuple(source_id for kind in KINDS for source_id in self.of_kind(kind))

    def joined(self, knowledge: Sequence[str]) -> Binding:
        """The binding with these entries too, those that it has first."""
        return Binding.of(**{**self.ids, KNOWLEDGE: tuple(dict.fromkeys((*self.of_kind(KNOWLEDGE), *knowledge)))})

    def as_json(self) -> dict[str, list[str]]:
        return {key: list(self.of_kind(kind)) for key, kind in KEYS.items()}


def read_binding(path: Path) -> Binding:
    """The binding in a file; InvalidData with everything that is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"{path}: {(error.strerror or 'cannot be read').lower()}; name the file of a binding with --binding"
        ) from None
    except UnicodeDecodeError:
        raise InvalidData([Problem(str(path), "", "is not UTF-8 text; write it as JSON in UTF-8")]) from None
    return parse_binding(text, str(path))


def parse_binding(text: str, name: str) -> Binding:
    """The binding that a JSON text says; `name` is what it is called in errors."""
    try:
        stated = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:120]
        raise InvalidData(
            [Problem(name, "", f"is not JSON ({reason}); write an object with {', '.join(KEYS)}")]
        ) from None
    if not isinstance(stated, dict):
        raise InvalidData([Problem(name, "", f"is no JSON object; write one with {', '.join(KEYS)}")])
    problems = [
        Problem(name, f"/{shown(key)[1:-1]}", f"is unknown; a binding has {', '.join(KEYS)}")
        for key in stated.keys() - KEYS.keys()
    ]
    for key in KEYS:
        problems += _value_problems(name, key, stated.get(key))
    if problems:
        raise InvalidData(problems)
    return Binding.of(**{kind: stated.get(key) or () for key, kind in KEYS.items()})


def _value_problems(name: str, key: str, value: object) -> list[Problem]:
    if value is None:
        return []
    if not isinstance(value, list):
        return [Problem(name, f"/{key}", 'is no list of ids; write ["ID", "ID"]')]
    return [
        Problem(name, f"/{key}/{at}", "is no id; write the id of a source, in quotes")
        for at, item in enumerate(value)
        if not isinstance(item, str) or not item.strip() or item.encode("utf-8", "replace").decode("utf-8") != item
    ]


def check_binding(
    binding: Binding, scope: Scope, campaign_id: str, in_sight: Collection[str], entries: Mapping[str, Entry]
) -> None:
    """RefusedBinding with every id that cannot be used.

    What the scope does not see is told in the words that an unknown id gets, whether it is hidden, of another campaign
    or nowhere.
    """
    refused = []
    for kind in KINDS:
        for source_id in binding.of_kind(kind):
            entry = entries.get(source_id)
            if source_id not in in_sight:
                reason = (
                    f"is not in campaign {campaign_id!r} for role {scope.role!r} at spoiler level {scope.spoiler_level}; "
                    "take it out of the binding, or ask as who may see it"
                )
            elif kind != KNOWLEDGE and entry:
                reason = f"is a knowledge entry; move it from {kind}Ids to knowledgeIds"
            elif kind == KNOWLEDGE and not entry:
                reason = "is no knowledge entry; name it under chapterIds, outlineIds, settingIds or inspirationIds"
            elif entry and entry.status != APPROVED:
                reason = (
                    f"is {entry.status}; `canonry entry review {source_id} --approve`, or take it out of the binding"
                )
            else:
                continue
            refused.append((source_id, reason))
    if refused:
        raise RefusedBinding(refused)
