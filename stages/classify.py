"""classify: what the folder, the file and the user say of a source -> one set of facts, weakest statement first.

defaults -> canonry.toml of the imported folder -> YAML front matter -> command-line options. The later statement wins,
but on secrecy (visibility, spoiler level and tags, roles) the stricter of all wins. A statement that cannot be read is
refused with the file, because a dropped statement could let a secret out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from canonry import perspective
from canonry.errors import RejectedFile, UsageError
from canonry.records import ENTRY_TYPES, HeadingRule, SourceFacts
from stages.chunking.document import find_lost_marks
from stages.chunking.front_matter import MAX_BLOCK_BYTES, FrontMatter
from stages.chunking.marks import unmasked
from stages.folder_rules import FolderRules, matches
from stages.select import KINDS
from stages.statements import (
    _MEANT,
    KNOWLEDGE_KEYS,
    KNOWN_KEYS,
    SECRECY_KEYS,
    combined,
    meant_key,
    parse_entry_value,
    parse_facts,
    plainly,
)

VERSION = "1"
_FENCES = re.compile(r"(?:-{2,}|\.{3}|[—–]+|\+{3,}|~{3,}|\*{3,}|_{3,}|;{3,}|={3,})[ \t]*\Z")
_SECRECY_LINE = re.compile(
    r"[ \t]*(?:[-+*?][ \t]+)*[{ \t]*[\"']?(?:canonry[ ._:-]*)?"
    r"(?:visibility|hidden|spoiler(?:[ _-]?(?:level|tags?))?|allowed[ _-]?roles?)[\"']?[ \t]*[:=]",
    re.IGNORECASE,
)
_PLAIN_STATEMENT = re.compile(  # with a value that is hardly prose
    r"[\"']?(?:visibility[\"']?[ \t]*[:=][ \t]*[\"']?(?:hidden|normal)|hidden[\"']?[ \t]*[:=][ \t]*[\"']?(?:true|yes)"
    r"|spoiler[ _-]?(?:level|tags?)?[\"']?[ \t]*[:=][ \t]*[\"'[]*\w+)[\"'\], \w]*\Z",
    re.IGNORECASE,
)
_BLOCK_LINE = re.compile(r"\s|\Z|[#\-\[\]{}?]|[\w\"'][^:]{0,60}:")


def classify(
    name: str, rules: FolderRules, front: FrontMatter, options: Mapping[str, object], data: bytes = b""
) -> tuple[SourceFacts, tuple[HeadingRule, ...], list[str]]:
    """(facts, heading rules, warnings) of the file called `name`; RejectedFile where a statement cannot be read."""
    stated = [*plainly(rules.defaults)]
    stated += [part for pattern, rule in rules.files if matches(name, pattern) for part in plainly(rule)]
    lost = _lost_statement(name, front, data)
    fields, warnings = _without_foreign(front.fields)
    warnings += lost
    try:
        _refuse_repeated(front)
        stated += [*plainly(fields, stated_by_file=True), *_nested(fields, warnings)]
    except UsageError as error:
        raise RejectedFile(name, f"its metadata says {error}") from None
    stated.append({key: value for key, value in options.items() if value is not None})
    order = next((statement["order"] for statement in reversed(stated) if "order" in statement), None)
    facts = SourceFacts(title=Path(name).stem)
    extra: dict[str, object] = {}
    known: dict[str, object] = {}
    for statement in stated:
        try:
            facts = combined(facts, parse_facts(statement, order=order))
            known = perspective.stricter(known, perspective.normal(perspective.said_in(statement)))
        except UsageError as error:
            raise RejectedFile(name, f"its metadata says {error}") from None
        extra |= {key: value for key, value in statement.items() if key not in KNOWN_KEYS}
    warnings += _without_roles(facts, stated)
    if data:
        warnings += find_lost_marks(data, KINDS.get(Path(name).suffix.lower(), "markdown"))
    extra |= {key: value for key, value in front.fields.items() if key not in fields}
    facts, used, foreign = _with_entry_facts(facts, stated)
    warnings += foreign
    extra = {key: value for key, value in extra.items() if key not in (*used, *perspective.KEYS)} | known
    facts = replace(facts, extra=json.dumps(extra, ensure_ascii=False, sort_keys=True))
    heading_rules = tuple(rule for pattern, rule in rules.headings if matches(name, pattern))
    return facts, heading_rules, [front.warning, *warnings] if front.warning else warnings


def _without_roles(facts: SourceFacts, stated: Sequence[Mapping[str, object]]) -> list[str]:
    """A warning where a list of roles is empty and hides nothing: `known_by: []` beside it is nobody's."""
    if facts.allowed_roles or facts.visibility == "hidden":
        return []
    if all(statement.get("allowed_roles") is None for statement in stated):
        return []
    return [
        "allowed_roles names nobody, so everybody may see it; name roles, as in [narrator], write visibility: hidden, or "
        "remove the line"
    ]


