"""What holds for every document, tried on generated ones."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from canonry.config import ChunkSettings
from canonry.records import Chunk
from canonry.tokens import count_tokens
from stages.chunking import MarkError, chunk_document, read_front_matter

WORDS = st.sampled_from(
    ["ford", "Ravel.", "Zoë", "e\u0301", "👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "城门。", "why?", "**b**", "x" * 90]
    + ["\u200d", "\f", "\u2028", "\u3000", "\0", "a\u0301\u0302!"]
)
LINES = st.lists(WORDS, min_size=1, max_size=30).map(" ".join)
HEADINGS = st.tuples(
    st.integers(1, 4),
    st.sampled_from(["Gate", "Key", "**Old** Bell"]),
    st.sampled_from(["", " {spoiler=1}", " {tags=t}"]),
).map(lambda parts: f"{'#' * parts[0]} {parts[1]}{parts[2]}")
BLOCKS = st.one_of(
    HEADINGS,
    LINES,
    st.lists(LINES, min_size=1, max_size=4).map("\n".join),
    st.lists(LINES, min_size=1, max_size=5).map(lambda items: "\n".join("- " + item for item in items)),
    st.lists(LINES, min_size=1, max_size=5).map(
        lambda items: "\n".join("1. " + item + "\n\n   more" for item in items)
    ),
    st.lists(LINES, min_size=1, max_size=4).map(lambda lines: "\n".join("> " + line for line in lines)),
    st.lists(LINES, max_size=4).map(lambda lines: "\n".join(["```", "# code", *lines, "```"])),
    st.lists(LINES, min_size=1, max_size=4).map(
        lambda rows: "\n".join(["| a |", "|---|", *(f"| {row} |" for row in rows)])
    ),
    st.sampled_from(["---", "```", "Title\n===", "[r]: /x", "<div>", "", "<!-- page: 3 -->", "    code", "\t"]),
    st.sampled_from(["<!-- canonry: spoiler=2 -->", "<!-- canonry: visibility=hidden tags=u -->", "Q: x", "A:"]),
    st.just("data:a/b;base64," + "QUJD" * 30 + ") rest"),
)
DOCUMENTS = st.tuples(
    st.sampled_from(["", "\ufeff", "---\na: b\n---\n"]),
    st.lists(BLOCKS, max_size=14),
    st.sampled_from(["\n", "\n\n", "\n\n"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
).map(lambda parts: (parts[0] + parts[2].join(parts[1])).replace("\n", parts[3]))
SETTINGS = st.sampled_from(
    [ChunkSettings(20, 5, 34, 0), ChunkSettings(20, 5, 34, 8), ChunkSettings(60, 60, 60, 20), ChunkSettings()]
)


def cut_or_refuse(data: bytes, kind: str, sizes: ChunkSettings) -> list[Chunk]:
    """A document with a mark that stands on no heading is refused, so nothing holds for it."""
    try:
        return chunk_document(data, kind, sizes)
    except MarkError as error:
        assert re.search("stands|indented", error.problem)
        reject()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(DOCUMENTS, SETTINGS, st.sampled_from(["markdown", "text"]))
def test_chunks_are_exact_ordered_bounded_and_complete(text: str, sizes: ChunkSettings, kind: str) -> None:
    """Slices decode, move forward, fit, and cover every line that is not a heading."""
    data = text.encode()
    chunks = cut_or_refuse(data, kind, sizes)
    assert chunks == cut_or_refuse(data, kind, sizes)
    covered = bytearray(len(data))
    for index, chunk in enumerate(chunks):
        piece = data[chunk.start_byte : chunk.end_byte].decode()
        lines = re.split(r"\r\n|\r|\n", piece)
        assert chunk.index == index
        assert piece.strip() and lines[0].strip() and not re.search(r"(?>\r\n?|\n)\s*(\r\n?|\n)\Z", piece)
        assert chunk.token_count == count_tokens(piece)
        assert chunk.token_count <= sizes.max_tokens
        before = data[: chunk.start_byte].decode()
        assert chunk.start_line == len(re.split(r"\r\n|\r|\n", before))
        assert chunk.end_line == chunk.start_line + len(lines) - 1 - (lines[-1] == "")
        assert not index or (
            chunk.start_byte > chunks[index - 1].start_byte and chunk.end_byte > chunks[index - 1].end_byte
        )
        covered[chunk.start_byte : chunk.end_byte] = b"\1" * len(data[chunk.start_byte : chunk.end_byte])
    at = read_front_matter(data).body_start
    titles = {title for chunk in chunks for title in chunk.heading_path}
    for line in re.split(rb"(\r\n|\r|\n)", data[at:]):
        if line.decode().strip() and not any(covered[at : at + len(line)]):
            plain = " ".join(re.sub(r" \{.*\}|[#*]", "", line.decode()).split())
            assert set(plain) <= set("=-") or any(plain in title or title in plain for title in titles), line
        at += len(line)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(DOCUMENTS, st.sampled_from([0, 8]))
def test_no_secret_stands_in_an_open_chunk(text: str, overlap: int) -> None:
    """A comment or mark is only ever in a chunk that carries at least its marks."""
    data = text.encode()
    for chunk in cut_or_refuse(data, "markdown", ChunkSettings(20, 5, 34, overlap)):
        piece = data[chunk.start_byte : chunk.end_byte].decode()
        if re.search(r"^<!-- canonry: spoiler=2 -->\r?$", piece, re.MULTILINE) and "`" not in text and "\0" not in text:
            assert chunk.marks.spoiler_level >= 2
        assert "{spoiler=1}" not in piece or "`" in text or chunk.marks.spoiler_level >= 1


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=400), st.sampled_from(["markdown", "text"]))
def test_any_text_at_all_is_cut_without_an_error(text: str, kind: str) -> None:
    """Every character that is not white space is in a chunk, or the text has headings."""
    data = text.encode("utf-8", "ignore")
    chunks = chunk_document(data, kind, ChunkSettings(8, 2, 12, 3))
    assert all(data[chunk.start_byte : chunk.end_byte].decode().strip() for chunk in chunks)
    assert bool(chunks) == bool(data[read_front_matter(data).body_start :].decode().strip())


def test_no_chunk_passes_the_maximum_even_if_counts_do_not_add_up() -> None:
    """The parts of a text may together count more than each of them."""
    data = ("- a bell\n\nno, two.\n\n" * 300).encode()
    chunks = chunk_document(data, "markdown", ChunkSettings(9, 3, 9, 0), count=lambda text: len(text) // 9)
    pieces = [data[chunk.start_byte : chunk.end_byte].decode() for chunk in chunks]
    assert [chunk.token_count for chunk in chunks] == [len(piece) // 9 for piece in pieces]
    assert max(chunk.token_count for chunk in chunks) <= 9
    assert "".join("".join(pieces).split()) == "".join(data.decode().split())


@pytest.mark.parametrize(
    "text",
    [
        ">" * 10_000 + " x",
        "- " * 10_000 + "x",
        "`" * 300_000,
        "[" * 300_000,
        "<!--" * 50_000,
        "." * 300_000,
        "x" + " " * 300_000 + "y",
        "# {" + "{" * 200_000,
        "🇩🇪" * 20_000,
        "a" + "\u0301" * 100_000,
        "x" * 3_000_000,
        "word " * 400_000,
        "It is so. " * 30_000,
        "- a\n" * 20_000,
        "x\n\n" * 20_000,
        "# a\n" * 10_000,
        "data:" * 40_000 + ";base64," * 40_000,
    ],
    ids=lambda text: repr(text[:8]),
)
@pytest.mark.parametrize("kind", ["markdown", "text"])
def test_bombs_take_no_more_than_linear_time(text: str, kind: str) -> None:
    """Each of them would take minutes if anything were quadratic."""
    started = time.process_time()
    chunk_document(text.encode(), kind, ChunkSettings())
    assert time.process_time() - started < 10
