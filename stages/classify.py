"""classify: what the folder, the file and the user say of a source -> one set of facts, weakest statement first.

defaults -> canonry.toml of the imported folder -> YAML front matter -> command-line options. The later statement wins,
but on secrecy (visibility, spoiler level and tags, roles) the stricter of all wins. A statement that cannot be read is
refused with the file, because a dropped statement could let a secret out.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import translate
from functools import cache
from pathlib import Path
from typing import Any

from canonry.eligibility import HIGHEST_LEVEL
from canonry.errors import RejectedFile, UsageError
from canonry.records import CLASSES, PRIORITIES, SCOPES, VISIBILITIES, HeadingRule, Marks, SourceFacts
from canonry.text import fold
from stages.chunking.document import find_lost_marks
from stages.chunking.front_matter import MAX_BLOCK_BYTES, FrontMatter
from stages.chunking.marks import unmasked
from stages.select import FOLDER_RULES, KINDS, Selected

VERSION = "1"
BY_ORDER = "by-order"
_FIELDS = {"class": "class_", "type": "source_type"}
_LISTS = ("tags", "entities", "spoiler_tags", "allowed_roles")
_TEXTS = ("title", "trust", "edition", "uri", "notes", "source_type", "chapter")
_CHOICES = {"class_": CLASSES, "visibility": VISIBILITIES, "priority": PRIORITIES, "scope": SCOPES}
_KNOWN = {"class", "type", "spoiler", "spoiler_level", "always_include", "order", *_LISTS, *_TEXTS, *_CHOICES} - {
    "class_",
    "source_type",
}
_SECRECY = {"visibility", "spoiler", "spoiler_level", "spoiler_tags", "allowed_roles"}
_SECTIONS = {"defaults": dict, "files": list, "headings": list}
_HEADING_KEYS = {"match", "files", "spoiler", "spoiler_level", "spoiler_tags", "visibility"}
_KNOWLEDGE = {"importance", "status", "foreshadow_state", "source_chapter", "last_mention_chapter"}
_MEANT = {
    "visibility": "visibility", "hidden": "hidden", "spoiler": "spoiler", "spoilerlevel": "spoiler_level", "spoilertag": "spoiler_tags",
    "spoilertags": "spoiler_tags", "allowedrole": "allowed_roles", "allowedroles": "allowed_roles",
}  # fmt: skip
_FLAGS = {"true": "hidden", "yes": "hidden", "on": "hidden", "1": "hidden"} | dict.fromkeys(
    ("false", "no", "off", "0"), "normal"
)
_VALUES = {
    "visibility": "normal or hidden", "spoiler": "a whole number", "spoiler_level": "a whole number",
    "spoiler_tags": "words, as in [ending, ravel]", "allowed_roles": "roles, as in [narrator]",
}  # fmt: skip
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


@dataclass(frozen=True, slots=True)
class FolderRules:
    """A folder's canonry.toml: statements for all files, for files that match a glob, and for headings."""

    defaults: Mapping[str, object] = field(default_factory=dict)
    files: tuple[tuple[str, Mapping[str, object]], ...] = ()
    headings: tuple[tuple[str, HeadingRule], ...] = ()  # (glob of files, rule)


