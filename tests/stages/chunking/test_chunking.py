"""Chunks are exact slices of the right size, cut where it hurts least."""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from pathlib import Path

import pytest
import regex

from canonry.config import ChunkSettings
from canonry.errors import UsageError
from canonry.records import Chunk
from canonry.tokens import count_tokens
from stages.chunking import chunk_document

CASES = Path(__file__).parents[2] / "fixtures/cases"


def words(text: str) -> int:
    return len(text.split())


def cut(text: str, settings: ChunkSettings | None = None, kind: str = "markdown") -> list[tuple[str, Chunk]]:
    """The chunks of a text, one token a word."""
    data = text.encode()
    chunks = chunk_document(data, kind, settings or ChunkSettings(40, 10, 60, 0), count=words)
    return [(data[chunk.start_byte : chunk.end_byte].decode(), chunk) for chunk in chunks]


def texts(text: str, settings: ChunkSettings | None = None, kind: str = "markdown") -> list[str]:
    return [piece for piece, _ in cut(text, settings, kind)]


def sentences(number: int, size: int = 10) -> str:
    return " ".join(" ".join([f"S{index}", *["word"] * (size - 2), "end."]) for index in range(number))


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_offsets_and_lines_are_those_of_the_file(mark: str, ending: str) -> None:
    """Front matter, byte order mark and multi-byte characters included."""
    data = (
        mark + ending.join(["---", "a: b", "---", "# Bé", "", "", "  Zoë 👩‍👩‍👧‍👦 e\u0301  ", "x", "", ""])
    ).encode()
    (chunk,) = chunk_document(data, "markdown", ChunkSettings())
    assert data[chunk.start_byte : chunk.end_byte].decode() == f"  Zoë 👩‍👩‍👧‍👦 e\u0301  {ending}x"
    assert (chunk.start_line, chunk.end_line, chunk.heading_path, chunk.index) == (7, 8, ("Bé",), 0)


def test_nothing_gives_no_chunks_and_an_unknown_kind_is_refused() -> None:
    """Blank in any sense."""
    assert [texts(blank) for blank in ("", " \n\n\t\n", "\ufeff", "\f\n", "\u3000\n")] == [[]] * 5
    with pytest.raises(UsageError, match="markdown, text"):
        chunk_document(b"x", "pdf", ChunkSettings())


def test_a_heading_with_nothing_under_it_is_a_chunk_of_its_own_line() -> None:
    """But not when a subheading leads to text."""
    text = "# A\n## B\n\ntext\n\n## Empty\n\n# Under\n# Last {spoiler=1}\n<!-- canonry: tags=t -->\n"
    found = [(piece, chunk.heading_path) for piece, chunk in cut(text)]
    assert found == [
        ("text", ("A", "B")),
        ("## Empty", ("A", "Empty")),
        ("# Under", ("Under",)),
        ("# Last {spoiler=1}\n<!-- canonry: tags=t -->", ("Last",)),
    ]


def test_paragraphs_are_grouped_up_to_the_target() -> None:
    """And a small rest joins the chunk before it."""
    paragraphs = [sentences(1, 15).replace("S0", f"P{index}") for index in range(5)]
    assert [words(piece) for piece in texts("\n\n".join(paragraphs))] == [30, 30, 15]
    assert [words(piece) for piece in texts("\n\n".join([*paragraphs[:4], "tiny end."]))] == [30, 32]


def test_a_long_paragraph_is_cut_into_sentences_near_the_target() -> None:
    """The pieces joined give the paragraph back."""
    paragraph = sentences(30)
    pieces = texts(f"# H\n\n{paragraph}\n")
    assert "".join(pieces) == paragraph
    assert {words(piece) for piece in pieces[:-1]} == {40}
    assert all(piece.startswith("S") for piece in pieces)


@pytest.mark.parametrize(
    "sentence",
    ["他说：“开门！”", "門は閉じた。", "Mr. Ash paid 3.5 crowns to Dr. Oda, i.e. too much. ", "Go?” she said. "],
)
def test_sentences_end_where_they_end(sentence: str) -> None:
    """After full-width stops and their quotes; not after abbreviations, in numbers or before small letters."""
    paragraph = sentence * 40
    data = paragraph.strip().encode()
    chunks = chunk_document(data, "markdown", ChunkSettings(60, 10, 100, 0))
    assert len(chunks) > 2
    assert all(data[chunk.start_byte :].decode().startswith(sentence.strip()) for chunk in chunks)


