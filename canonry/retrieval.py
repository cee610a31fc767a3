"""From a question to passages: eligibility, the legs, fusion, one passage for each text, and the reason for each.

    question -> eligibility -> lexical leg ∥ semantic leg -> fusion -> dedupe -> passages

The order is total: best score first, equal scores by chunk id, so the same question on the same index gives the same
answer in every process. A leg that did not find a passage has no score for it (null).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from canonry import fuse, lexical
from canonry.errors import DamagedData, UsageError
from canonry.lexical import Hit, Ranges
from canonry.text import FUNCTION_WORDS, Query, is_unspaced, parse_query

if TYPE_CHECKING:
    from canonry.layout import Layout
    from canonry.semantic import Scan

CANDIDATES = 100  # of each leg; fixed, so that a smaller limit is the beginning of a larger one
LARGEST_LIMIT = 1_000
_EDGES = "\"'“”‘’.,;:!?()[]{}*^-。，、！？「」"


@dataclass(frozen=True, slots=True)
class Passage:
    """One quotable passage. `exact_text` is the bytes [start_byte, end_byte) of the version's file, verbatim.

    Scores: BM25 and cosine as the legs gave them, `fused_score` what the order follows; null where a leg did not find
    it. `content_hash` is the SHA-256 of the stored version. Lines count from 1.
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
class Leg:
    """One ranked list: rows with their scores, best first, ties by chunk id; `weight` is its share in the fusion."""

    name: str
    weight: float
    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    row: int
    chunk_id: str
    version_id: str
    body_hash: str


def check_limit(limit: int) -> int:
    if not 1 <= limit <= LARGEST_LIMIT:
        raise UsageError(f"limit {limit} must lie between 1 and {LARGEST_LIMIT}")
    return limit


def depth(limit: int) -> int:
    """Candidates of each leg: the fixed number, and more only where the limit itself is larger."""
    return max(CANDIDATES, 2 * limit)


def lexical_leg(db: sqlite3.Connection, query: Query, ranges: Ranges, candidates: int) -> Leg:
    """BM25 over the eligible rows."""
    return _leg(db, "lexical", fuse.LEXICAL_WEIGHT, lexical.search(db, query, ranges, candidates), candidates)


def semantic_leg(
    db: sqlite3.Connection, scan: Scan, vector: object, ranges: Ranges, candidates: int, minimum: float
) -> Leg:
    """Cosine over the eligible rows that have vectors; what lies under the model's floor is noise and left out."""
    hits = [hit for hit in scan.search(vector, ranges, candidates) if hit.score >= minimum]  # type: ignore[arg-type]
    return _leg(db, "semantic", fuse.SEMANTIC_WEIGHT, hits, candidates)


def _leg(db: sqlite3.Connection, name: str, weight: float, hits: Sequence[Hit], candidates: int) -> Leg:
    rows = _rows(db, [hit.row for hit in hits])
    known = [hit for hit in hits if hit.row in rows]
    known.sort(key=lambda hit: (-hit.score, rows[hit.row].chunk_id, rows[hit.row].version_id))
    return Leg(name, weight, tuple(known[:candidates]))


def _rows(db: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, _Row]:
    found: dict[int, _Row] = {}
    for at in range(0, len(numbers), 500):
        some = numbers[at : at + 500]
        marks = ",".join("?" * len(some))
        for row in db.execute(
            f"SELECT row, chunk_id, version_id, body_hash FROM knowledge_chunk WHERE row IN ({marks})", some
        ):
            found[row[0]] = _Row(*row)
    return found


def fuse_legs(db: sqlite3.Connection, legs: Sequence[Leg]) -> list[tuple[int, float]]:
    """(row, fused score), best first, ties by chunk id. One leg alone keeps its own scores."""
    if len(legs) == 1:
        return [(hit.row, hit.score) for hit in legs[0].hits]
    rows = _rows(db, sorted({hit.row for leg in legs for hit in leg.hits}))
    keys = {number: (row.chunk_id, row.version_id, number) for number, row in rows.items()}
    ranked = fuse.rrf([[keys[hit.row] for hit in leg.hits] for leg in legs], weights=[leg.weight for leg in legs])
    return [(key[2], score) for key, score in ranked]


