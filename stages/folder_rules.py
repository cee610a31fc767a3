"""canonry.toml: what a folder says of the files in it and of their headings."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import translate
from functools import cache
from pathlib import Path

from canonry import perspective
from canonry.errors import UsageError
from canonry.records import HeadingRule, Marks
from stages.select import FOLDER_RULES, Selected
from stages.statements import KNOWLEDGE_KEYS, KNOWN_KEYS, SECRECY_KEYS, int_of, meant_key, parse_facts, plainly, strings

_EVERY_FILE = "**"
_SECTIONS = {"defaults": dict, "files": list, "headings": list}
_HEADING_KEYS = {"match", "files", "spoiler", "spoiler_level", "spoiler_tags", "visibility"}


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
            for statement in plainly(rule):
                parse_facts(statement, order=0)  # by-order takes each file's own order; what it is does not matter here
        return FolderRules(
            stated.get("defaults", {}), files, tuple(_heading_rule(rule) for rule in stated.get("headings", ()))
        )
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


class RulesAbove:
    """The canonry.toml of every folder above a file, each read once."""

    def __init__(self) -> None:
        self._read: dict[Path, FolderRules] = {}

    def of(self, path: Path) -> FolderRules:
        """What they say of a file (its resolved path) in one list of statements, the outermost folder's first."""
        files: list[tuple[str, Mapping[str, object]]] = []
        headings: list[tuple[str, HeadingRule]] = []
        for folder in reversed(path.parents):
            if folder not in self._read:
                self._read[folder] = read_folder_rules(folder)
            rules, name = self._read[folder], path.relative_to(folder).as_posix()
            files += [(_EVERY_FILE, rules.defaults)] if rules.defaults else []
            files += [(_EVERY_FILE, rule) for pattern, rule in rules.files if matches(name, pattern)]
            headings += [(_EVERY_FILE, rule) for pattern, rule in rules.headings if matches(name, pattern)]
        return FolderRules({}, tuple(files), tuple(headings))


def _refuse_unknown(section: str, rule: Mapping[str, object]) -> None:
    known = sorted({*KNOWN_KEYS, *KNOWLEDGE_KEYS, *perspective.KEYS})
    for key in rule:
        if key not in known and not meant_key(key):
            near = get_close_matches(key.lower(), known, 1) or get_close_matches(key.lower(), SECRECY_KEYS, 1, 0.5)
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


def matches(name: str, pattern: str) -> bool:
    """Whether a relative path matches a glob; `**/` also matches nothing, `*` alone matches across folders."""
    return _glob(pattern).fullmatch(name) is not None


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    pieces = (translate(piece)[4:-3] for piece in pattern.split("**/"))  # without (?s: and )\Z
    return re.compile("(?:.*/)?".join(pieces), re.DOTALL)


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
        int_of(stated.get("spoiler_level", 0)),
        tuple(sorted(set(strings(stated.get("spoiler_tags", ()))))),
        stated.get("visibility") == "hidden",
    )
    return str(rule.get("files", "**")), HeadingRule(pattern, marks)


def _needed(rule: Mapping[str, object], key: str) -> object:
    if not isinstance(rule, Mapping) or not rule.get(key):
        raise UsageError(f"a rule without `{key}`; give each rule a glob to match")
    return rule[key]
