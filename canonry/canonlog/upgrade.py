"""Old schema versions on load: each is taken up one step at a time, newer ones than this canonry knows are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from canonry.canonlog.problem import InvalidData, Problem

Step = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Versions:
    """What a kind of document has been: its current version, and the step that leads on from each older one.

    A step takes the document of its version and returns that of the next; the version number itself is set for it.
    """

    noun: str
    current: int
    steps: Mapping[int, Step] = field(default_factory=dict)

    def upgrade(self, said: dict[str, Any], shown: str, pointer: str = "") -> dict[str, Any]:
        """The document in the current version; InvalidData where no step leads there."""
        version = said.get("schema_version")
        if not isinstance(version, int) or isinstance(version, bool):
            return said  # its schema has words for that
        while version < self.current:
            if version not in self.steps:
                raise self._refusal(version, shown, pointer, "no step leads on from there")
            version, said = version + 1, self.steps[version](said) | {"schema_version": version + 1}
        if version > self.current:
            raise self._refusal(version, shown, pointer, "update canonry to read it")
        return said

    def _refusal(self, version: int, shown: str, pointer: str, why: str) -> InvalidData:
        message = f"is {version}, and this canonry reads {self.noun}s of version {self.current}: {why}"
        return InvalidData([Problem(shown, f"{pointer}/schema_version", message)])


SAVES = Versions("save", 1)
LOGS = Versions("log", 1)
