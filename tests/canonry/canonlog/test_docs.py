"""docs/canon-log.md names every field of the schemas and no other, and its example is a canon log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from canonry.canonlog.schema import problems_in, read_schema

DOC = Path(__file__).parents[3] / "docs" / "canon-log.md"
FIELD = re.compile(r"^\| `([\w.\[\]]+)` \|", re.MULTILINE)


def fields(of: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """The paths of all values, as a.b[].c."""
    for name, said in of.get("properties", {}).items():
        here = f"{path}{name}"
        if "properties" in said:
            yield from fields(said, f"{here}.")
        elif said.get("type") == "array":
            items = said["items"]
            yield from fields(items, f"{here}[].") if "properties" in items else iter((f"{here}[]",))
        else:
            yield here


@pytest.mark.parametrize(("name", "heading"), [("canon-log", "## Fields"), ("origin", "## Origins")])
def test_every_field_has_its_line_and_there_is_no_other(name: str, heading: str) -> None:
    part = DOC.read_text(encoding="utf-8").split(heading)[1].split("\n## ")[0]
    assert sorted(FIELD.findall(part)) == sorted(fields(read_schema(name)))


def test_the_example_is_a_canon_log() -> None:
    example = re.search(r"```json\n(.*?)```", DOC.read_text(encoding="utf-8"), re.DOTALL)
    assert example
    assert problems_in(json.loads(example[1]), "canon-log", "example") == []
