"""What the leak tests found, as Markdown and JSON, for the campaign's owner: it quotes secrets."""

from __future__ import annotations

import json
from pathlib import Path

from eval.leaks import LeakReport
from eval.report import write_folder

MOST_SHOWN = 200  # leaks, and names, in Markdown; report.json has all


def write_leak_report(folder: Path, found: LeakReport) -> None:
    """report.md and report.json in a folder, whole or not at all."""
    texts = {
        "report.json": json.dumps(found.as_json(), ensure_ascii=False, indent=1),
        "report.md": leak_markdown(found),
    }
    write_folder(folder, texts)


def leak_markdown(found: LeakReport) -> str:
    """The counts, the leaks and the names in sight as Markdown tables."""
    wanted = found.wanted
    lines = [
        f"# Leak tests of {found.campaign_id}", "", f"{found.created_at[:19]} UTC, seed {wanted.seed}, modes {', '.join(wanted.modes)}.",
        "This page is for the owner: it names and quotes what is kept from others.", "", "| counted | |", "| --- | --- |",
        *(f"| {name} | {count} |" for name, count in found.counts.items()),
        "", "| asker | sees | kept from him | asked for |", "| --- | --- | --- | --- |",
        *(f"| {asker} | {row['allowed']} | {row['forbidden']} | {row['asked for']} |" for asker, row in found.askers.items()),
        "", "## Leaks", "",
    ]  # fmt: skip
    if found.leaks:
        lines += ["| mode | asker | where | question | what | secret | text |", "| --- " * 7 + "|"]
    for leak in found.leaks[:MOST_SHOWN]:
        secret = leak.secret
        at = f"{secret.source_id} line {secret.line}"
        lines.append(_row(leak.mode, leak.asker, leak.where, leak.query, secret.what, at, secret.text[:300]))
    lines += ["" if found.leaks else "None.", "## Secret names in sight", ""]
    if found.names:
        lines += ["| name | kind | of | met by | in |", "| --- " * 5 + "|"]
    for one in found.names[:MOST_SHOWN]:
        more = f" and {one.passages - len(one.places)} more" if one.passages > len(one.places) else ""
        of = f"{one.source_id} line {one.line}"
        lines.append(_row(one.name, one.kind, of, one.asker, ", ".join(one.places) + more))
    return "\n".join([*lines, "" if found.names else "None."]) + "\n"


def _row(*cells: str) -> str:
    escaped = (" ".join(cell.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;") for cell in cells)
    return f"| {' | '.join(escaped)} |"
