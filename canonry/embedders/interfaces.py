"""The two interfaces that embedding servers speak: Ollama's own and the one of OpenAI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from canonry.config import EmbedSettings
from canonry.embedders.replies import check_model, in_order, read_vectors
from canonry.errors import EmbedderError
from canonry.servers.address import Address, resolve
from canonry.servers.endpoint import Endpoint, Patience, Reply, says_too_long

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KEEP_ALIVE = "30m"  # a question after a pause should not wait for the model to be loaded


class LengthRefused(EmbedderError):
    """The server refuses a request because a text in it is too long; it does not say which."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a server says of a model: the digest of its weights ("" where it names none), its context (0 if unsaid)."""

    digest: str
    context_tokens: int


class Interface(Protocol):
    """How one kind of server is asked."""

    def identity(self, patience: Patience) -> Identity: ...

    def embed(
        self, texts: Sequence[str], dimensions: int | None, patience: Patience
    ) -> tuple[NDArray[np.float32], int | None]:
        """Vectors (n, d) of unit length, and the tokens that were read where the server counts them.

        LengthRefused for a text that is too long; EmbedderError for anything else that is wrong with the reply.
        """
        ...


class Ollama:
    """`/api/embed`, with `truncate: false`: what is too long is refused and not cut, as far as the server keeps to it."""

    def __init__(self, endpoint: Endpoint, settings: EmbedSettings) -> None:
        self._endpoint, self._settings = endpoint, settings
        self._address = endpoint.address

    def identity(self, patience: Patience) -> Identity:
        """The digest from `/api/tags` and the context length from `/api/show`."""
        tags = _content(self._endpoint.ask("/api/tags", None, patience), self._address, "/api/tags")
        shown = self._endpoint.ask("/api/show", {"model": self._address.model}, patience)
        facts = _content(shown, self._address, "/api/show")
        info = facts.get("model_info")
        context = (
            next((v for k, v in info.items() if k.endswith(".context_length")), 0) if isinstance(info, dict) else 0
        )
        return Identity(_digest(tags.get("models"), self._address.model), context if type(context) is int else 0)

    def embed(
        self, texts: Sequence[str], dimensions: int | None, patience: Patience
    ) -> tuple[NDArray[np.float32], int | None]:
        body: dict[str, object] = {
            "model": self._address.model,
            "input": list(texts),
            "truncate": False,
            "keep_alive": _KEEP_ALIVE,
        }
        if self._settings.dimensions:
            body["dimensions"] = self._settings.dimensions
        content = _content(self._endpoint.ask("/api/embed", body, patience), self._address, "/api/embed")
        spec = self._address.spec
        check_model(content.get("model"), self._address.model, spec)
        counted = content.get("prompt_eval_count")
        vectors = read_vectors(content.get("embeddings"), len(texts), dimensions, spec)
        return vectors, counted if type(counted) is int else None


class OpenAI:
    """`/v1/embeddings`, as LM Studio, llama.cpp and many others speak it."""

    def __init__(self, endpoint: Endpoint, settings: EmbedSettings) -> None:
        self._endpoint, self._settings = endpoint, settings
        self._address = endpoint.address

    def identity(self, patience: Patience) -> Identity:
        """What `/v1/models` says of the model beyond its name, which llama.cpp's server does; nothing is taken amiss."""
        try:
            reply = self._endpoint.ask("/v1/models", None, patience)
        except EmbedderError:
            return Identity("", 0)  # a server need not have it
        listed = reply.content.get("data") if isinstance(reply.content, dict) else None
        models = [model for model in listed if isinstance(model, dict)] if isinstance(listed, list) else []
        named = [model for model in models if model.get("id") == self._address.model] or models[:1]
        meta = named[0].get("meta") if named else None
        sizes = [meta.get(name) for name in ("n_ctx", "n_ctx_train")] if isinstance(meta, dict) else []
        return Identity("", min((size for size in sizes if type(size) is int and size > 0), default=0))

    def embed(
        self, texts: Sequence[str], dimensions: int | None, patience: Patience
    ) -> tuple[NDArray[np.float32], int | None]:
        body: dict[str, object] = {
            "model": self._address.model,
            "input": list(texts),
            "encoding_format": self._settings.encoding,
        }
        if self._settings.dimensions:
            body["dimensions"] = self._settings.dimensions
        content = _content(self._endpoint.ask("/v1/embeddings", body, patience), self._address, "/v1/embeddings")
        spec = self._address.spec
        check_model(content.get("model"), self._address.model, spec)
        return read_vectors(in_order(content.get("data"), len(texts), spec), len(texts), dimensions, spec), None


def open_interface(address: Address, settings: EmbedSettings) -> Interface:
    """The interface of a SPEC's server. Nothing is sent yet; its name is looked up."""
    endpoint = Endpoint(address, resolve(address, allow_remote=settings.allow_remote))
    return Ollama(endpoint, settings) if address.kind == "ollama" else OpenAI(endpoint, settings)


def _content(reply: Reply, address: Address, path: str) -> dict[str, Any]:
    """The object in a reply, or the error that its status means."""
    if reply.status == 200:
        if isinstance(reply.content, dict):
            return reply.content
        raise EmbedderError(f"{address.url}{path} answered with JSON that is no object; nothing of it was stored")
    if says_too_long(reply):
        raise LengthRefused(f"{address.url}: {address.model} refuses a text for its length {reply.text}")
    advice = {
        401: "put its key into the environment as CANONRY_API_KEY",
        403: "put its key into the environment as CANONRY_API_KEY",
        404: f"`ollama pull {address.model}` fetches the model"
        if address.kind == "ollama"
        else "check the model's name and the address",
    }.get(reply.status, "look into the server's log")
    raise EmbedderError(f"{address.url}{path} answered {reply.status} {reply.text}; {advice}")


def _digest(models: Any, model: str) -> str:
    """The digest of a model in Ollama's list, whose names end in a tag; "" where it has none."""
    wanted = model if ":" in model.rpartition("/")[2] else f"{model}:latest"
    for entry in models if isinstance(models, list) else []:
        if isinstance(entry, dict) and wanted in (entry.get("name"), entry.get("model")):
            digest = entry.get("digest")
            return digest if isinstance(digest, str) else ""
    return ""
