"""Sessions and notes as lines of JSON, one row a line, and back: how an export carries them.

The file of a saved game stays where it is, and its path with it: a session that was begun with one goes on without its
state. What comes back may be from anyone, so each event is looked at as if it were about to be used: its kind, what it
holds, what it refers to, and what all events of its session come to.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from canonry import row_lines
from canonry.canonlog.problem import InvalidData
from canonry.contexts import journal as journals
from canonry.contexts.blocks import parse_blocks
from canonry.contexts.failures import ContextFailure
from canonry.contexts.journal import Journal
from canonry.contexts.selection import ref_problems
from canonry.contexts.session import fold
from canonry.contexts.task import parse_task
from canonry.eligibility import Scope, is_role
from canonry.errors import CanonryError
from canonry.readership import BEFORE_ALL
from canonry.row_lines import BadRows, Row

_WHAT = "a session or a note"
_Check = Callable[[Any], bool]


def dump_rows(journal: Journal) -> Iterator[bytes]:
    """Every row, as the connection's transaction sees it; each line ends with a line feed."""
    return row_lines.dump_rows(journal.connection, journal.at.sessions, _told)


def _told(table: str, row: Row) -> Row:
    """The row without the path of a saved game."""
    if table == "event" and row["kind"] == "opened":
        body = json.loads(row["body"])
        had_save = bool(body["save"] or body.get("had_save"))
        return row | {"body": json.dumps(body | {"save": None, "had_save": had_save}, ensure_ascii=False)}
    return row


def load_rows(journal: Journal, lines: Iterable[bytes], version: int) -> dict[str, int]:
    """Fill an empty journal with the rows of an export of that version, and bring it up to date.

    Inside the caller's transaction. Returns the rows of each table; BadRows where a line is no row, or where the rows
    together are no sessions that can be gone on with.
    """
    db = journal.connection
    journals.make_tables(db, version)
    counts = row_lines.load_rows(db, lines, _checked, of=_WHAT)
    broken = db.execute("PRAGMA foreign_key_check").fetchone()
    if broken:
        raise BadRows(f"a row of {broken[0]} belongs to a row of {broken[2]} that is not there")
    for (session_id,) in db.execute("SELECT session_id FROM session").fetchall():
        try:
            _check_session(journal, session_id)
        except (CanonryError, InvalidData, ValueError, TypeError, KeyError, AttributeError) as error:
            raise BadRows(f"session {session_id!r} cannot be gone on with ({row_lines.in_words(error)})") from error
    journals.make_tables(db, journals.newest_version())
    return counts


def _checked(table: str, row: Row) -> Row:
    """The row; ValueError for one that the tables would take and that is none all the same."""
    if (
        table == "artifact"
        and hashlib.sha256(row["content"].encode("utf-8", "surrogatepass")).hexdigest() != row["hash"]
    ):
        raise ValueError("other text than its name says (SHA-256)")
    if table in ("session", "note"):
        _check_scope(row)
    if table == "note":
        refs = json.loads(row["refs"])
        if not refs or list(ref_problems(refs, "refs")) or not all(isinstance(ref, dict) for ref in refs):
            raise ValueError("refs holds something else than passages")
        if not all(map(is_role, _words(row["readers"]))):
            raise ValueError("readers holds something else than roles")
    if table == "event":
        body, shape = json.loads(row["body"]), _SHAPES.get(row["kind"])
        if shape is None:
            raise ValueError(f"there is no event of kind {str(row['kind'])[:60]!r}")
        if not isinstance(body, dict) or not all(key in body and check(body[key]) for key, check in shape.items()):
            raise ValueError(f"an event of kind {row['kind']} holds something else")
        if not all(_is_count(body.get(key, 0)) for key in _COUNTS):
            raise ValueError("its costs are no numbers")
    return row


def _check_scope(row: Row) -> None:
    time = row["story_time"]
    Scope(
        row["role"],
        row["spoiler_level"],
        tuple(_words(row["forbid_tags"])),
        story_time=None if time == BEFORE_ALL else time,
    )


def _words(text: str) -> list[str]:
    words = json.loads(text)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("no list of words")
    return words


def _check_session(journal: Journal, session_id: str) -> None:
    events = journal.events(session_id)
    if [event.number for event in events] != [*range(1, len(events) + 1)] or not events or events[0].kind != "opened":
        raise ValueError("its events are not all there")
    opened = events[0].body
    parse_task(json.dumps(opened["task"]).encode(), "task")
    wanted = [event.body["artifact"] for event in events if event.kind == "stop"]
    for name in filter(None, (opened["blocks"], *wanted)):
        if not journal.has_artifact(name):
            raise ValueError("a text that it refers to is not there")
    if opened["blocks"]:
        parse_blocks(journal.artifact(opened["blocks"]).encode(), "blocks")
    for name in wanted:
        if not isinstance(json.loads(journal.artifact(name))["text"], str):
            raise ValueError("its context holds something else")
    fold(events)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 1 << 40


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _are_refs(value: object) -> bool:
    return (
        isinstance(value, list)
        and all(isinstance(ref, dict) for ref in value)
        and not list(ref_problems(value, "selected"))
    )


def _are_stale(value: object) -> bool:
    """What a driver is told again: ids, and the names of failures that there are."""
    kinds = {kind.__name__ for kind in ContextFailure.__subclasses__()}
    return isinstance(value, list) and all(
        isinstance(one, dict) and str(one.get("error")) in kinds and not list(ref_problems([one.get("id")], "stale"))
        and isinstance(one["id"], str)
        for one in value
    )  # fmt: skip


def _is_state(value: object) -> bool:
    return (
        isinstance(value, dict)
        and _are_refs(value.get("selected"))
        and isinstance(value.get("stopped"), bool)
        and all(_is_count(count) for key, count in value.items() if key not in ("selected", "stopped"))
    )


_COUNTS = ("calls", "tokens", "granted_calls", "granted_tokens")
_SHAPES: Mapping[str, Mapping[str, _Check]] = {
    "opened": {
        "task": lambda value: isinstance(value, dict),
        "save": lambda value: value is None,  # no file of this machine is read because an export names it
        "blocks": lambda value: value is None or isinstance(value, str),
    },
    "search": {"query": _is_text, "mode": _is_text, "ids": _are_texts},
    "fetch": {"ids": _are_texts},
    "select": {"selected": _are_refs},
    "resumed": {
        "selected": _are_refs,
        "stale": _are_stale,
    },
    "refused": {"error": _is_text},
    "granted": {"granted_calls": _is_count, "granted_tokens": _is_count},
    "stop": {"artifact": _is_text, "reason": _is_text},
    "checkpoint": {"state": _is_state},
}