def read_folder_rules(folder: Path) -> FolderRules:
    """The canonry.toml of a folder, empty where there is none; UsageError where it says something impossible."""
    path = folder / FOLDER_RULES
    try:
        stated = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return FolderRules()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: {error}; correct it and import again") from error
    try:
        for section, value in stated.items():
            if section not in _SECTIONS:
                raise UsageError(f"section [{section}] is unknown; there are [defaults], [[files]] and [[headings]]")
            if not isinstance(value, _SECTIONS[section]):
                raise UsageError(
                    f"{section} is no section; write [defaults], [[files]] or [[headings]] above its lines"
                )
        files = tuple(
            (str(_needed(rule, "match")), {key: rule[key] for key in rule if key != "match"})
            for rule in stated.get("files", ())
        )
        for section, rule in (("[defaults]", stated.get("defaults", {})), *(("[[files]]", rule) for _, rule in files)):
            _refuse_unknown(section, rule)
            for statement in _plainly(rule):
                parse_facts(statement, order=0)  # by-order takes each file's own order; what it is does not matter here
        return FolderRules(
            stated.get("defaults", {}), files, tuple(_heading_rule(rule) for rule in stated.get("headings", ()))
        )
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _refuse_unknown(section: str, rule: Mapping[str, object]) -> None:
    known = sorted(_KNOWN | _KNOWLEDGE)
    for key in rule:
        if key not in known and not _meant(key):
            near = get_close_matches(key.lower(), known, 1) or get_close_matches(key.lower(), _SECRECY, 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise UsageError(f"{section} sets {key!r}, which is unknown; {hint}")


def unmatched_rules(files: Sequence[Selected]) -> list[str]:
    """Warnings for [[files]] and [[headings]] rules of imported folders that match no file, selected or there."""
    said: list[str] = []
    names: dict[Path, list[str]] = {}
    for file in files:
        if file.folder is not None:
            names.setdefault(file.folder, []).append(file.name)
    for folder, selected in names.items():
        rules = read_folder_rules(folder)
        stated = [("[[files]]", "match", pattern) for pattern, _ in rules.files]
        stated += [("[[headings]]", "files", pattern) for pattern, _ in rules.headings]
        for section, key, pattern in dict.fromkeys(stated):
            if any(matches(name, pattern) for name in selected):
                continue
            if not any(matches(path.relative_to(folder).as_posix(), pattern) for path in folder.rglob("*")):
                said.append(
                    f"{folder / FOLDER_RULES}: the {section} rule {key} = {pattern!r} matches no file; correct the glob or remove it"
                )
    return said


def classify(
    name: str, rules: FolderRules, front: FrontMatter, options: Mapping[str, object], data: bytes = b""
) -> tuple[SourceFacts, tuple[HeadingRule, ...], list[str]]:
    """(facts, heading rules, warnings) of the file called `name`; RejectedFile where a statement cannot be read."""
    stated = [*_plainly(rules.defaults)]
    stated += [part for pattern, rule in rules.files if matches(name, pattern) for part in _plainly(rule)]
    lost = _lost_statement(name, front, data)
    fields, warnings = _without_foreign(front.fields)
    warnings += lost
    try:
        _refuse_repeated(front)
        stated += [*_plainly(fields, stated_by_file=True), *_nested(fields, warnings)]
    except UsageError as error:
        raise RejectedFile(name, f"its metadata says {error}") from None
    stated.append({key: value for key, value in options.items() if value is not None})
    order = next((statement["order"] for statement in reversed(stated) if "order" in statement), None)
    facts = SourceFacts(title=Path(name).stem)
    extra: dict[str, object] = {}
    for statement in stated:
        try:
            facts = _combined(facts, parse_facts(statement, order=order))
        except UsageError as error:
            raise RejectedFile(name, f"its metadata says {error}") from None
        extra |= {key: value for key, value in statement.items() if key not in _KNOWN}
    if data:
        warnings += find_lost_marks(data, KINDS.get(Path(name).suffix.lower(), "markdown"))
    extra |= {key: value for key, value in front.fields.items() if key not in fields}
    facts = replace(facts, extra=json.dumps(extra, ensure_ascii=False, sort_keys=True))
    heading_rules = tuple(rule for pattern, rule in rules.headings if matches(name, pattern))
    return facts, heading_rules, [front.warning, *warnings] if front.warning else warnings


def _plainly(statement: Mapping[str, object], *, stated_by_file: bool = False) -> list[dict[str, object]]:
    """The statement, and after it one for each secrecy key that is written otherwise (`Visibility`, `spoilerLevel`, `hidden`)."""
    plain: dict[str, object] = {}
    otherwise: list[dict[str, object]] = []
    for key, value in statement.items():
        meant = _meant(key)
        if meant and stated_by_file and (value is None or (isinstance(value, str) and not value.strip())):
            raise UsageError(
                f"{key} without a value; write {_VALUES.get(meant, 'true or false')} behind it, or remove the line"
            )
        if meant == "hidden":
            otherwise.append({"visibility": _hidden(key, value)})
        elif meant and meant != key:
            otherwise.append({meant: value})
        else:
            plain[key] = value
    return [plain, *otherwise]


def _meant(key: str) -> str | None:
    """The secrecy key that is meant, in whatever spelling; None for any other key."""
    compact = re.sub(r"[\s_.:-]+", "", unmasked(key)).lower()
    return _MEANT.get(compact.removeprefix("canonry"))


def _hidden(key: str, value: object) -> str:
    found = _FLAGS.get(str(value).strip().lower())
    if found is None:
        raise UsageError(f"{key} {value!r}, which is neither true nor false")
    return found


def _nested(fields: Mapping[str, object], warnings: list[str]) -> list[dict[str, object]]:
    """What stands under a `canonry` key, as statements; a warning for secrecy under any other."""
    stated: list[dict[str, object]] = []
    for key, value in fields.items():
        inside = value if isinstance(value, list) else [value]
        ours = unmasked(key).strip().lower() == "canonry"
        for part in inside:
            if ours and isinstance(part, dict):
                stated += _plainly(part, stated_by_file=True)
            elif ours and part is not None and _MEANT.get(re.split(r"[\s=:]", f"{part}".strip().lower())[0]):
                raise UsageError(f"canonry {part!r}; write its keys, such as visibility: hidden, on lines of their own")
            elif isinstance(part, dict):
                warnings += [
                    f"front matter says {inner} inside {key}, where it hides nothing; if it is meant, write it at the margin"
                    for inner in part
                    if _meant(inner) not in (None, "hidden")
                ]
        near = get_close_matches(re.sub(r"[\s-]+", "_", key.strip().lower()), _SECRECY, 1, 0.8)
        if near and not _meant(key):
            warnings.append(f"front matter says {key}, which hides nothing; if it is meant, write {near[0]}")
    return stated


def _refuse_repeated(front: FrontMatter) -> None:
    for key in front.repeated:
        if _meant(key):
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
            if key not in _SECRECY:
                parse_facts({key: value})
            kept[key] = value
        except UsageError as error:
            warnings.append(f"front matter says {error}; kept as a note, not used")
    return kept, warnings


def matches(name: str, pattern: str) -> bool:
    """Whether a relative path matches a glob; `**/` also matches nothing, `*` alone matches across folders."""
    return _glob(pattern).fullmatch(name) is not None


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    pieces = (translate(piece)[4:-3] for piece in pattern.split("**/"))  # without (?s: and )\Z
    return re.compile("(?:.*/)?".join(pieces), re.DOTALL)


def parse_facts(statement: Mapping[str, object], *, order: object = None) -> dict[str, object]:
    """The known keys of one statement as values of SourceFacts; UsageError for a value that means nothing."""
    facts: dict[str, object] = {}
    for key, value in statement.items():
        name = _FIELDS.get(key, key)
        if key not in _KNOWN or value is None:
            continue
        if name in _CHOICES:
            facts[name] = _choice(key, value, _CHOICES[name])
        elif name in _LISTS:
            facts[name] = _labels(key, value)
        elif name in _TEXTS:
            facts[name] = _text(key, value)
        elif name == "always_include":
            facts[name] = _flag(key, value)
        elif name == "order":
            facts[name] = _level(key, value)
        elif name == "spoiler_level" or (name == "spoiler" and value != BY_ORDER):
            facts["spoiler_level"] = max(_level(key, value), _int_of(facts.get("spoiler_level", 0)))
        elif name == "spoiler":
            if order is None:
                raise UsageError('spoiler = "by-order" without an `order` in the file; give the file its order')
            facts["spoiler_level"] = max(_level("order", order), _int_of(facts.get("spoiler_level", 0)))
    return facts


def after_edits(imported: SourceFacts, current: SourceFacts, edited: Sequence[str]) -> SourceFacts:
    """What an import says of a source that is here already: the user's later changes stay, on secrecy the stricter wins."""
    kept = {name: getattr(current, name) for name in edited}
    return replace(
        imported, **{name: value for name, value in kept.items() if name not in _STRICTER}, **_stricter(imported, kept)
    )


_STRICTER = ("visibility", "spoiler_level", "spoiler_tags", "allowed_roles")


def _stricter(imported: SourceFacts, kept: Mapping[str, object]) -> dict[str, Any]:
    combined = _combined(imported, {name: value for name, value in kept.items() if name in _STRICTER})
    return {name: getattr(combined, name) for name in _STRICTER}


def with_secrecy(facts: SourceFacts, other: SourceFacts) -> SourceFacts:
    """The facts with the stricter of both on secrecy."""
    return replace(facts, **_stricter(facts, {name: getattr(other, name) for name in _STRICTER}))


def in_order(facts: SourceFacts) -> SourceFacts:
    """Facts with their labels sorted: two statements in another order are the same."""
    labels: dict[str, Any] = {name: tuple(sorted(getattr(facts, name), key=fold)) for name in _LISTS}
    return replace(facts, **labels)


def with_options(facts: SourceFacts, options: Mapping[str, object]) -> SourceFacts:
    """Facts of a source that is here already, with the options of a new import of it."""
    return _combined(facts, parse_facts({key: value for key, value in options.items() if value is not None}))


def _combined(facts: SourceFacts, later: Mapping[str, object]) -> SourceFacts:
    """Later values over earlier ones; on secrecy the stricter; tags and entities add up."""
    changes = dict(later)
    if "visibility" in changes and facts.visibility == "hidden":
        changes["visibility"] = "hidden"
    if "spoiler_level" in changes:
        changes["spoiler_level"] = max(facts.spoiler_level, _int_of(changes["spoiler_level"]))
    for name in ("tags", "entities", "spoiler_tags"):
        if name in changes:
            changes[name] = tuple(dict.fromkeys((*getattr(facts, name), *_strings(changes[name]))))
    if "allowed_roles" in changes and facts.allowed_roles:
        named = _strings(changes["allowed_roles"]) or facts.allowed_roles  # an empty list allows every role
        changes["allowed_roles"] = tuple(role for role in facts.allowed_roles if role in named) or ("nobody",)
    return replace(facts, **changes)  # type: ignore[arg-type]


def _heading_rule(rule: Mapping[str, object]) -> tuple[str, HeadingRule]:
    pattern = str(_needed(rule, "match"))
    stated = parse_facts({key: value for key, value in rule.items() if key not in ("match", "files")})
    if unknown := rule.keys() - _HEADING_KEYS:
        raise UsageError(
            f"a [[headings]] rule sets spoiler_level, spoiler_tags or visibility, and not {', '.join(sorted(unknown))}"
        )
    if not stated:
        raise UsageError("a [[headings]] rule that sets nothing; give it spoiler_level, spoiler_tags or visibility")
    marks = Marks(
        _int_of(stated.get("spoiler_level", 0)),
        tuple(sorted(set(_strings(stated.get("spoiler_tags", ()))))),
        stated.get("visibility") == "hidden",
    )
    return str(rule.get("files", "**")), HeadingRule(pattern, marks)


def _needed(rule: Mapping[str, object], key: str) -> object:
    if not isinstance(rule, Mapping) or not rule.get(key):
        raise UsageError(f"a rule without `{key}`; give each rule a glob to match")
    return rule[key]


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


def _int_of(value: object) -> int:
    assert isinstance(value, int)
    return value


def _strings(value: object) -> tuple[str, ...]:
    assert isinstance(value, (tuple, list))
    return tuple(value)