def test_a_sentence_without_end_is_cut_between_words_and_a_word_between_graphemes() -> None:
    """In that order."""
    assert all(words(piece) <= 60 for piece in texts("word " * 500))
    data = ("e\u0301👩‍👩‍👧‍👦🇩🇪🇫🇷" * 400).encode()
    chunks = chunk_document(data, "markdown", ChunkSettings(40, 10, 60, 0))
    whole = set(regex.findall(r"\X", "e\u0301👩‍👩‍👧‍👦🇩🇪🇫🇷"))
    for chunk in chunks:
        piece = data[chunk.start_byte : chunk.end_byte].decode()
        assert set(regex.findall(r"\X", piece)) <= whole
        assert chunk.token_count == count_tokens(piece) <= 60
    assert b"".join(data[chunk.start_byte : chunk.end_byte] for chunk in chunks) == data


def test_a_list_is_cut_between_items_and_an_item_only_if_it_must_be() -> None:
    """Nested items stay with theirs while they fit."""
    items = [f"{index}. step {sentences(2, 8)}\n   - inner" for index in range(1, 9)]
    pieces = texts("\n".join(items))
    assert "\n".join(pieces) == "\n".join(items)
    assert all(piece[0].isdigit() and words(piece) <= 60 for piece in pieces)
    nested = "- top\n" + "\n".join(f"  - {sentences(2)}" for _ in range(8))
    assert all(piece.lstrip().startswith("-") and piece.rstrip().endswith("end.") for piece in texts(nested))


def test_a_list_that_fits_is_kept_whole() -> None:
    """Although it passes the target."""
    steps = "\n".join(f"{index}. do this thing now" for index in range(1, 10))
    assert steps in texts(f"{sentences(2)}\n\n{steps}\n\n{sentences(2)}")


def test_a_table_is_cut_between_rows_and_later_pieces_carry_its_header() -> None:
    """As lead, so that they are found by it but do not quote it."""
    header = "| Name | Trade of them |\n|---|---|"
    rows = [f"| Ravel {index} | smith of the lower town |" for index in range(30)]
    found = cut("\n".join([header, *rows]))
    assert len(found) > 2
    assert "\n".join(piece for piece, _ in found) == "\n".join([header, *rows])
    assert found[0][1].lead == ""
    assert {chunk.lead for _, chunk in found[1:]} == {header}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Who rang the bell at that late hour of night?", sentences(3)),
        ("Q: who rang", "A: " + sentences(3)),
        ("问：谁敲了钟", "答：" + sentences(3)),
        ("**The bell of Ash**", sentences(3)),
        ("You need these things for it:", "\n".join(f"- {sentences(1, 5)}" for _ in range(6))),
        ("These are the prices asked:", "| a | b |\n|---|---|\n" + "| one two three | four |\n" * 5),
        ("Term of the art", ": " + sentences(3)),
    ],
)
def test_what_belongs_together_stays_together(first: str, second: str) -> None:
    """Question and answer, introduction and list, label and text, term and definition."""
    text = f"{sentences(1, 12)}\n\n{first}\n\n{second}\n\n{sentences(2)}"
    assert any(first in piece and second.strip().split("\n")[0] in piece for piece in texts(text))


def test_quotes_and_code_are_cut_at_lines() -> None:
    """Never within one that fits."""
    for text in ("> " + sentences(1) + "\n", "    code line of six words\n"):
        pieces = texts(text * 20)
        assert "\n".join(pieces) == (text * 20).rstrip("\n")


def test_overlap_repeats_the_last_whole_sentences() -> None:
    """At most so many tokens, and only within a section."""
    settings = ChunkSettings(40, 10, 60, 12)
    pieces = texts(f"# A\n\n{sentences(12)}\n\n# B\n\n{sentences(5)}", settings)
    assert [piece.split()[0] for piece in pieces] == ["S0", "S3", "S7", "S0"]
    assert all(words(piece) <= 60 for piece in pieces)


def test_overlap_repeats_whole_blocks_and_items() -> None:
    """Short paragraphs and list items as they are."""
    settings = ChunkSettings(40, 10, 60, 12)
    paragraphs = [f"P{index} one two three four five six seven." for index in range(12)]
    pieces = texts("\n\n".join(paragraphs), settings)
    assert [piece.split()[0] for piece in pieces] == ["P0", "P4", "P9"]
    items = "\n".join(f"- I{index} one two three four five six." for index in range(6))
    assert texts(f"{items}\n\n{sentences(3)}", settings)[1].startswith("- I5")


def test_a_last_sentence_above_the_overlap_is_not_repeated() -> None:
    """No half sentences."""
    settings = ChunkSettings(40, 10, 60, 5)
    pieces = texts(sentences(12), settings)
    assert "".join(pieces) == sentences(12)


def test_form_feeds_turn_pages() -> None:
    """The first page is 1, and a chunk is on the page where it begins."""
    text = f"{sentences(3)}\n\n\f{sentences(3).replace('S', 'T')}\n\n\fend of it all\n"
    assert [(piece.strip()[:2], chunk.page) for piece, chunk in cut(text, kind="text")] == [("S0", 1), ("T0", 2)]
    assert [chunk.page for _, chunk in cut("no pages")] == [None]


