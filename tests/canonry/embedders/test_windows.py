"""Windows fit the model and lose nothing of the body."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from canonry.embedders.minilm import MiniLM
from canonry.embedders.static import Static
from canonry.embedders.windows import Tokens, cut_windows

PROSE = " ".join(
    f"On day {day} the keeper counted {day * 7 % 13} ships, and didn't write it down." for day in range(80)
)
UNSPACED = "守塔人每天傍晚都要把船数上两遍，" * 60
ADDRESS = "https://example.org/" + "/".join(f"page-{number}_x%20y" for number in range(200))
ACCENTED = "e\u0301te\u0301 nai\u0308ve \u01c5ungla I\u0307zmir \ufb03 \u1e9e " * 90
HEADINGS = "Book of Tides > Chapter Nine > The Drowned Bell"


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


def _length(embedder: MiniLM, text: str) -> int:
    return len(embedder._tokenizer.encode(text).ids)


def _assert_covered(body: str, pieces: list[str]) -> None:
    """Each piece is a part of the body that starts no later than the one before it ends; the last ends the body."""
    end = 0
    for piece in pieces:
        start = body.rfind(piece, 0, end + len(piece))
        assert start >= 0
        assert start + len(piece) > end
        end = start + len(piece)
    assert end == len(body)


@pytest.mark.parametrize("body", [PROSE, UNSPACED, ADDRESS, ACCENTED, "word " * 254, "a" * 30_000, "🐉" * 700])
@pytest.mark.parametrize("prefix", ["", HEADINGS, "Heading " * 300])
def test_windows_fit_and_cover_the_body(minilm: MiniLM, body: str, prefix: str) -> None:
    windows = minilm.windows(body, prefix)
    assert all(_length(minilm, window) <= minilm.max_tokens for window in windows)
    _assert_covered(body, [window.split("\n", 1)[1] if prefix else window for window in windows])


def test_every_word_is_whole_in_some_window(minilm: MiniLM) -> None:
    windows = minilm.windows(PROSE, HEADINGS)
    assert len(windows) > 3
    whole = {word for window in windows for word in window.split()}
    assert set(PROSE.split()) <= whole


def test_neighbours_share_about_a_tenth(minilm: MiniLM) -> None:
    first, second, *_ = minilm.windows(PROSE)
    shared = next(first[at:] for at in range(len(first)) if second.startswith(first[at:]))
    assert 0.05 < len(shared) / len(first) < 0.15


def test_a_body_that_fits_is_one_window_and_unchanged(minilm: MiniLM) -> None:
    assert minilm.windows("  The bell rang.\n") == ["  The bell rang.\n"]
    assert minilm.windows("The bell rang.", HEADINGS) == [f"{HEADINGS}\nThe bell rang."]
    longest = "tide " * 253 + "tide"
    assert minilm.windows(longest) == [longest]
    assert len(minilm.windows(longest + " tide")) == 2


def test_a_long_prefix_keeps_its_end_and_takes_a_quarter(minilm: MiniLM) -> None:
    prefix = "Chapter of many words > " * 60 + "The Drowned Bell"
    head, body = minilm.windows("The bell rang.", prefix)[0].split("\n")
    assert body == "The bell rang."
    assert head.endswith("> The Drowned Bell")
    assert minilm.max_tokens / 5 < _length(minilm, head) <= minilm.max_tokens / 4 + 2


@pytest.mark.parametrize("blank", ["", " \n\t ", "\x00", "\u200b\u0301"])
def test_a_blank_body_gives_the_prefix_alone_and_nothing_gives_nothing(minilm: MiniLM, blank: str) -> None:
    assert minilm.windows(blank, HEADINGS) == [HEADINGS]
    assert minilm.windows(blank, " ") == []
    assert minilm.windows(blank) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=40), max_size=12), st.integers(1, 60), st.text(max_size=200))
@example(["ǅ", "İ", "a\u0301", "ﷺ", "\ud800", "각", "ﬃ"], 60, "İ")
def test_any_text_is_cut_into_windows_that_fit(parts: list[str], times: int, prefix: str) -> None:
    model = _shared_minilm()
    body = " ".join(parts) * times
    windows = model.windows(body, prefix)
    model_lengths = [_length(model, window) for window in windows]
    assert all(2 < length <= model.max_tokens for length in model_lengths)


_SHARED: list[MiniLM] = []


def _shared_minilm() -> MiniLM:
    if not _SHARED:
        _SHARED.append(MiniLM())
    return _SHARED[0]


def test_static_takes_a_chapter_whole_and_cuts_only_beyond_its_limit() -> None:
    if find_spec("wordllama") is None:
        pytest.skip("wordllama (canonry[static]) is not installed")
    static = Static()
    assert static.windows(PROSE, HEADINGS) == [f"{HEADINGS}\n{PROSE}"]
    assert static.windows(" ", HEADINGS) == [HEADINGS]
    assert static.windows("\n") == []
    body = PROSE * 100
    windows = static.windows(body, HEADINGS)
    assert len(windows) > 1
    _assert_covered(body, [window.split("\n", 1)[1] for window in windows])
    assert static.embed_documents(windows).shape == (len(windows), static.dimensions)


@settings(max_examples=300)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=120), st.integers(8, 40))
def test_wherever_the_borders_lie_pieces_fit_and_move_on(borders: list[int], room: int) -> None:
    """One token a character: `borders` says what a cut before each would part."""
    body = "".join(chr(0x4E00 + at) for at in range(len(borders)))

    def tokenize(text: str) -> Tokens:
        ranks = [borders[ord(character) - 0x4E00] for character in text]
        return Tokens([(at, at + 1) for at in range(len(text))], ranks)

    pieces = cut_windows(body, "", room, tokenize)
    assert all(len(piece) <= room for piece in pieces)
    _assert_covered(body, pieces)
    ends = [body.index(piece) + len(piece) for piece in pieces]
    assert ends == sorted(set(ends))
