"""The raw floors that the speed figures stand beside: what the same work costs with nothing of canonry around it."""

from __future__ import annotations

import hashlib
import re
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WORD = re.compile(r"\w+")


def read_and_hash(folder: Path) -> float:
    """Seconds to read every file below a folder and take its SHA-256."""
    started = time.perf_counter()
    for path in folder.rglob("*"):
        if path.is_file():
            hashlib.sha256(path.read_bytes()).digest()
    return time.perf_counter() - started


class PlainFts5:
    """One FTS5 table, `porter unicode61`, over the same texts: no filter, no metadata, no passage."""

    def __init__(self, path: Path, texts: Sequence[str]) -> None:
        started = time.perf_counter()
        self._db = sqlite3.connect(path)
        self._db.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize = 'porter unicode61')")
        self._db.executemany("INSERT INTO t (body) VALUES (?)", ((text,) for text in texts))
        self._db.commit()
        self.seconds = time.perf_counter() - started
        self.bytes = path.stat().st_size

    def search(self, query: str, limit: int) -> list[tuple[int, str]]:
        """Row and text of the best by BM25, every word of the query OR-ed."""
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(query.lower()))
        if not words:
            return []
        sql = "SELECT rowid, body FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?"
        return self._db.execute(sql, (words, limit)).fetchall()


def brute_force(vectors: NDArray[np.float32], query: NDArray[np.float32], limit: int) -> NDArray[np.int64]:
    """Positions of the nearest vectors, by one float32 product and a partial sort."""
    import numpy as np

    scores = vectors @ query
    near = np.argpartition(scores, -min(limit, len(scores)))[-limit:]
    best: NDArray[np.int64] = near[np.argsort(-scores[near])]
    return best
