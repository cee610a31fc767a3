"""The indexes of earlier times: caches, each whole or to be thrown away."""

from __future__ import annotations

from collections.abc import Iterator

from canonry.errors import NoSpace
from canonry.layout import Layout
from flows.checks import lexical, vectors
from flows.checks.findings import BROKEN, Examination, Finding, reason


def check(look: Examination) -> Iterator[Finding]:
    """One finding for each index of an earlier time that is not what it should be."""
    for folder in sorted((look.at.index / "as-of").glob("*")):
        if ".making-" in folder.name or not folder.is_dir():
            continue
        counted, dead = look.checked.copy(), look.dead_vectors  # of the live index alone
        past = Layout(look.at.root, look.at.campaign, folder.name)
        try:
            wrong = next((found.what for found in lexical.check_store(look, past)), "")
            wrong = wrong or next((found.what for found in vectors.check_past(look, past)), "")
        except NoSpace:
            raise
        except BROKEN as error:
            wrong = f"cannot be read ({reason(error)})"
        look.checked, look.dead_vectors = counted, dead
        look.checked["past_indexes"] += 1
        if wrong:
            do = "`canonry doctor --fix` removes it; a question about that time makes it again"
            yield Finding("past-index-damaged", wrong, look.named(folder), do, fixable=True, remove=(folder,))
