"""copy: validated text -> a temporary file in the campaign's own storage, whole and flushed.

Nothing depends on the original path afterwards.
"""

from __future__ import annotations

import os
from pathlib import Path

from canonry.files import room_for, temporary_beside


def copy_text(data: bytes, folder: Path) -> Path:
    """Write `data` under a temporary name in `folder`; the caller moves it to its final name or removes it."""
    path = temporary_beside(folder / "import")
    with room_for(path):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            path.unlink(missing_ok=True)
            raise
    return path
