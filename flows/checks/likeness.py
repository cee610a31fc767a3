"""Sources that say the same: equal but for case, punctuation and white space, or nearly equal by their shingles.

Near-duplicates are looked for in sketches, samples of shingles by their hash that are the same for every source, and then
measured exactly. The sketches of a campaign have a bounded number of hashes, whatever its size.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product

from canonry.overlap import NEARLY_ALL, SHINGLE
from flows.checks.findings import ADVICE, Examination, Finding
from flows.checks.passages import opened

SKETCHED = 400_000  # hashes of all sketches together
MOST_HOLDERS = 30  # sources that share a shingle; what more share is a form letter
ALL_PAIRS = 16  # of so many holders all are pairs, of more each with the first
MOST_MEASURED = 2_000  # pairs
FEWEST_SHINGLES = 40  # of a source that is compared
SAME_LENGTH = 0.6  # of two sources, the shorter in shares of the longer
_LIKELY = 0.6  # of a sketch; what its exact measure may yet lift to NEARLY_ALL


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two versions: the share of the smaller's shingles that the larger holds, and its length in shares of the larger's."""

    small: str
    large: str
    share: float
    of_length: float


def check(look: Examination) -> Iterator[Finding]:
    """Advice on sources of equal text, then on pairs of which one holds nearly all of the other."""
    with opened(look.at) as db:
        sources = dict(
            db.execute(
                "SELECT d.version_id, v.source_id FROM document d JOIN cat.knowledge_source_version v USING (version_id) "
                "ORDER BY v.source_id"
            )
        )
        equal = _equal(db, sources)
        twins = {version for group in equal for version in group[1:]}
        for group in equal:
            names = ", ".join(sources[version] for version in group[1:4]) + (", …" if len(group) > 4 else "")
            yield Finding(
                "sources-equal", f"has the same text as {names}, but for case, punctuation and layout", sources[group[0]],
                "delete or disable all but one; passages of equal text are shown once", ADVICE,
            )  # fmt: skip
        yield from _nearly_equal(sources, _near(db, [version for version in sources if version not in twins]))


def _nearly_equal(sources: Mapping[str, str], pairs: Iterable[_Pair]) -> Iterator[Finding]:
    """Pairs of about the same length one by one; what stands in a far longer source, once for all of it."""
    held: dict[str, list[str]] = {}
    for pair in pairs:
        if pair.of_length < SAME_LENGTH:
            held.setdefault(sources[pair.large], []).append(sources[pair.small])
            continue
        yield Finding(
            "sources-nearly-equal", f"{pair.share:.0%} of it stands in {sources[pair.large]} too", sources[pair.small],
            "if one is an older copy of the other, disable or delete it", ADVICE,
        )  # fmt: skip
    for large, small in sorted(held.items()):
        names = ", ".join(sorted(small)[:3]) + (", …" if len(small) > 3 else "")
        yield Finding(
            "sources-contained", f"holds nearly all of {len(small)} other sources ({names})", large,
            "if it was put together from them, disable it or them", ADVICE,
        )  # fmt: skip


def _terms(db: sqlite3.Connection, version: str) -> list[str]:
    rows = db.execute(
        "SELECT t.body FROM knowledge_chunk c JOIN chunk_terms t USING (row) WHERE c.version_id = ? ORDER BY c.chunk_index",
        (version,),
    )
    return " ".join(body for (body,) in rows).split()


def _shingles(terms: list[str]) -> set[str]:
    return {" ".join(terms[at : at + SHINGLE]) for at in range(len(terms) - SHINGLE + 1)}


def _equal(db: sqlite3.Connection, versions: Iterable[str]) -> list[list[str]]:
    """Groups of versions whose passages are the same ones, by the hashes of their normalised texts."""
    groups: dict[bytes, list[str]] = {}
    for version in versions:
        rows = db.execute("SELECT body_hash FROM knowledge_chunk WHERE version_id = ? ORDER BY chunk_index", (version,))
        hashes = "".join(body_hash for (body_hash,) in rows)
        if hashes:
            groups.setdefault(hashlib.sha256(hashes.encode()).digest(), []).append(version)
    return [group for group in groups.values() if len(group) > 1]


def _near(db: sqlite3.Connection, versions: list[str]) -> Iterator[_Pair]:
    """Pairs of which one holds nearly all of the other, the likeliest first."""
    total = db.execute("SELECT sum(length(body) / 6) FROM chunk_terms").fetchone()[0] or 0
    every = max(1, total // SKETCHED)  # one shingle in so many is kept
    sizes: dict[int, int] = {}
    holders: dict[int, list[int]] = {}
    for number, version in enumerate(versions):
        shingles = _shingles(_terms(db, version))
        kept = {hashed for hashed in map(_hash, shingles) if hashed % every == 0}
        if len(shingles) >= FEWEST_SHINGLES and kept:
            sizes[number] = len(kept)
            for hashed in kept:
                holders.setdefault(hashed, []).append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for among in holders.values():
        if 2 <= len(among) <= MOST_HOLDERS:
            shared.update(combinations(among, 2) if len(among) <= ALL_PAIRS else product(among[:1], among[1:]))
    likely = {pair: count / min(sizes[pair[0]], sizes[pair[1]]) for pair, count in shared.items()}
    pairs = sorted((pair for pair in likely if likely[pair] >= _LIKELY), key=lambda pair: (-likely[pair], pair))
    for one, other in pairs[:MOST_MEASURED]:
        first, second = _shingles(_terms(db, versions[one])), _shingles(_terms(db, versions[other]))
        (small, held), (large, holding) = sorted(
            ((versions[one], first), (versions[other], second)), key=lambda pair: len(pair[1])
        )
        share = len(held & holding) / len(held)
        if share >= NEARLY_ALL:
            yield _Pair(small, large, share, len(held) / len(holding))


def _hash(shingle: str) -> int:
    return zlib.crc32(shingle.encode("utf-8"))
