"""The deletion of a whole campaign, which can be stopped anywhere and is finished by whoever comes next."""

from __future__ import annotations

import shutil

from canonry.layout import Layout, passing


def delete_campaign(at: Layout) -> None:
    """Remove a campaign with all its folders; the caller holds its lock.

    With the first rename it is gone for everyone. Stopped after that, `finish_deletion` removes what is left.
    """
    if at.raw.exists():
        shutil.rmtree(passing(at.raw, "deleted"), ignore_errors=True)
        at.raw.rename(passing(at.raw, "deleted"))
    finish_deletion(at)


def is_half_deleted(at: Layout) -> bool:
    """Whether a deletion of this campaign was stopped after the campaign was gone."""
    return passing(at.raw, "deleted").exists() or (not at.raw.exists() and (at.chunks.exists() or at.index.exists()))


def finish_deletion(at: Layout) -> None:
    """Remove what a stopped deletion left; nothing of a campaign that is there. The caller holds its lock."""
    derived = () if at.raw.exists() else (at.chunks, at.index)
    for folder in (*derived, passing(at.raw, "deleted")):  # the last to go is what says that something is left
        if folder.exists():
            shutil.rmtree(folder)
