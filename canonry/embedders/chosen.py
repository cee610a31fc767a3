"""Which embedder a campaign uses: a SPEC, the settings it is asked with, and what is known of the model behind it."""

from __future__ import annotations

from dataclasses import dataclass

from canonry.config import EmbedSettings, Settings
from canonry.embedders import Embedder, dimensions_of, fingerprint_of, load
from canonry.embedders.recipe import Facts, notices_of, read_facts
from canonry.errors import EmbedderError
from canonry.layout import Layout
from canonry.servers.address import is_served

_DEFAULTS = EmbedSettings()
REMEDY = "`canonry reindex` makes new vectors beside the old"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A choice of embedder. Two that are equal give the same vectors; none of it opens a connection but `look`."""

    spec: str
    settings: EmbedSettings = _DEFAULTS
    facts: Facts | None = None

    @classmethod
    def of(cls, at: Layout, settings: Settings, spec: str | None = None) -> Chosen:
        """The choice of a campaign, or what another SPEC is in it, with what was learned of its model there."""
        spec = spec or settings.embedder
        if not is_served(spec):
            return cls(spec)
        return cls(spec, settings.embed, read_facts(at.endpoints, spec, settings.embed))

    @property
    def is_served(self) -> bool:
        """Whether the model is behind an address."""
        return is_served(self.spec)

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of its vectors, None for no embedder; of a model that was never reached, one that no vector has."""
        return fingerprint_of(self.spec, self.settings, self.facts)

    @property
    def dimensions(self) -> int | None:
        """Dimensions of its vectors, as far as they are known."""
        return self.facts.dimensions if self.facts else dimensions_of(self.spec)

    def load(self) -> Embedder:
        """The embedder, ready to use; an EmbedderError where there is none, or its server was never reached."""
        embedder = load(self.spec, self.settings, self.facts)
        if embedder is None:
            raise EmbedderError(f"there is no embedder behind {self.spec!r}")
        return embedder

    def look(self) -> str | None:
        """What is wrong with the server at this moment, or None; asks it once and does not wait for it."""
        if not self.is_served:
            return None
        from canonry.embedders.served import learn

        try:
            facts = learn(self.spec, self.settings, self.facts, glance=True)
        except EmbedderError as error:
            return str(error)
        if self.facts is None or facts == self.facts:
            return None
        return f"{describe_change(self.facts, facts)}; {REMEDY}"

    @property
    def notices(self) -> list[str]:
        """What a person should know of the choice."""
        if not self.is_served:
            return []
        asked, given = self.settings.dimensions, self.dimensions
        ignored = [f"the server gives {given} dimensions whatever embed.dimensions={asked} asks for"]
        return notices_of(self.spec, self.settings) + (ignored if asked and given and asked != given else [])


def describe_change(old: Facts, new: Facts) -> str:
    """In words, what became of a model since its vectors were made."""
    if old.dimensions != new.dimensions:
        return f"re-embedding needed ({old.dimensions} -> {new.dimensions}): the model has other dimensions than its vectors"
    if old.digest != new.digest:
        return "re-embedding needed: the model's weights are other than those that made the vectors"
    return f"re-embedding needed: the model takes {new.window_tokens} tokens at once instead of {old.window_tokens}"
