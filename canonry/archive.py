"""The export of a campaign, as a file: one zip of these members.

    catalog.jsonl                       every row of the catalog (`canonry.dump`)
    files/<sha256>.<md|txt>             every stored version
    proposed/<sha256>.<md|txt>          every text that waits as a proposal
    sessions.jsonl                      every row of sessions and notes (`canonry.contexts.transfer`), where there are any
    vectors/<fingerprint>/<part>.parquet    knowledge_embedding, where it was asked for
    manifest.json                       what the export is of, and name, size and SHA-256 of every other member

Equal campaigns give equal members in equal order; only the manifest says when.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from canonry.errors import UsageError

CONTRACT = "canonry/export/1"
MANIFEST = "manifest.json"
CATALOG = "catalog.jsonl"
SESSIONS = "sessions.jsonl"
FILES = "files/"
PROPOSED = "proposed/"
STORED = (FILES, PROPOSED)
VECTORS = "vectors/"
MEMBER_NAME = re.compile(
    r"manifest\.json|catalog\.jsonl|sessions\.jsonl|(files|proposed)/[0-9a-f]{64}\.(md|txt)|vectors/\w[\w.+@~=-]{0,119}/[\w-]{1,100}\.parquet",
    re.ASCII,
)
BLOCK_BYTES = 1 << 20  # read, hashed and written at a time

MAX_RATIO = 200  # bytes of a member for each byte of it in the archive
RATIO_FREE_BYTES = 1 << 20  # a member below this may be packed as tightly as it likes
ENTRY_BYTES = 200  # of the zip's list of entries, for each member that is allowed
MANIFEST_BYTES = 320  # of the manifest, for each member that is allowed
MOST_BYTES = 2**62  # and members, that limits may allow
MOST_MEMBERS = 10**9


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that an archive may hold: bytes of all its members unpacked, and how many members it has.

    The defaults hold a campaign of 4 GiB in 100,000 versions.
    """

    bytes: int = 4 << 30
    members: int = 100_000

    def __post_init__(self) -> None:
        if self.bytes < 1 or self.members < 1:
            raise UsageError(f"limits of {self.bytes} bytes and {self.members} members let nothing in: choose others")
        if self.bytes > MOST_BYTES or self.members > MOST_MEMBERS:
            raise UsageError(
                f"limits of {self.bytes} bytes and {self.members} members are more than any archive has: choose up to "
                f"{MOST_BYTES} bytes and {MOST_MEMBERS} members"
            )

    @property
    def list_bytes(self) -> int:
        """Of the zip's own list of entries."""
        return max(BLOCK_BYTES, self.members * ENTRY_BYTES)

    @property
    def manifest_bytes(self) -> int:
        return max(BLOCK_BYTES, self.members * MANIFEST_BYTES)


@dataclass(frozen=True, slots=True)
class Member:
    """One member but the manifest: its size in bytes, unpacked, and the SHA-256 of these bytes."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Embeddings:
    """The vectors of one embedder in an export; stale ones are told by fingerprint, dimensions and chunking version.

    The fingerprint covers the model's version, its dimensions and how texts are given to it.
    """

    fingerprint: str
    model: str
    dimensions: int
    created_at: str  # of the latest part
    chunking_version: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an export is of. `rows` counts the rows of each table of the catalog, `session_rows` those of sessions and notes,
    whose tables are of version `sessions_version`; 0 where there are none.
    """

    canonry: str
    campaign_id: str
    created_at: str
    catalog_version: int
    rows: Mapping[str, int]
    embeddings: tuple[Embeddings, ...]
    members: tuple[Member, ...]
    sessions_version: int = 0
    session_rows: Mapping[str, int] = field(default_factory=dict)

    @property
    def total_bytes(self) -> int:
        """Of all members, unpacked."""
        return sum(member.bytes for member in self.members)

    def dump(self) -> bytes:
        content = {"contract": CONTRACT, **asdict(self)}
        return json.dumps(content, ensure_ascii=False, indent=1).encode() + b"\n"

    @classmethod
    def parse(cls, data: bytes) -> Manifest:
        """The manifest of that text; ValueError, in words, where it is none of this contract."""
        try:
            said = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"is not JSON ({error})") from error
        if not isinstance(said, dict) or not isinstance(said.get("contract"), str):
            raise ValueError("does not say which contract it follows; this is no export of canonry")
        writer = said.get("canonry")
        if said["contract"] != CONTRACT:
            raise ValueError(
                f"follows contract {said['contract'][:60]!r}, this canonry reads {CONTRACT}; install canonry "
                f"{writer if isinstance(writer, str) else 'of the version that wrote it'} or later to restore it"
            )
        rows = _field(said, "rows", dict)
        with_sessions = {"sessions_version": 0, "session_rows": {}} | said
        session_rows = _field(with_sessions, "session_rows", dict)
        return cls(
            _field(said, "canonry", str), _field(said, "campaign_id", str), _field(said, "created_at", str),
            _field(said, "catalog_version", int), {table: _field(rows, table, int) for table in rows},
            _records(said, "embeddings", Embeddings), _records(said, "members", Member),
            _field(with_sessions, "sessions_version", int),
            {table: _field(session_rows, table, int) for table in session_rows},
        )  # fmt: skip


def _field(said: Mapping[str, Any], name: str, kind: type[Any]) -> Any:
    value: Any = said.get(name)
    if type(value) is not kind:
        raise ValueError(f"its {name!r} is missing or of another kind")
    if isinstance(value, int) and value < 0:
        raise ValueError(f"its {name!r} is below 0")
    return value


def _records(said: Mapping[str, Any], name: str, kind: type[Any]) -> tuple[Any, ...]:
    types = {"bytes": int, "dimensions": int}
    names = [one.name for one in fields(kind)]
    records = []
    for one in _field(said, name, list):
        if not isinstance(one, dict):
            raise ValueError(f"its {name!r} holds something else than records")
        records.append(kind(*(_field(one, name, types.get(name, str)) for name in names)))
    return tuple(records)
