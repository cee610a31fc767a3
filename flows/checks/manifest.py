"""manifest.json against what it describes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing

from canonry import database
from flows.checks.findings import BROKEN, FIX, Examination, Finding
from flows.manifest import MANIFEST_CONTRACT
from stages.index_lexical import is_current


def check(look: Examination) -> Iterator[Finding]:
    """Findings about the manifest: missing, unreadable, of another build, with other counts or checksums."""
    at, where = look.at, look.named(look.at.manifest)
    try:
        if not is_current(at.lexical):
            return
        with closing(database.open_reader(at.lexical)) as db:
            meta = dict(db.execute("SELECT key, value FROM meta"))
            documents = int(db.execute("SELECT count(*) FROM document").fetchone()[0])
            chunks = int(db.execute("SELECT count(*) FROM knowledge_chunk").fetchone()[0])
    except BROKEN:
        return  # what is wrong with the index is said elsewhere
    if not at.manifest.exists():
        yield Finding("manifest-missing", "the index has no manifest", where, FIX, fixable=True)
        return
    try:
        said = json.loads(at.manifest.read_text(encoding="utf-8"))
        differing = _differing(said, at.campaign, meta, documents, chunks)
        if differing:
            yield Finding("manifest-differs", differing, where, FIX, fixable=True, remove=(at.manifest,))
        else:
            yield from _checksums(look, said)
    except BROKEN as error:
        yield look.damaged("manifest-damaged", at.manifest, error)


def _differing(said: dict[str, object], campaign: str, meta: dict[str, str], documents: int, chunks: int) -> str:
    """The first statement that does not hold, in words; empty where all do."""
    missing = int(meta.get("vectors_missing", 0))
    holds: dict[str, object] = {
        "contract": MANIFEST_CONTRACT, "campaign": campaign, "build": meta.get("build"),
        "generation": meta.get("generation") or None,
        "counts": {"documents": documents, "chunks": chunks, "vectors_missing": missing},
    }  # fmt: skip
    for key, value in holds.items():
        if said.get(key) != value:
            return f"says that {key} is {said.get(key)}, and it is {value}"
    return ""


def _checksums(look: Examination, said: dict[str, object]) -> Iterator[Finding]:
    at, generation = look.at, said["generation"]
    sums = said.get("sha256", {})
    if not generation or not isinstance(sums, dict):
        return
    both = (at.vectors(str(generation)), at.scan(str(generation)))
    for path in both:
        if not path.exists():
            continue  # said elsewhere
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        look.checked["checksums"] += 1
        if sums.get(path.name, found) != found:
            what = "its SHA-256 is not that of the manifest"
            yield Finding("generation-changed", what, look.named(path), FIX, fixable=True, remove=both)
