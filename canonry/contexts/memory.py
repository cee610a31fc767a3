"""The memory bank: notes that a model or a person derives from passages, bound to the versions that these came from.

A note is no knowledge: no query finds it, it establishes nothing, and it never leaves the bank but as an item marked as
derived. When a source of it has another text, or is gone, the note is invalid; it is kept, and holds again where the very
text comes back. It could tell whatever its author could see, so it is for the author's role (and what a player wrote for
everyone), from the author's spoiler level and story time on, and for nobody who may not see all its passages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass

from canonry.campaign import Campaign
from canonry.catalog import Catalog
from canonry.contexts.assembly import Ref
from canonry.contexts.failures import MissingEvidence, named
from canonry.contexts.inventory import Inventory
from canonry.contexts.item import KNOWLEDGE, MEMORY, Item, digest
from canonry.contexts.journal import Journal, open_journal
from canonry.contexts.roles import why_not
from canonry.eligibility import Scope, is_role
from canonry.errors import NotFound, UsageError
from canonry.perspective import is_character
from canonry.readership import told_until
from canonry.text import fold
from canonry.timestamps import now

PREFIX = "memory:"
LONGEST = 20_000  # characters of a note
_PLAYER = "player"


@dataclass(frozen=True, slots=True)
class Note:
    """One note as it was written. `story_time` is -1 before all; `withdrawn_why` is empty while it stands."""

    note_id: int
    created_at: str
    author: str
    text: str
    refs: tuple[Ref, ...]
    role: str
    spoiler_level: int
    story_time: int
    forbid_tags: tuple[str, ...]
    readers: tuple[str, ...]
    withdrawn_at: str | None
    withdrawn_why: str

    @property
    def id(self) -> str:
        return f"{PREFIX}{self.note_id}"


def remember(
    journal: Journal, inventory: Inventory, text: str, ids: Sequence[str], *, author: str, readers: Sequence[str] = ()
) -> Note:
    """Keep a note that was derived from these passages. MissingEvidence where the inventory's role does not see one."""
    if not text.strip() or len(text) > LONGEST:
        raise UsageError(f"a note of {len(text):,} characters; write 1 to {LONGEST:,}")
    if not ids:
        raise UsageError("a note that is derived from nothing; name the passages that it comes from")
    for role in readers:
        if not is_role(role):
            raise UsageError(f"role {role!r} is not usable as a reader; take writer, narrator, npc:<id>, …")
    found = {id_: item for id_, item in inventory.find(ids).items() if item.origin == KNOWLEDGE}
    if missing := [id_ for id_ in ids if id_ not in found]:
        raise MissingEvidence(f"{named(missing)}: no passage that this role may see; search shows what is", missing)
    scope, refs = inventory.scope, [asdict(Ref.of(found[id_])) for id_ in dict.fromkeys(ids)]
    with journal.writing() as db:
        cursor = db.execute(
            "INSERT INTO note (created_at, author, text, refs, role, spoiler_level, story_time, forbid_tags, readers) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                now(), author, text, json.dumps(refs), scope.role, scope.spoiler_level, told_until(scope),
                json.dumps(scope.forbid_tags), json.dumps([*readers]),
            ),
        )  # fmt: skip
    return _notes(journal, "note_id = ?", (int(cursor.lastrowid or 0),))[0]


def withdraw(journal: Journal, scope: Scope, note_id: int, why: str) -> Note:
    """Let a note hold no more; it is kept. NotFound alike for one that never was and one that the scope may not read."""
    found = _notes(journal, "note_id = ?", (note_id,))
    if not found or why_not(_item(found[0], ""), scope) or not _is_kept_from(found[0], scope):
        raise NotFound(
            f"note {PREFIX}{note_id} is not in the bank for {scope.role}; `canonry memory list` shows what is"
        )
    with journal.writing() as db:
        db.execute(
            "UPDATE note SET withdrawn_at = ?, withdrawn_why = ? WHERE note_id = ? AND withdrawn_at IS NULL",
            (now(), why or "withdrawn", note_id),
        )
    return _notes(journal, "note_id = ?", (note_id,))[0]


def remembered(campaign: Campaign, scope: Scope) -> list[Item]:
    """The notes that the scope may read, as items, in the order in which they were written; invalid ones say why.

    Empty where there is no bank.
    """
    try:
        with open_journal(campaign.at) as journal:
            notes = [
                note for note in _notes(journal) if not why_not(_item(note, ""), scope) and _is_kept_from(note, scope)
            ]
    except NotFound:
        return []
    in_sight = campaign.standing(scope, sorted({ref.id for note in notes for ref in note.refs}))[1]
    live = _live_fingerprints(campaign)
    items = []
    for note in notes:
        changed = any(live.get(ref.source_id) != ref.source_fingerprint for ref in note.refs)
        if not changed and any(ref.id not in in_sight for ref in note.refs):
            continue  # a passage of it is not for this role any more
        why = note.withdrawn_why or ("a source of it has changed" if changed else "")
        items.append(_item(note, why))
    return items


def _live_fingerprints(campaign: Campaign) -> dict[str, str]:
    """Source id -> content hash of its live version."""
    with closing(Catalog.open(campaign.at.catalog)) as catalog:
        return {row.source_id: row.content_hash for row in catalog.live_versions()}


def _item(note: Note, invalidated: str) -> Item:
    """A note as an item. What an author with a story time wrote is not for the same character at an earlier one."""
    roles = () if fold(note.role) == _PLAYER else (note.role, *note.readers)
    since = note.story_time if is_character(note.role) and note.story_time >= 0 else None
    return Item(
        id=note.id, origin=MEMORY, kind="note", authority="none", text=note.text, title=f"Note by {note.author}",
        source_id=", ".join(dict.fromkeys(ref.source_id for ref in note.refs)),
        source_fingerprint=digest(*(ref.source_fingerprint for ref in note.refs)), roles=roles, derived=True,
        invalidated=invalidated, spoiler_level=note.spoiler_level, known_from=since,
    )  # fmt: skip


def _is_kept_from(note: Note, scope: Scope) -> bool:
    """Whether its author was kept from every tag that the scope is kept from."""
    return {*map(fold, scope.forbid_tags)} <= {*map(fold, note.forbid_tags)}


def _notes(journal: Journal, where: str = "1", parameters: Iterable[object] = ()) -> list[Note]:
    rows = journal.connection.execute(
        "SELECT note_id, created_at, author, text, refs, role, spoiler_level, story_time, forbid_tags, readers, withdrawn_at, "
        f"withdrawn_why FROM note WHERE {where} ORDER BY note_id",
        tuple(parameters),
    )
    return [
        Note(
            note_id, at, author, text, tuple(Ref(**ref) for ref in json.loads(refs)), role, level, time,
            tuple(json.loads(tags)), tuple(json.loads(readers)), gone_at, gone_why,
        )
        for note_id, at, author, text, refs, role, level, time, tags, readers, gone_at, gone_why in rows
    ]  # fmt: skip
