"""The index of an earlier time: made when a question is asked of it, from files that are still there.

The live index holds live versions alone, so that what was superseded never shifts its statistics. A question about an
earlier instant gets an index of exactly the versions that were live then, named by them, made once and kept.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from canonry.catalog import Catalog
from canonry.config import Settings
from canonry.embedders.chosen import Chosen
from canonry.errors import Busy
from canonry.files import room_for, sweep
from canonry.layout import TEMPORARY_PREFIX, Layout
from flows.housekeeping import read_parts
from flows.pipeline import carry_vectors
from flows.plan import Plan, live_documents, read_index
from stages import chunk, index_lexical

MAKING_WAIT_S = 600
KEPT = 8  # indexes of earlier times, the last made


def index_as_of(at: Layout, as_of: str) -> Layout:
    """The layout whose index holds the versions that were live at `as_of`; the live one where nothing was superseded since."""
    past, plan, used = _plan(at, as_of)
    if plan is None or past.lexical.exists():
        return past
    with room_for(past.index), _alone(at):
        past, plan, used = _plan(at, as_of)  # as it is by now: a source may have been deleted meanwhile
        if plan is not None and not past.lexical.exists():
            _make(at, past, plan, used)
    return past


def _plan(at: Layout, as_of: str) -> tuple[Layout, Plan | None, tuple[str, str]]:
    """Where the index of an instant lies, what goes into it (None: it is the live index), (fingerprint, spec) of its vectors."""
    with closing(Catalog.open(at.catalog)) as catalog:
        if not catalog.superseded_at(as_of):
            return at, None, ("", "")
        settings = Settings.parse(catalog.settings())
        documents = live_documents(catalog, settings, as_of)
        sequence = catalog.sequence()
    chosen = Chosen.of(at, settings)
    used = _vectors_in_use(at) or (chosen.fingerprint or "", settings.embedder)
    named_by = [index_lexical.VERSION, used[0], *(f"{d.version_id} {d.key}" for d in documents)]
    past = Layout(at.root, at.campaign, hashlib.sha256("\n".join(named_by).encode()).hexdigest()[:16])
    return past, Plan(settings, documents, documents, chosen=chosen, sequence=sequence), used


@contextmanager
def _alone(at: Layout) -> Iterator[None]:
    """One process at a time makes or removes indexes of earlier times; who makes them is no writer of the campaign."""
    from filelock import FileLock, Timeout

    at.index.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(at.index / "as-of.lock", timeout=MAKING_WAIT_S):
            yield
    except Timeout:
        raise Busy(
            f"campaign {at.campaign!r}: another process has been making the index of an earlier time for {MAKING_WAIT_S} s; "
            "try again when it is done"
        ) from None


def find_version(at: Layout, chunk_id: str) -> tuple[str, str, str | None] | None:
    """(version id, valid_from, valid_to) of the latest version that holds a chunk; None where no part has the chunk."""
    import pyarrow.parquet as pq

    for part in sorted(at.chunks.glob("chunks-*.parquet")):
        found = pq.read_table(part, columns=["content_hash"], filters=[("chunk_id", "=", chunk_id)])
        if found.num_rows:
            with closing(Catalog.open(at.catalog)) as catalog:
                row = catalog.connection.execute(
                    "SELECT version_id, valid_from, valid_to FROM knowledge_source_version WHERE content_hash = ? "
                    "ORDER BY valid_to IS NOT NULL, valid_to DESC LIMIT 1",
                    (found["content_hash"][0].as_py(),),
                ).fetchone()
            if row:
                return str(row[0]), str(row[1]), row[2]
    return None


def _vectors_in_use(at: Layout) -> tuple[str, str] | None:
    """(fingerprint, spec) of the vectors that questions about today are asked of; None where there are none."""
    meta = read_index(at).meta
    return (meta["vector_fingerprint"], meta["vector_spec"]) if meta.get("generation") else None


def _make(at: Layout, past: Layout, plan: Plan, used: tuple[str, str]) -> None:
    """Build under another name, then rename; what a killed process was building goes first."""
    sweep(past.index.parent)
    making = Layout(at.root, at.campaign, f"{TEMPORARY_PREFIX}{past.past}")
    try:
        parts = _parts(at, making, plan)

        def lay_out(rows: Sequence[tuple[int, str, str]], build: str, _: tuple[str, str]) -> dict[str, str]:
            return carry_vectors(making, plan, rows, build, used)

        index_lexical.build(parts, plan.documents, making.lexical, plan.sequence, lay_out)
        making.index.rename(past.index)
    finally:
        shutil.rmtree(making.index, ignore_errors=True)
    made = sorted(
        (folder for folder in past.index.parent.iterdir() if folder != past.index), key=lambda f: f.stat().st_mtime
    )
    for folder in made[: -KEPT + 1]:
        shutil.rmtree(folder, ignore_errors=True)


def _parts(at: Layout, making: Layout, plan: Plan) -> list[Path]:
    """Parts that hold the plan's documents; what the campaign's own do not hold is cut beside the index in the making."""
    held = read_parts(at, mend=False)
    parts = {held[document.key] for document in plan.documents if document.key in held}
    stale = [document for document in plan.documents if document.key not in held]
    if stale:
        cut = chunk.chunk_documents(stale, at.files, making.index / "parts", plan.settings.chunk)
        parts |= {cut.part} if cut.part else set()
    return sorted(parts)


def forget_past(at: Layout) -> None:
    """Remove every index of an earlier time; the next question about one makes it again."""
    if (at.index / "as-of").exists():
        with _alone(at):
            shutil.rmtree(at.index / "as-of", ignore_errors=True)
