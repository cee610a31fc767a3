"""Every way in which a selection, a session or an assembly is refused, apart from a wrong call.

ContextFailure               the base; `ids` are the items that it is about
├── StaleReference           an item is not what it was when it was selected: another text, place or authority
├── MissingEvidence          an id that is not there for this role, or a required one that was not selected
├── ForbiddenRole            an item that is there, and not for this role; told only to who may see it all
├── InvalidatedItem          a derived item whose source has changed
├── UnsatisfiablePin         what is pinned does not fit into its budget; with the arithmetic
├── BudgetSpent              a session has no calls or tokens left for what was asked
├── SessionClosed            a session that was stopped, or that another process is driving
├── MalformedCall            a call that is none of the session's, or has arguments that it does not take
└── SeveralFailures          more than one of these at once, under `failures`

For a role that may not see everything, an id that is forbidden and an id that never was are the same MissingEvidence, in
the same words.
"""

from __future__ import annotations

from collections.abc import Sequence

from canonry.canonlog.problem import InvalidData
from canonry.errors import CanonryError, shown

_NAMED = 20


class ContextFailure(CanonryError):
    """A refusal. `ids` are in the order in which they were given."""

    def __init__(self, message: str, ids: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.ids = tuple(ids)

    def __reduce__(self) -> tuple[type[ContextFailure], tuple[str, tuple[str, ...]]]:
        return type(self), (str(self), self.ids)

    def as_json(self) -> dict[str, object]:
        return {"error": type(self).__name__, "ids": list(self.ids), "message": str(self)}


class StaleReference(ContextFailure):
    """What was selected has changed since."""


class MissingEvidence(ContextFailure):
    """What was selected or required is not there for this role."""


class ForbiddenRole(ContextFailure):
    """What was selected is there, and not for this role."""


class InvalidatedItem(ContextFailure):
    """What was selected no longer holds."""


class UnsatisfiablePin(ContextFailure):
    """What is pinned does not fit."""


class BudgetSpent(ContextFailure):
    """Nothing is left of a session's budget for this."""


class SessionClosed(ContextFailure):
    """The session takes no calls."""


class MalformedCall(ContextFailure):
    """A call that cannot be carried out as it stands."""


class SeveralFailures(ContextFailure):
    """More than one kind of failure."""

    def __init__(self, failures: Sequence[ContextFailure]) -> None:
        super().__init__(" | ".join(map(str, failures)), [id_ for failure in failures for id_ in failure.ids])
        self.failures = tuple(failures)

    def __reduce__(self) -> tuple[type[SeveralFailures], tuple[tuple[ContextFailure, ...]]]:  # type: ignore[override]
        return SeveralFailures, (self.failures,)

    def as_json(self) -> dict[str, object]:
        return super().as_json() | {"failures": [one.as_json() for one in self.failures]}


class RelevanceRefused(InvalidData):
    """An item that says how relevant it is. Selecting decides that, and nothing else does."""


def raise_all(failures: Sequence[ContextFailure]) -> None:
    """Nothing for no failure, the failure itself for one, SeveralFailures for more."""
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise SeveralFailures(failures)


def named(ids: Sequence[str]) -> str:
    """Ids as a message may hold them."""
    more = f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else ""
    return ", ".join(map(shown, ids[:_NAMED])) + more
