"""Knowledge entries are added: Markdown files with front matter, lines of JSON, or one that is typed in.

Everything that is wrong with any of them is said at once, with its file, line and key, before anything is imported. A
file is a source like any other. A line of JSON, and an entry that is typed in, becomes a source that is known by the
entry's id: the same id again is a new version of it, and what a review or an edit has said of it stays.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from canonry.canonlog.problem import InvalidData, Problem
from canonry.catalog import Catalog
from canonry.config import Settings
from canonry.errors import RejectedFile, UsageError
from canonry.holdings import ENTRY_ORIGIN
from canonry.layout import Layout
from canonry.records import ENTRY_TYPES, FORESHADOW_STATES
from canonry.suggest.entries import DEFAULT_IMPORTANCE, FORESHADOW
from canonry.text import fold
from flows.import_files import Choices, import_files
from flows.import_report import ImportReport
from flows.progress import Progress, silent
from stages.chunking.front_matter import key_lines, read_front_matter
from stages.classify import classify
from stages.folder_rules import RulesAbove
from stages.select import Selected, Selection, select_files
from stages.statements import KNOWLEDGE_KEYS, parse_entry_value
from stages.validate import validate_file

LINES_ENDINGS = (".jsonl", ".ndjson")
_LONGEST_ID = 64
_ID = re.compile(rf"[\w-]{{1,{_LONGEST_ID}}}\Z")
_ALIASES = {
    "sourceChapterId": "source_chapter", "lastMentionChapterId": "last_mention_chapter", "foreshadowState": "foreshadow_state",
    "sourceChapter": "source_chapter", "lastMentionChapter": "last_mention_chapter",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry that is no file of its own. `place` is where it was read, for messages; `beside` its file, if it has one."""

    entry_id: str
    place: str
    fields: Mapping[str, object]
    content: str
    beside: Path | None = None

    @property
    def name(self) -> str:
        return f"{self.entry_id}.md"

    def as_bytes(self) -> bytes:
        """The entry as a Markdown file with front matter."""
        front = yaml.safe_dump(dict(self.fields), allow_unicode=True, sort_keys=False, width=10_000)
        return f"---\n{front}---\n{self.content.strip()}\n".encode()


def add_entries(
    at: Layout, paths: Sequence[Path], typed: Sequence[Draft] = (), progress: Progress = silent
) -> ImportReport:
    """Import the entries in the files and folders of `paths`, and those that were typed in; the caller holds the lock.

    InvalidData with every problem where there is any: then nothing is imported.
    """
    lists = [path for path in paths if path.suffix.lower() in LINES_ENDINGS]
    selection = select_files([path for path in paths if path not in lists], apart_from=at.root)
    problems = [Problem(error.name, "", error.reason) for error in selection.rejected]
    drafts = [*typed]
    for path in lists:
        drafts += _read_lines(path, problems)
    with closing(Catalog.open(at.catalog)) as catalog:
        limit = Settings.parse(catalog.settings()).max_file_bytes
    rules = RulesAbove()
    for selected in selection.files:
        problems += _file_problems(selected, rules, limit)
    problems += _draft_problems(drafts, rules)
    if problems:
        raise InvalidData(problems)
    return _import(at, selection, drafts, progress)


def typed_entry(title: str, content: str, fields: Mapping[str, object], entry_id: str | None = None) -> Draft:
    """An entry as the user typed it; UsageError where it has no usable id."""
    stated = {"title": title, **{key: value for key, value in fields.items() if value is not None}}
    found = entry_id or id_of(title)
    if not _ID.match(found):
        raise UsageError(f"entry id {found!r} is not usable: take 1 to 64 letters, digits, - and _, with --id")
    return Draft(found, "the entry", _with_defaults(stated), content)


def id_of(title: str) -> str:
    """The id of an entry that names none: the words of its title, in any script; of a long one the first and its hash."""
    words = "-".join(re.findall(r"[^\W_]+", fold(title)))
    if len(words) <= _LONGEST_ID:
        return words
    return f"{words[: _LONGEST_ID - 9].strip('-')}-{hashlib.sha256(words.encode()).hexdigest()[:8]}"


def _with_defaults(fields: Mapping[str, object]) -> dict[str, object]:
    return {"importance": DEFAULT_IMPORTANCE, "status": "pending"} | {k: v for k, v in fields.items() if v is not None}


def _import(at: Layout, selection: Selection, drafts: Sequence[Draft], progress: Progress) -> ImportReport:
    places = {draft.name: draft.place for draft in drafts}
    with tempfile.TemporaryDirectory() as folder:
        for number, draft in enumerate(drafts):
            path = Path(folder) / f"{number}.md"
            path.write_bytes(draft.as_bytes())
            selection.files.append(Selected(path, draft.name, None, f"{ENTRY_ORIGIN}{draft.entry_id}", draft.beside))
        choices = Choices(decide=lambda name, twin: "separate" if name in places else "refuse", origin="entry add")
        report = import_files(at, selection, choices, progress)
    report.rejected = [RejectedFile(places.get(error.name, error.name), error.reason) for error in report.rejected]
    return report


