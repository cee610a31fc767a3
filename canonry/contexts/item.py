"""An item of context: what it is, what it was made from, how far it holds and who may be given it.

Nothing here says how relevant an item is: that is for whoever selects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from canonry.tokens import count_tokens

KNOWLEDGE, LOG, MEMORY, CALLER = "knowledge", "log", "memory", "caller"
ORIGINS = (KNOWLEDGE, LOG, MEMORY, CALLER)
AUTHORITIES = ("canon", "accepted", "reference", "inspiration", "none")  # accepted: by the log of a running game
KINDS = (
    "lore",
    "state",
    "note",
    "text",
    "reasoning",
    "private_state",
    "trace",
    "answer_key",
)


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a context may hold, whole. `id` is its name from one day to the next; `fingerprint` covers its text,
    its place and its authority; `source_fingerprint` is that of what it was cut or made from.

    `roles` empty means every role that its kind allows. Greater `priority` comes first. `invalidated` says why it no
    longer holds, and is empty while it does. `known_by` None means known to everyone. `known_from` is in story order, or names a
    chapter that has no place in it: nobody knows it then.
    """

    id: str
    origin: str
    kind: str
    authority: str
    text: str
    title: str
    place: tuple[str, ...] = ()
    source_id: str = ""
    source_version_id: str = ""
    source_fingerprint: str = ""
    roles: tuple[str, ...] = ()
    priority: int = 0
    pinned: bool = False
    derived: bool = False
    hidden: bool = False
    protected: bool = False  # changes by accepted proposals or events alone
    invalidated: str = ""
    spoiler_level: int = 0
    spoiler_tags: tuple[str, ...] = ()
    known_by: tuple[str, ...] | None = None
    known_from: int | str | None = None

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits; another text, place or authority gives another."""
        return digest(self.authority, self.kind, self.title, *self.place, self.text)

    @property
    def tokens(self) -> int:
        """Of the bare text, without a frame."""
        return count_tokens(self.text)

    def as_json(self, *, with_text: bool = True) -> dict[str, object]:
        fields = asdict(self) | {"fingerprint": self.fingerprint, "tokens": self.tokens}
        if not with_text:
            del fields["text"]
        return fields


def digest(*parts: str) -> str:
    """A fingerprint of texts in order: 32 hexadecimal digits of SHA-256."""
    content = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:32]


def in_order(items: Iterable[Item]) -> list[Item]:
    """Pinned first, then by priority (the greatest first), then by id: the author's control, not a ranking."""
    return sorted(items, key=lambda item: (not item.pinned, -item.priority, item.id))
