"""An embedder behind an address, asked as Ollama and as OpenAI are."""

from __future__ import annotations

import numpy as np
import pytest

from canonry.config import EmbedSettings
from canonry.embedders import load
from canonry.embedders.chosen import Chosen
from canonry.embedders.recipe import Facts
from canonry.embedders.served import Served, learn
from canonry.errors import EmbedderError, TextTooLong
from tests.servers import MODEL, Standin, answers, fails, tokens_of

KINDS = ("ollama", "openai")
TEXTS = ["a lamp of brass", "the harbour bell", "seven drowned cooks"]


def embedder(server: Standin, kind: str, **named: object) -> Served:
    settings = EmbedSettings(**named)  # type: ignore[arg-type]
    spec = server.spec(kind)
    served = Served(spec, settings, learn(spec, settings))
    server.log.clear()
    return served


def as_served(server: Standin, texts: list[str]) -> np.ndarray:
    return np.array([server.vector(text) for text in texts], np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_in_the_order_of_the_texts(server: Standin, kind: str) -> None:
    served = embedder(server, kind, batch=2)
    assert np.allclose(served.embed_documents(TEXTS), as_served(server, TEXTS), atol=1e-6)
    assert [len(request["input"]) for request in server.log] == [2, 1]


def test_base64_is_asked_for_and_read(server: Standin) -> None:
    served = embedder(server, "openai", encoding="base64")
    assert np.allclose(served.embed_documents(TEXTS), as_served(server, TEXTS), atol=1e-6)
    assert server.log[0]["encoding_format"] == "base64"


def test_ollama_is_asked_not_to_cut_and_to_keep_the_model(server: Standin) -> None:
    embedder(server, "ollama").embed_documents(TEXTS)
    assert server.log[0]["truncate"] is False
    assert server.log[0]["keep_alive"] == "30m"


@pytest.mark.parametrize("kind", KINDS)
def test_prefixes_come_before_what_is_sent(server: Standin, kind: str) -> None:
    served = embedder(server, kind, query_prefix="ask: ", document_prefix="tell: ")
    served.embed_documents(["a lamp"])
    served.embed_query("which lamp")
    assert server.asked() == ["tell: a lamp", "ask: which lamp"]


def test_what_is_learned_of_an_ollama_model(server: Standin) -> None:
    facts = learn(server.spec(), EmbedSettings())
    assert (facts.digest, facts.dimensions, facts.context_tokens) == ("sha256:one", 64, 400)
    server.log.clear()
    assert learn(server.spec(), EmbedSettings(), facts) is facts
    assert server.log == []  # its digest says it all


def test_fewer_dimensions_are_asked_for(server: Standin) -> None:
    assert embedder(server, "ollama", dimensions=32).embed_documents(TEXTS).shape == (3, 32)


def test_a_server_that_ignores_dimensions_is_taken_as_it_answers(server: Standin) -> None:
    assert embedder(server, "openai", dimensions=32).dimensions == 64
    settings = EmbedSettings(dimensions=32, query_prefix="")
    chosen = Chosen(server.spec("openai"), settings, learn(server.spec("openai"), settings))
    assert chosen.notices == ["the server gives 64 dimensions whatever embed.dimensions=32 asks for"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_window_that_the_server_refuses_is_halved(server: Standin, kind: str) -> None:
    server.says_context, server.context = False, 130
    assert 32 <= embedder(server, kind).max_tokens <= 130


def test_a_server_that_cuts_without_a_word_is_found_out(server: Standin) -> None:
    """It reads 400 tokens, does not say so, and of longer texts reads no more than 120."""
    server.truncates, server.says_context = True, False
    facts = learn(server.spec(), EmbedSettings(max_tokens=2_000))
    served = Served(server.spec(), EmbedSettings(max_tokens=2_000), facts)
    windows = served.windows("the lamplighter of the lower harbour keeps seven keys " * 200)
    server.log.clear()
    served.embed_documents(windows)
    assert max(len(tokens_of(text)) for text in server.asked()) <= server.context


def test_a_text_that_is_cut_all_the_same_is_told_by_the_count(server: Standin) -> None:
    served = embedder(server, "ollama")
    server.truncates, server.context, server.num_batch = True, 40, 10
    with pytest.raises(TextTooLong, match="it was cut") as refused:
        served.embed_documents(["a lamp", "word " * 100])
    assert refused.value.places == (1,)


@pytest.mark.parametrize("kind", KINDS)
def test_the_texts_that_may_be_too_long_are_named_and_cut_smaller(server: Standin, kind: str) -> None:
    served = embedder(server, kind)
    server.context = 60
    body = "harbour " * 80
    with pytest.raises(TextTooLong) as refused:
        served.embed_documents(["a lamp", body, "a bell"])
    assert refused.value.places == (1,)
    halved = [refused.value.smaller(body, "Harbours", times) for times in (1, 2, 3)]
    assert len(halved[0]) < len(halved[1]) < len(halved[2])
    assert all(window.startswith("Harbours\n") for window in halved[2])
    assert refused.value.smaller(body, "", 60) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_that_is_too_long_is_averaged_over_its_windows(server: Standin, kind: str) -> None:
    served = embedder(server, kind)
    server.context = 60
    vector = served.embed_query("harbour bell " * 60)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)
    assert float(vector @ served.embed_query("harbour bell")) > 0.9


def test_a_question_without_a_word_is_refused(server: Standin) -> None:
    with pytest.raises(EmbedderError, match="without a single word"):
        embedder(server, "ollama").embed_query(" \n")


@pytest.mark.parametrize("kind", KINDS)
def test_windows_together_hold_the_whole_text(server: Standin, kind: str) -> None:
    server.context = 64
    served = embedder(server, kind)
    body = " ".join(f"word{number}" for number in range(300))
    windows = served.windows(body, "Chapter > Scene")
    assert all(window.startswith("Chapter > Scene\n") for window in windows)
    assert {word for window in windows for word in window.split()} >= set(body.split())
    assert served.windows("", "Chapter") == ["Chapter"]
    assert served.windows("", "") == []
    served.embed_documents(windows)


def test_what_would_end_a_text_in_another_language_is_not_sent(server: Standin) -> None:
    served = embedder(server, "ollama")
    served.embed_documents(served.windows("a lamp\x00of brass\x1b and a \ud800 bell"))
    assert server.asked() == ["a lamp of brass  and a \ufffd bell"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"model": MODEL, "embeddings": [[1.0] * 64]}, "1 vectors for 3 texts"),
        ({"model": MODEL, "embeddings": [[1.0] * 64] * 4}, "4 vectors for 3 texts"),
        ({"model": MODEL, "embeddings": [[1.0] * 96] * 3}, r"re-embedding needed \(64 -> 96\)"),
        ({"model": MODEL, "embeddings": [[0.0] * 64] * 3}, "length 0"),
        ({"model": "mistral", "embeddings": [[1.0] * 64] * 3}, "another model, 'mistral'"),
        ({"embedding": [1.0] * 64}, "no list of vectors"),
        ([], "no object"),
    ],
)
def test_a_wrong_reply_is_refused_whole(server: Standin, content: object, said: str) -> None:
    served = embedder(server, "ollama")
    server.fault = answers(content)
    with pytest.raises(EmbedderError, match=said):
        served.embed_documents(TEXTS)
    assert len(server.log) == 1


