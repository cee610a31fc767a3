"""How much of what answers a question lies in the best five chunks, beside plain slices under the same search.

python -m benchmarks.chunk_recall FOLDER [--embedder static|minilm] [--targets 200,480] [--json FILE]

FOLDER: corpora/*.md and questions.jsonl with spans in characters. All corpora are one campaign; slices change the cutting alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from unittest.mock import patch

from benchmarks.campaigns import create_campaign, import_folder, read_jsonl, temporary_folder
from benchmarks.figures import show, write_json
from canonry.campaign import Campaign
from canonry.config import ChunkSettings, Settings
from canonry.records import Chunk, Document
from canonry.retrieval import Passage
from canonry.tokens import count_tokens

K = 5
BUDGET_TOKENS = 1500  # passages in their order, the last one cut off there, so that sizes compare at equal cost
OVERLAP = 0.12  # tried beside none
HEADERS = ("chunks", "search", "number", "mean tokens", "recall@5", "whole@5", "tokens@5", f"recall@{BUDGET_TOKENS}t")
DEFAULT_SIZES = ChunkSettings()
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    file: str
    spans: tuple[Span, ...]  # in characters of the file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--embedder", default="static")
    parser.add_argument("--targets", default="200,300,400,480,600")
    parser.add_argument("--slices", default="1200", help="characters of the plain slices")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    corpora, questions = given.folder / "corpora", read_questions(given.folder / "questions.jsonl")
    rows = []
    for characters in map(int, given.slices.split(",")):
        with patch("stages.chunk.cut", partial(slices, characters)):
            found = measure(corpora, questions, given.embedder)
            rows += [(f"slices of {characters:,} characters", *row) for row in found]
    for target in map(int, given.targets.split(",")):
        for overlap in (0, round(target * OVERLAP)):
            sizes = ChunkSettings.for_target(target, overlap)
            name = f"target {target}, overlap {overlap}"
            rows += [(name, *row) for row in measure(corpora, questions, given.embedder, sizes)]
    rows.sort(key=lambda row: str(row[1]))
    show(f"{len(questions)} questions, embedder {given.embedder}", HEADERS, rows)
    write_json(given.json, [dict(zip(HEADERS, row, strict=True)) for row in rows])


def read_questions(path: Path) -> list[Question]:
    return [
        Question(str(line["text"]), f"{line['corpus']}.md", tuple((s["start"], s["end"]) for s in line["references"]))  # type: ignore[attr-defined]
        for line in read_jsonl(path)
    ]


def measure(
    corpora: Path, questions: Sequence[Question], embedder: str, sizes: ChunkSettings = DEFAULT_SIZES
) -> Iterator[tuple[object, ...]]:
    """Rows (search, …) of the chunker with those sizes."""
    settings = {**Settings(chunk=sizes).as_text(), "embedder": embedder}
    with temporary_folder() as work:
        at = create_campaign(work, settings)
        report = import_folder(at, corpora)
        number = sum(file.chunks for file in report.imported)
        texts = {path.name: path.read_bytes() for path in corpora.glob("*.md")}
        with Campaign(at) as campaign:
            db = campaign._connection()
            mean = db.execute("SELECT avg(token_count) FROM knowledge_chunk").fetchone()[0]
            for mode in ("lexical", "hybrid", "semantic"):
                results = [campaign.retrieve(q.text, mode=mode, limit=30).results for q in questions]
                yield (mode, number, mean, *scores(questions, results, texts))


def slices(characters: int, data: bytes, document: Document, settings: ChunkSettings) -> list[Chunk]:
    """So many characters a chunk, without regard to what they say."""
    text, chunks, start = data.decode("utf-8"), list[Chunk](), 0
    for at in range(0, len(text), characters):
        piece = text[at : at + characters]
        end = start + len(piece.encode("utf-8"))
        chunks.append(Chunk(len(chunks), start, end, 1, 1, (), count_tokens(piece)))
        start = end
    return chunks


def scores(
    questions: Sequence[Question], results: Sequence[Sequence[Passage]], texts: dict[str, bytes]
) -> tuple[float, float, float, float]:
    """Mean recall of reference characters, share of references found whole, mean tokens, recall within the budget."""
    recalls, budgeted, wholes, tokens = [], [], [], 0
    for question, passages in zip(questions, results, strict=True):
        first = spans_of(passages[:K], question.file, texts)
        recalls.append(recall(question.spans, first))
        wholes += [share(span, first) == 1.0 for span in question.spans]
        tokens += sum(passage.token_count for passage in passages[:K])
        budgeted.append(recall(question.spans, spans_of(within(passages, BUDGET_TOKENS), question.file, texts)))
    return fmean(recalls), fmean(wholes), tokens / len(questions), fmean(budgeted)


def within(passages: Sequence[Passage], budget: int) -> list[Passage]:
    """The first passages that fit into a budget of tokens, and of the next one its beginning."""
    kept = []
    for passage in passages:
        length = passage.end_byte - passage.start_byte
        part = min(length, length * budget // max(1, passage.token_count))
        kept.append(replace(passage, end_byte=passage.start_byte + part))
        budget -= passage.token_count
        if budget <= 0:
            break
    return kept


def spans_of(passages: Sequence[Passage], file: str, texts: dict[str, bytes]) -> list[Span]:
    """Spans in characters of the passages of that file, sorted. Passages count in bytes, references in characters."""
    spans = ((texts[file][: p.start_byte], texts[file][: p.end_byte]) for p in passages if p.uri == file)
    return sorted((len(start.decode()), len(end.decode(errors="ignore"))) for start, end in spans)


def recall(spans: Sequence[Span], covering: Sequence[Span]) -> float:
    """The share of the characters of some spans that lies in the union of others."""
    lengths = [end - start for start, end in spans]
    return sum(share(span, covering) * length for span, length in zip(spans, lengths, strict=True)) / sum(lengths)


def share(span: Span, covering: Sequence[Span]) -> float:
    """The share of a span that lies in the union of others."""
    covered, reached = 0, span[0]
    for start, end in covering:
        covered += max(0, min(end, span[1]) - max(start, reached))
        reached = max(reached, min(end, span[1]))
    return covered / (span[1] - span[0])


if __name__ == "__main__":
    main()
