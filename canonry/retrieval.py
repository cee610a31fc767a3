"""Passages and answers: what a caller gets, and how a ranked row becomes a passage with its reasons.

    question -> eligibility -> lexical leg ∥ semantic leg -> fusion -> floor -> rerank -> dedupe -> passages [-> judge]

The order is total: best score first, equal scores by chunk id, so the same question on the same index gives the same
answer in every process. A leg that did not find a passage has no score for it (null).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, TypedDict, Unpack

from canonry.config import MODES
from canonry.context import NO_CONTEXT, QueryContext, asked_words, read_terms
from canonry.eligibility import Scope
from canonry.errors import DamagedData, UsageError
from canonry.floor import Coverage, Floor
from canonry.fuse import DEFAULT_FUSION, Fusion
from canonry.ranking import CANDIDATES, Leg, Ranked, check_limit
from canonry.rerank import lifts
from canonry.text import is_unspaced
from canonry.timestamps import parse_instant

if TYPE_CHECKING:
    from canonry.layout import Layout


@dataclass(frozen=True, slots=True)
class Passage:
    """One quotable passage. `exact_text` is the bytes [start_byte, end_byte) of the version's file, verbatim.

    Scores: BM25 and cosine as the legs gave them, null where a leg did not find it; `fused_score` is how relevant it is,
    and what the order starts from (`explain` has what authority and context add to it).
    `content_hash` is the SHA-256 of the stored version. Lines count from 1.
    """

    chunk_id: str
    exact_text: str
    source_version_id: str
    title: str
    uri: str
    page: int | None
    lexical_score: float | None
    semantic_score: float | None
    fused_score: float
    trust: str | None
    spoiler_tags: list[str]
    campaign_id: str
    source_id: str
    class_: str
    heading_path: list[str]
    chunk_index: int
    spoiler_level: int
    visibility: str
    tags: list[str]
    entities: list[str]
    start_byte: int
    end_byte: int
    start_line: int
    end_line: int
    content_hash: str
    token_count: int
    valid_from: str
    valid_to: str | None
    reasons: list[str]
    priority: str
    scope: str | None
    source_type: str | None
    explain: dict[str, object] | None = None

    def as_json(self) -> dict[str, object]:
        """The passage with the contract's field names, `explain` only where it was asked for."""
        fields = {("class" if name == "class_" else name): value for name, value in asdict(self).items()}
        if self.explain is None:
            del fields["explain"]
        return fields


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question got. `degraded` says why less was searched than was asked for; `notices` are for a person."""

    campaign_id: str
    query: str
    mode: str
    degraded: str | None = None
    notices: list[str] = field(default_factory=list)
    results: list[Passage] = field(default_factory=list)

    def as_json(self) -> dict[str, object]:
        return {
            "campaign_id": self.campaign_id,
            "query": self.query,
            "mode": self.mode,
            "degraded": self.degraded,
            "notices": self.notices,
            "results": [passage.as_json() for passage in self.results],
        }


@dataclass(frozen=True, slots=True)
class Request:
    """One question: what is asked, by whom, of what, and how the answer is wanted. `mode` None takes the campaign's own."""

    query: str
    scope: Scope
    mode: str | None = None
    limit: int = 8
    context: QueryContext = NO_CONTEXT
    rerank: bool = True
    copies: bool = False
    explain: bool = False
    judge: bool = False


class Asked(TypedDict, total=False):
    """The options of a question, as `Campaign.retrieve` documents them."""

    spoiler_level: int
    role: str
    mode: str | None
    limit: int
    classes: Sequence[str]
    source_types: Sequence[str]
    tags: Sequence[str]
    entities: Sequence[str]
    sources: Sequence[str]
    forbid_tags: Sequence[str]
    as_of: str | None
    story_time: int | None
    context: QueryContext
    rerank: bool
    explain: bool
    copies: bool
    judge: bool


