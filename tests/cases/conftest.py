"""What the cases share: a campaign made by the command line, as a person would make it, and open for questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import canonry
from canonry.cli import main

CASES = Path(__file__).parents[1] / "fixtures" / "cases"
Campaigns = Callable[..., canonry.Campaign]


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaigns]:
    """Make a campaign: name, embedder, then one list of import arguments for each import."""
    data = tmp_path_factory.mktemp("data")
    opened: list[canonry.Campaign] = []

    def make(name: str, embedder: str, *imports: list[str | Path]) -> canonry.Campaign:
        assert main(["campaign", "create", name, "--data", str(data), "--set", f"embedder={embedder}"]) == 0
        for arguments in imports:
            main(["import", "--data", str(data), "-c", name, *map(str, arguments)])
        opened.append(canonry.open(data).campaign(name))
        return opened[-1]

    yield make
    for campaign in opened:
        campaign.close()
