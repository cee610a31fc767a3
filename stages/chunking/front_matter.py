"""YAML front matter: bytes of a file -> its fields, and where its body begins.

Front matter is a closed `---` block at byte 0, after a byte order mark, that holds a mapping. Everything else is body.
"""

from __future__ import annotations

import codecs
import datetime
import re
from dataclasses import dataclass, field

import yaml

MAX_BLOCK_BYTES = 64 * 1024
MAX_DEPTH = 32

_LINE_END = rb"(?:\r\n|\r|\n)"
_OPENING = re.compile(rb"---[ \t]*" + _LINE_END)
_CLOSING = re.compile(rb"(?:(?<=\n)|(?<=\r))(?:---|\.\.\.)[ \t]*(?:" + _LINE_END + rb"|\Z)")
_KEY_VALUE = re.compile(rb"[A-Za-z_][\w .-]{0,60}:(?:[ \t]|[\r\n]|\Z)")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # its base is found at run time
    """Safe YAML in which `No`, `on`, `12:30` and `007` are words, as people mean them in a title or a tag."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":bool", ":int"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF")
)
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z"), list("-+0123456789"))


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The fields of a file's front matter (empty when it has none); its body is `data[body_start:]`."""

    fields: dict[str, object] = field(default_factory=dict)
    body_start: int = 0
    warning: str | None = None
    repeated: tuple[str, ...] = ()  # keys that stand more than once, of which YAML takes the last


def read_front_matter(data: bytes) -> FrontMatter:
    """The front matter of a UTF-8 file, with JSON-able values. Never raises: what cannot be read stays body text."""
    after_bom = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    opening = _OPENING.match(data, after_bom)
    if not opening:
        return FrontMatter(body_start=after_bom)
    looks_meant = _KEY_VALUE.match(data, opening.end()) is not None
    closing = _CLOSING.search(data, opening.end(), opening.end() + MAX_BLOCK_BYTES)
    if not closing:
        return FrontMatter(
            body_start=after_bom, warning=_unclosed_warning(data, opening.end()) if looks_meant else None
        )
    block = data[opening.end() : closing.start()]
    fields, warning = _parse(block)
    if fields is None:
        return FrontMatter(body_start=after_bom, warning=warning)
    return FrontMatter(fields, closing.end(), warning, _repeated(block.decode("utf-8")))


def key_lines(data: bytes) -> dict[str, int]:
    """Key of a file's front matter -> the line of the file on which it stands, from 1; empty where there is none."""
    front = read_front_matter(data)
    opening = _OPENING.match(data, len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0)
    closing = _CLOSING.search(data, opening.end()) if opening else None
    if not front.fields or not opening or not closing:
        return {}
    root = yaml.compose(data[opening.end() : closing.start()].decode("utf-8"), Loader=_Loader)
    assert isinstance(root, yaml.MappingNode)
    return {node.value: node.start_mark.line + 2 for node, _ in root.value if isinstance(node, yaml.ScalarNode)}


def _unclosed_warning(data: bytes, start: int) -> str:
    if len(data) - start > MAX_BLOCK_BYTES and _CLOSING.search(data, start):
        return f"front matter is longer than {MAX_BLOCK_BYTES // 1024} KiB and was read as text: shorten it"
    return "front matter is not closed by a line of --- and was read as text: close it or remove its first line"


def _parse(block: bytes) -> tuple[dict[str, object] | None, str | None]:
    """The mapping of a YAML block, or None and why it is none (None too when it is simply ordinary text)."""
    try:
        text = block.decode("utf-8")
        depth = 0
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                return None, "front matter uses YAML anchors or aliases and was read as text: write the values out"
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                return None, "front matter is nested too deeply and was read as text: flatten it"
        value = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
    except RecursionError:
        return None, "front matter is nested too deeply and was read as text: flatten it"
    except (yaml.YAMLError, ValueError, OverflowError, TypeError) as error:
        return None, f"front matter is not valid YAML and was read as text ({_reason(error)}): correct it"
    if not isinstance(value, dict) or not value:
        return None, None
    return {_key(key): _json_able(item) for key, item in value.items()}, None


def _repeated(text: str) -> tuple[str, ...]:
    """Keys that stand twice in the mapping of a valid block, in one that is merged into it, or in its `canonry`."""
    found: dict[str, None] = {}
    root = yaml.compose(text, Loader=_Loader)
    keys = _scalar_keys(root)
    for key, value in keys:
        if key.strip().lower() == "<<":
            keys = [*keys, *_scalar_keys(value)]
    inner = [_scalar_keys(value) for key, value in keys if key.strip().lower() == "canonry"]
    for names in ([name for name, _ in group] for group in (keys, *inner)):
        found |= dict.fromkeys(name for name in names if names.count(name) > 1) if len(set(names)) < len(names) else {}
    return tuple(found)


def _scalar_keys(node: yaml.Node | None) -> list[tuple[str, yaml.Node]]:
    if not isinstance(node, yaml.MappingNode):
        return []
    return [(key.value, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]


def _reason(error: Exception) -> str:
    problem = getattr(error, "problem", None) or str(error)
    mark = getattr(error, "problem_mark", None)
    where = f" in line {mark.line + 2}" if mark is not None else ""
    return " ".join(f"{problem}{where}".split())


def _key(key: object) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return key if isinstance(key, str) else str(_json_able(key))


def _json_able(value: object) -> object:
    if isinstance(value, dict):
        return {_key(key): _json_able(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_able(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_json_able(item) for item in value), key=str)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)  # JSON has no word for these
    if isinstance(value, int) and value.bit_length() > 63:
        return str(value)
    if value is None or isinstance(value, (str, int, float)):
        return value
    return str(value)
