"""The sets of vectors on disk, one an embedder: what each holds, and how one is removed."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from canonry import schemas
from canonry.embedders.chosen import Chosen
from canonry.errors import CanonryError, NotFound, UsageError
from canonry.layout import Layout
from flows.as_of import forget_past
from flows.pipeline import indexed_texts
from flows.plan import campaign_settings, part_names, read_index
from stages import embed, index_lexical, index_vectors


@dataclass(frozen=True, slots=True)
class VectorSet:
    """Vectors of one embedder. `missing` counts texts of the index without any that are meant to have one.

    `live` is the set that questions are asked of, `chosen` the one of the embedder that the campaign is set to.
    """

    fingerprint: str
    spec: str
    vectors: int
    bytes: int
    missing: int
    live: bool
    chosen: bool

    @property
    def complete(self) -> bool:
        return self.missing == 0

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "complete": self.complete}


def list_sets(at: Layout) -> list[VectorSet]:
    """Every set that holds vectors, by spec and fingerprint. Parts that cannot be read are not counted."""
    state = read_index(at)
    texts = indexed_texts(at) if state.current else set()
    live = state.meta.get("vector_fingerprint") if state.meta.get("generation") else None
    chosen = Chosen.of(at, campaign_settings(at)).fingerprint
    sets = [
        _measured(folder, texts, live=folder.name == live, chosen=folder.name == chosen)
        for folder in sorted((at.chunks / "vectors").glob("*/"))
        if any(folder.glob("*.parquet"))
    ]
    return sorted(sets, key=lambda one: (one.spec, one.fingerprint))


def _measured(folder: Path, texts: set[str], *, live: bool, chosen: bool) -> VectorSet:
    spec, vectors, size = "", 0, 0
    known: set[str] = set()
    for part in sorted(folder.glob("*.parquet")):
        try:
            origin = schemas.made_from(part, schemas.EMBEDDING_CONTRACT)
            hashes = schemas.read(part, schemas.EMBEDDING_CONTRACT, ["text_hash"]).column("text_hash").to_pylist()
        except CanonryError:
            continue
        spec = str(origin.get("spec", spec))
        vectors += len(hashes)
        size += part.stat().st_size
        known.update(hashes, embed.without_vector(origin))
    return VectorSet(folder.name, spec, vectors, size, len(texts - known), live, chosen)


def find_removable(at: Layout, spec: str) -> list[VectorSet]:
    """The sets of an embedder, by spec or fingerprint, that nothing uses; an error that says why there is none."""
    sets = list_sets(at)
    named = [one for one in sets if spec in (one.spec, one.fingerprint)]
    if not named:
        there = ", ".join(sorted({one.spec for one in sets})) or "no vectors at all"
        raise NotFound(f"there are no vectors of {spec!r} in this campaign; there are those of {there}")
    unused = [one for one in named if not (one.chosen or (one.live and _is_asked(at)))]
    if not unused:
        raise UsageError(f"the vectors of {spec!r} are in use: `canonry embed use` another embedder first, or none")
    return unused


def _is_asked(at: Layout) -> bool:
    return campaign_settings(at).embedder != "none"


def remove(at: Layout, doomed: VectorSet) -> None:
    """Remove a set and what was laid out from it; the caller holds the campaign's lock."""
    if doomed.live:
        index_vectors.forget_generation(at.lexical, at.index)
    forget_past(at)
    shutil.rmtree(at.embeddings(doomed.fingerprint))
    if at.lexical.exists():
        index_lexical.note_parts(at.lexical, part_names(at))
