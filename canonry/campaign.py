"""The Python API: a data directory, its campaigns, and questions to one of them.

import canonry
campaign = canonry.open("data").campaign("vell")
answer = campaign.retrieve("who holds the tower key?", spoiler_level=1)
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, Unpack

from canonry import database, lexical, ranking, standing
from canonry.catalog import Catalog
from canonry.config import Settings
from canonry.context import NO_CONTEXT, KnownNames, QueryContext, Surroundings
from canonry.eligibility import NARRATOR, Scope, eligible_ranges, eligible_sources
from canonry.errors import CanonryError, DamagedData, EmbedderError, IndexMissing
from canonry.fuse import Fusion
from canonry.gate import Gate, default_mode, read_gate
from canonry.layout import Layout, default_root, list_campaigns
from canonry.meaning import Meaning
from canonry.ranking import Leg, Pool, Ranking
from canonry.retrieval import Answer, Asked, Assembler, Passage, Request, make_request
from canonry.text import parse_query
from canonry.why import Funnel, Verdict

if TYPE_CHECKING:
    from canonry.judge import Judge
    from canonry.lexical import Ranges

_Result = TypeVar("_Result")
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
    gate: Gate | None
    behind: int  # live versions that the index does not have yet


@dataclass(slots=True)
class _Found:
    """What a question found, and what a person should know of the search."""

    mode: str
    degraded: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    pool: Pool | None = None  # None where no leg was asked

    def ranked(self, fusion: Fusion) -> Ranking:
        """Everything that is relevant enough and in sight, in order."""
        return self.pool.ranked(fusion) if self.pool else Ranking()


class Campaign:
    """Questions to one campaign. Keeps its files open between questions; `close` lets them go. Not for several threads at once."""

    def __init__(self, at: Layout) -> None:
        self.at = at
        Catalog.open(at.catalog).close()
        self._db: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._ranges: dict[tuple[object, ...], Ranges] = {}
        self._names: dict[Scope, list[KnownNames]] = {}
        self._meaning = Meaning(at)
        self._past: Campaign | None = None
        self._judge: Judge | None = None

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = None
        self._meaning.forget()
        if self._judge is not None:
            self._judge.close()
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
        story_time: int | None = None,
        context: QueryContext = NO_CONTEXT,
        rerank: bool = True,
        explain: bool = False,
        copies: bool = False,
        judge: bool = False,
    ) -> Answer:
        """The passages that answer `query` and that the role may see, best first.

        `mode` is lexical, semantic or hybrid; None takes the campaign's own. `as_of` is a date or an instant (ISO 8601):
        the versions that were live then; `story_time` how far the story is for an NPC that asks. `context` lifts what
        fits the scene and who was mentioned; without `rerank` the order is that of words and meaning alone. `copies`
        shows every passage of equal text instead of one for all. `judge` lets the model of the settings `judge.*` grade
        the first 20 and order them so; UsageError where there is none.
        The answer is empty where nothing is relevant; it says in `degraded` when less was searched than was asked for.
        """
        request = make_request(
            query, spoiler_level=spoiler_level, role=role, mode=mode, limit=limit, classes=classes,
            source_types=source_types, tags=tags, entities=entities, sources=sources, forbid_tags=forbid_tags, as_of=as_of,
            story_time=story_time, context=context, rerank=rerank, explain=explain, copies=copies, judge=judge,
        )  # fmt: skip
        asked = self._at(request.scope)
        if judge:
            return self._judged(asked, request)
        return asked._at_one_moment(lambda snapshot: asked._answer(snapshot, request))

    def _judged(self, asked: Campaign, request: Request) -> Answer:
        """The answer in the order of the judge, who is waited for when both stores are closed."""
        from canonry.judge import MOST_PASSAGES, Judge, judged

        wider = replace(request, limit=max(request.limit, MOST_PASSAGES))
        answer, settings = asked._at_one_moment(lambda s: (asked._answer(s, wider), s.settings.judge))
        if self._judge is None or self._judge.settings != settings:
            self._judge = Judge(settings)
        return judged(answer, self._judge, request.limit)

    def pool(self, query: str, **asked: Unpack[Asked]) -> tuple[Pool | None, str | None]:
        """(what the legs found for `query` before fusion, what the search lacked), with the same options as `retrieve`.

        `ranked(fusion)` of it is the order of the answer under that fusion. None where there is nothing to search for.
        """
        request = make_request(query, **asked)
        there = self._at(request.scope)
        found = there._at_one_moment(lambda snapshot: there._find(snapshot, request))
        return found.pool, "; ".join(found.degraded) or None

    def why(self, chunk_id: str, query: str, *, as_narrator: bool = False, **asked: Unpack[Asked]) -> Verdict:
        """What became of a chunk when `query` was asked, with the same options as `retrieve`: the step that kept or dropped it.

        NotFound for a chunk that the role may not see, in the words that an unknown id gets. `as_narrator` tells a
        narrator what another role's question did with any chunk.
        """
        request = make_request(query, **asked)
        there = self._at(request.scope)
        told = as_narrator or request.scope.role == NARRATOR
        return there._at_one_moment(lambda snapshot: there._why(snapshot, request, chunk_id, told_all=told))

    def _why(self, snapshot: _Snapshot, request: Request, chunk_id: str, *, told_all: bool) -> Verdict:
        ranked = self._find(snapshot, request).ranked(snapshot.settings.fusion)

        def cosine(row: int) -> tuple[float, float] | None:
            return self._meaning.cosine(snapshot.db, snapshot.settings, request.query, row)

        ranges = self._eligible(snapshot.db, request.scope)
        funnel = Funnel(snapshot.db, self.at, request, ranges, ranked, cosine)
        return funnel.verdict(chunk_id, told_all=told_all)

    def _at(self, scope: Scope) -> Campaign:
        return self if scope.as_of is None else self._at_that_time(scope.as_of)

    def _at_that_time(self, as_of: str) -> Campaign:
        """The campaign over the versions that were live then; itself where none of them was superseded since."""
        from flows.as_of import index_as_of

        past = index_as_of(self.at, as_of)
        if past == self.at:
            return self
        if self._past is None or self._past.at != past:
            self._past = Campaign(past)
            self._past._meaning.embedders = self._meaning.embedders
        return self._past

    def standing(self, scope: Scope, chunk_ids: Sequence[str] = ()) -> tuple[list[Passage], dict[str, Passage]]:
        """What a pack takes without ranking it: canon that is always included, in its order, and the named chunks.

        Only what the scope may see; a named chunk that it does not see is absent.
        """
        asked = self._at(scope)
        return asked._at_one_moment(lambda snapshot: asked._standing(snapshot, scope, chunk_ids))

    def _standing(
        self, snapshot: _Snapshot, scope: Scope, chunk_ids: Sequence[str]
    ) -> tuple[list[Passage], dict[str, Passage]]:
        assemble = Assembler(snapshot.db, self.at, [], "", explain=False)
        named = standing.named_rows(snapshot.db, self._eligible(snapshot.db, scope), chunk_ids)
        return (
            [assemble.passage(row, 0.0, 0) for row in standing.always_rows(snapshot.db, scope)],
            {chunk_id: assemble.passage(row, 0.0, 0) for chunk_id, row in named.items()},
        )

    def corrections(self, scope: Scope, passages: Sequence[Passage]) -> dict[tuple[str, str], list[Passage]]:
        """(version id, chunk id) of each passage that others correct -> those of them that the scope may see, the latest first."""
        asked = self._at(scope)
        keys = [(passage.source_version_id, passage.chunk_id) for passage in passages]
        return asked._at_one_moment(lambda snapshot: asked._corrections(snapshot, scope, keys))

    def _corrections(
        self, snapshot: _Snapshot, scope: Scope, keys: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], list[Passage]]:
        assemble = Assembler(snapshot.db, self.at, [], "", explain=False)
        found = standing.corrections(snapshot.db, self._eligible(snapshot.db, scope), keys)
        return {key: [assemble.passage(row, 0.0, 0) for row in rows] for key, rows in found.items()}

    def count(self, scope: Scope) -> int:
        """How many passages the scope may see."""
        asked = self._at(scope)
        return asked._at_one_moment(lambda snapshot: len(asked._eligible(snapshot.db, scope)))

    def survey(self, scope: Scope, work: Callable[[Iterator[Passage]], _Result]) -> _Result:
        """What `work` makes of every passage that the scope may see, by row; all of one moment."""
        asked = self._at(scope)

        def each(snapshot: _Snapshot) -> Iterator[Passage]:
            assemble = Assembler(snapshot.db, asked.at, [], "", explain=False)
            for first, last in asked._eligible(snapshot.db, scope).pairs:
                rows = snapshot.db.execute("SELECT row FROM knowledge_chunk WHERE row BETWEEN ? AND ?", (first, last))
                for (row,) in rows.fetchall():
                    yield assemble.passage(row, 0.0, 0)

        return asked._at_one_moment(lambda snapshot: work(each(snapshot)))

    def sources_in_sight(self, scope: Scope) -> set[str]:
        """Ids of the sources of which the scope may see at least one passage."""
        asked = self._at(scope)
        return asked._at_one_moment(lambda snapshot: eligible_sources(snapshot.db, scope))

    def _at_one_moment(self, work: Callable[[_Snapshot], _Result]) -> _Result:
        """What `work` makes of one snapshot; done again when a writer switched generations between two of its reads."""
        with database.plain_errors(self.at.lexical, "`canonry reindex --full` builds the index anew"):
            for _ in range(_MISSING_FILE_TRIES):
                try:
                    with self._snapshot() as snapshot:
                        return work(snapshot)
                except FileNotFoundError as error:
                    missing = Path(error.filename)
                    self._meaning.forget()
                    time.sleep(_MISSING_FILE_WAIT_S)
        repair = (
            "import the source again" if missing.parent == self.at.files else "`canonry reindex --full` makes it anew"
        )
        raise DamagedData(f"{missing}: is missing; {repair}")

    def _answer(self, snapshot: _Snapshot, request: Request) -> Answer:
        found = self._find(snapshot, request)
        ranked = found.ranked(snapshot.settings.fusion)
        assemble = Assembler(
            snapshot.db,
            self.at,
            ranked.legs,
            request.query,
            explain=request.explain,
            floor=ranked.floor,
            fusion=ranked.fusion,
        )
        results = [assemble.ranked(one) for one in ranked.chosen[: request.limit]]
        degraded = "; ".join(found.degraded) or None
        return Answer(self.at.campaign, request.query, found.mode, degraded, found.notices, results)

    def _find(self, snapshot: _Snapshot, request: Request) -> _Found:
        """What the legs found in sight, and what was lacking in the search."""
        by_default, notice = default_mode(self.at, snapshot.settings, snapshot.gate)
        found = _Found(request.mode or by_default)
        words = parse_query(request.query)
        ranges = self._eligible(snapshot.db, request.scope)
        candidates = ranking.depth(request.limit)
        legs: list[Leg] = []
        if snapshot.behind:
            found.degraded.append(
                "not everything is indexed yet; `canonry reindex` does it"
            )  # a number could give a secret away
        if words and found.mode != "semantic":
            legs.append(ranking.lexical_leg(snapshot.db, words, ranges, candidates))
        if words and found.mode != "lexical":
            try:
                legs.append(
                    self._meaning.leg(snapshot.db, snapshot.settings, request.query, ranges, candidates, found.degraded)
                )
            except EmbedderError as error:
                found.degraded.append(str(error) + ("; searched by words alone" if legs else ""))
        if request.mode is None and notice:
            found.notices.append(notice)
        elif request.mode is None and found.mode == "lexical" and snapshot.settings.embedder != "none":
            found.notices.append("searched by words; `--mode hybrid` searches by meaning too")
        around = self._surroundings(snapshot.db, request, ranges)
        if around.mentioned:
            legs.append(ranking.entity_leg(snapshot.db, around.mentioned, ranges, candidates))
        if legs:
            found.pool = ranking.pool(snapshot.db, legs, words, around, rerank=request.rerank, copies=request.copies)
        return found

    def _surroundings(self, db: sqlite3.Connection, request: Request, ranges: Ranges) -> Surroundings:
        """The context, and the entities and tags of sources in sight that the question names."""
        if not request.rerank:
            return Surroundings(request.context)
        if request.scope not in self._names:
            self._names[request.scope] = [KnownNames.in_sight(db, ranges, kind) for kind in ("entity", "tag")]
        return Surroundings(request.context, *(known.named_in(request.query) for known in self._names[request.scope]))

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
                yield _Snapshot(
                    db,
                    settings,
                    read_gate(db, "cat"),
                    self._behind(db) if indexed < sequence and not self.at.past else 0,
                )
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
            self._names.clear()
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
                self._names.clear()
            self._ranges[key] = eligible_ranges(db, scope)
        return self._ranges[key]


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