def drop_copies(db: sqlite3.Connection, ranked: Sequence[tuple[int, float]]) -> list[tuple[int, float, int]]:
    """(row, score, copies): each text once, at its best place, with how many others of the list say the same."""
    rows = _rows(db, [row for row, _ in ranked])
    copies: dict[str, int] = {}
    for row, _ in ranked:
        copies[rows[row].body_hash] = copies.get(rows[row].body_hash, -1) + 1
    kept: list[tuple[int, float, int]] = []
    for row, score in ranked:
        count = copies.pop(rows[row].body_hash, None)
        if count is not None:
            kept.append((row, score, count))
    return kept


class Assembler:
    """Turns ranked rows into passages, inside one read transaction."""

    def __init__(
        self, db: sqlite3.Connection, at: Layout, legs: Sequence[Leg], query_text: str, *, explain: bool
    ) -> None:
        self._db = db
        self._at = at
        self._asked_words = _asked_words(query_text)
        self._explain = explain
        self._places = {leg.name: {hit.row: (rank, hit.score) for rank, hit in enumerate(leg.hits, 1)} for leg in legs}
        self._weights = {leg.name: leg.weight for leg in legs}

    def passage(self, row: int, score: float, copies: int) -> Passage:
        """The passage in that row of the lexical store."""
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
            fused_score=score, trust=facts["trust"], spoiler_tags=tags,  # type: ignore[arg-type]
            campaign_id=self._at.campaign, source_id=str(facts["source_id"]), class_=str(facts["class"]),
            heading_path=json.loads(str(facts["heading_path"])), chunk_index=_int(facts, "chunk_index"),
            spoiler_level=max(_int(facts, "spoiler_level"), _int(facts, "run_level")),
            visibility="hidden" if hidden else "normal",
            tags=list(labels.get("tag", ())), entities=list(labels.get("entity", ())),
            start_byte=_int(facts, "start_byte"), end_byte=_int(facts, "end_byte"),
            start_line=_int(facts, "start_line"), end_line=_int(facts, "end_line"),
            content_hash=str(facts["content_hash"]), token_count=_int(facts, "token_count"),
            valid_from=str(facts["valid_from"]), valid_to=facts["valid_to"],  # type: ignore[arg-type]
            reasons=self._reasons(row, places, copies),
            explain=self._components(places, score) if self._explain else None,
        )  # fmt: skip

    def _facts(self, row: int) -> dict[str, object]:
        cursor = self._db.execute(
            """
            SELECT c.*, d.content_hash, d.extension, r.spoiler_level AS run_level, r.spoiler_tags AS run_tags,
                   r.hidden AS run_hidden, v.source_id, v.valid_from, v.valid_to, s.title, s.class, s.visibility,
                   s.spoiler_level, s.trust, s.uri, s.original_filename
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

    def _reasons(self, row: int, places: Mapping[str, tuple[int, float] | None], copies: int) -> list[str]:
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
        if copies:
            reasons.append(f"stands for {copies} more passage{'s' * (copies > 1)} with the same text")
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

    def _components(self, places: Mapping[str, tuple[int, float] | None], score: float) -> dict[str, object]:
        legs: dict[str, object] = {}
        for name, place in places.items():
            share = None
            if place and len(places) > 1:
                share = self._weights[name] / (fuse.RRF_K + place[0])
            legs[name] = None if place is None else {"rank": place[0], "score": place[1], "share": share}
        return {"legs": legs, "fusion": f"rrf k={fuse.RRF_K}" if len(places) > 1 else None, "fused_score": score}


def _asked_words(text: str) -> dict[str, list[str]]:
    """Each word of a question as written, with the terms it asks for; function words only where there is nothing else."""
    words = {}
    for written in text.split():
        query = parse_query(written)
        asked = [*query.terms, *query.prefixes, *(term for phrase in query.phrases for term in phrase)]
        if asked:
            words[written.strip(_EDGES) or written] = asked
    subjects = {word: asked for word, asked in words.items() if not FUNCTION_WORDS.issuperset(asked)}
    return subjects or words


def _int(facts: Mapping[str, object], name: str) -> int:
    value = facts[name]
    assert isinstance(value, int)
    return value
