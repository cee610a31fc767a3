"""manifest.json of an index: what it is and what it was made from, for people and checks."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from canonry import database, files, lexical, text, tokens
from canonry.layout import Layout
from flows.plan import Plan
from stages import chunk

MANIFEST_CONTRACT = "canonry/manifest/1"


def write_manifest(at: Layout, plan: Plan) -> None:
    """What the index is: the live generation, every fingerprint, counts. Written after the switch, for people and checks."""
    if not at.lexical.exists():
        return
    db = database.open_reader(at.lexical)
    try:
        meta = dict(db.execute("SELECT key, value FROM meta"))
        documents = int(db.execute("SELECT count(*) FROM document").fetchone()[0])
    finally:
        db.close()
    generation = meta.get("generation", "")
    content = {
        "contract": MANIFEST_CONTRACT, "campaign": at.campaign, "build": meta.get("build"), "generation": generation or None,
        "lexical": {"contract": lexical.CONTRACT, "tokenizer": text.VERSION, "file": at.lexical.name},
        "chunker": chunk.VERSION, "token_counter": tokens.COUNTER, "settings": plan.settings.as_text(),
        "embedder": {"spec": meta.get("vector_spec"), "fingerprint": meta.get("vector_fingerprint")} if generation else None,
        "counts": {"documents": documents, "chunks": int(meta.get("rows", 0)), "vectors_missing": int(meta.get("vectors_missing", 0))},
        "sha256": _checksums(at, generation),
    }  # fmt: skip
    with files.whole_file(at.manifest) as temporary:
        temporary.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _checksums(at: Layout, generation: str) -> dict[str, str]:
    """SHA-256 of the two files of a generation, by name; taken over from the manifest that has them already."""
    paths = [path for path in (at.vectors(generation), at.scan(generation)) if generation and path.exists()]
    try:
        known = json.loads(at.manifest.read_text(encoding="utf-8"))["sha256"]
        return {path.name: str(known[path.name]) for path in paths}
    except (OSError, ValueError, LookupError, TypeError):
        return {path.name: _checksum(path) for path in paths}


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
