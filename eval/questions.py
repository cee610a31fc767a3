"""Question sets: what is asked, by whom, and which places answer it or must never be shown.

A set is a folder with queries.jsonl and judgements.jsonl. A place is a verbatim quote, a section or some lines of a
source, so that judgements outlive every change of chunking. Relevance 2 answers, 1 helps, -1 is forbidden to this asker.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from canonry.context import NO_CONTEXT, QueryContext
from canonry.eligibility import Scope
from canonry.errors import UsageError
from canonry.retrieval import Asked, make_request

FORBIDDEN = -1
UNANSWERABLE = "unanswerable"  # the kind whose questions have no place on purpose

_CONTEXT = {
    "scene": "scene", "location": "location", "mention": "entities",
    "thread": "thread", "genre": "genre", "keywords": "state_keywords",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """One question, who asks it, and what surrounds it. `as_of` is a date or an instant (ISO 8601)."""

    query_id: str
    text: str
    kind: str
    role: str = "player"
    spoiler_level: int = 0
    forbid_tags: tuple[str, ...] = ()
    as_of: str | None = None
    context: QueryContext = NO_CONTEXT

    @property
    def asked(self) -> Asked:
        """The options that `Campaign.retrieve` takes for it."""
        return {
            "role": self.role, "spoiler_level": self.spoiler_level, "forbid_tags": self.forbid_tags,
            "as_of": self.as_of, "context": self.context,
        }  # fmt: skip

    @property
    def scope(self) -> Scope:
        """What its asker may see; UsageError where the asker is impossible."""
        return make_request(self.text, **self.asked).scope


@dataclass(frozen=True, slots=True)
class Judgement:
    """A place that answers a question (relevance above 0) or must not be shown for it (below 0).

    The place is `quote`; `heading` (the end of a heading path) and `lines` (first and last, from 1) narrow it down, or
    are the place themselves where there is no quote. `where` is the file and line that state it.
    """

    query_id: str
    source: str  # original file name, as imported
    quote: str
    relevance: int
    heading: tuple[str, ...] = ()
    lines: tuple[int, int] | None = None
    where: str = "judgement"


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions in file order, with their judgements."""

    questions: tuple[Question, ...]
    judgements: tuple[Judgement, ...]

    @property
    def unjudged(self) -> tuple[Question, ...]:
        """Questions without a judgement that are not meant to be unanswerable: no figure can count them."""
        judged = {judgement.query_id for judgement in self.judgements}
        return tuple(one for one in self.questions if one.query_id not in judged and one.kind != UNANSWERABLE)

    @property
    def unasked(self) -> tuple[Judgement, ...]:
        """Judgements about questions that the set does not ask."""
        asked = {question.query_id for question in self.questions}
        return tuple(one for one in self.judgements if one.query_id not in asked)

    @property
    def gaps(self) -> tuple[str, ...]:
        """What is left out of every figure, as sentences with counts and ids; empty where nothing is."""
        unjudged = [question.query_id for question in self.unjudged]
        unasked = list(dict.fromkeys(judgement.query_id for judgement in self.unasked))
        found = []
        if unjudged:
            found.append(f"left out, asked but not judged ({len(unjudged)}): {', '.join(unjudged)}")
        if unasked:
            count = f"{len(self.unasked)} judgement{'s' if len(self.unasked) > 1 else ''}"
            found.append(f"left out, judged but not asked ({count}): {', '.join(unasked)}")
        return tuple(found)