def _with_entry_facts(
    facts: SourceFacts, stated: Sequence[Mapping[str, object]]
) -> tuple[SourceFacts, set[str], list[str]]:
    """(facts with those of a knowledge entry, the keys that were used, what is said of values that mean nothing).

    The same keys mean other things in other notes (`status: done`), so they count where the type is one of an entry's.
    """
    found: dict[str, object] = {}
    warnings: list[str] = []
    if facts.source_type in ENTRY_TYPES:
        for statement in stated:
            for key in sorted(KNOWLEDGE_KEYS & statement.keys()):
                try:
                    found[key] = None if statement[key] is None else parse_entry_value(key, statement[key])
                except UsageError as error:
                    warnings.append(f"metadata of this {facts.source_type} says {error}; kept as a note, not used")
    return replace(facts, **found), set(found), warnings  # type: ignore[arg-type]


def _nested(fields: Mapping[str, object], warnings: list[str]) -> list[dict[str, object]]:
    """What stands under a `canonry` key, as statements; a warning for secrecy under any other."""
    stated: list[dict[str, object]] = []
    for key, value in fields.items():
        inside = value if isinstance(value, list) else [value]
        ours = unmasked(key).strip().lower() == "canonry"
        for part in inside:
            if ours and isinstance(part, dict):
                stated += plainly(part, stated_by_file=True)
            elif ours and part is not None and _MEANT.get(re.split(r"[\s=:]", f"{part}".strip().lower())[0]):
                raise UsageError(f"canonry {part!r}; write its keys, such as visibility: hidden, on lines of their own")
            elif isinstance(part, dict):
                warnings += [
                    f"front matter says {inner} inside {key}, where it hides nothing; if it is meant, write it at the margin"
                    for inner in part
                    if meant_key(inner) not in (None, "hidden")
                ]
        secretive = [*SECRECY_KEYS, *perspective.KEYS]
        near = get_close_matches(re.sub(r"[\s-]+", "_", key.strip().lower()), secretive, 1, 0.8)
        if near and not meant_key(key) and key not in secretive:
            warnings.append(f"front matter says {key}, which hides nothing; if it is meant, write {near[0]}")
    return stated


def _refuse_repeated(front: FrontMatter) -> None:
    for key in front.repeated:
        if meant_key(key):
            raise UsageError(f"{key} more than once; keep the line that holds")


def _lost_statement(name: str, front: FrontMatter, data: bytes) -> list[str]:
    """Warnings of a file whose beginning names a secret and is no front matter; RejectedFile where it was surely meant."""
    if front.fields:
        return []
    head = data[: MAX_BLOCK_BYTES + 8].decode("utf-8", "replace")
    lines = [unmasked(line) for line in re.split(r"\r\n?|\n", head)]
    first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    opened = first < len(lines) and _FENCES.match(lines[first].strip()) is not None
    found = _secrecy_in(lines, first, opened)
    if found is None:
        return []
    line = lines[found].strip()
    if front.warning:
        raise RejectedFile(
            name, f"{front.warning}; it names a secret, so it is not imported as open text: correct the block"
        )
    stated = _PLAIN_STATEMENT.match(line) is not None
    if opened and (lines[first].startswith("+++") or (first == 0 and (stated or line.startswith(("-", "+", "*"))))):
        raise RejectedFile(
            name,
            f"line {found + 1}: {line[:60]!r} names a secret in a block that is no front matter; write `key: value` lines between "
            "lines of --- at the very beginning",
        )
    if not opened and not stated:
        return []
    return [
        f"line {found + 1}: {line[:60]!r} is no front matter, so it hides nothing; if it is meant, write it between lines of --- "
        "at the very beginning of the file"
    ]


def _secrecy_in(lines: Sequence[str], first: int, opened: bool) -> int | None:
    """The first line that names a secret in the block at the beginning: to its closing line, else as far as it looks like one."""
    if opened:
        end = next((at for at in range(first + 1, len(lines)) if _FENCES.match(lines[at])), None)
        if end is None:
            end = next((at for at in range(first + 1, len(lines)) if not _BLOCK_LINE.match(lines[at])), len(lines))
    else:
        end = next((at for at in range(first, len(lines)) if not lines[at].strip()), len(lines))
    return next((at for at in range(first, end) if _SECRECY_LINE.match(lines[at])), None)


def _without_foreign(fields: Mapping[str, object]) -> tuple[dict[str, object], list[str]]:
    """(front matter without values that canonry's keys cannot take, what is said of them).

    Notes of other tools use the same words otherwise (`class: Wizard`); such a value is kept as an unknown key. Where
    it is about secrecy it stays, and the file is refused.
    """
    kept: dict[str, object] = {}
    warnings: list[str] = []
    for key, value in fields.items():
        try:
            if key not in SECRECY_KEYS:
                parse_facts({key: value})
            kept[key] = value
        except UsageError as error:
            warnings.append(f"front matter says {error}; kept as a note, not used")
    return kept, warnings
