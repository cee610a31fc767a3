"""The gate: hybrid search is a campaign's default once an evaluation of its own has earned it, and as long as it holds.

A passed gate sets `mode` to hybrid and is kept with its evidence. What it was earned with is kept too: another embedder,
other chunk sizes, another fusion or another version of canonry's own text processing void it, and questions that name
no mode are asked by words again until the gate is passed anew.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass

from canonry import text
from canonry.catalog import Catalog
from canonry.config import MODE_DEFAULT, Settings
from canonry.errors import CanonryError
from canonry.layout import Layout

META_KEY = "gate"
LEFT_OUT = ("mode", "max_file_bytes")  # settings that no ranking depends on


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate that was passed. `earned_by` is what it depends on, `evidence` names the report and its main figures."""

    passed_at: str
    earned_by: dict[str, str]
    evidence: dict[str, str]

    def voided_by(self, at: Layout, settings: Settings) -> list[str]:
        """What has changed since; empty while it holds."""
        current = earned_by(at, settings)
        return [name for name in sorted({*current, *self.earned_by}) if current.get(name) != self.earned_by.get(name)]


def earned_by(at: Layout, settings: Settings) -> dict[str, str]:
    """What a ranking depends on besides the sources, each under its name."""
    values = {key: value for key, value in settings.as_text().items() if key not in LEFT_OUT}
    fusion = [f"{key}={value}" for key, value in values.items() if key.startswith("fusion.")]
    chunker = [f"{key}={value}" for key, value in values.items() if key.startswith("chunk.")]
    return {
        "embedder": f"{settings.embedder} {_fingerprint(at, settings)}",
        "chunker": " ".join(sorted(chunker)),
        "fusion": " ".join(sorted(fusion)),
        "text": text.VERSION,
    }


def _fingerprint(at: Layout, settings: Settings) -> str:
    from canonry.embedders.chosen import Chosen

    try:
        return Chosen.of(at, settings).fingerprint or ""
    except CanonryError:
        return "unknown"


def parse_gate(stored: str) -> Gate | None:
    """The gate as the catalog keeps it; None where none was passed."""
    return Gate(**json.loads(stored)) if stored else None


def read_gate(db: sqlite3.Connection, schema: str = "main") -> Gate | None:
    """The campaign's gate, from its catalog attached under `schema`."""
    row = db.execute(f"SELECT value FROM {schema}.meta WHERE key = ?", (META_KEY,)).fetchone()
    return parse_gate(row[0]) if row else None


def pass_gate(catalog: Catalog, gate: Gate) -> None:
    """Make hybrid the default mode and keep why; for the holder of the campaign's lock."""
    catalog.set_meta(META_KEY, json.dumps(asdict(gate), ensure_ascii=False))
    catalog.set_settings({"mode": "hybrid"})


def forget_gate(catalog: Catalog) -> None:
    """The user has chosen a mode: no gate stands behind it."""
    catalog.set_meta(META_KEY, "")


def default_mode(at: Layout, settings: Settings, gate: Gate | None) -> tuple[str, str]:
    """(the mode of a question that names none, a notice or nothing)."""
    if gate is None or settings.mode != "hybrid":
        return settings.mode, ""
    changed = gate.voided_by(at, settings)
    if not changed:
        return settings.mode, ""
    return MODE_DEFAULT, (
        f"searched by words: hybrid was earned with another {' and '.join(changed)}; "
        "`canonry eval run QUESTIONS --gate gate.toml` earns it anew, --mode hybrid asks for it"
    )
