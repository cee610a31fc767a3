"""validate: a selected file -> its text as UTF-8 bytes, or the reason why it is no text that can be imported.

Nothing is guessed: UTF-8 is taken as it is, a byte-order mark decides UTF-16 and UTF-32, everything else is converted
only when the user names the encoding, which leaves the files beside it that are UTF-8 alone.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import stat
from dataclasses import dataclass

from canonry.errors import RejectedFile, UsageError
from stages.select import KINDS, Selected

VERSION = "1"
_READ_TRIES = 3
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_FORMATS = (
    (b"\x89PNG", "a PNG image"), (b"\xff\xd8\xff", "a JPEG image"), (b"GIF8", "a GIF image"), (b"%PDF", "a PDF"),
    (b"PK\x03\x04", "a zip archive (perhaps .docx or .epub)"), (b"\x1f\x8b", "a gzip archive"), (b"\x7fELF", "a program"),
    (b"SQLite format 3\0", "a SQLite database"), (b"RIFF", "a media file"), (b"OggS", "a media file"), (b"MZ", "a program"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Validated:
    """A file's text. `data` is UTF-8 (with its byte-order mark, if it had one) and is what will be stored."""

    selected: Selected
    kind: str
    data: bytes
    encoding: str  # how the file itself was written: utf-8, or what it was converted from
    original_hash: str  # SHA-256 of the file's own bytes


def check_encoding(name: str) -> str:
    """The codec's own name for an encoding, or a UsageError for one that is none."""
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        raise UsageError(
            f"encoding {name!r} is unknown; examples are cp1252, gb18030, big5, shift_jis, utf-16-le"
        ) from None
    if not info._is_text_encoding:
        raise UsageError(
            f"encoding {name!r} does not make text; examples are cp1252, gb18030, big5, shift_jis, utf-16-le"
        )
    return info.name


def validate_file(selected: Selected, *, encoding: str | None, limit: int) -> Validated:
    """The text of one file; raises RejectedFile with the reason. `limit` is the largest size in bytes."""
    raw = _read(selected, limit)
    data, used = _as_utf8(selected.name, raw, encoding)
    text = data.removeprefix(codecs.BOM_UTF8)
    if not text.strip():
        what = "is empty" if not text else "holds nothing but white space"
        raise RejectedFile(selected.name, f"{what}: there is nothing to index")
    return Validated(selected, KINDS[selected.path.suffix.lower()], data, used, hashlib.sha256(raw).hexdigest())


def _read(selected: Selected, limit: int) -> bytes:
    """The whole file as it was at one moment."""
    for _ in range(_READ_TRIES):
        try:
            handle = os.open(selected.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
            with os.fdopen(handle, "rb") as file:
                before = os.fstat(handle)
                if not stat.S_ISREG(before.st_mode):
                    raise RejectedFile(selected.name, "is not a regular file; give a text file")
                if before.st_size > limit:
                    raise RejectedFile(
                        selected.name,
                        f"is {before.st_size:,} bytes, more than the limit of {limit:,}; split it, or raise the setting max_file_bytes",
                    )
                data = file.read(limit + 1)
                after = os.fstat(handle)
        except OSError as error:
            reason = (
                "does not exist any more"
                if isinstance(error, FileNotFoundError)
                else f"cannot be read ({(error.strerror or '').lower()})"
            )
            raise RejectedFile(selected.name, f"{reason}; check it and import it again") from error
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) and len(data) == after.st_size:
            return data
    raise RejectedFile(selected.name, "changed each time it was read; import it when nothing is writing to it")


def _as_utf8(name: str, raw: bytes, encoding: str | None) -> tuple[bytes, str]:
    for magic, what in _FORMATS:
        if raw.startswith(magic) and (0 in raw or not magic.isalnum()):  # MZ and RIFF begin words too
            raise RejectedFile(name, f"is {what}, not text; convert it to .md or .txt first")
    marked = next((codec for mark, codec in _MARKS if raw.startswith(mark)), None)
    chosen = marked or ("utf-8" if encoding is None or _is_utf8(raw, encoding) else encoding)
    try:
        text = raw.decode(chosen)
    except UnicodeDecodeError as error:
        raise RejectedFile(name, _decoding_reason(raw, error, chosen)) from None
    except UnicodeError as error:
        raise RejectedFile(name, f"is not {chosen}: {error}; check the encoding") from None
    nul = text.find("\0")
    if nul >= 0:
        raise RejectedFile(name, _nul_reason(raw, _bytes_before(text, nul, chosen), chosen))
    if chosen == "utf-8":
        return raw, "utf-8"
    try:
        return text.encode("utf-8"), chosen
    except UnicodeEncodeError:
        raise RejectedFile(
            name, f"read as {chosen} it holds half characters (lone surrogates); check the encoding"
        ) from None


def _is_utf8(raw: bytes, encoding: str) -> bool:
    """Whether a file that stands beside others of `encoding` is UTF-8 itself.

    Bytes above ASCII that form UTF-8 are hardly ever anything else. ASCII alone says nothing where it has a meaning of
    its own in the encoding (iso-2022-jp); in one of wide units it would hold NULs.
    """
    if 0 in raw or (raw.isascii() and not encoding.startswith(("utf-16", "utf-32"))):
        return False
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _bytes_before(text: str, at: int, encoding: str) -> int:
    """Where in the file the character at that place stands; its place in the text for a codec that cannot say."""
    try:
        return len(text[:at].encode(encoding))
    except UnicodeError:
        return at


def _decoding_reason(raw: bytes, error: UnicodeDecodeError, chosen: str) -> str:
    byte = raw[error.start]
    place = f"byte {error.start} (0x{byte:02x})"
    if chosen != "utf-8":
        return f"is not {chosen}: {place} cannot be read; check the encoding"
    if error.start >= len(raw) - 3 and "unexpected end" in error.reason:
        return (
            f"is not UTF-8: it ends in the middle of a character at {place}; it may be cut short, get a whole copy, "
            "or if it is in another encoding, import it with --encoding NAME (for example cp1252)"
        )
    if raw.count(0) > len(raw) // 4:
        return f"is not UTF-8: {place}; it looks like UTF-16 without its mark, import it with --encoding utf-16-le or utf-16-be"
    return f"is not UTF-8: {place}; if you know its encoding, import it with --encoding NAME (for example cp1252, gb18030, shift_jis)"


def _nul_reason(raw: bytes, at: int, chosen: str) -> str:
    if chosen == "utf-8" and raw.count(0) > len(raw) // 4:
        guess = "utf-16-le" if raw[1::2].count(0) > raw[::2].count(0) else "utf-16-be"
        return f"holds a NUL at byte {at} and looks like UTF-16 without its mark; import it with --encoding {guess}"
    return f"holds a NUL at byte {at}, which text does not; remove it and import again"
