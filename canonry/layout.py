"""Where everything lies: the paths of one campaign under a data directory.

raw/<campaign>/      truth: the imported bytes and the catalog
chunks/<campaign>/   derived: knowledge_chunk and knowledge_embedding as Parquet
index/<campaign>/    derived: the lexical store, the vector store, the scan file, the manifest
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from canonry.errors import UsageError

_CAMPAIGN_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}\Z")
_DEVICE_NAMES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
TEMPORARY_PREFIX = ".tmp-"  # every file in the making; swept by the next writer
EXTENSIONS = {"text/markdown": "md", "text/plain": "txt"}  # of stored files


def is_campaign_id(campaign: str) -> bool:
    return bool(_CAMPAIGN_ID.match(campaign)) and campaign not in _DEVICE_NAMES


def check_campaign_id(campaign: str) -> str:
    """The id itself, or a UsageError: it becomes a folder name on every system, so its characters are few."""
    if not is_campaign_id(campaign):
        raise UsageError(
            f"campaign id {campaign!r} is not usable: take 1 to 63 of a-z, 0-9, - and _, starting with a letter or digit"
        )
    return campaign


def passing(folder: Path, what: str) -> Path:
    """The name of a campaign's folder while it is being "restored" or "deleted"; the campaign's next writer sweeps it."""
    return folder.with_name(f"{TEMPORARY_PREFIX}{what}-{folder.name}")


def default_root() -> Path:
    """The data directory when none is named: $CANONRY_DATA, else ./data."""
    return Path(os.environ.get("CANONRY_DATA") or "data")


@dataclass(frozen=True, slots=True)
class Layout:
    """Every path of one campaign. Nothing here touches the disk.

    `past` names an index of the versions that were live at some earlier time; the empty one is the live index.
    """

    root: Path
    campaign: str
    past: str = ""

    def __post_init__(self) -> None:
        check_campaign_id(self.campaign)

    @property
    def raw(self) -> Path:
        return self.root / "raw" / self.campaign

    @property
    def files(self) -> Path:
        return self.raw / "files"

    @property
    def proposed(self) -> Path:
        """Texts that wait for a decision; each goes when it is made."""
        return self.raw / "proposed"

    @property
    def catalog(self) -> Path:
        return self.raw / "catalog.sqlite"

    @property
    def sessions(self) -> Path:
        """Sessions of selecting context, and notes derived from sources; never part of the knowledge."""
        return self.raw / "sessions.sqlite"

    @property
    def lock(self) -> Path:
        return self.root / "raw" / f".{self.campaign}.lock"

    @property
    def chunks(self) -> Path:
        return self.root / "chunks" / self.campaign

    @property
    def index(self) -> Path:
        index = self.root / "index" / self.campaign
        return index / "as-of" / self.past if self.past else index

    @property
    def lexical(self) -> Path:
        return self.index / "lexical.sqlite"

    @property
    def manifest(self) -> Path:
        return self.index / "manifest.json"

    def file(self, content_hash: str, extension: str) -> Path:
        """The stored bytes of a version. `extension` is without its dot."""
        return self.files / f"{content_hash}.{extension}"

    def proposed_file(self, content_hash: str, extension: str) -> Path:
        """The bytes of a proposed text. `extension` is without its dot."""
        return self.proposed / f"{content_hash}.{extension}"

    def part(self, key: str) -> Path:
        """One part file of knowledge_chunk."""
        return self.chunks / f"chunks-{key}.parquet"

    def embeddings(self, fingerprint: str) -> Path:
        """The folder of knowledge_embedding parts that one embedder made."""
        return self.chunks / "vectors" / fingerprint

    @property
    def endpoints(self) -> Path:
        """What was learned of models behind an address, when they were last reached."""
        return self.chunks / "vectors" / "endpoints.json"

    def vectors(self, generation: str) -> Path:
        """The DuckDB vector store of one generation."""
        return self.index / f"vectors-{generation}.duckdb"

    def scan(self, generation: str) -> Path:
        """The matrix that queries scan, derived from the vector store of the same generation."""
        return self.index / f"scan-{generation}.bin"


def list_campaigns(root: Path) -> list[str]:
    """Ids of the campaigns in a data directory, sorted; empty where there is none."""
    names = (path.parent.name for path in (root / "raw").glob("*/catalog.sqlite"))
    return sorted(name for name in names if is_campaign_id(name))