def read_set(folder: Path) -> QuestionSet:
    """The set in `folder`; UsageError that names the file and the line where it cannot be understood."""
    questions: dict[str, Question] = {}
    for row in _rows(folder / "queries.jsonl"):
        question = _question(row)
        if question.query_id in questions:
            raise row.error(f"question {question.query_id} is asked a second time; give it another _id")
        questions[question.query_id] = question
    return QuestionSet(tuple(questions.values()), tuple(_judgement(row) for row in _rows(folder / "judgements.jsonl")))


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of a file as it was read, and where it stands."""

    where: str
    values: Mapping[str, object]

    def error(self, what: str) -> UsageError:
        return UsageError(f"{self.where}: {what}")

    def check_keys(self, *known: str) -> None:
        for key in self.values:
            if key not in known:
                raise self.error(f"has {key!r}, which means nothing here; the keys are {', '.join(known)}")

    def text(self, key: str, otherwise: str | None = None) -> str:
        """The text under `key`, not blank; `otherwise` where the key is not there, which must then be given."""
        if key not in self.values:
            if otherwise is None:
                raise self.error(f"has no {key!r}; add it")
            return otherwise
        value = self.values[key]
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"{key} {value!r} is not a text; write one in quotes")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """The list of texts under `key`; one text stands for a list of one, and no key for an empty list."""
        value = self.values.get(key, [])
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(one, str) and one.strip() for one in listed):
            raise self.error(f'{key} {value!r} is not a list of texts; write ["…", "…"]')
        return tuple(listed)

    def number(self, key: str, least: int, otherwise: int | None = None) -> int:
        """The whole number under `key`, at least `least`; `otherwise` where the key is not there, as in `text`."""
        value = self.values.get(key, otherwise)
        if value is None:
            raise self.error(f"has no {key!r}; add it")
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.error(f"{key} {value!r} is not a whole number from {least} upwards; write one")
        return value


def _question(row: _Row) -> Question:
    row.check_keys("_id", "text", "kind", "role", "spoiler_level", "forbid_tags", "as_of", "context")
    question = Question(
        row.text("_id"), row.text("text"), row.text("kind"), row.text("role", "player"),
        row.number("spoiler_level", 0, 0), row.texts("forbid_tags"), row.text("as_of", "") or None, _context(row),
    )  # fmt: skip
    try:
        question.scope  # noqa: B018  # made to be checked
    except UsageError as error:
        raise row.error(str(error)) from None
    return question


def _context(row: _Row) -> QueryContext:
    if "context" not in row.values:
        return NO_CONTEXT
    given = row.values["context"]
    if not isinstance(given, dict):
        raise row.error(f'context {given!r} is not an object; write {{"scene": "…"}}')
    inner = _Row(f"{row.where}: context", given)
    inner.check_keys(*_CONTEXT)
    read: dict[str, Callable[[str], object]] = {"mention": inner.texts, "keywords": inner.texts}
    return QueryContext(**{_CONTEXT[key]: read.get(key, inner.text)(key) for key in given})  # type: ignore[arg-type]


def _judgement(row: _Row) -> Judgement:
    row.check_keys("query_id", "source", "quote", "relevance", "heading", "lines")
    judgement = Judgement(
        row.text("query_id"), row.text("source"), row.text("quote", ""), row.number("relevance", FORBIDDEN),
        row.texts("heading"), _lines(row), row.where,
    )  # fmt: skip
    if not (judgement.quote or judgement.heading or judgement.lines):
        raise row.error("names no place in its source; add a 'quote', a 'heading' or 'lines'")
    return judgement


def _lines(row: _Row) -> tuple[int, int] | None:
    value = row.values.get("lines")
    if value is None:
        return None
    match value:
        case [int(first), int(last)] if 1 <= first <= last:
            return first, last
    raise row.error(f"lines {value!r} is not [first, last], counted from 1; write two numbers")


def _rows(path: Path) -> Iterator[_Row]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from error
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}); a set has queries.jsonl and judgements.jsonl"
        ) from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except ValueError as error:
            raise UsageError(f"{path}:{number}: not JSON ({error}); write one object a line") from error
        if not isinstance(values, dict):
            raise UsageError(f"{path}:{number}: not a JSON object; write {{…}}")
        yield _Row(f"{path}:{number}", values)