def make_request(query: str, **asked: Unpack[Asked]) -> Request:
    """A question with its options checked; UsageError for one that cannot mean anything."""
    as_of = asked.get("as_of")
    scope = Scope(
        asked.get("role", "player"), asked.get("spoiler_level", 0), tuple(asked.get("forbid_tags", ())),
        tuple(asked.get("classes", ())), tuple(asked.get("source_types", ())), tuple(asked.get("tags", ())),
        tuple(asked.get("entities", ())), tuple(asked.get("sources", ())), parse_instant(as_of) if as_of else None,
        asked.get("story_time"),
    )  # fmt: skip
    mode, limit = asked.get("mode"), check_limit(asked.get("limit", 8))
    if mode is not None and mode not in MODES:
        raise UsageError(f"mode {mode!r} is unknown; choose from {', '.join(MODES)}")
    return Request(
        query, scope, mode, limit, asked.get("context", NO_CONTEXT), asked.get("rerank", True),
        asked.get("copies", False), asked.get("explain", False), asked.get("judge", False),
    )  # fmt: skip


class Assembler:
    """Turns ranked rows into passages, inside one read transaction."""

    def __init__(
        self,
        db: sqlite3.Connection,
        at: Layout,
        legs: Sequence[Leg],
        query_text: str,
        *,
        explain: bool,
        floor: Floor | None = None,
        fusion: Fusion | None = None,
    ) -> None:
        self._db = db
        self._at = at
        self._asked_words = asked_words(query_text)
        self._explain = explain
        self._places = {leg.name: {hit.row: (rank, hit.score) for rank, hit in enumerate(leg.hits, 1)} for leg in legs}
        self._floor = floor
        self._fusion = fusion or DEFAULT_FUSION
        self._shares: dict[str, dict[int, float]] = {}
        if explain and len(legs) > 1:
            heads = {leg.name: [(hit.row, hit.score) for hit in leg.hits[:CANDIDATES]] for leg in legs}
            self._shares = self._fusion.shares(heads)

    def passage(self, row: int, score: float, copies: int) -> Passage:
        """The passage in that row of the lexical store, found with that fused score."""
        return self.ranked(Ranked(row, score, copies=copies))

    def ranked(self, ranked: Ranked) -> Passage:
        """The passage of a row in its place."""
        row = ranked.row
        facts = self._facts(row)
        text = self._text(facts)
        labels = self._labels(str(facts["source_id"]))
        tags = sorted({*json.loads(str(facts["run_tags"])), *labels.get("spoiler_tag", ())})
        hidden = facts["visibility"] == "hidden" or bool(facts["run_hidden"])
        places = {name: found.get(row) for name, found in self._places.items()}
        lexical_place, semantic_place = places.get("lexical"), places.get("semantic")
        return Passage(
            chunk_id=str(facts["chunk_id"]), exact_text=text, source_version_id=str(facts["version_id"]),
            title=str(facts["title"]), uri=str(facts["uri"] or facts["original_filename"]), page=facts["page"],  # type: ignore[arg-type]
            lexical_score=lexical_place[1] if lexical_place else None,
            semantic_score=semantic_place[1] if semantic_place else None,
            fused_score=ranked.fused, trust=facts["trust"], spoiler_tags=tags,  # type: ignore[arg-type]
            campaign_id=self._at.campaign, source_id=str(facts["source_id"]), class_=str(facts["class"]),
            heading_path=json.loads(str(facts["heading_path"])), chunk_index=_int(facts, "chunk_index"),
            spoiler_level=max(_int(facts, "spoiler_level"), _int(facts, "run_level")),
            visibility="hidden" if hidden else "normal",
            tags=list(labels.get("tag", ())), entities=list(labels.get("entity", ())),
            start_byte=_int(facts, "start_byte"), end_byte=_int(facts, "end_byte"),
            start_line=_int(facts, "start_line"), end_line=_int(facts, "end_line"),
            content_hash=str(facts["content_hash"]), token_count=_int(facts, "token_count"),
            valid_from=str(facts["valid_from"]), valid_to=facts["valid_to"],  # type: ignore[arg-type]
            priority=str(facts["priority"]), scope=facts["scope"], source_type=facts["source_type"],  # type: ignore[arg-type]
            reasons=[*self._reasons(row, places), *_lifts(ranked, str(facts["class"]), str(facts["priority"]))],
            explain=self._components(places, ranked) if self._explain else None,
        )  # fmt: skip

    def _facts(self, row: int) -> dict[str, object]:
        cursor = self._db.execute(
            """
            SELECT c.*, d.content_hash, d.extension, r.spoiler_level AS run_level, r.spoiler_tags AS run_tags,
                   r.hidden AS run_hidden, v.source_id, v.valid_from, v.valid_to, s.title, s.class, s.visibility,
                   s.spoiler_level, s.priority, s.scope, s.source_type, s.trust, s.uri, s.original_filename
            FROM knowledge_chunk c JOIN document d USING (version_id)
            JOIN run r ON r.first = (SELECT max(first) FROM run WHERE first <= c.row)
            JOIN cat.knowledge_source_version v USING (version_id) JOIN cat.knowledge_source s USING (source_id)
            WHERE c.row = ?
            """,
            (row,),
        )
        values = cursor.fetchone()
        return {column[0]: value for column, value in zip(cursor.description, values, strict=True)}

    def _text(self, facts: Mapping[str, object]) -> str:
        path = self._at.file(str(facts["content_hash"]), str(facts["extension"]))
        start, end = _int(facts, "start_byte"), _int(facts, "end_byte")
        try:
            with path.open("rb") as file:
                file.seek(start)
                data = file.read(end - start)
            if len(data) == end - start:
                return data.decode("utf-8")
        except FileNotFoundError:  # deleted since this snapshot, or lost: the caller looks again
            raise
        except (OSError, UnicodeDecodeError) as error:
            raise DamagedData(f"{path}: {error}; import the source again from its original") from error
        raise DamagedData(f"{path}: shorter than its catalog says; import the source again from its original")

    def _labels(self, source_id: str) -> dict[str, tuple[str, ...]]:
        labels: dict[str, tuple[str, ...]] = {}
        for kind, label in self._db.execute(
            "SELECT kind, label FROM cat.source_label WHERE source_id = ?", (source_id,)
        ):
            labels[kind] = (*labels.get(kind, ()), label)
        return labels

    def _reasons(self, row: int, places: Mapping[str, tuple[int, float] | None]) -> list[str]:
        reasons = []
        if lexical_place := places.get("lexical"):
            words = ", ".join(self._matched_words(row)[:8])
            reasons.append(
                f"holds {words or 'the words asked for'} (BM25 {lexical_place[1]:.2f}, place {lexical_place[0]} by words)"
            )
        if semantic_place := places.get("semantic"):
            reasons.append(
                f"is close in meaning (cosine {semantic_place[1]:.2f}, place {semantic_place[0]} by meaning)"
            )
        return reasons

    def _matched_words(self, row: int) -> list[str]:
        """The words of the question, as written, that were asked for and that the row holds, each once."""
        stored = self._db.execute("SELECT title, heading, body FROM chunk_terms WHERE row = ?", (row,)).fetchone()
        terms = set(" ".join(stored).split())
        singles = {term[0] for term in terms}
        matched: list[str] = []
        for word, asked in self._asked_words.items():
            if terms.intersection(asked) or (is_unspaced(word) and word in singles):
                matched.append(word)
        return matched

    def _covered(self, floor: Floor, row: int) -> Coverage:
        return floor.coverage(read_terms(self._db, [row])[row])

    def _components(self, places: Mapping[str, tuple[int, float] | None], ranked: Ranked) -> dict[str, object]:
        legs: dict[str, object] = {}
        row = ranked.row
        for name, place in places.items():
            share = self._shares.get(name, {}).get(row)
            legs[name] = None if place is None else {"rank": place[0], "score": place[1], "share": share}
        return {
            "legs": legs,
            "fusion": self._fusion.label if len(places) > 1 else None,
            "fused_score": ranked.fused,
            "covered": None if self._floor is None else asdict(self._covered(self._floor, ranked.row)),
            "boosts": None if ranked.boosts is None else dict(ranked.boosts.parts),
            "boost": None if ranked.boosts is None else ranked.boosts.total,
            "score": ranked.score,
        }


def _lifts(ranked: Ranked, class_: str, priority: str) -> list[str]:
    """What context and authority did for a passage, in words, and for which others it stands."""
    reasons = list(ranked.boosts.reasons) if ranked.boosts else []
    if ranked.boosts and ranked.passed:
        others = f"{ranked.passed} passage{'s' * (ranked.passed > 1)} that match{'es' * (ranked.passed == 1)}"
        reasons.append(f"is lifted above {others} a little better: {lifts(ranked.boosts, class_, priority)}")
    if ranked.copies:
        reasons.append(f"stands for {ranked.copies} more passage{'s' * (ranked.copies > 1)} with the same text")
    return reasons


def _int(facts: Mapping[str, object], name: str) -> int:
    value = facts[name]
    assert isinstance(value, int)
    return value
