from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from canonry.errors import RejectedFile, UsageError
from stages.select import Selected
from stages.validate import Validated, check_encoding, validate_file

TEXT = "Zoë’s café costs 5 €.\n"


def validate(
    tmp_path: Path, data: bytes, *, name: str = "a.md", encoding: str | None = None, limit: int = 10_000
) -> Validated:
    (tmp_path / name).write_bytes(data)
    return validate_file(Selected(tmp_path / name, name, None), encoding=encoding, limit=limit)


def reason(tmp_path: Path, data: bytes, **options: object) -> str:
    with pytest.raises(RejectedFile) as caught:
        validate(tmp_path, data, **options)  # type: ignore[arg-type]
    assert caught.value.name == "a.md"
    assert "\n" not in str(caught.value)
    return caught.value.reason


@pytest.mark.parametrize(
    "data",
    [TEXT.encode(), b"\xef\xbb\xbf" + TEXT.encode(), TEXT.replace("\n", "\r\n").encode(), b"x"],
    ids=["plain", "with its mark", "Windows line ends", "one letter"],
)
def test_utf_8_is_taken_byte_for_byte(tmp_path: Path, data: bytes) -> None:
    valid = validate(tmp_path, data)
    assert (valid.data, valid.encoding, valid.kind) == (data, "utf-8", "markdown")
    assert valid.original_hash == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_byte_order_mark_decides(tmp_path: Path, codec: str) -> None:
    mark = "" if codec in ("utf-16", "utf-32") else "\ufeff"
    valid = validate(tmp_path, (mark + TEXT).encode(codec))
    assert valid.data.decode("utf-8") == TEXT
    assert valid.encoding == codec.removesuffix("-le").removesuffix("-be")


@pytest.mark.parametrize(
    "codec", ["cp1252", "utf-16-le", "utf-16-be", "cp1250", "iso8859-15", "utf-32-be", "cp037", "utf-7"]
)
def test_an_encoding_is_converted_when_it_is_named(tmp_path: Path, codec: str) -> None:
    text = TEXT.replace("’", "'")
    text = text if codec not in ("cp037",) else text.replace("€", "$")
    text = text.replace("ë", "e") if codec == "cp1250" else text
    text = text.replace("ë", "e") if codec == "cp1250" else text
    valid = validate(tmp_path, text.encode(codec), encoding=check_encoding(codec))
    assert valid.data.decode("utf-8") == text
    assert valid.original_hash == hashlib.sha256(text.encode(codec)).hexdigest()


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("gb18030", "守将每夜关闭城门。\n"),
        ("big5", "城門\n"),
        ("shift_jis", "灯台守\n"),
        ("euc_kr", "성문\n"),
        ("koi8-r", "Дозорный\n"),
        ("iso2022_jp", "灯台守は青い鍵を\n"),
    ],
)
def test_encodings_of_other_scripts_are_converted_when_they_are_named(tmp_path: Path, codec: str, text: str) -> None:
    assert validate(tmp_path, text.encode(codec), encoding=check_encoding(codec)).data.decode("utf-8") == text


@pytest.mark.parametrize("codec", ["cp1252", "latin-1", "gb18030", "utf-16-le", "shift_jis"])
@pytest.mark.parametrize(
    "data", [TEXT.encode(), b"\xef\xbb\xbf" + TEXT.encode(), b"plain\n"], ids=["utf-8", "with its mark", "ascii"]
)
def test_a_named_encoding_leaves_what_is_utf_8_alone(tmp_path: Path, codec: str, data: bytes) -> None:
    assert validate(tmp_path, data, encoding=check_encoding(codec)).data == data


REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "is empty"),
    "a mark alone": (b"\xef\xbb\xbf", "is empty"),
    "blanks": (b" \r\n\t", "white space"),
    "a wide mark alone": (b"\xff\xfe", "is empty"),
    "cp1252": ("café".encode("cp1252"), "byte 3 (0xe9)"),
    "cut in a character": ("Zoë".encode()[:-1], "cut short"),
    "surrogates": (b"a\xed\xa0\x80b", "byte 1 (0xed)"),
    "overlong": (b"a\xc0\xafb", "byte 1 (0xc0)"),
    "a NUL": (b"abc\0def", "NUL at byte 3"),
    "a NUL after wide letters": ("Zoë\0".encode(), "NUL at byte 4"),
    "a NUL in UTF-16": ("ab\0c".encode("utf-16"), "NUL at byte 6"),
    "UTF-16 without its mark": ("The mill stands.".encode("utf-16-le"), "--encoding utf-16-le"),
    "UTF-16 without its mark, the other way": ("The mill stands.".encode("utf-16-be"), "--encoding utf-16-be"),
    "UTF-16 cut short": ("ab".encode("utf-16")[:-1], "is not utf-16"),
    "half a pair in UTF-16": (b"\xff\xfe\x00\xd8a\0", "is not utf-16"),
    "a PNG": (b"\x89PNG\r\n", "a PNG image"),
    "a PDF": (b"%PDF-1.7\n", "a PDF"),
    "a zip": (b"PK\x03\x04", "zip"),
    "a database": (b"SQLite format 3\0", "SQLite"),
}


@pytest.mark.parametrize(("data", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_text_is_refused_with_the_place_and_the_reason(tmp_path: Path, data: bytes, words: str) -> None:
    assert words in reason(tmp_path, data)


@pytest.mark.parametrize("codec", ["ascii", "idna", "undefined", "punycode", "utf-8-sig"])
def test_a_codec_that_cannot_read_the_file_refuses_it(tmp_path: Path, codec: str) -> None:
    assert "is not" in reason(tmp_path, b"caf\xe9\xe9 \xff", encoding=check_encoding(codec))


@pytest.mark.parametrize("name", ["klingon", "", "rot13", "base64", "zip", "hex", "\udcff", "utf-8\0"])
def test_what_is_no_encoding_of_text_is_wrong_usage(name: str) -> None:
    with pytest.raises(UsageError, match="encoding"):
        check_encoding(name)


def test_text_that_begins_like_a_program_is_text(tmp_path: Path) -> None:
    """`MZ` and `RIFF` begin words too."""
    for text in (b"MZ was the clerk's mark.\n", b"RIFFRAFF of the harbour.\n", b"GIF89 is no year.\n", b"BM\n"):
        assert validate(tmp_path, text).data == text


@pytest.mark.parametrize(("size", "taken"), [(100, True), (101, False)])
def test_the_limit_is_the_largest_size_that_is_taken(tmp_path: Path, size: int, taken: bool) -> None:
    if taken:
        assert len(validate(tmp_path, b"x" * size, limit=100).data) == size
    else:
        assert "max_file_bytes" in reason(tmp_path, b"x" * size, limit=100)


def test_a_file_that_went_away_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RejectedFile, match="any more"):
        validate_file(Selected(tmp_path / "a.md", "a.md", None), encoding=None, limit=100)


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.md").mkdir()
    with pytest.raises(RejectedFile):
        validate_file(Selected(tmp_path / "a.md", "a.md", None), encoding=None, limit=100)


def test_a_text_file_is_text_and_a_markdown_file_markdown(tmp_path: Path) -> None:
    kinds = {name: validate(tmp_path, b"x", name=name).kind for name in ("a.md", "a.MARKDOWN", "a.txt", "a.TXT")}
    assert kinds == {"a.md": "markdown", "a.MARKDOWN": "markdown", "a.txt": "text", "a.TXT": "text"}
