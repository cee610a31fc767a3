"""Text that was read in the wrong encoding before it came here: mojibake, and characters that could not be read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flows.checks.findings import ADVICE, Examination, Finding
from flows.checks.raw import stored
from stages.chunking.lines import Lines

_REPLACED = "\ufffd"
FEWEST_PAIRS = 2  # of two-character mojibake in a file, which one word may hold by chance


def _as_read(first: int, last: int) -> str:
    """The characters that bytes turn into when UTF-8 is read as cp1252 or Latin-1, as a class."""
    found = {chr(byte) for byte in range(first, last + 1)}
    for byte in range(first, last + 1):
        try:
            found.add(bytes([byte]).decode("cp1252"))
        except UnicodeDecodeError:
            continue
    return "[" + "".join(re.escape(char) for char in sorted(found)) + "]"


_FOLLOWING = _as_read(0x80, 0xBF)
_LONG = re.compile(f"{_as_read(0xE0, 0xEF)}{_FOLLOWING}{{2}}|{_as_read(0xF0, 0xF4)}{_FOLLOWING}{{3}}")
_PAIR = re.compile(f"{_as_read(0xC2, 0xDF)}{_FOLLOWING}")


def check(look: Examination) -> Iterator[Finding]:
    """One piece of advice for each live source whose text shows it, with the first line."""
    for document in look.live.values():
        data = stored(look, document.content_hash, document.kind)
        if data is None or data.isascii():
            continue
        text = data.decode("utf-8")
        long, pairs = (
            [match.start() for match in _LONG.finditer(text)],
            [match.start() for match in _PAIR.finditer(text)],
        )
        wrong = sorted(long + (pairs if long or len(pairs) >= FEWEST_PAIRS else []))
        if wrong:
            yield Finding(
                "mojibake", f"{len(wrong)} places look like UTF-8 that was read as another encoding", _place(document.source_id, text, wrong[0]),
                "mend the original (read it as UTF-8) and import it again", ADVICE, text=_around(text, wrong[0]),
            )  # fmt: skip
        replaced = text.count(_REPLACED)
        if replaced:
            at = text.index(_REPLACED)
            yield Finding(
                "characters-lost", f"{replaced} characters could not be read when the file was written (U+FFFD)",
                _place(document.source_id, text, at), "find the original in its own encoding and import it with --encoding NAME", ADVICE,
                text=_around(text, at),
            )  # fmt: skip


def _place(source_id: str, text: str, at: int) -> str:
    return f"{source_id} line {Lines.of(text).at(at) + 1}"


def _around(text: str, at: int) -> str:
    return " ".join(text[max(0, at - 20) : at + 20].split())
