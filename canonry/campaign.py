"""Questions to one campaign: what answers them, why, and what stands in sight of who asks."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar, Unpack

from canonry import ranking, standing
from canonry.catalog import Catalog
from canonry.context import NO_CONTEXT, QueryContext, Surroundings
from canonry.eligibility import NARRATOR, Scope, eligible_ranges, eligible_sources, failing_of, sight_of_all
from canonry.errors import DamagedData, EmbedderError, IndexMissing
from canonry.fuse import Fusion
from canonry.gate import default_mode
from canonry.layout import Layout
from canonry.meaning import Meaning
from canonry.ranking import Leg, Pool, Ranking
from canonry.retrieval import Answer, Asked, Assembler, Passage, Request, make_request
from canonry.snapshot import Snapshot, Snapshots
from canonry.text import parse_query
from canonry.why import Funnel, Verdict, obstacles

if TYPE_CHECKING:
    from canonry.judge import Judge
    from canonry.lexical import Ranges

_Result = TypeVar("_Result")
_PAST_TRIES = 5  # an index of an earlier time goes with each deletion


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
        self._meaning = Meaning(at)
        self._snapshots = Snapshots(at, forget=self._meaning.forget)
        self._past: Campaign | None = None
        self._judge: Judge | None = None

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._snapshots.close()
        if self._judge is not None:
            self._judge.close()
        if self._past is not None:
            self._past.close()
            self._past = None

    def _connection(self) -> sqlite3.Connection:
        """Both stores, for measurements and tests that look past every scope."""
        return self._snapshots.connection()

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
        if judge:
            return self._judged(request)
        return self._moment(request.scope, lambda there, snapshot: there._answer(snapshot, request))

    def _judged(self, request: Request) -> Answer:
        """The answer in the order of the judge, who is waited for when both stores are closed."""
        from canonry.judge import MOST_PASSAGES, Judge, judged

        wider = replace(request, limit=max(request.limit, MOST_PASSAGES))
        answer, settings = self._moment(request.scope, lambda there, s: (there._answer(s, wider), s.settings.judge))
        if self._judge is None or self._judge.settings != settings:
            self._judge = Judge(settings)
        return judged(answer, self._judge, request.limit)

    def pool(self, query: str, **asked: Unpack[Asked]) -> tuple[Pool | None, str | None]:
        """(what the legs found for `query` before fusion, what the search lacked), with the same options as `retrieve`.

        `ranked(fusion)` of it is the order of the answer under that fusion. None where there is nothing to search for.
        """
        request = make_request(query, **asked)
        found = self._moment(request.scope, lambda there, snapshot: there._find(snapshot, request))
        return found.pool, "; ".join(found.degraded) or None

    def why(self, chunk_id: str, query: str, *, as_narrator: bool = False, **asked: Unpack[Asked]) -> Verdict:
        """What became of a chunk when `query` was asked, with the same options as `retrieve`: the step that kept or dropped it.

        NotFound for a chunk that the role may not see, in the words that an unknown id gets. `as_narrator` tells a
        narrator what another role's question did with any chunk.
        """
        request = make_request(query, **asked)
        told = as_narrator or request.scope.role == NARRATOR
        return self._moment(
            request.scope, lambda there, snapshot: there._why(snapshot, request, chunk_id, told_all=told)
        )

    def _why(self, snapshot: Snapshot, request: Request, chunk_id: str, *, told_all: bool) -> Verdict:
        ranked = self._find(snapshot, request).ranked(snapshot.settings.fusion)

        def cosine(row: int) -> tuple[float, float] | None:
            return self._meaning.cosine(snapshot.db, snapshot.settings, request.query, row)

        ranges = self._snapshots.eligible(snapshot.db, request.scope)
        funnel = Funnel(snapshot.db, self.at, request, ranges, ranked, cosine)
        return funnel.verdict(chunk_id, told_all=told_all)

    def rules_against(self, scope: Scope, chunk_ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """Chunk id -> name of each rule that keeps it from the scope -> what it says; for eyes that may see everything.

        A chunk that the scope sees, or that is not there, is absent.
        """
        return self._moment(scope, lambda there, snapshot: _rules_against(snapshot.db, scope, chunk_ids))

    def _moment(self, scope: Scope, work: Callable[[Campaign, Snapshot], _Result]) -> _Result:
        """What `work` makes of the campaign as of the scope's time, and of a snapshot of it.

        An index of an earlier time that a deletion takes away meanwhile is made anew, of what is left.
        """
        for left in reversed(range(_PAST_TRIES)):
            there = self._at(scope)
            try:
                return there._snapshots.at_one_moment(partial(work, there))
            except (IndexMissing, DamagedData):
                if there is self or there.at.lexical.exists() or not left:
                    raise
        raise AssertionError("the last try returns or raises")

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
        return self._moment(scope, lambda there, snapshot: there._standing(snapshot, scope, chunk_ids))

    def _standing(
        self, snapshot: Snapshot, scope: Scope, chunk_ids: Sequence[str]
    ) -> tuple[list[Passage], dict[str, Passage]]:
        assemble = Assembler(snapshot.db, self.at, [], "", explain=False)
        named = standing.named_rows(snapshot.db, self._snapshots.eligible(snapshot.db, scope), chunk_ids)
        return (
            [assemble.passage(row, 0.0, 0) for row in standing.always_rows(snapshot.db, scope)],
            {chunk_id: assemble.passage(row, 0.0, 0) for chunk_id, row in named.items()},
        )

    def corrections(self, scope: Scope, passages: Sequence[Passage]) -> dict[tuple[str, str], list[Passage]]:
        """(version id, chunk id) of each passage that others correct -> those of them that the scope may see, the latest first."""
        keys = [(passage.source_version_id, passage.chunk_id) for passage in passages]
        return self._moment(scope, lambda there, snapshot: there._corrections(snapshot, scope, keys))

    def _corrections(
        self, snapshot: Snapshot, scope: Scope, keys: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], list[Passage]]:
        assemble = Assembler(snapshot.db, self.at, [], "", explain=False)
        found = standing.corrections(snapshot.db, self._snapshots.eligible(snapshot.db, scope), keys)
        return {key: [assemble.passage(row, 0.0, 0) for row in rows] for key, rows in found.items()}

    def count(self, scope: Scope) -> int:
        """How many passages the scope may see."""
        return self._moment(scope, lambda there, snapshot: len(there._snapshots.eligible(snapshot.db, scope)))

    def survey(self, scope: Scope, work: Callable[[Iterator[Passage]], _Result]) -> _Result:
        """What `work` makes of every passage that the scope may see, by row; all of one moment."""

        def each(there: Campaign, snapshot: Snapshot) -> Iterator[Passage]:
            assemble = Assembler(snapshot.db, there.at, [], "", explain=False)
            for first, last in there._snapshots.eligible(snapshot.db, scope).pairs:
                rows = snapshot.db.execute("SELECT row FROM knowledge_chunk WHERE row BETWEEN ? AND ?", (first, last))
                for (row,) in rows.fetchall():
                    yield assemble.passage(row, 0.0, 0)

        return self._moment(scope, lambda there, snapshot: work(each(there, snapshot)))

    def sources_in_sight(self, scope: Scope) -> set[str]:
        """Ids of the sources of which the scope may see at least one passage."""
        return self._moment(scope, lambda there, snapshot: eligible_sources(snapshot.db, scope))

    def _answer(self, snapshot: Snapshot, request: Request) -> Answer:
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

    def _find(self, snapshot: Snapshot, request: Request) -> _Found:
        """What the legs found in sight, and what was lacking in the search."""
        by_default, notice = default_mode(self.at, snapshot.settings, snapshot.gate)
        found = _Found(request.mode or by_default)
        words = parse_query(request.query)
        ranges = self._snapshots.eligible(snapshot.db, request.scope)
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
        names = self._snapshots.known_names(db, request.scope, ranges)
        return Surroundings(request.context, *(known.named_in(request.query) for known in names))


def _rules_against(db: sqlite3.Connection, scope: Scope, chunk_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    everything = standing.named_rows(db, eligible_ranges(db, sight_of_all(scope)), chunk_ids)
    against = failing_of(db, everything.values(), scope)
    return {
        chunk_id: {name: reason for name, (reason, _) in obstacles(db, row, against[row]).items()}
        for chunk_id, row in everything.items()
        if row in against
    }
