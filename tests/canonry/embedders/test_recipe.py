"""What decides a vector, and what is remembered of a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from canonry.config import EmbedSettings
from canonry.embedders import fingerprint_of
from canonry.embedders.recipe import Facts, notices_of, read_facts, recipe_of, write_facts

FACTS = Facts("sha256:one", 768, 2048, 2048)
SPEC = "ollama:nomic-embed-text"


def test_the_fingerprint_reads_well_and_is_safe_in_a_path() -> None:
    fingerprint = recipe_of("openai:BAAI/bge-m3@q8 0", EmbedSettings(), FACTS).fingerprint
    assert fingerprint.startswith("baai-bge-m3-q8-0-768-")
    assert not set(fingerprint) - set("abcdefghijklmnopqrstuvwxyz0123456789.-")


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        (EmbedSettings(query_prefix="q: "), FACTS),
        (EmbedSettings(document_prefix=""), FACTS),
        (EmbedSettings(), replace(FACTS, digest="sha256:two")),
        (EmbedSettings(), replace(FACTS, dimensions=512)),
        (EmbedSettings(), replace(FACTS, window_tokens=512)),
        (EmbedSettings(), None),
    ],
)
def test_whatever_decides_a_vector_is_in_the_fingerprint(settings: EmbedSettings, facts: Facts | None) -> None:
    assert fingerprint_of(SPEC, settings, facts) != fingerprint_of(SPEC, EmbedSettings(), FACTS)


@pytest.mark.parametrize(
    "settings", [EmbedSettings(batch=1), EmbedSettings(timeout=5), EmbedSettings(allow_remote=True)]
)
def test_how_a_model_is_asked_is_not(settings: EmbedSettings) -> None:
    assert fingerprint_of(SPEC, settings, FACTS) == fingerprint_of(SPEC, EmbedSettings(), FACTS)


def test_the_same_model_at_another_address_gives_the_same_vectors() -> None:
    assert fingerprint_of(f"{SPEC}@http://10.0.0.1:1", EmbedSettings(), FACTS) == fingerprint_of(
        SPEC, EmbedSettings(), FACTS
    )


def test_what_was_learned_is_remembered_for_each_spec(tmp_path: Path) -> None:
    path = tmp_path / "vectors" / "endpoints.json"
    other = replace(FACTS, probe=(0.6, 0.8), digest="")
    write_facts(path, SPEC, FACTS)
    write_facts(path, "openai:m", other)
    assert read_facts(path, SPEC, EmbedSettings()) == FACTS
    assert read_facts(path, "openai:m", EmbedSettings()) == other
    assert read_facts(path, "openai:n", EmbedSettings()) is None


def test_what_was_learned_under_other_settings_is_not_known_under_these(tmp_path: Path) -> None:
    write_facts(tmp_path / "e.json", SPEC, FACTS)
    assert read_facts(tmp_path / "e.json", SPEC, EmbedSettings(dimensions=256)) is None
    assert read_facts(tmp_path / "e.json", SPEC, EmbedSettings(max_tokens=256)) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"ollama:nomic-embed-text": {"digest": "x"}}', b"\xff"])
def test_a_damaged_file_is_as_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "endpoints.json"
    path.write_bytes(content)
    assert read_facts(path, SPEC, EmbedSettings()) is None
    write_facts(path, SPEC, FACTS)
    assert read_facts(path, SPEC, EmbedSettings()) == FACTS


def test_an_unknown_model_says_that_it_gets_no_prefix() -> None:
    (notice,) = notices_of("ollama:lantern", EmbedSettings())
    assert "embed.query_prefix" in notice
    assert notices_of("ollama:lantern", EmbedSettings(query_prefix="")) == []
    assert notices_of(SPEC, EmbedSettings()) == []


def test_sizes_that_a_family_does_not_have_are_said() -> None:
    (notice,) = notices_of(SPEC, EmbedSettings(dimensions=100))
    assert "768, 512, 256, 128, 64" in notice
