"""Where a text may be cut: after sentences, after words, after what a reader sees as one character."""

from __future__ import annotations

import re
import unicodedata

import regex

_END = re.compile(
    r"(?P<latin>[.!?…‽؟۔।॥]++[\"'”’»)\]*_`]*+)(?P<space>\s*+)"
    r"|[。！？｡]++[」』”’）〉》】〕\"']*+\s*+"
)
_WINDOW = 4096  # characters
_WORD_BEFORE = re.compile(r"\w+\Z")
_ABBREVIATIONS = frozenset(
    {"mr", "mrs", "ms", "dr", "st", "prof", "rev", "gen", "col", "capt", "lt", "sgt", "hon", "sr", "jr", "mme", "mlle"}
    | {"messrs", "vs", "etc", "vol", "no", "fig", "cf", "ca"}
)


def sentence_cuts(text: str, start: int, end: int) -> list[int]:
    """The offsets inside `text[start:end]` at which a sentence begins; white space belongs to the one before."""
    cuts = []
    for match in _END.finditer(text, start, end):
        at = match.end()
        if at < end and not _goes_on(match, text, start, at) and not joins_previous(text[at]):
            cuts.append(at)
    return cuts


def _goes_on(match: re.Match[str], text: str, start: int, at: int) -> bool:
    """Whether the stop does not end a sentence: in `3.5`, after `Mr.`, before a small letter."""
    if match["latin"] is None:
        return False
    if not match["space"] or text[at].islower():
        return True
    if match["latin"] != ".":
        return False
    before = _WORD_BEFORE.search(text, max(start, match.start() - 12), match.start())
    word = before[0] if before else ""
    is_initial = len(word) == 1 and word.isupper() and word != "I"
    return is_initial or word.lower() in _ABBREVIATIONS


def word_cuts(text: str, start: int, end: int, group: int) -> list[int]:
    """The offsets after every `group` words."""
    pattern = re.compile(rf"(?:\S++\s*+){{1,{group}}}")
    cuts = [match.end() for match in pattern.finditer(text, start, end)]
    return [cut for cut in cuts if cut < end and not joins_previous(text[cut])]


def grapheme_cuts(text: str, start: int, end: int, group: int) -> list[int]:
    """The offsets after every `group` grapheme clusters, white space at the end staying with the last."""
    piece = text[start:end].rstrip()
    if piece.isascii() and "\r" not in piece:
        return list(range(start + group, start + len(piece), group))
    pattern = regex.compile(rf"\X{{1,{group}}}")
    cuts: list[int] = []
    begin, width = 0, _WINDOW
    while begin < len(piece):  # in windows, since a long row of flags takes quadratic time at once
        stops = [begin + match.end() for match in pattern.finditer(piece[begin : begin + width])]
        if begin + width < len(piece):
            stops.pop()  # the window may end inside this one
        if not stops:
            width *= 2
            continue
        cuts += stops
        begin, width = stops[-1], _WINDOW
    return [start + cut for cut in cuts if cut < len(piece)]


def joins_previous(char: str) -> bool:
    """Whether a character is drawn onto the one before it, so that no cut may fall between the two."""
    if char < "\u0300":
        return False
    return unicodedata.category(char).startswith("M") or char in "\u200c\u200d" or "\U0001f3fb" <= char <= "\U0001f3ff"
