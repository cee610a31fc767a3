"""The secret of a campaign, from which the lasting marks of its frames are derived. It lies in the catalog's meta."""

from __future__ import annotations

import secrets
from contextlib import closing

from canonry.catalog import Catalog
from canonry.database import plain_errors
from canonry.errors import CanonryError
from canonry.layout import Layout
from canonry.locking import writing

KEPT_AS = "frame_secret"  # in meta; an export leaves it out
_LOCK_WAIT_S = 1.0


def campaign_secret(at: Layout) -> tuple[str, str]:
    """The secret, made when it is first asked for; where it cannot be kept, one for this time alone, and a warning."""
    with closing(Catalog.open(at.catalog)) as catalog:
        kept = catalog.meta(KEPT_AS)
    if kept:
        return kept, ""
    secret = secrets.token_hex(32)
    try:
        with (
            plain_errors(at.catalog, "restore the campaign from an export", wait_s=_LOCK_WAIT_S),
            writing(at, wait_s=_LOCK_WAIT_S),
            closing(Catalog.open(at.catalog, write=True, wait_s=_LOCK_WAIT_S)) as catalog,
        ):
            return catalog.keep_meta(KEPT_AS, secret), ""
    except CanonryError as error:
        return (
            secret,
            f"the beginning of the next pack will differ from this one's, since its mark cannot be kept: {error}",
        )
