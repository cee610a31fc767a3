"""The Python API: a data directory, its campaigns, and questions to one of them.

import canonry
campaign = canonry.open("data").campaign("vell")
answer = campaign.retrieve("who holds the tower key?", spoiler_level=1)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from canonry.campaign import Campaign
from canonry.layout import Layout, default_root, list_campaigns


class Library:
    """A data directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def campaign(self, campaign: str) -> Campaign:
        """One campaign of it; NotFound where there is none of that id."""
        return Campaign(Layout(self.root, campaign))

    def campaigns(self) -> list[str]:
        """Ids, sorted."""
        return list_campaigns(self.root)


def open_library(data: str | os.PathLike[str] | None = None) -> Library:
    """The data directory `data`; else $CANONRY_DATA, else ./data. Nothing is created."""
    return Library(Path(data) if data is not None else default_root())


def retrieve_from(
    game_id: str,
    query: str,
    spoiler_level: int,
    source_types: Sequence[str] | None = None,
    as_of: str | None = None,
    limit: int = 8,
) -> list[dict[str, object]]:
    """Passages of campaign `game_id` in the default data directory, as dictionaries with the contract's field names.

    Each holds at least chunk_id, exact_text, source_version_id, title, uri, page, lexical_score, semantic_score,
    fused_score, trust and spoiler_tags. Best first; empty where nothing matches.
    """
    with open_library().campaign(game_id) as campaign:
        answer = campaign.retrieve(
            query, spoiler_level=spoiler_level, source_types=source_types or (), as_of=as_of, limit=limit
        )
        return [passage.as_json() for passage in answer.results]
