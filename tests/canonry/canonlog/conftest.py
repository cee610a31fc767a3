"""What the tests of the canon log share: the world that comes with canonry, and a game in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import canonry
from canonry.canonlog.content import Content, load_content
from canonry.canonlog.new_game import create_character
from canonry.canonlog.play import Play, play, read_events
from canonry.canonlog.save import Save, new_save

WORLD = Path(canonry.__file__).parent / "demo_world"
AT = "2026-03-01T18:00:00+00:00"


@pytest.fixture(scope="session")
def content() -> Content:
    return load_content(WORLD)


@pytest.fixture
def save(content: Content) -> Save:
    """Aldric the sellsword on Mother Keddle's counter, luck 8, before anything has happened."""
    return new_save(content.world, create_character(content, "unredeemed", name="Aldric", class_id="sellsword", seed=7))


@pytest.fixture
def happen(save: Save) -> Callable[..., Play]:
    """Apply events (dicts) to the game, or to another save."""

    def run(*events: dict[str, Any], to: Save = save) -> Play:
        lines = "\n".join(json.dumps(event, ensure_ascii=False) for event in events)
        return play(to, read_events(lines.encode(), "events"), AT)

    return run


class Folder:
    """A copy of the world's folder, to be broken."""

    def __init__(self, at: Path) -> None:
        self.at = at

    def edit(self, name: str, **fields: Any) -> None:
        """Set fields of one file."""
        path = self.at / name
        said = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        path.write_text(json.dumps(said | fields, ensure_ascii=False), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(Path(shutil.copytree(WORLD, tmp_path / "content")))
