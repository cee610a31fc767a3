"""Case 07: text bombs, special strings and inline images, and a server that refuses what is too long."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from canonry import database
from canonry.embedders import load
from canonry.layout import Layout
from flows.import_report import ImportReport
from tests.conftest import Workshop
from tests.servers import Standin, send, tokens_of

BLOB = base64.b64encode(b"".join(hashlib.sha256(b"%d" % i).digest() for i in range(6400))).decode()
LONG_NAME = "The Very Long and Winding Name of the Seventh Archive of the Lower City " * 6
INPUTS = {
    "longline.txt": "".join(hashlib.sha256(str(i).encode()).hexdigest() for i in range(600)) + " tailword-basalt\n",
    "datauri.md": (
        f"# Map Room\n\nThe map shows a hidden ford.\n\n![coast map](data:image/png;base64,{BLOB})\n\n"
        f"The ford is guarded by herons.\n\n![second][m2]\n\n[m2]: data:image/png;base64,{BLOB[:90000]}\n\n"
        "The key is under the globe.\n"
    ),
    "longheads.md": f"# {LONG_NAME}\n\n## {LONG_NAME}\n\n### {LONG_NAME}\n\nA short body about a garnet seal.\n",
}


@pytest.fixture
def campaign(workshop: Workshop, fixtures: Path) -> tuple[Workshop, Layout]:
    at = workshop.create()
    assert bring(workshop, at, fixtures).index.degraded is None
    return workshop, at


def bring(workshop: Workshop, at: Layout, fixtures: Path) -> ImportReport:
    """Import the four files of the case, none of which is refused."""
    for name, text in INPUTS.items():
        workshop.write(name, text)
    workshop.write("special.md", (fixtures / "cases" / "07-context-limit-and-text-bombs" / "special.md").read_bytes())
    report = workshop.bring(at, workshop.root / "lore")
    assert [file.name for file in report.imported] == ["datauri.md", "longheads.md", "longline.txt", "special.md"]
    assert not report.rejected
    return report


@pytest.mark.parametrize(
    ("question", "file"),
    [
        ("quartzite", "special.md"),
        ("endoftext", "special.md"),
        ("hidden ford", "datauri.md"),
        ("coast map", "datauri.md"),
        ("key under the globe", "datauri.md"),
        ("tailword-basalt", "longline.txt"),
        ("garnet seal", "longheads.md"),
    ],
)
def test_every_word_outside_the_bombs_is_found(campaign: tuple[Workshop, Layout], question: str, file: str) -> None:
    workshop, at = campaign
    assert workshop.ask(at).retrieve(question).results[0].uri == file


def test_an_inline_image_is_no_chunk(campaign: tuple[Workshop, Layout]) -> None:
    workshop, at = campaign
    (source,) = [s for s in workshop_sources(at) if s[1] == "datauri.md"]
    passages = workshop.ask(at).retrieve("map ford herons globe key second", sources=[source[0]], copies=True).results
    assert 1 <= len(passages) <= 3
    assert not any(BLOB[:40] in passage.exact_text for passage in passages)


def test_every_chunk_fits_the_window_of_the_default_model_with_its_heading(campaign: tuple[Workshop, Layout]) -> None:
    """A heading path longer than the window is shortened, not the body."""
    embedder = load("minilm")
    assert embedder is not None
    windows = embedder.windows("A short body about a garnet seal.", " > ".join([LONG_NAME] * 3))
    assert len(windows) == 1
    assert windows[0].endswith("A short body about a garnet seal.")
    assert len(embedder.embed_documents(windows)) == 1


@pytest.mark.parametrize("kind", ["ollama", "openai"])
def test_every_chunk_gets_a_vector_from_a_server_with_a_small_window(
    workshop: Workshop, fixtures: Path, server: Standin, kind: str
) -> None:
    """Nothing that was refused is sent again unchanged, and no image is sent at all."""
    server.context = 128
    at = workshop.create(embedder=server.spec(kind))
    report = bring(workshop, at, fixtures)
    assert (report.index.degraded, report.index.vectors_missing, report.index.lexical_only_texts) == (None, 0, 0)
    refused = [text for text in server.asked() if len(tokens_of(text)) > server.context]
    assert len(refused) == len(set(refused))
    assert not any(BLOB[:40] in text for text in server.asked())
    seal = [text for text in server.asked() if "garnet seal" in text]
    assert all(text.endswith("A short body about a garnet seal.") and len(tokens_of(text)) <= 128 for text in seal)
    answer = workshop.ask(at).retrieve("garnet seal", mode="hybrid")
    assert (answer.degraded, answer.results[0].uri) == (None, "longheads.md")


def test_windows_that_the_estimate_makes_too_long_are_cut_smaller(
    workshop: Workshop, fixtures: Path, server: Standin
) -> None:
    """The server takes less than was learned of it: what it refuses is halved until it fits."""
    server.says_context = False
    at = workshop.create(embedder=server.spec(), embed_batch="4")
    (workshop.root / "first.md").write_text("The first lamp.\n", encoding="utf-8")
    workshop.bring(at, workshop.root / "first.md")
    server.context = 90
    report = bring(workshop, at, fixtures)
    assert (report.index.degraded, report.index.vectors_missing) == (None, 0)
    refused = [text for text in server.asked() if len(tokens_of(text)) > server.context]
    assert refused
    assert len(refused) == len(set(refused))


def test_a_text_that_is_refused_at_any_size_is_marked_and_found_by_words(
    workshop: Workshop, fixtures: Path, server: Standin
) -> None:
    server.fault = lambda server, handler, texts: (
        any("quartzite" in text for text in texts)
        and send(handler, 400, {"error": "the input length exceeds the context length"})
    )
    at = workshop.create(embedder=server.spec(), embed_batch="1")
    report = bring(workshop, at, fixtures)
    assert report.index.degraded is None
    assert list(report.index.lexical_only_reasons.values()) == [1]
    assert "refused" in next(iter(report.index.lexical_only_reasons))
    server.fault = None
    answer = workshop.ask(at).retrieve("quartzite", mode="hybrid")
    assert (answer.degraded, answer.results[0].uri) == (None, "special.md")
    sent = [text for text in server.asked() if "quartzite" in text]
    assert len(sent) <= 2 * 7


def workshop_sources(at: Layout) -> list[tuple[str, str]]:
    db = database.open_reader(at.catalog)
    try:
        return db.execute("SELECT source_id, original_filename FROM knowledge_source").fetchall()
    finally:
        db.close()
