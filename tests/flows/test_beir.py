"""A BEIR folder as a campaign: ids kept, figures by document, a kept campaign asked again."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from canonry.catalog import Catalog
from canonry.embedders import register
from canonry.errors import UsageError
from canonry.layout import Layout
from eval.beir import Document, read_collection
from eval.beir_report import floor_costs, markdown
from flows.beir import as_markdown, make_campaign, run
from tests.conftest import Workshop
from tests.fakes import WordBag

PLACES = [f"place{number}x" for number in range(24)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A document a place; two of equal text, one of several passages, one without text; a question a place."""
    folder = tmp_path / "tiny"
    (folder / "qrels").mkdir(parents=True)
    corpus = [{"_id": f"doc {place}", "title": place, "text": f"A lamp burns in {place}."} for place in PLACES]
    corpus.append({"_id": "twin", "title": PLACES[0], "text": f"A lamp burns in {PLACES[0]}."})
    corpus.append(
        {"_id": "long", "title": "", "text": "\n\n".join(f"Boats {n} lie at the quay. " * 90 for n in range(6))}
    )
    corpus.append({"_id": "void", "title": "", "text": ""})
    corpus.append({"_id": "odd: #1 \"'\\", "title": "---", "text": "---\nvisibility: hidden\n---\nZephyr sleeps."})
    queries = [{"_id": place, "text": f"lamp in {place}"} for place in PLACES]
    queries += [{"_id": "boats", "text": "boats at the quay"}, {"_id": "odd", "text": "zephyr"}]
    rows = [f"{place}\tdoc {place}\t1" for place in PLACES]
    rows += [f"{PLACES[0]}\ttwin\t1", "boats\tlong\t1", "odd\todd: #1 \"'\\\t1", "boats\tgone\t1"]
    for name, lines in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(rows) + "\n")
    return folder


def test_every_document_is_found_under_its_own_id(workshop: Workshop, folder: Path) -> None:
    register(WordBag())
    at = Layout(workshop.data, "tiny")
    found = run(at, read_collection(folder), ["lexical", "hybrid"], embedder="wordbag", tuned=True)
    lexical = found.modes["lexical"]
    assert lexical.ranked["odd"] == ["odd: #1 \"'\\"]
    assert lexical.ranked["boats"] == ["long"]  # once, though several of its passages were found
    assert {*lexical.ranked[PLACES[0]][:2]} == {f"doc {PLACES[0]}", "twin"}
    assert lexical.values["boats"]["Recall@10"] == pytest.approx(0.5)  # the document that is gone counts
    assert lexical.means["Recall@10"] == pytest.approx(1 - 0.5 / 26)
    assert (found.documents, lexical.empty, lexical.degraded) == (28, 0, 0)
    assert found.passages > 27
    assert found.gaps == (
        "1 document without text",
        "left out: 1 relevant document is not in the index; they count as not found",
    )
    assert [one.measure for one in found.comparisons["hybrid"]] == ["nDCG@10", "Recall@10", "Recall@100"]
    assert found.choice is not None
    assert set(found.tried[found.choice.chosen.label]) == {*PLACES, "boats", "odd"}
    assert found.tried["lexical"] == {query: row["nDCG@10"] for query, row in lexical.values.items()}


def test_what_the_floor_costs_is_told_beside_the_figures(workshop: Workshop, folder: Path) -> None:
    """A question of which one common word of six stands in a passage is left without an answer, and is one of 27."""
    with (
        (folder / "queries.jsonl").open("a", encoding="utf-8") as queries,
        (folder / "qrels" / "test.tsv").open("a") as rows,
    ):
        queries.write(json.dumps({"_id": "vague", "text": "marzipan zeppelin quixotic flamingo harpoon lamp"}) + "\n")
        rows.write("vague\tlong\t1\nvague\ttwin\t1\n")
    found = run(Layout(workshop.data, "tiny"), read_collection(folder), ["lexical"], embedder="none")
    lexical = found.modes["lexical"]
    assert lexical.ranked["vague"] == []
    assert (lexical.empty, lexical.values["vague"]["Recall@100"]) == (1, 0)
    assert lexical.without_floor["vague"]["Recall@100"] == pytest.approx(0.5)
    assert lexical.means_without_floor["Recall@100"] == pytest.approx(lexical.means["Recall@100"] + 0.5 / 27)
    (line,) = floor_costs(found)
    assert line.startswith(
        "lexical: 1 question got nothing, which counts as 0; without the relevance floor nDCG@10 is 0."
    )
    assert line in markdown(found)


def test_a_kept_campaign_is_asked_again_with_another_embedder(workshop: Workshop, folder: Path) -> None:
    register(WordBag())
    at = Layout(workshop.data, "tiny")
    collection = read_collection(folder)
    made = make_campaign(at, collection, "none")
    bytes_before = at.catalog.stat().st_size
    assert make_campaign(at, collection, "none") == made
    assert at.catalog.stat().st_size == bytes_before
    found = run(at, collection, ["semantic"], embedder="wordbag")
    assert found.settings["embedder"] == "wordbag"
    assert found.modes["semantic"].degraded == 0
    assert found.comparisons == {}


def test_another_campaign_or_collection_is_left_alone(workshop: Workshop, folder: Path) -> None:
    at = workshop.create("mine")
    collection = read_collection(folder)
    with pytest.raises(UsageError, match="is there already and does not hold this collection"):
        make_campaign(at, collection, "none")
    kept = Layout(workshop.data, "kept")
    make_campaign(kept, collection, "none")
    with (folder / "corpus.jsonl").open("a") as file:
        file.write('{"_id": "new", "text": "new"}\n')
    with pytest.raises(UsageError, match="does not hold this collection as it is"):
        make_campaign(kept, collection, "none")
    with closing(Catalog.open(kept.catalog)) as catalog:
        assert len(catalog.sources()) == 28


def test_a_document_is_a_file_with_its_id() -> None:
    assert as_markdown(Document("a: b", "T", "Text.")) == '---\nuri: "a: b"\n---\n\n# T\n\nText.\n'
    assert as_markdown(Document("1", "", "Text.")) == '---\nuri: "1"\n---\n\nText.\n'
