"""Exports that were tampered with: a good one, read, changed and written again."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

Members = dict[str, bytes]


def read_members(archive: Path) -> Members:
    """Name -> content of every member, in order."""
    with zipfile.ZipFile(archive) as file:
        return {info.filename: file.read(info) for info in file.infolist()}


def rewrite(
    good: Path,
    to: Path,
    change: Callable[[Members], object] = lambda members: None,
    manifest: Callable[[dict[str, Any]], object] = lambda manifest: None,
    *,
    signed: bool = True,
) -> Path:
    """The archive after `change` to its members; `signed` makes sizes, checksums and row counts in the manifest fit again.

    `manifest` changes the manifest last.
    """
    members = read_members(good)
    said = json.loads(members.pop("manifest.json"))
    change(members)
    if signed:
        said["members"] = [
            {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in members.items()
        ]
        for told, name in (("rows", "catalog.jsonl"), ("session_rows", "sessions.jsonl")):
            for table in said[told]:
                said[told][table] = members.get(name, b"").count(b'{"table": "%s"' % table.encode())
    manifest(said)
    members["manifest.json"] = json.dumps(said).encode()
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return to


def append(good: Path, to: Path, name: str | zipfile.ZipInfo, data: bytes | str) -> Path:
    """The archive as it is, with one more entry that the manifest does not name."""
    to.write_bytes(good.read_bytes())
    with zipfile.ZipFile(to, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, data)
    return to


def change_rows(members: Members, table: str, *, of: str = "catalog.jsonl", **values: object) -> None:
    """Set columns in every row of a table of the catalog, or of another member."""
    lines = []
    for line in members[of].splitlines():
        said = json.loads(line)
        if said["table"] == table:
            said["row"] |= values
        lines.append(json.dumps(said, ensure_ascii=False).encode())
    members[of] = b"".join(line + b"\n" for line in lines)


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every path below a folder with its bytes; None for folders."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