def test_page_comments_set_the_page() -> None:
    """Before the first of them it is not known; the lines stay in the text."""
    text = f"{sentences(2)}\n\n<!-- page: 7 -->\n\n{sentences(3)}\n\n<!-- page: 8 -->\n\n{sentences(3)}\n"
    found = cut(text)
    assert [chunk.page for _, chunk in found] == [None, 7, 8]
    assert found[1][0].startswith("<!-- page: 7 -->")


def test_the_payload_of_a_data_uri_is_in_no_chunk() -> None:
    """Wherever it stands: in a link, a tag, a list, wrapped over lines."""
    payload = base64.b64encode(bytes(range(256)) * 4).decode()
    wrapped = "\n".join(payload[at : at + 76] for at in range(0, len(payload), 76))
    text = (
        f"one ![map](data:image/png;base64,{payload}) two\n\n<img src='data:image/png;base64,{wrapped}'>\n\n"
        f"- three\n- ![x](data:image/svg+xml;charset=utf-8;base64,{payload})\n- four\n\n"
        f"[m]: data:a/b;base64,{payload}\n\nfive"
    )
    pieces = texts(text)
    assert not any(regex.search(r"[A-Za-z0-9+/]{30,}", piece) for piece in pieces)
    assert all(word in " ".join(pieces) for word in ("one", "two", "three", "four", "five"))
    assert pieces[0] == "one ![map](data:image/png;base64,"
    assert pieces[1].startswith(") two")
    short = f"short data:text/plain;base64,{payload[:40]} stays"
    assert texts(short) == [short]


@pytest.mark.parametrize("target", [16, 17, 18, 19, 23])
@pytest.mark.parametrize("overlap", [0, 3])
def test_case_06_keeps_characters_whole(target: int, overlap: int) -> None:
    """No cut between a letter and its mark or inside a joined emoji, and nothing lost."""
    data = (CASES / "06-multibyte-chunk-edges/edges.md").read_bytes()
    settings = ChunkSettings.for_target(target, overlap)
    chunks = chunk_document(data, "markdown", settings)
    pieces = [data[chunk.start_byte : chunk.end_byte].decode() for chunk in chunks]
    borders = {match.start() for match in regex.finditer(r"\X", data.decode())} | {len(data.decode())}
    for piece, chunk in zip(pieces, chunks, strict=True):
        assert piece.strip() and "\ufffd" not in piece and not unicodedata.combining(piece[0])
        assert chunk.token_count == count_tokens(piece) <= settings.max_tokens
        assert {len(data[:at].decode()) for at in (chunk.start_byte, chunk.end_byte)} <= borders
    assert all(any(f"mark-{number:02}" in piece for piece in pieces) for number in range(14))
    if not overlap:
        body = data.decode().split("\n", 1)[1]
        assert "".join("".join(pieces).split()) == "".join(body.split())


def test_case_07_bombs_become_few_and_readable_chunks() -> None:
    """Image data is no text, special strings are, and a line without a space is cut to fit."""
    blob = base64.b64encode(b"".join(hashlib.sha256(b"%d" % i).digest() for i in range(6400))).decode()
    text = (
        f"# Map Room\n\nThe map shows a hidden ford.\n\n![coast map](data:image/png;base64,{blob})\n\n"
        f"The ford is guarded by herons.\n\n![second][m2]\n\n[m2]: data:image/png;base64,{blob[:90000]}\n\n"
        "The key is under the globe.\n"
    )
    pieces = texts(text)
    assert len(pieces) <= 3
    assert not any(regex.search(r"[A-Za-z0-9+/]{40,}", piece) for piece in pieces)
    assert all(word in " ".join(pieces) for word in ("hidden ford", "coast map", "herons", "globe"))

    line = "".join(hashlib.sha256(str(i).encode()).hexdigest() for i in range(600)) + " tailword-basalt\n"
    settings = ChunkSettings.for_target(100)
    chunks = chunk_document(line.encode(), "text", settings)
    assert all(chunk.token_count <= settings.max_tokens for chunk in chunks)
    assert line[chunks[-1].start_byte :].endswith(" tailword-basalt\n")

    special = (CASES / "07-context-limit-and-text-bombs/special.md").read_bytes()
    (chunk,) = chunk_document(special, "markdown", ChunkSettings())
    assert b"quartzite" in special[chunk.start_byte : chunk.end_byte]

    name = "The Very Long and Winding Name of the Seventh Archive of the Lower City " * 6
    ((piece, chunk),) = cut(f"# {name}\n\n## {name}\n\nA garnet seal.\n")
    assert (piece, chunk.heading_path) == ("A garnet seal.", (name.strip(), name.strip()))


def test_a_document_of_rules_only_is_kept() -> None:
    """A rule is not blank, so it is in a chunk."""
    assert texts("---\n\n***\n") == ["---\n\n***"]
    assert texts("# A\n\n---\n") == ["# A\n\n---"]
