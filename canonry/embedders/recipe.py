"""What decides the vectors of a model behind an address, as far as it is known without asking it."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from canonry.config import EmbedSettings
from canonry.embedders.families import Family, family_of
from canonry.embedders.scripts import EVERY_SCRIPT
from canonry.files import whole_file
from canonry.servers.address import parse_address

CODE_VERSION = 1  # raise it when windows, prefixes or normalisation change
UNKNOWN_MAX_TOKENS = 512  # of a model that neither the table nor its server describes
LONGEST_WINDOW = 2048  # servers cut below the advertised window, and one vector says little of a longer text


@dataclass(frozen=True, slots=True)
class Facts:
    """What a model's server said of it when it was last reached.

    `digest` is the version of the weights where the server names one; `context_tokens` is 0 where it does not say;
    `window_tokens` is what was seen to go through uncut; `asked_tokens` and `asked_dimensions` are the settings that
    this was learned under, 0 for none; `probe` is the vector of a fixed text, by which a model that has no digest is
    known again.
    """

    digest: str
    dimensions: int
    context_tokens: int
    window_tokens: int
    asked_tokens: int = 0
    asked_dimensions: int = 0
    probe: tuple[float, ...] = ()

    def fits(self, settings: EmbedSettings) -> bool:
        """Whether this was learned under the settings that hold now."""
        return (self.asked_tokens, self.asked_dimensions) == (settings.max_tokens or 0, settings.dimensions or 0)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How texts become vectors: the model, its version, what is put before each text, how much of it is sent."""

    kind: str
    model: str
    digest: str | None  # None where the model was not reached yet
    dimensions: int | None
    max_tokens: int
    query_prefix: str
    document_prefix: str

    @property
    def fingerprint(self) -> str:
        """Safe in a path: the model's name, its dimensions and eight digits of everything else. The address is no part."""
        name = re.sub(r"[^a-z0-9.]+", "-", self.model.lower()).strip("-.")[:48] or "model"
        digits = hashlib.sha256(repr((CODE_VERSION, asdict(self))).encode()).hexdigest()[:8]
        return f"{name}-{self.dimensions or 'unmet'}-{digits}"


def recipe_of(spec: str, settings: EmbedSettings, facts: Facts | None) -> Recipe:
    """The recipe of a SPEC under the settings and what is known of the model."""
    address = parse_address(spec)
    family = family_of(address.model)
    return Recipe(
        address.kind,
        address.model,
        facts.digest if facts else None,
        facts.dimensions if facts else settings.dimensions,
        facts.window_tokens if facts else first_window(family, settings, 0),
        _prefix(settings.query_prefix, family.query_prefix if family else ""),
        _prefix(settings.document_prefix, family.document_prefix if family else ""),
    )


def first_window(family: Family | None, settings: EmbedSettings, context_tokens: int) -> int:
    """The window to begin with, in tokens: what is set, else what the table says, and no more than the server says."""
    if settings.max_tokens:
        return min(settings.max_tokens, context_tokens or settings.max_tokens)
    said = [size for size in (family.max_tokens if family else 0, context_tokens) if size]
    return min([*said, LONGEST_WINDOW]) if said else UNKNOWN_MAX_TOKENS


def scripts_and_floor(spec: str) -> tuple[frozenset[str], float]:
    """The writing systems that the model knows and the cosine below which a hit is noise; all, and 0, of an unknown one."""
    family = family_of(parse_address(spec).model)
    return (family.scripts, family.minimum_cosine) if family else (EVERY_SCRIPT, 0.0)


def notices_of(spec: str, settings: EmbedSettings) -> list[str]:
    """What a person should know of the choice: a model that the table does not know, sizes that it does not have."""
    model = parse_address(spec).model
    family = family_of(model)
    notices = []
    if family is None and settings.query_prefix is None and settings.document_prefix is None:
        notices.append(
            f"the model {model} is not known here, so nothing is put before its texts; if it wants prefixes, set "
            "embed.query_prefix and embed.document_prefix"
        )
    if family and settings.dimensions and settings.dimensions not in family.dimensions:
        sizes = ", ".join(map(str, family.dimensions))
        notices.append(f"models of the family {family.name} have {sizes} dimensions, not {settings.dimensions}")
    return notices


def _prefix(setting: str | None, known: str) -> str:
    return known if setting is None else setting


def read_facts(path: Path, spec: str, settings: EmbedSettings) -> Facts | None:
    """What is known of the model of a SPEC under these settings; None where it was not reached yet or the file is damaged."""
    facts = _read(path).get(spec)
    return facts if facts and facts.fits(settings) else None


def write_facts(path: Path, spec: str, facts: Facts) -> None:
    """Remember what was learned of one model beside what is known of others; for the holder of the lock."""
    known = {**_read(path), spec: facts}
    with whole_file(path) as temporary:
        content = {name: asdict(known[name]) for name in sorted(known)}
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _read(path: Path) -> dict[str, Facts]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        names = [field.name for field in fields(Facts)]
        return {
            str(spec): Facts(**{name: stored[name] for name in names if name != "probe"}, probe=tuple(stored["probe"]))
            for spec, stored in content.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}  # derived: the next reindex learns it again
