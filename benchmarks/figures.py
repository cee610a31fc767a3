"""How the benchmarks show what they found: a small table, and the same as JSON where a file is named."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Sequence
from pathlib import Path


def show(title: str, headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print an aligned table; every column but the first is right-aligned."""
    cells = [[_shown(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(headers))]
    print(f"\n{title}")
    for row in cells:
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        print("  ".join((row[0].ljust(widths[0]), *rest)).rstrip(), flush=True)


def _shown(cell: object) -> str:
    if not isinstance(cell, float):
        return "-" if cell is None else f"{cell:,}" if isinstance(cell, int) else str(cell)
    return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.4g}"


def write_json(path: Path | None, figures: object) -> None:
    """Write the figures with the machine they are from; nothing where no file is named."""
    if path is not None:
        machine = {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()}
        path.write_text(json.dumps({"machine": machine, "figures": figures}, indent=1, ensure_ascii=False) + "\n")


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which that share of the values lies."""
    return statistics.quantiles(values, n=100, method="inclusive")[round(share * 100) - 1]
