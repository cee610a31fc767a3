"""canonry: local-first knowledge for storytelling and game assistants."""

from __future__ import annotations

from canonry.campaign import Campaign
from canonry.errors import CanonryError
from canonry.library import Library
from canonry.library import open_library as open
from canonry.library import retrieve_from as retrieve
from canonry.retrieval import Answer, Passage

__version__ = "0.1.0"
__all__ = ["Answer", "Campaign", "CanonryError", "Library", "Passage", "open", "retrieve"]
