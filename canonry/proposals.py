"""Proposals: what would change a locked source, kept until a person accepts or rejects it.

Of a locked source nothing changes by an edit, an import or a refresh, but that stricter secrecy holds at once. The rest is
a row here; the bytes of a proposed text lie beside the catalog (`Layout.proposed`) until the decision.
"""

from __future__ import annotations

import difflib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from canonry import database, passing_files
from canonry.errors import CanonryError, NotFound
from canonry.records import Source, SourceFacts
from canonry.text import fold
from canonry.timestamps import now

_COLUMNS = "proposal_id, source_id, base_version_id, proposed, origin, created_at, state, decided_at, note"


@dataclass(frozen=True, slots=True)
class ProposedText:
    """A text that would become the next version; its bytes are UTF-8. The fields are those of a version."""

    content_hash: str
    kind: str
    original_hash: str
    normal_hash: str
    encoding: str
    file_size: int
    original_path: str
    original_filename: str
    title: str


@dataclass(frozen=True, slots=True)
class Change:
    """What a source would become. `before` is what was said of it when the proposal was made; rules as JSON."""

    before: SourceFacts
    after: SourceFacts
    rules_before: str
    rules_after: str
    stated: tuple[str, ...] = ()  # fields that the user stated; later imports leave them alone
    text: ProposedText | None = None

    @property
    def kind(self) -> str:
        return "text" if self.text else "facts"

    def as_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Change:
        stated = json.loads(text)
        return cls(
            _facts(stated["before"]),
            _facts(stated["after"]),
            stated["rules_before"],
            stated["rules_after"],
            tuple(stated["stated"]),
            ProposedText(**stated["text"]) if stated["text"] else None,
        )


@dataclass(frozen=True, slots=True)
class Proposal:
    """One proposal. `state` is pending, accepted or rejected; times in UTC (ISO 8601)."""

    proposal_id: int
    source_id: str
    base_version_id: str  # live when it was made
    change: Change
    origin: str
    created_at: str
    state: str
    decided_at: str | None
    note: str


def differences(before: SourceFacts, after: SourceFacts) -> dict[str, tuple[object, object]]:
    """Field -> (value before, value after) of what differs; labels in another order are the same."""
    found: dict[str, tuple[object, object]] = {}
    for name in (field.name for field in fields(SourceFacts)):
        old, new = getattr(before, name), getattr(after, name)
        same = sorted(old, key=fold) == sorted(new, key=fold) if isinstance(old, tuple) else old == new
        if not same:
            found[name] = (old, new)
    return found


def set_locked(db: sqlite3.Connection, source_id: str, locked: bool) -> None:
    """From now on a source changes by accepted proposals alone, or freely again. What is waiting goes on waiting."""
    with database.transaction(db):
        db.execute(
            "UPDATE knowledge_source SET locked = ?, updated_at = ? WHERE source_id = ?", (locked, now(), source_id)
        )


def find_same(db: sqlite3.Connection, source: Source, change: Change) -> Proposal | None:
    """The latest pending or rejected proposal of just this change to the same version."""
    row = db.execute(
        f"SELECT {_COLUMNS} FROM proposal WHERE source_id = ? AND base_version_id = ? AND proposed = ? "
        "AND state <> 'accepted' ORDER BY proposal_id DESC LIMIT 1",
        (source.source_id, source.version_id, change.as_json()),
    ).fetchone()
    return _proposal(row) if row else None


def add(db: sqlite3.Connection, source: Source, change: Change, origin: str) -> Proposal:
    """A new pending proposal; the bytes of a proposed text are stored before."""
    with database.transaction(db):
        cursor = db.execute(
            "INSERT INTO proposal (source_id, base_version_id, kind, proposed, origin, created_at) VALUES (?, ?, ?, ?, ?, ?)",
            (source.source_id, source.version_id, change.kind, change.as_json(), origin, now()),
        )
    return find(db, int(cursor.lastrowid or 0))


