"""Case 08: a shorter version and a deletion leave nothing of what was, in any store; packs that were given stay readable."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from canonry.embedders import register
from canonry.layout import Layout
from flows.plan import read_index
from tests.fakes import WordBag

CASE = Path(__file__).parents[1] / "fixtures" / "cases" / "08-shorter-reimport-and-delete"
WORDS = json.loads((CASE / "words.json").read_text())
MODES = ("lexical", "semantic", "hybrid")
Cli = Callable[..., tuple[int, str, str]]


class Quarry:
    """A campaign of one source, as a person makes it, with an embedder that counts."""

    def __init__(self, root: Path, run_cli: Cli) -> None:
        self.at = Layout(root / "data", "quarry")
        self.file = root / "quarry.md"
        self.bag = WordBag(f"bag-of-{root.name}")  # its own, because a process loads each embedder once
        self._cli = run_cli
        register(self.bag)
        assert self.run("campaign", "create", "quarry", "--set", f"embedder={self.bag.spec}")[0] == 0

    def run(self, *arguments: str | Path) -> tuple[int, str, str]:
        return self._cli(*arguments, "--data", self.at.root)

    def bring(self, version: str) -> dict[str, object]:
        """Import the file as it is in that version; what is told of it."""
        shutil.copyfile(CASE / version / "quarry.md", self.file)
        code, out, _ = self.run("import", self.file, "--json")
        assert code == 0
        (told,) = json.loads(out)["imported"]
        assert isinstance(told, dict)
        return told

    def texts(self, words: str, mode: str, *options: str) -> list[str]:
        found = json.loads(self.run("query", words, "--mode", mode, "--json", *options)[1])
        assert found["degraded"] is None
        return [passage["exact_text"] for passage in found["results"]]

    def rows(self) -> tuple[int, int, int]:
        """Rows of the lexical store, of the vectors in use, and of every Parquet part of vectors."""
        with sqlite3.connect(self.at.lexical) as db:
            words = db.execute("SELECT count(*) FROM knowledge_chunk").fetchone()[0]
        generation = read_index(self.at).meta.get("generation", "")
        with duckdb.connect(str(self.at.vectors(generation)), read_only=True) as store:
            (vectors,) = store.execute("SELECT count(*) FROM knowledge_embedding").fetchone() or (0,)
        parts = self.at.chunks.glob("vectors/*/*.parquet")
        return words, vectors, sum(pq.read_table(part).num_rows for part in parts)


@pytest.fixture
def quarry(tmp_path: Path, run_cli: Cli) -> Quarry:
    return Quarry(tmp_path, run_cli)


def test_after_the_shorter_version_no_mode_finds_a_word_of_the_longer_one_alone(quarry: Quarry) -> None:
    quarry.bring("v1")
    assert quarry.bring("v2")["outcome"] == "updated"
    for mode in MODES:
        for word in WORDS["only_v1"]:
            assert not [text for text in quarry.texts(word, mode) if word in text]
        for word in (*WORDS["only_v2"], *WORDS["both"]):
            assert [text for text in quarry.texts(word, mode) if word in text]


def test_the_counts_are_those_of_the_shorter_version_imported_alone(
    quarry: Quarry, tmp_path: Path, run_cli: Cli
) -> None:
    (tmp_path / "alone").mkdir()
    alone = Quarry(tmp_path / "alone", run_cli)
    alone.bring("v2")
    quarry.bring("v1")
    quarry.bring("v2")
    assert quarry.rows()[:2] == alone.rows()[:2]
    assert quarry.rows()[0] > 0


def test_the_older_version_answers_questions_about_its_time_alone(quarry: Quarry) -> None:
    quarry.bring("v1")
    first = json.loads(quarry.run("source", "history", "quarry.md", "--json")[1])[0]["valid_from"]
    quarry.bring("v2")
    versions = json.loads(quarry.run("source", "history", "quarry.md", "--json")[1])
    assert [(version["valid_to"] is None, version["chunks"] > 0) for version in versions] == [
        (False, True),
        (True, True),
    ]
    assert [text for text in quarry.texts("beryl idol", "lexical", "--as-of", first) if "beryl" in text]


def test_what_both_versions_say_is_embedded_once(quarry: Quarry) -> None:
    quarry.bring("v1")
    embedded = len(quarry.bag.embedded)
    quarry.bring("v2")
    again = quarry.bag.embedded[embedded:]
    assert again
    assert not [text for text in again if "barley" in text]
    assert len(set(quarry.bag.embedded)) == len(quarry.bag.embedded)


def test_an_unchanged_import_adds_nothing_and_a_copy_is_a_duplicate(quarry: Quarry, tmp_path: Path) -> None:
    quarry.bring("v2")
    rows, embedded = quarry.rows(), len(quarry.bag.embedded)
    assert quarry.bring("v2")["outcome"] == "unchanged"
    shutil.copyfile(CASE / "v2" / "quarry.md", tmp_path / "copy.md")
    code, _, err = quarry.run("import", tmp_path / "copy.md")
    assert code == 1
    assert all(word in err for word in ("same content", "reuse", "separate"))
    assert quarry.run("import", tmp_path / "copy.md", "--on-duplicate", "cancel")[0] == 1
    assert quarry.run("import", tmp_path / "copy.md", "--on-duplicate", "reuse")[0] == 0
    assert (quarry.rows(), len(quarry.bag.embedded)) == (rows, embedded)


def test_after_the_deletion_every_store_is_empty_and_the_pack_still_shows_its_text(quarry: Quarry) -> None:
    quarry.bring("v1")
    pack = json.loads(quarry.run("pack", "beryl idol beneath the forge", "--json")[1])
    assert quarry.run("source", "delete", "quarry.md", "--yes")[0] == 0
    assert quarry.rows() == (0, 0, 0)
    assert [part for part in quarry.at.chunks.glob("**/*.parquet") if pq.read_table(part).num_rows] == []
    for mode in MODES:
        assert not quarry.texts("beryl barley Pell", mode)
    code, out, _ = quarry.run("history", "show", str(pack["pack_id"]))
    assert code == 0
    assert "beryl idol" in out
