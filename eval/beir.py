"""Judged collections in BEIR's files, measured by document, beside published figures.

A folder holds corpus.jsonl (_id, title, text), queries.jsonl (_id, text) and qrels/<split>.tsv (query-id, corpus-id,
score). A document's rank is that of its best passage. nDCG@10 takes the gains as they are judged, as BEIR does.
"""

from __future__ import annotations

import json
from collections.abc import Collection as Ids
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import ir_measures
from ir_measures import R, nDCG

from canonry.errors import UsageError
from eval.metrics import Values, calculated

MEASURES = ("nDCG@10", "Recall@10", "Recall@100")
DEPTH = 100  # documents of a run
SPLIT = "test"
_CALCULATED = {"nDCG@10": nDCG @ 10, "Recall@10": R @ 10, "Recall@100": R @ 100}
_ANSERINI = "castorini/anserini, docs/regressions/regressions-beir-v1.0.0-scifact"
_FTS5 = "plain SQLite FTS5, porter unicode61 (Chinese: bigrams), words OR-ed, one row a document"

# collection -> (what, measure, value, where from)
PUBLISHED: dict[str, tuple[tuple[str, str, float, str], ...]] = {
    "scifact": (
        ("Anserini BM25 flat", "nDCG@10", 0.679, f"{_ANSERINI}.flat.md"),
        ("Anserini BM25 flat", "Recall@100", 0.925, f"{_ANSERINI}.flat.md"),
        ("Anserini BM25 multifield", "nDCG@10", 0.665, f"{_ANSERINI}.multifield.md"),
        ("Anserini BM25 multifield", "Recall@100", 0.908, f"{_ANSERINI}.multifield.md"),
        ("FTS5", "nDCG@10", 0.687, _FTS5),
    ),
    "cranfield": (("FTS5", "nDCG@10", 0.377, _FTS5),),
    "xquad_en": (("FTS5", "nDCG@10", 0.967, f"{_FTS5}; first 1000 queries"),),
    "fairytaleqa": (("FTS5", "nDCG@10", 0.651, f"{_FTS5}; 1000 queries"),),
}


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a collection."""

    document_id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Collection:
    """A judged collection: the questions that have a relevant document, and what was left out, as sentences."""

    name: str
    folder: Path
    split: str
    queries: dict[str, str]  # query id -> text, in the order of the file
    gains: dict[str, dict[str, int]]  # query id -> document id -> gain, above 0
    gaps: tuple[str, ...] = ()

    @property
    def judged(self) -> set[str]:
        """The ids of all relevant documents."""
        return {document for gains in self.gains.values() for document in gains}


def read_collection(folder: Path, split: str = SPLIT, most: int | None = None) -> Collection:
    """The collection in `folder` with its first `most` judged questions; UsageError for a folder that is none."""
    missing = [name for name in ("corpus.jsonl", "queries.jsonl", "qrels") if not (folder / name).exists()]
    if missing:
        raise UsageError(
            f"{folder}: is no BEIR folder, it lacks {', '.join(missing)}; "
            "one holds corpus.jsonl, queries.jsonl and qrels/<split>.tsv"
        )
    gains, unjudged_rows = _read_qrels(_qrels_file(folder, split))
    texts: dict[str, str] = {}
    for where, row in _rows(folder / "queries.jsonl"):
        query_id = _text(where, row, "_id")
        if query_id in texts:
            raise UsageError(f"{where}: question {query_id!r} is asked a second time; keep one of them")
        texts[query_id] = _text(where, row, "text")
    asked = [query_id for query_id in texts if query_id in gains]
    gaps = [
        _gap(len(texts) - len(asked), "question", "has", "have", "no relevant document"),
        _gap(len(gains.keys() - texts.keys()), "judged question", "is", "are", "not in queries.jsonl"),
        _gap(unjudged_rows, "judgement", "says", "say", "not relevant (a score of 0 or less)"),
    ]
    if not asked:
        raise UsageError(
            f"{folder}: no question has a relevant document in qrels/{split}.tsv; see that the ids are alike"
        )
    if most is not None and most < len(asked):
        gaps.append(f"asked: the first {most:,} of {len(asked):,} judged questions")
        asked = asked[:most]
    return Collection(
        folder.resolve().name, folder, split, {query: texts[query] for query in asked}, {query: gains[query] for query in asked},
        tuple(gap for gap in gaps if gap),
    )  # fmt: skip


def documents(folder: Path) -> Iterator[Document]:
    """The documents in the order of corpus.jsonl, one at a time; UsageError names the line that is none, or comes again."""
    seen: set[str] = set()
    for where, row in _rows(folder / "corpus.jsonl"):
        document_id = _text(where, row, "_id")
        if document_id in seen:
            raise UsageError(f"{where}: document {document_id!r} is there a second time; keep one of them")
        seen.add(document_id)
        title = " ".join(str(row.get("title") or "").split())
        yield Document(document_id, title, _text(where, row, "text", empty=True))


def absent(collection: Collection, there: Ids[str]) -> str:
    """A sentence on judged documents that cannot be found because they are not there; empty where there is none."""
    return _gap(
        len(collection.judged.difference(there)),
        "relevant document",
        "is",
        "are",
        "not in the index; they count as not found",
    )


def measured(collection: Collection, found: Mapping[str, Sequence[str]]) -> dict[str, Values]:
    """Query id -> measure -> value; `found`: the documents of each question, best first, each once."""
    qrels = [
        ir_measures.Qrel(query, document, gain) for query in found for document, gain in collection.gains[query].items()
    ]
    run = [
        ir_measures.ScoredDoc(query, document, float(-rank))
        for query, ranked in found.items()
        for rank, document in enumerate(ranked)
    ]
    rows = calculated(list(_CALCULATED.values()), qrels, run)
    return {query: {name: row[str(measure)] for name, measure in _CALCULATED.items()} for query, row in rows.items()}


def _qrels_file(folder: Path, split: str) -> Path:
    file = folder / "qrels" / f"{split}.tsv"
    if not file.exists():
        there = sorted(path.stem for path in (folder / "qrels").glob("*.tsv"))
        raise UsageError(
            f"{file}: is not there; "
            + (f"name one of {', '.join(there)} with --split" if there else "a BEIR folder has its judgements there")
        )
    return file


def _read_qrels(file: Path) -> tuple[dict[str, dict[str, int]], int]:
    """(query -> document -> gain above 0, how many rows say not relevant)."""
    gains: dict[str, dict[str, int]] = {}
    others = 0
    for number, line in _lines(file):
        cells = line.rstrip("\r\n").split("\t")
        if number == 1 and cells[-1:] == ["score"]:
            continue
        try:
            query, document, gain = cells[0], cells[1], int(float(cells[2]))
        except (IndexError, ValueError):
            raise UsageError(
                f"{file}:{number}: is not query-id, corpus-id and score, with tabs between; mend it"
            ) from None
        if gain > 0:
            gains.setdefault(query, {})[document] = gain
        else:
            others += 1
    return gains, others


def _rows(file: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """(file and line, the object there), for each line that is not blank."""
    for number, line in _lines(file):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UsageError(f"{file}:{number}: is not JSON ({error}); a BEIR file has one object a line") from None
        if not isinstance(row, dict):
            raise UsageError(f"{file}:{number}: is not a JSON object; a BEIR file has one a line")
        yield f"{file}:{number}", row


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1."""
    try:
        with file.open(encoding="utf-8-sig") as lines:
            yield from ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror}); name a BEIR folder") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: is not UTF-8 ({error.reason}); save it as UTF-8") from error


def _text(where: str, row: Mapping[str, object], key: str, *, empty: bool = False) -> str:
    value = row.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not (value.strip() or empty):
        raise UsageError(f"{where}: has no text under {key!r}; is it a BEIR file?")
    return value


def _gap(count: int, noun: str, one: str, many: str, what: str) -> str:
    if not count:
        return ""
    return f"left out: {count:,} {noun}{' ' + one if count == 1 else 's ' + many} {what}"
