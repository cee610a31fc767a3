"""A real llama.cpp server: run by `make test-servers`, which installs it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from canonry.config import EmbedSettings
from canonry.embedders import load
from canonry.embedders.served import Served, learn
from canonry.errors import TextTooLong
from tests.conftest import Workshop
from tests.llama_server import CONTEXT_TOKENS, PACKAGES, llama_server, servers_only, write_gguf

pytestmark = servers_only(PACKAGES)
DEMO = Path(__file__).parents[3] / "canonry" / "demo_campaign"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("llama") / "all-minilm-l6-v2.gguf"
    write_gguf(path)
    return path


@pytest.fixture(scope="module")
def address(model: Path) -> Iterator[str]:
    with llama_server(model) as address:
        yield address


@pytest.fixture(scope="module", params=["float", "base64"])
def served(address: str, request: pytest.FixtureRequest) -> Served:
    spec, settings = f"openai:all-minilm-l6-v2@{address}", EmbedSettings(encoding=request.param)
    return Served(spec, settings, learn(spec, settings))


@pytest.fixture(scope="module")
def passages() -> list[str]:
    """A hundred passages of the demo campaign's English files."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(DEMO.glob("*.md"))]
    found = [part.strip() for text in texts for part in re.split(r"\n\n|(?<=[.!?]) ", text) if len(part.split()) >= 4]
    return found[:100]


def test_its_vectors_are_those_of_minilm(served: Served, passages: list[str]) -> None:
    assert len(passages) == 100
    minilm = load("minilm")
    assert minilm is not None
    cosines = (served.embed_documents(passages) * minilm.embed_documents(passages)).sum(axis=1)
    assert cosines.min() >= 0.98


def test_what_it_says_of_itself(served: Served) -> None:
    assert (served.dimensions, served.minimum_cosine) == (384, 0.25)
    assert 128 <= served.max_tokens <= CONTEXT_TOKENS


def test_windows_fit_and_what_does_not_is_cut_smaller(served: Served) -> None:
    body = "Zeldomar's lantern-keepers of Qavrith. " * 200
    windows = served.windows(body, "Harbour > Keepers")
    assert served.embed_documents(windows).shape == (len(windows), 384)
    with pytest.raises(TextTooLong) as refused:
        served.embed_documents(["a lamp", body])
    assert refused.value.places == (1,)


def test_a_question_finds_its_passage(served: Served, passages: list[str]) -> None:
    vectors = served.embed_documents(passages)
    own = [int(np.argmax(vectors @ served.embed_query(passage))) for passage in passages[::10]]
    assert own == list(range(0, 100, 10))


def test_a_campaign_lives_with_it(
    workshop: Workshop, model: Path, run_cli: Callable[..., tuple[int, str, str]]
) -> None:
    """Import, reindex, ask, then the server goes away."""
    where = ("--data", workshop.data)
    with llama_server(model) as address:
        workshop.create(embedder=f"openai:all-minilm-l6-v2@{address}", embed_retries="0")
        assert run_cli("import", *sorted(DEMO.glob("*.md")), *where)[0] == 0
        assert run_cli("reindex", "--in-process", *where)[0] == 0
        code, out, err = run_cli("query", "who looks after the light", "--mode", "hybrid", *where)
        assert (code, "degraded" in err) == (0, False)
        assert "close in meaning" in out
    code, _, err = run_cli("query", "who looks after the light", "--mode", "hybrid", *where)
    assert (code, "searched by words alone" in err) == (3, True)