def _file_problems(selected: Selected, rules: RulesAbove, limit: int) -> Iterator[Problem]:
    """What is wrong with an entry that is a Markdown file, but for how its text is marked."""
    try:
        data = validate_file(selected, encoding=None, limit=limit).data
        front, above = read_front_matter(data), rules.of(selected.place)
        classify(selected.name, above, front, {}, data)
    except RejectedFile as error:
        yield Problem(selected.name, "", error.reason)
        return
    lines = key_lines(data)
    if not front.fields:
        yield Problem(
            f"{selected.name}:1",
            "",
            front.warning or "has no front matter; write type and importance between lines of ---",
        )
        return
    said = {key: value for _, rule in above.files for key, value in rule.items()} | front.fields
    for key, message in _field_problems(said):
        yield Problem(f"{selected.name}:{lines.get(key, 1)}", "", message)
    if said.get("importance") is None:
        yield Problem(f"{selected.name}:1", "", "importance is missing; write importance: 1 to 5")
    if not data[front.body_start :].strip():
        yield Problem(f"{selected.name}:1", "", "has no text; write below the front matter what is known")


def _draft_problems(drafts: Sequence[Draft], rules: RulesAbove) -> Iterator[Problem]:
    """What is wrong with the fields of entries that are no files, and with their ids among each other."""
    first: dict[str, Draft] = {}
    for draft in drafts:
        earlier = first.setdefault(draft.entry_id, draft)
        if earlier is not draft:
            yield Problem(
                draft.place, "", f"id {draft.entry_id!r} is that of {earlier.place} too; give each its own id"
            )
        found = [Problem(draft.place, "", message) for _, message in _field_problems(draft.fields)]
        if not draft.content.strip():
            found.append(Problem(draft.place, "", "content is missing; write what is known"))
        yield from found
        if found:
            continue
        data = draft.as_bytes()
        try:
            front = read_front_matter(data)
            if front.warning:
                yield Problem(draft.place, "", front.warning)
            classify(draft.name, rules.of((draft.beside or Path(draft.name)).resolve()), front, {}, data)
        except RejectedFile as error:
            yield Problem(draft.place, "", error.reason)


def _field_problems(fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it), in words that name the key."""
    type_ = fields.get("type")
    if type_ not in ENTRY_TYPES:
        said = "is missing" if type_ is None else f"{type_!r} is unknown"
        yield "type", f"type {said}; choose from {', '.join(ENTRY_TYPES)}"
    for key in sorted(KNOWLEDGE_KEYS & fields.keys()):
        if fields[key] is None:
            continue
        try:
            parse_entry_value(key, fields[key])
        except UsageError as error:
            yield key, f"{error}"
    if type_ in ENTRY_TYPES and type_ != FORESHADOW and fields.get("foreshadow_state") in FORESHADOW_STATES:
        yield "foreshadow_state", f"foreshadow_state belongs to type {FORESHADOW}, and this is a {type_}; remove it"


def _read_lines(path: Path, problems: list[Problem]) -> list[Draft]:
    """The entries in a file of JSON lines; what cannot be read is noted with its line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        problems.append(Problem(str(path), "", f"{(error.strerror or 'cannot be read').lower()}; check the name"))
        return []
    except UnicodeDecodeError:
        problems.append(Problem(str(path), "", "is not UTF-8 text; write it as JSON lines in UTF-8"))
        return []
    drafts = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                drafts.append(replace(_read_line(line, f"{path.name}:{number}"), beside=path))
            except UsageError as error:
                problems.append(Problem(f"{path.name}:{number}", "", str(error)))
    if not text.strip():
        problems.append(Problem(str(path), "", "holds no entry; write one JSON object a line"))
    return drafts


def _read_line(line: str, place: str) -> Draft:
    try:
        stated = json.loads(line, object_pairs_hook=_each_key_once)
        json.dumps(stated, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise UsageError("holds half a character (a lone surrogate); write the text anew") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"is not JSON ({' '.join(str(error).split())[:120]}); write one object a line") from None
    if not isinstance(stated, dict):
        raise UsageError("is no JSON object; write one with title, type, importance and content")
    fields: dict[str, object] = {
        str(_ALIASES.get(key, key)): value for key, value in stated.items() if key not in ("id", "content")
    }
    title, content = fields.get("title"), stated.get("content")
    if not isinstance(title, str) or not title.strip():
        raise UsageError("title is missing; write the name of what the entry is about")
    if not isinstance(content, str):
        raise UsageError("content is missing; write what is known, as text")
    entry_id = stated.get("id") or id_of(title)
    if not isinstance(entry_id, str) or not _ID.match(entry_id):
        raise UsageError(f"id {entry_id!r} is not usable; take 1 to 64 letters, digits, - and _")
    return Draft(entry_id, place, _with_defaults(fields), content)


def _each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UsageError("a key stands in it twice; keep the one that holds")
    return found
