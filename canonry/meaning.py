"""Search by meaning, for a campaign that is open: its vectors and the models that made them, loaded when they are needed."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from canonry import lexical, ranking
from canonry.config import Settings
from canonry.errors import CanonryError, EmbedderError
from canonry.lexical import Ranges
from canonry.ranking import Leg

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from canonry.embedders import Embedder
    from canonry.embedders.chosen import Chosen
    from canonry.layout import Layout
    from canonry.semantic import Scan

    Vector = NDArray[np.float32]


class Meaning:
    """The semantic side of one campaign. Models may be shared with the same campaign at another time."""

    def __init__(self, at: Layout, embedders: dict[Chosen, Embedder] | None = None) -> None:
        self._at = at
        self._scan: Scan | None = None
        self._asked: tuple[str, str, Vector] | None = None  # (fingerprint, question, its vector)
        self.embedders: dict[Chosen, Embedder] = {} if embedders is None else embedders

    def forget(self) -> None:
        """Let the vectors go; the next question maps them again."""
        self._scan = None

    def leg(
        self,
        db: sqlite3.Connection,
        settings: Settings,
        query: str,
        ranges: Ranges,
        candidates: int,
        degraded: list[str],
    ) -> Leg:
        """The semantic leg, or an EmbedderError that says why it cannot vote; `degraded` is told what it lacks."""
        scan, embedder = self._ready(db, settings, query)
        pending = db.execute(
            "SELECT count(*) FROM knowledge_chunk WHERE row > ?",
            (int(lexical.meta(db, "vectors_to_row") or 0),),
        ).fetchone()[0] + int(lexical.meta(db, "vectors_missing") or 0)
        if pending:
            degraded.append("not every passage has its vector yet; `canonry reindex` makes them")  # a number could tell
        if scan.spec != settings.embedder and scan.fingerprint != self._chosen(settings).fingerprint:
            degraded.append(
                f"searched with the vectors of {scan.spec}; `canonry reindex` makes those of {settings.embedder}"
            )
        return ranking.semantic_leg(
            db, scan, self._vector(embedder, query), ranges, candidates, embedder.minimum_cosine
        )

    def cosine(self, db: sqlite3.Connection, settings: Settings, query: str, row: int) -> tuple[float, float] | None:
        """(cosine of a row, what it must reach to count); None where meaning cannot be asked or the row has no vector."""
        try:
            scan, embedder = self._ready(db, settings, query)
            hits = scan.search(self._vector(embedder, query), Ranges(((row, row),)), 1)
        except EmbedderError:
            return None
        return (hits[0].score, embedder.minimum_cosine) if hits else None

    def _ready(self, db: sqlite3.Connection, settings: Settings, query: str) -> tuple[Scan, Embedder]:
        """The vectors and the model that understands the question, or an EmbedderError that says what is amiss."""
        if settings.embedder == "none":
            raise EmbedderError("this campaign has no embedder (it is set to none)")
        generation = lexical.meta(db, "generation")
        if not generation:
            raise EmbedderError("there are no vectors yet; `canonry reindex` makes them")
        if self._scan is None or self._scan.generation != generation:
            from canonry.semantic import Scan

            self._scan = Scan.open(self._at.scan(generation))
        scan = self._scan
        if scan.build != lexical.meta(db, "build"):
            raise EmbedderError("the vectors belong to another build of the index; `canonry reindex` makes them anew")
        chosen = self._chosen(settings)  # the same model may be asked at another address by now
        if chosen.fingerprint != scan.fingerprint:
            chosen = self._chosen(settings, scan.spec)
        embedder = self._embedder(chosen)
        if embedder.fingerprint != scan.fingerprint:
            sizes = f" ({scan.vectors.shape[1]} -> {embedder.dimensions})"
            raise EmbedderError(
                f"re-embedding needed{sizes if embedder.dimensions != scan.vectors.shape[1] else ''}: the vectors were made "
                f"by {scan.fingerprint}, not by {embedder.fingerprint}; `canonry reindex` makes new ones"
            )
        from canonry.embedders import knows

        if not knows(embedder.scripts, query):
            raise EmbedderError(f"the embedder {scan.spec} does not know the script of this question")
        return scan, embedder

    def _vector(self, embedder: Embedder, query: str) -> Vector:
        """The question's vector, remembered until another is asked: an answer and a pack often ask the same."""
        if self._asked is None or self._asked[:2] != (embedder.fingerprint, query):
            self._asked = embedder.fingerprint, query, embedder.embed_query(query)
        return self._asked[2]

    def _chosen(self, settings: Settings, spec: str | None = None) -> Chosen:
        from canonry.embedders.chosen import Chosen

        return Chosen.of(self._at, settings, spec)

    def _embedder(self, chosen: Chosen) -> Embedder:
        if chosen not in self.embedders:
            try:
                self.embedders[chosen] = chosen.load()
            except EmbedderError:
                raise
            except CanonryError as error:  # a model that is gone or damaged: its vectors are of no use
                raise EmbedderError(
                    f"the vectors were made by {chosen.spec}, which cannot be asked: {error}"
                ) from error
        return self.embedders[chosen]
