"""The Python API: a data directory, its campaigns, and questions to one of them.

import canonry
campaign = canonry.open("data").campaign("vell")
answer = campaign.retrieve("who holds the tower key?", spoiler_level=1)
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from canonry import database, lexical, retrieval
from canonry.catalog import Catalog, parse_instant
from canonry.config import MODES, Settings
from canonry.eligibility import Scope, eligible_ranges
from canonry.errors import CanonryError, DamagedData, EmbedderError, IndexMissing, UsageError
from canonry.layout import Layout, default_root, list_campaigns
from canonry.retrieval import Answer, Assembler, Leg
from canonry.text import parse_query

if TYPE_CHECKING:
    from canonry.embedders import Embedder
    from canonry.lexical import Ranges
    from canonry.semantic import Scan

_SNAPSHOT_TRIES = 200
_MISSING_FILE_TRIES = 20
_MISSING_FILE_WAIT_S = 0.01


class Library:
    """A data directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def campaign(self, campaign: str) -> Campaign:
        """One campaign of it; NotFound where there is none of that id."""
        return Campaign(Layout(self.root, campaign))

    def campaigns(self) -> list[str]:
        """Ids, sorted."""
        return list_campaigns(self.root)


def open_library(data: str | os.PathLike[str] | None = None) -> Library:
    """The data directory `data`; else $CANONRY_DATA, else ./data. Nothing is created."""
    return Library(Path(data) if data is not None else default_root())


@dataclass(slots=True)
class _Snapshot:
    """One read transaction over the lexical store and the catalog, and what it was opened on."""

    db: sqlite3.Connection
    settings: Settings
    behind: int  # live versions that the index does not have yet