def test_a_model_that_is_not_there_names_what_to_do(server: Standin) -> None:
    with pytest.raises(EmbedderError, match="`ollama pull nowhere`"):
        learn(f"ollama:nowhere@{server.url}", EmbedSettings())


def test_a_key_that_is_refused_names_what_to_do(server: Standin) -> None:
    server.fault = answers({"error": "who are you"}, status=401)
    with pytest.raises(EmbedderError, match="CANONRY_API_KEY"):
        learn(server.spec("openai"), EmbedSettings())


def test_a_500_about_length_is_not_waited_for(server: Standin) -> None:
    served = embedder(server, "openai")
    server.fault = answers(
        {"error": {"message": "input is too large to process. increase the physical batch size"}}, status=500
    )
    with pytest.raises(TextTooLong):
        served.embed_documents(TEXTS)
    assert len(server.log) == 1


def test_other_weights_behind_the_same_name_are_noticed(server: Standin) -> None:
    for kind in KINDS:
        server.space, server.digest = "a", "sha256:one"
        known = learn(server.spec(kind), EmbedSettings())
        assert learn(server.spec(kind), EmbedSettings(), known) is known
        server.space, server.digest = "b", "sha256:two"
        assert learn(server.spec(kind), EmbedSettings(), known).digest != known.digest


def test_loading_asks_nothing(server: Standin) -> None:
    facts = Facts("sha256:one", 64, 400, 400)
    assert load(server.spec(), EmbedSettings(), facts) is not None
    with pytest.raises(EmbedderError, match="not reached yet"):
        load(server.spec())
    assert server.paths == []


def test_a_retry_is_bounded_by_the_setting(server: Standin) -> None:
    served = embedder(server, "ollama", retries=1)
    server.fault = fails(503)
    with pytest.raises(EmbedderError, match="503"):
        served.embed_documents(TEXTS)
    assert len(server.log) == 2