def find(db: sqlite3.Connection, proposal_id: int) -> Proposal:
    """The proposal of that number, decided or not; NotFound where there is none."""
    row = db.execute(f"SELECT {_COLUMNS} FROM proposal WHERE proposal_id = ?", (proposal_id,)).fetchone()
    if row is None:
        raise NotFound(f"proposal {proposal_id} does not exist here; `canonry proposals list --all` shows what does")
    return _proposal(row)


def find_pending(db: sqlite3.Connection, proposal_id: int) -> Proposal:
    """The proposal of that number, which is still to be decided."""
    proposal = find(db, proposal_id)
    if proposal.state != "pending":
        raise CanonryError(
            f"proposal {proposal_id} was {proposal.state} on {(proposal.decided_at or '')[:19]} UTC; "
            "to change the source again, edit or import it again"
        )
    return proposal


def find_all(db: sqlite3.Connection, *, decided: bool = False, source_id: str | None = None) -> list[Proposal]:
    """Pending proposals, of one source or of all, with `decided` the others too, in the order in which they came."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM proposal WHERE (?1 OR state = 'pending') AND (?2 IS NULL OR source_id = ?2) ORDER BY proposal_id",
        (decided, source_id),
    )
    return [_proposal(row) for row in rows]


def decide(db: sqlite3.Connection, proposal_id: int, state: str, note: str) -> None:
    """Mark a proposal accepted or rejected, inside the caller's transaction."""
    db.execute(
        "UPDATE proposal SET state = ?, decided_at = ?, note = ? WHERE proposal_id = ?",
        (state, now(), note, proposal_id),
    )
    text = find(db, proposal_id).change.text
    passing_files.announce(db, [text.content_hash] if text else [])


def held_hashes(db: sqlite3.Connection) -> set[str]:
    """Contents that a pending proposal holds."""
    return {content_hash for content_hash, _, _ in held_texts(db)}


def held_texts(db: sqlite3.Connection) -> set[tuple[str, str, int]]:
    """(SHA-256, extension without its dot, bytes) of every text that a pending proposal holds."""
    rows = db.execute("SELECT json_extract(proposed, '$.text') FROM proposal WHERE state = 'pending' AND kind = 'text'")
    texts = [ProposedText(**json.loads(text)) for (text,) in rows]
    return {(text.content_hash, "md" if text.kind == "markdown" else "txt", text.file_size) for text in texts}


def why_stale(proposal: Proposal, source: Source, heading_rules: str) -> str | None:
    """Why a proposal cannot be accepted any more: what it was made from has changed. None where it has not."""
    change = proposal.change
    if change.text:
        if proposal.base_version_id != source.version_id:
            return f"version {source.version_id} is live, and it was made from {proposal.base_version_id}"
        return None
    if change.rules_after != change.rules_before != heading_rules:
        return "the rules for its headings have changed since"
    for name, (old, _) in differences(change.before, change.after).items():
        if name in differences(change.before, source.facts):
            return f"its {plainly(name)} is {shown(getattr(source.facts, name))} now, and was {shown(old)}"
    return None


def plainly(name: str) -> str:
    """A field's name for a person."""
    return "type" if name == "source_type" else name.rstrip("_").replace("_", " ")


def shown(value: object) -> str:
    """A fact's value for a person."""
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value in (None, "") else str(value)


def text_diff(before: str, after: str) -> Sequence[str]:
    """A unified diff, line by line; empty where the texts are the same."""
    return list(difflib.unified_diff(before.splitlines(), after.splitlines(), "live", "proposed", lineterm=""))


def _facts(stated: dict[str, object]) -> SourceFacts:
    return SourceFacts(**{name: tuple(value) if isinstance(value, list) else value for name, value in stated.items()})  # type: ignore[arg-type]


def _proposal(row: Sequence[object]) -> Proposal:
    proposal_id, source_id, base, proposed, *rest = row
    return Proposal(proposal_id, source_id, base, Change.from_json(str(proposed)), *rest)  # type: ignore[arg-type]