class Campaign:
    """Questions to one campaign. Keeps its files open between questions; `close` lets them go. Not for several threads at once."""

    def __init__(self, at: Layout) -> None:
        self.at = at
        Catalog.open(at.catalog).close()
        self._db: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._ranges: dict[tuple[object, ...], Ranges] = {}
        self._scan: Scan | None = None
        self._embedders: dict[str, Embedder] = {}
        self._past: Campaign | None = None

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = None
        self._scan = None
        if self._past is not None:
            self._past.close()
            self._past = None

    def retrieve(
        self,
        query: str,
        *,
        spoiler_level: int = 0,
        role: str = "player",
        mode: str | None = None,
        limit: int = 8,
        classes: Sequence[str] = (),
        source_types: Sequence[str] = (),
        tags: Sequence[str] = (),
        entities: Sequence[str] = (),
        sources: Sequence[str] = (),
        forbid_tags: Sequence[str] = (),
        as_of: str | None = None,
        explain: bool = False,
        copies: bool = False,
    ) -> Answer:
        """The passages that answer `query` and that the role may see, best first.

        `mode` is lexical, semantic or hybrid; None takes the campaign's own. `as_of` is a date or an instant (ISO 8601):
        the versions that were live then. `copies` shows every passage of equal text instead of one for all.
        The answer is empty where nothing matches; it says in `degraded` when less was searched than was asked for.
        """
        retrieval.check_limit(limit)
        if mode is not None and mode not in MODES:
            raise UsageError(f"mode {mode!r} is unknown; choose from {', '.join(MODES)}")
        scope = Scope(
            role, spoiler_level, tuple(forbid_tags), tuple(classes), tuple(source_types), tuple(tags), tuple(entities),
            tuple(sources), parse_instant(as_of) if as_of else None,
        )  # fmt: skip
        asked = self if scope.as_of is None else self._at_that_time(scope.as_of)
        return asked._retrieve(query, scope, mode, limit, explain=explain, copies=copies)

    def _at_that_time(self, as_of: str) -> Campaign:
        """The campaign over the versions that were live then; itself where none of them was superseded since."""
        from flows.as_of import index_as_of

        past = index_as_of(self.at, as_of)
        if past == self.at:
            return self
        if self._past is None or self._past.at != past:
            self._past = Campaign(past)
            self._past._embedders = self._embedders
        return self._past

    def _retrieve(
        self, query: str, scope: Scope, mode: str | None, limit: int, *, explain: bool, copies: bool
    ) -> Answer:
        """The answer at one moment; asked again when a writer switched generations between two of our reads."""
        with database.plain_errors(self.at.lexical, "`canonry reindex --full` builds the index anew"):
            for _ in range(_MISSING_FILE_TRIES):
                try:
                    with self._snapshot() as snapshot:
                        return self._answer(snapshot, query, scope, mode, limit, explain=explain, copies=copies)
                except FileNotFoundError as error:
                    missing, self._scan = Path(error.filename), None
                    time.sleep(_MISSING_FILE_WAIT_S)
        repair = (
            "import the source again" if missing.parent == self.at.files else "`canonry reindex --full` makes it anew"
        )
        raise DamagedData(f"{missing}: is missing; {repair}")

    def _answer(
        self,
        snapshot: _Snapshot,
        query: str,
        scope: Scope,
        mode: str | None,
        limit: int,
        *,
        explain: bool,
        copies: bool,
    ) -> Answer:
        asked = mode or snapshot.settings.mode
        answer = Answer(self.at.campaign, query, asked)
        words = parse_query(query)
        ranges = self._eligible(snapshot.db, scope)
        candidates = retrieval.depth(limit)
        legs: list[Leg] = []
        degraded: list[str] = []
        if snapshot.behind:
            degraded.append(
                f"{snapshot.behind} source{'s are' if snapshot.behind > 1 else ' is'} not indexed yet; `canonry reindex` does it"
            )
        if words and asked != "semantic":
            legs.append(retrieval.lexical_leg(snapshot.db, words, ranges, candidates))
        if words and asked != "lexical":
            try:
                legs.append(self._semantic_leg(snapshot, query, ranges, candidates, degraded))
            except EmbedderError as error:
                degraded.append(str(error) + ("; searched by words alone" if legs else ""))
        if mode is None and asked == "lexical" and snapshot.settings.embedder != "none":
            answer.notices.append(
                "searched by words; `--mode hybrid` searches by meaning too (an evaluation decides whether it should be the default)"
            )
        ranked = retrieval.fuse_legs(snapshot.db, legs) if legs else []
        chosen = [(row, score, 0) for row, score in ranked] if copies else retrieval.drop_copies(snapshot.db, ranked)
        assemble = Assembler(snapshot.db, self.at, legs, query, explain=explain)
        results = [assemble.passage(row, score, count) for row, score, count in chosen[:limit]]
        return Answer(self.at.campaign, query, asked, "; ".join(degraded) or None, answer.notices, results)

    @contextmanager
    def _snapshot(self) -> Iterator[_Snapshot]:
        """Both stores as they were at one moment: the catalog first, then an index that asks for no later catalog."""
        for _ in range(_SNAPSHOT_TRIES):
            db = self._connection()
            db.execute("BEGIN")
            try:
                sequence = int(db.execute("SELECT value FROM cat.meta WHERE key = 'sequence'").fetchone()[0])
                if lexical.meta(db, "contract") != lexical.CONTRACT:
                    raise IndexMissing(
                        f"{self.at.lexical}: index of contract {lexical.meta(db, 'contract')}, this canonry reads {lexical.CONTRACT}; "
                        "`canonry reindex` builds it anew"
                    )
                indexed = int(lexical.meta(db, "catalog_sequence") or 0)
                if indexed > sequence:
                    continue
                settings = Settings.parse(dict(db.execute("SELECT key, value FROM cat.setting")))
                yield _Snapshot(db, settings, self._behind(db) if indexed < sequence and not self.at.past else 0)
                return
            finally:
                db.rollback()
        raise DamagedData(
            f"{self.at.lexical}: index of a later catalog than {self.at.catalog}; `canonry reindex --full` builds it anew"
        )

    def _connection(self) -> sqlite3.Connection:
        """The lexical store with the catalog attached as `cat`; opened again when the file was replaced."""
        try:
            stat = self.at.lexical.stat()
        except FileNotFoundError:
            raise IndexMissing(
                f"campaign {self.at.campaign!r} has no index yet; `canonry import` or `canonry reindex` makes it"
            ) from None
        identity = (stat.st_dev, stat.st_ino)
        if self._db is None or self._opened != identity:
            self.close()
            self._db = database.open_reader(self.at.lexical)
            database.attach_reader(self._db, self.at.catalog, "cat")
            self._opened = identity
            self._ranges.clear()
        return self._db

    def _behind(self, db: sqlite3.Connection) -> int:
        return int(
            db.execute(
                "SELECT count(*) FROM cat.knowledge_source_version v WHERE v.valid_to IS NULL "
                "AND NOT EXISTS (SELECT 1 FROM document d WHERE d.version_id = v.version_id)"
            ).fetchone()[0]
        )

    def _eligible(self, db: sqlite3.Connection, scope: Scope) -> Ranges:
        """The rows that the scope may see; remembered until either store changes."""
        versions = tuple(db.execute(f"PRAGMA {schema}.data_version").fetchone()[0] for schema in ("main", "cat"))
        key = (versions, scope)
        if key not in self._ranges:
            if len(self._ranges) >= 64 or any(known[0] != versions for known in self._ranges):
                self._ranges.clear()
            self._ranges[key] = eligible_ranges(db, scope)
        return self._ranges[key]

    def _semantic_leg(
        self, snapshot: _Snapshot, query: str, ranges: Ranges, candidates: int, degraded: list[str]
    ) -> Leg:
        """The semantic leg, or an EmbedderError that says why it cannot vote; `degraded` is told what it lacks."""
        if snapshot.settings.embedder == "none":
            raise EmbedderError("this campaign has no embedder (it is set to none)")
        generation = lexical.meta(snapshot.db, "generation")
        if not generation:
            raise EmbedderError("there are no vectors yet; `canonry reindex` makes them")
        if self._scan is None or self._scan.generation != generation:
            from canonry.semantic import Scan

            self._scan = Scan.open(self.at.scan(generation))
        scan = self._scan
        if scan.build != lexical.meta(snapshot.db, "build"):
            raise EmbedderError("the vectors belong to another build of the index; `canonry reindex` makes them anew")
        embedder = self._embedder(scan.spec)
        if embedder.fingerprint != scan.fingerprint:
            raise EmbedderError(
                f"the vectors were made by {scan.fingerprint}, not by {embedder.fingerprint}; `canonry reindex` makes new ones"
            )
        from canonry.embedders import knows

        if not knows(embedder.scripts, query):
            raise EmbedderError(f"the embedder {scan.spec} does not know the script of this question")
        pending = snapshot.db.execute(
            "SELECT count(*) FROM knowledge_chunk WHERE row > ?",
            (int(lexical.meta(snapshot.db, "vectors_to_row") or 0),),
        ).fetchone()[0] + int(lexical.meta(snapshot.db, "vectors_missing") or 0)
        if pending:
            degraded.append(
                f"{pending} passage{'s have' if pending > 1 else ' has'} no vector yet and can be found by words only; `canonry reindex` makes them"
            )
        return retrieval.semantic_leg(
            snapshot.db, scan, embedder.embed_query(query), ranges, candidates, embedder.minimum_cosine
        )

    def _embedder(self, spec: str) -> Embedder:
        if spec not in self._embedders:
            from canonry.embedders import load

            embedder = load(spec)
            if embedder is None:
                raise EmbedderError(f"there is no embedder behind {spec!r}")
            self._embedders[spec] = embedder
        return self._embedders[spec]


def retrieve_from(
    game_id: str,
    query: str,
    spoiler_level: int,
    source_types: Sequence[str] | None = None,
    as_of: str | None = None,
    limit: int = 8,
) -> list[dict[str, object]]:
    """Passages of campaign `game_id` in the default data directory, as dictionaries with the contract's field names.

    Each holds at least chunk_id, exact_text, source_version_id, title, uri, page, lexical_score, semantic_score,
    fused_score, trust and spoiler_tags. Best first; empty where nothing matches.
    """
    with open_library().campaign(game_id) as campaign:
        answer = campaign.retrieve(
            query, spoiler_level=spoiler_level, source_types=source_types or (), as_of=as_of, limit=limit
        )
        return [passage.as_json() for passage in answer.results]


__all__ = ["Campaign", "CanonryError", "Library", "open_library", "retrieve_from"]
