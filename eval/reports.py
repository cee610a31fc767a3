"""Reports that were written before: read again, and two of them compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from canonry.errors import UsageError
from eval.evaluation import CONTRACT

JUDGED_BY = "nDCG@10"
_ALIKE = 1e-6


def read_report(path: Path) -> dict[str, Any]:
    """A report's document, from its folder or its report.json; UsageError for anything else."""
    file = path / "report.json" if path.is_dir() else path
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror}); name the folder that --report wrote") from error
    except ValueError as error:
        raise UsageError(f"{file}: is not JSON ({error}); name the folder that --report wrote") from error
    if not isinstance(found, dict) or found.get("contract") != CONTRACT:
        raise UsageError(f"{file}: is no evaluation report of this canonry ({CONTRACT}); make it anew")
    return found


def compared(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Both reports side by side: what they depend on where it differs, means by mode, questions that changed."""
    modes = [mode for mode in first["modes"] if mode in second["modes"]]
    evidence = {
        name: (first["evidence"].get(name), second["evidence"].get(name))
        for name in sorted({*first["evidence"], *second["evidence"]})
        if first["evidence"].get(name) != second["evidence"].get(name)
    }
    return {
        "evidence": evidence,
        "modes": {mode: _means(first["modes"][mode], second["modes"][mode]) for mode in modes},
        "questions": {
            mode: changed(first["modes"][mode]["questions"], second["modes"][mode]["questions"]) for mode in modes
        },
    }


def changed(first: dict[str, Any], second: dict[str, Any]) -> dict[str, list[str]]:
    """Query ids that do better, and worse, in the second: by nDCG@10, the most changed first."""
    differences = {
        query: second[query]["values"][JUDGED_BY] - row["values"][JUDGED_BY]
        for query, row in first.items()
        if row["values"] and query in second and second[query]["values"]
    }
    ordered = sorted(differences.items(), key=lambda pair: (-abs(pair[1]), pair[0]))
    return {
        "better": [query for query, value in ordered if value > _ALIKE],
        "worse": [query for query, value in ordered if value < -_ALIKE],
    }


def _means(first: dict[str, Any], second: dict[str, Any]) -> dict[str, tuple[float, float]]:
    rows = {name: (value, second["means"][name]) for name, value in first["means"].items() if name in second["means"]}
    for name in ("leaks", "pack_leaks", "p50_ms", "p95_ms", "pack_tokens"):
        rows[name] = float(first[name]), float(second[name])
    return rows
