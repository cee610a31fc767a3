"""A running game on disk, read again whenever it has changed: a session or a server may outlive many of its turns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from canonry.canonlog.save import Save, read_save
from canonry.errors import NotFound

Game = Callable[[], "Save | None"]


def no_game() -> Save | None:
    """There is no game."""
    return None


class SavedGame:
    """The save at a path, as it is whenever it is asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: tuple[tuple[int, int, int], Save] | None = None
        self()

    def __call__(self) -> Save | None:
        """NotFound where the file is gone, InvalidData where it is no save."""
        try:
            stat = self.path.stat()
        except OSError:
            raise NotFound(f"the game {self.path.name} is not there; put it back, or name another") from None
        known = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if self._read is None or self._read[0] != known:
            self._read = known, read_save(self.path)
        return self._read[1]
