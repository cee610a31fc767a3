"""Vectors as servers send them, taken whole or refused whole."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from canonry.embedders.vectors import to_unit_length
from canonry.errors import EmbedderError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_DIMENSIONS = 16_384
_MOST_OF_A_NAME = 1_000  # characters
_QUANTISATION = re.compile(
    r"(?:\A|[-._])((?:ud-)?i?q\d(?:_[a-z\d]+)*|b?f16|f32|fp(?:8|16|32)|int[48]|\d{1,2}-?bits?|mxfp4|awq|gptq)\Z"
)


def read_vectors(sent: Any, count: int, dimensions: int | None, spec: str) -> NDArray[np.float32]:
    """The vectors (count, d) of unit length from a reply's lists of numbers or base64 of little-endian float32.

    `dimensions` is what they must have, None for any number that all of them share.
    """
    if not isinstance(sent, list) or len(sent) != count:
        found = f"{len(sent)} vectors" if isinstance(sent, list) else "no list of vectors"
        raise _refused(spec, f"{found} for {count} texts")
    rows = [_numbers(row, spec) for row in sent]
    sizes = {len(row) for row in rows}
    if len(sizes) != 1:
        raise _refused(spec, f"vectors of {min(sizes)} to {max(sizes)} dimensions in one reply")
    size = sizes.pop()
    if dimensions is not None and size != dimensions:
        raise EmbedderError(
            f"the embedder {spec} answered with vectors of {size} dimensions where {dimensions} are stored: "
            f"re-embedding needed ({dimensions} -> {size}); `canonry reindex` does it"
        )
    if not 1 <= size <= _MOST_DIMENSIONS:
        raise _refused(spec, f"vectors of {size} dimensions")
    with np.errstate(all="ignore"):
        return to_unit_length(np.array(rows), spec)


def _numbers(row: Any, spec: str) -> NDArray[np.float64]:
    if isinstance(row, str):
        try:
            raw = base64.b64decode(row, validate=True)
        except (binascii.Error, ValueError) as error:
            raise _refused(spec, "a vector that is not base64") from error
        if len(raw) % 4:
            raise _refused(spec, f"a vector of {len(raw)} bytes, which is no number of float32")
        return np.frombuffer(raw, "<f4").astype(np.float64)
    if not isinstance(row, list) or any(type(value) not in (int, float) for value in row):
        raise _refused(spec, "a vector that is not a list of numbers")
    try:
        return np.array(row, np.float64)
    except OverflowError as error:
        raise _refused(spec, "a number beyond all bounds") from error


def in_order(data: Any, count: int, spec: str) -> list[Any]:
    """The `embedding` of each item of an OpenAI-style list, by its `index`, which must be each of 0 to count - 1 once."""
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise _refused(spec, "no list `data`")
    if len(data) != count:
        raise _refused(spec, f"{len(data)} vectors for {count} texts")
    places = [item.get("index") for item in data]
    if any(type(place) is not int for place in places) or sorted(places) != list(range(count)):
        raise _refused(spec, f"indexes {places[:8]} for {count} texts")
    placed: list[Any] = [None] * count
    for place, item in zip(places, data, strict=True):
        placed[place] = item.get("embedding")
    return placed


def check_model(answered: Any, asked: str, spec: str) -> None:
    """Refuse the reply of another model; servers spell one model's name in several ways."""
    if isinstance(answered, str) and not _is_same(_read_name(asked), _read_name(answered)):
        raise _refused(spec, f"vectors of another model, {answered[:80]!r} (name it so where it is the one you mean)")


@dataclass(frozen=True, slots=True)
class _ModelName:
    """A model's name in parts, each "" where it is not stated: `nomic-embed-text`, `v1.5` (Ollama's tag), `q8-0`."""

    name: str
    tag: str
    quantisation: str


def _is_same(one: _ModelName, other: _ModelName) -> bool:
    """Whether two names may be of one model: nothing that both state differs. A tag may stand in the other's name."""
    if not (one.name and other.name):
        return True
    if one.quantisation and other.quantisation and one.quantisation != other.quantisation:
        return False
    if one.name == other.name:
        return one.tag == other.tag or not (one.tag and other.tag)
    return any(
        tagged.tag and not plain.tag and f"{tagged.name}-{tagged.tag}" == plain.name
        for tagged, plain in ((one, other), (other, one))
    )


def _read_name(written: str) -> _ModelName:
    """A name without its organisation or folders, file type and LM Studio's prefix."""
    whole = written[:_MOST_OF_A_NAME].strip().lower().rstrip("\\/")
    cached = re.search(
        r"(?:\A|[\\/])models--(?:[^\\/]*--)?([^\\/]+)[\\/]snapshots\b", whole
    )  # a hub's cache, as of vLLM
    last = cached[1] if cached else re.split(r"[\\/]", whole)[-1]
    last = re.split(r"-gguf_", last.removesuffix(".gguf"))[-1]  # llama.cpp's cache: org_repo-GGUF_file.gguf
    name, *tags = re.split(r"[:@]", last.removeprefix("text-embedding-"))
    name, of_name = _without_quantisation(name.removesuffix("-gguf"))
    tag, of_tag = _without_quantisation("-".join(tag for tag in tags if tag != "latest"))
    return _ModelName(_plain(name), _plain(tag), _plain(of_tag or of_name))


def _without_quantisation(name: str) -> tuple[str, str]:
    """(the name without how its weights are packed, how they are), as in `m.Q8_0`, `m-f16` and the tag `q4_K_M`."""
    matched = _QUANTISATION.search(name)
    return (name[: matched.start()], matched[1]) if matched else (name, "")


def _plain(part: str) -> str:
    return re.sub(r"[\s_-]+", "-", part).strip("-")


def _refused(spec: str, what: str) -> EmbedderError:
    return EmbedderError(
        f"the embedder {spec} answered with {what}; the reply was refused whole and nothing was stored"
    )
