"""Entries for the tests of suggestions: Markdown files with front matter, imported as anything else is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from canonry.layout import Layout
from tests.conftest import Workshop


class Story:
    """A campaign that is given entries and other sources, and that knows their ids by their titles."""

    def __init__(self, workshop: Workshop, campaign: str = "vell") -> None:
        self.workshop = workshop
        self.at: Layout = workshop.create(campaign)
        self._ids: dict[str, str] = {}

    def tell(self, title: str, text: str, **facts: object) -> str:
        """A source with these facts in its front matter; its id."""
        lines = "".join(f"{key.rstrip('_')}: {value}\n" for key, value in facts.items() if value is not None)
        path = self.workshop.write(f"{self.at.campaign}/{title}.md", f"---\ntitle: {title}\n{lines}---\n{text}\n")
        report = self.workshop.bring(self.at, path, decide="separate")
        assert not report.rejected
        self._ids[title] = report.imported[0].source_id
        return self._ids[title]

    def entry(self, title: str, text: str = "A note.", **facts: object) -> str:
        """An approved entry of importance 3, a fact unless another type is given."""
        return self.tell(title, text, **{"type": "fact", "importance": 3, "status": "approved", **facts})

    def __getitem__(self, title: str) -> str:
        return self._ids[title]


@pytest.fixture
def story(workshop: Workshop) -> Story:
    return Story(workshop)


@pytest.fixture
def another_story(workshop: Workshop) -> Callable[[str], Story]:
    return lambda campaign: Story(workshop, campaign)
