"""Settings of a campaign: what may be tuned, its defaults, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from canonry.errors import UsageError
from canonry.fuse import AUTO, DEFAULT_FUSION, METHODS, Fusion
from canonry.servers.address import judge_address


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """How long a chunk may be, in tokens of `canonry.tokens.count_tokens`.

    Paragraphs are grouped until the next one would pass `target_tokens`; a group below `min_tokens` goes on growing
    up to `max_tokens`, which no chunk exceeds (but for a single grapheme or base letter that is larger by itself).
    `overlap_tokens` is the most that a chunk repeats of the one before it, in whole sentences or blocks; 0 is off.
    """

    target_tokens: int = 480
    min_tokens: int = 120
    max_tokens: int = 800
    overlap_tokens: int = 64

    def __post_init__(self) -> None:
        if not 1 <= self.min_tokens <= self.target_tokens <= self.max_tokens:
            raise UsageError(
                f"chunk sizes must satisfy 1 <= min <= target <= max, not min={self.min_tokens} "
                f"target={self.target_tokens} max={self.max_tokens}: choose other sizes"
            )
        if self.max_tokens > 100_000:
            raise UsageError(f"chunk max={self.max_tokens} tokens is beyond any model's window: choose at most 100000")
        if not 0 <= self.overlap_tokens <= self.target_tokens // 2:
            raise UsageError(
                f"chunk overlap={self.overlap_tokens} must lie between 0 and half of target={self.target_tokens}: choose another overlap"
            )

    @classmethod
    def for_target(cls, target: int, overlap: int | None = None) -> ChunkSettings:
        """Settings in the default proportions around another target."""
        return cls(
            target, max(1, target // 4), max(target, target * 5 // 3), target * 2 // 15 if overlap is None else overlap
        )


EMBEDDER_DEFAULT = "minilm"
AUTOMATIC = "auto"  # of a setting that follows what is known of the model
ENCODINGS = ("float", "base64")
MODE_DEFAULT = "lexical"
MAX_FILE_BYTES = 64 * 1024 * 1024
MODES = ("lexical", "semantic", "hybrid")


@dataclass(frozen=True, slots=True)
class EmbedSettings:
    """How a model behind an address is asked; None ("auto") follows what is known of the model.

    A prefix is put before each text as it is, its blank at the end included; the empty one is none at all. `batch` is
    texts a request, `timeout` seconds for a whole request, `retries` how often one that failed for the moment is sent
    again. `allow_remote` lets addresses be called that are neither this machine's nor private.
    """

    query_prefix: str | None = None
    document_prefix: str | None = None
    max_tokens: int | None = None
    dimensions: int | None = None
    batch: int = 16
    timeout: int = 120
    retries: int = 5
    encoding: str = "float"  # of vectors in a reply of /v1/embeddings
    allow_remote: bool = False

    def __post_init__(self) -> None:
        for name, least, most in _EMBED_RANGES:
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise UsageError(f"embed.{name}={value} must lie between {least} and {most}: choose another")
        if self.encoding not in ENCODINGS:
            raise UsageError(f"embed.encoding={self.encoding!r} is unknown; choose from {', '.join(ENCODINGS)}")

    @classmethod
    def parse(cls, stored: Mapping[str, str]) -> EmbedSettings:
        """Settings from the stored text of the keys that start with `embed.`."""
        values: dict[str, object] = {}
        for field in fields(cls):
            key = f"embed.{field.name}"
            if key not in stored or (stored[key] == AUTOMATIC and field.default is None):
                continue
            text = stored[key]
            if field.name.endswith("_prefix") or field.name == "encoding":
                values[field.name] = text
            else:
                values[field.name] = _truth(key, text) if field.name == "allow_remote" else _whole_number(key, text)
        return cls(**values)  # type: ignore[arg-type]

    def as_text(self) -> dict[str, str]:
        """Every setting as it is stored and shown."""
        values = {f"embed.{field.name}": getattr(self, field.name) for field in fields(self)}
        return {
            key: AUTOMATIC if value is None else str(value).lower() if isinstance(value, bool) else str(value)
            for key, value in values.items()
        }


_EMBED_RANGES = (
    ("max_tokens", 32, 100_000),
    ("dimensions", 8, 16_384),
    ("batch", 1, 512),
    ("timeout", 1, 3_600),
    ("retries", 0, 20),
)


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """The generative model that may grade what was found: a server of /v1/chat/completions; no URL is no judge.

    `model` is left out of a request where it is empty, `timeout` is seconds for one question, and `allow_remote` lets
    passages be sent to an address that is neither this machine's nor private.
    """

    url: str = ""
    model: str = ""
    timeout: int = 20
    allow_remote: bool = False

    def __post_init__(self) -> None:
        if self.url:
            judge_address(self.url, self.model)
        if not 1 <= self.timeout <= 600:
            raise UsageError(f"judge.timeout={self.timeout} must lie between 1 and 600: choose another")

    @classmethod
    def parse(cls, stored: Mapping[str, str]) -> JudgeSettings:
        """Settings from the stored text of the keys that start with `judge.`."""
        default = cls()
        return cls(
            stored.get("judge.url", default.url),
            stored.get("judge.model", default.model),
            _whole_number("judge.timeout", stored.get("judge.timeout", str(default.timeout))),
            _truth("judge.allow_remote", stored.get("judge.allow_remote", "false")),
        )

    def as_text(self) -> dict[str, str]:
        """Every setting as it is stored and shown."""
        return {
            "judge.url": self.url, "judge.model": self.model, "judge.timeout": str(self.timeout),
            "judge.allow_remote": str(self.allow_remote).lower(),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """What a campaign is set to; `as_text` names the keys. Sizes that are not set follow `chunk.target` in proportion."""

    embedder: str = EMBEDDER_DEFAULT
    mode: str = MODE_DEFAULT  # of a query that names none; hybrid is earned by an evaluation
    chunk: ChunkSettings = ChunkSettings()
    max_file_bytes: int = MAX_FILE_BYTES
    embed: EmbedSettings = EmbedSettings()
    fusion: Fusion = DEFAULT_FUSION
    judge: JudgeSettings = JudgeSettings()

    @classmethod
    def parse(cls, stored: Mapping[str, str]) -> Settings:
        """Settings from their stored text; an unknown key or an impossible value is refused."""
        known = {
            "embedder",
            "mode",
            "max_file_bytes",
            *(f"chunk.{field.name.removesuffix('_tokens')}" for field in fields(ChunkSettings)),
            *(f"embed.{field.name}" for field in fields(EmbedSettings)),
            *(f"fusion.{field.name}" for field in fields(Fusion)),
            *(f"judge.{field.name}" for field in fields(JudgeSettings)),
        }
        for key in stored:
            if key not in known:
                raise UsageError(f"setting {key!r} is unknown; the settings are {', '.join(sorted(known))}")
        mode = stored.get("mode", MODE_DEFAULT)
        if mode not in MODES:
            raise UsageError(f"mode {mode!r} is unknown; choose from {', '.join(MODES)}")
        sizes = {
            field.name: _whole_number(key, stored[key])
            for field in fields(ChunkSettings)
            if (key := f"chunk.{field.name.removesuffix('_tokens')}") in stored
        }
        limit = _whole_number("max_file_bytes", stored.get("max_file_bytes", str(MAX_FILE_BYTES)))
        if not 1 <= limit <= 1 << 30:
            raise UsageError(f"max_file_bytes={limit} must lie between 1 and {1 << 30}: choose another limit")
        proportions = ChunkSettings.for_target(sizes["target_tokens"]) if "target_tokens" in sizes else ChunkSettings()
        embedder = stored.get("embedder", EMBEDDER_DEFAULT)
        return cls(
            embedder, mode, replace(proportions, **sizes), limit, EmbedSettings.parse(stored), _fusion(stored),
            JudgeSettings.parse(stored),
        )  # fmt: skip

    def as_text(self) -> dict[str, str]:
        """Every setting as it is stored and shown."""
        sizes = {
            f"chunk.{field.name.removesuffix('_tokens')}": str(getattr(self.chunk, field.name))
            for field in fields(self.chunk)
        }
        fusion = {f"fusion.{field.name}": f"{getattr(self.fusion, field.name)}" for field in fields(self.fusion)}
        if self.fusion.alpha is None:
            fusion["fusion.alpha"] = AUTO
        return {
            "embedder": self.embedder, "mode": self.mode, "max_file_bytes": str(self.max_file_bytes),
            **sizes, **self.embed.as_text(), **fusion, **self.judge.as_text(),
        }  # fmt: skip


def _fusion(stored: Mapping[str, str]) -> Fusion:
    default = DEFAULT_FUSION
    method = stored.get("fusion.method", default.method)
    if method not in METHODS:
        raise UsageError(f"fusion.method {method!r} is unknown; choose from {', '.join(METHODS)}")
    k = _whole_number("fusion.k", stored.get("fusion.k", str(default.k)))
    if not 1 <= k <= 10_000:
        raise UsageError(f"fusion.k={k} must lie between 1 and 10000: choose another rank constant")
    shares = {
        name: _share(f"fusion.{name}", stored.get(f"fusion.{name}", str(getattr(default, name))))
        for name in ("weight", "entity")
    }
    stated = stored.get("fusion.alpha", AUTO)
    alpha = None if stated == AUTO else _share("fusion.alpha", stated)
    return Fusion(method, k, shares["weight"], alpha, shares["entity"])


def _share(key: str, text: str) -> float:
    or_auto = f", or {AUTO}" if key == "fusion.alpha" else ""
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"setting {key}={text!r} is not a number; give one from 0 to 1{or_auto}") from None
    if not 0 <= value <= 1:
        raise UsageError(f"{key}={text} must lie between 0 and 1: choose another share")
    return value


def _whole_number(key: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"setting {key}={text!r} is not a whole number; give digits alone") from None


def _truth(key: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise UsageError(f"setting {key}={text!r} is not true or false; give one of them")
    return text.lower() == "true"
