"""A fusion that was chosen by an evaluation: the settings of a campaign, and on what evidence.

Kept beside the settings like a passed gate. Another fusion voids a passed gate, so hybrid has to be earned anew with it.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass

from canonry.catalog import Catalog
from canonry.config import Settings
from canonry.fuse import AUTO, Fusion

META_KEY = "tuning"


@dataclass(frozen=True, slots=True)
class Tuning:
    """What was chosen, as the settings that make it, and the evidence: the questions and the main figures."""

    tuned_at: str
    chosen: dict[str, str]
    evidence: dict[str, str]

    def holds(self, settings: Settings) -> bool:
        """Whether the campaign is still set to what was chosen."""
        current = settings.as_text()
        return all(current[key] == value for key, value in self.chosen.items())


def fusion_settings(fusion: Fusion) -> dict[str, str]:
    """The settings that make this fusion: its method, and the parameters that the method reads."""
    if fusion.method == "rrf":
        return {"fusion.method": "rrf", "fusion.k": str(fusion.k), "fusion.weight": str(fusion.weight)}
    return {"fusion.method": "convex", "fusion.alpha": AUTO if fusion.alpha is None else str(fusion.alpha)}


def read_tuning(db: sqlite3.Connection) -> Tuning | None:
    """The campaign's tuning, from its catalog; None where none was applied."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (META_KEY,)).fetchone()
    return Tuning(**json.loads(row[0])) if row and row[0] else None


def apply_tuning(catalog: Catalog, tuning: Tuning) -> None:
    """Set what was chosen and keep why; for the holder of the campaign's lock."""
    catalog.set_meta(META_KEY, json.dumps(asdict(tuning), ensure_ascii=False))
    catalog.set_settings(tuning.chosen)
