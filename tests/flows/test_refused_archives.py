"""Archives that are no whole, honest export: refused with the entry and the reason, and nothing is written."""

from __future__ import annotations

import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from canonry.archive import Limits
from canonry.embedders import register
from canonry.errors import RefusedArchive
from canonry.export import export_campaign
from flows.pipeline import loaded
from flows.restore import restore
from tests.archives import Members, append, change_rows, rewrite, tree
from tests.conftest import Workshop
from tests.fakes import WordBag

HASH = "0" * 64


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export with two versions, a label, vectors and a stored file of each kind."""
    register(WordBag())
    loaded.cache_clear()
    root = tmp_path_factory.mktemp("good")
    workshop = Workshop(root)
    at = workshop.create(embedder="wordbag")
    workshop.bring(at, workshop.write("lamp.md", "A lamp.\n"), workshop.write("jar.txt", "A jar.\n"), tags=("light",))
    workshop.bring(at, workshop.write("lamp.md", "A lamp of brass.\n"))
    export_campaign(at, root / "good.zip", with_embeddings=True)
    return root / "good.zip"


@pytest.fixture
def data(tmp_path: Path, workshop: Workshop) -> Path:
    """A data directory with another campaign in it."""
    workshop.create("abbey")
    return workshop.data


def refused(archive: Path, data: Path, match: str, **options: Any) -> RefusedArchive:
    """The refusal, after which the data directory is what it was."""
    before = tree(data)
    with pytest.raises(RefusedArchive, match=match) as caught:
        restore(archive, data, **options)
    assert tree(data) == before
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith("nothing was restored")
    return caught.value


def entry(name: str, kind: int = stat.S_IFREG, **attributes: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("x" * len(name))
    info.filename = info.orig_filename = name
    info.create_system, info.external_attr = 3, (kind | 0o777) << 16
    for attribute, value in attributes.items():
        setattr(info, attribute, value)
    return info


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("files/../../../escaped.md", "leaves its folder"),
        ("./manifest.json", "leaves its folder"),
        ("/tmp/escaped.md", "absolute"),
        ("//server/share.md", "absolute"),
        ("C:\\escaped.md", "absolute"),
        ("c:escaped.md", "absolute"),
        ("files\\..\\..\\escaped.md", "backslash"),
        ("files/a\x1b[2Jb.md", "control"),
        ("files/a\u202eb.md", "control"),
        ("files/", "folder"),
        (f"files/{HASH}.py", "nothing that an export"),
        (f"files/{HASH}.md/x", "nothing that an export"),
        ("vectors/../x.parquet", "leaves its folder"),
        ("CATALOG.jsonl", "in case alone"),
        (f"files/{HASH}.md", "not in the manifest"),
    ],
)
def test_an_entry_of_a_name_that_does_not_belong(
    good: Path, data: Path, tmp_path: Path, name: str, reason: str
) -> None:
    error = refused(append(good, tmp_path / "evil.zip", entry(name), "out"), data, reason)
    assert error.entry == name


def test_an_entry_with_nul_in_its_name(good: Path, data: Path, tmp_path: Path) -> None:
    """zipfile cuts such a name short; the file says it in full."""
    evil = append(good, tmp_path / "evil.zip", "files/aXb.md", "out")
    evil.write_bytes(evil.read_bytes().replace(b"files/aXb.md", b"files/a\x00b.md"))
    assert refused(evil, data, "control").entry == "files/a\x00b.md"


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFDIR])
def test_a_link_and_other_special_entries(good: Path, data: Path, tmp_path: Path, kind: int) -> None:
    name = f"files/{HASH}.md"
    error = refused(append(good, tmp_path / "evil.zip", entry(name, kind), "/etc"), data, "is a link|no regular file")
    assert error.entry == name


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_entry_that_is_there_twice(good: Path, data: Path, tmp_path: Path) -> None:
    refused(append(good, tmp_path / "evil.zip", "catalog.jsonl", "{}"), data, "'catalog.jsonl': is there twice")


def test_an_encrypted_entry(good: Path, data: Path, tmp_path: Path) -> None:
    evil = tmp_path / "evil.zip"
    raw = bytearray(good.read_bytes())
    at = raw.index(b"PK\x01\x02")
    raw[at + 8] |= 1
    evil.write_bytes(raw)
    refused(evil, data, "'catalog.jsonl': is encrypted")


def test_an_entry_of_another_packing(good: Path, data: Path, tmp_path: Path) -> None:
    evil = append(good, tmp_path / "evil.zip", entry(f"files/{HASH}.md", compress_type=zipfile.ZIP_LZMA), "out")
    refused(evil, data, "method")


def test_more_entries_than_the_limit(good: Path, data: Path, tmp_path: Path) -> None:
    def crowd(members: Members) -> None:
        members |= {f"files/{number:064x}.md": b"" for number in range(500)}

    refused(rewrite(good, tmp_path / "crowd.zip", crowd), data, "limit of 100 members", limits=Limits(members=100))


def test_a_list_of_entries_too_long_to_be_read(good: Path, data: Path, tmp_path: Path) -> None:
    """Refused before the list is held: it alone would fill the memory."""

    def crowd(members: Members) -> None:
        members |= {f"files/{number:064x}.md": b"" for number in range(12_000)}

    refused(rewrite(good, tmp_path / "crowd.zip", crowd), data, "lists more entries", limits=Limits(members=100))


def bomb(members: Members) -> None:
    members[f"files/{HASH}.md"] = b"a " * 40_000_000


def test_a_bomb_that_the_manifest_declares(good: Path, data: Path, tmp_path: Path) -> None:
    evil = rewrite(good, tmp_path / "bomb.zip", bomb)
    assert evil.stat().st_size < 200_000
    refused(evil, data, "limit of 1,000,000; --max-bytes", limits=Limits(bytes=1_000_000))
    refused(evil, data, "belongs to no version")


def test_a_bomb_in_place_of_a_version(good: Path, data: Path, tmp_path: Path) -> None:
    """Right in every statement, and stopped while it is read."""

    def swell(members: Members) -> None:
        import hashlib

        text = b"a " * 40_000_000
        name = hashlib.sha256(text).hexdigest()
        for old in [old for old in members if old.startswith("files/") and old.endswith("md")]:
            del members[old]
        members[f"files/{name}.md"] = text
        change_rows(
            members, "knowledge_source_version", content_hash=name, file_size=len(text), mime_type="text/markdown"
        )
        for old in [old for old in members if old.endswith("txt")]:
            del members[old]

    refused(rewrite(good, tmp_path / "bomb.zip", swell), data, "more than 200 times its size")


def test_a_size_that_is_a_lie(good: Path, data: Path, tmp_path: Path) -> None:
    """The list of entries says as little as the manifest does; more comes out."""
    evil = rewrite(good, tmp_path / "evil.zip", manifest=lambda said: said["members"][1].update(bytes=1))
    refused(evil, data, "and the manifest 1")
    raw = bytearray(evil.read_bytes())
    name = json.loads(zipfile.ZipFile(good).read("manifest.json"))["members"][1]["name"].encode()
    at = raw.index(name, raw.index(b"PK\x01\x02")) - 46
    raw[at + 24 : at + 28] = (1).to_bytes(4, "little")
    evil.write_bytes(raw)
    refused(evil, data, f"belongs|damaged|{name.decode()}")


@pytest.mark.parametrize("which", ["catalog.jsonl", "manifest.json", "files/", "vectors/"])
def test_a_damaged_member(good: Path, data: Path, tmp_path: Path, which: str) -> None:
    with zipfile.ZipFile(good) as file:
        info = next(info for info in file.infolist() if info.filename.startswith(which))
    raw = bytearray(good.read_bytes())
    raw[info.header_offset + 30 + len(info.filename) + info.compress_size // 2] ^= 0xFF
    (tmp_path / "evil.zip").write_bytes(raw)
    assert refused(tmp_path / "evil.zip", data, "is damaged").entry == info.filename


@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_a_truncated_archive(good: Path, data: Path, tmp_path: Path, share: float) -> None:
    raw = good.read_bytes()
    (tmp_path / "evil.zip").write_bytes(raw[: int(len(raw) * share)])
    refused(tmp_path / "evil.zip", data, "cut off")


def test_other_bytes_than_the_manifest_says(good: Path, data: Path, tmp_path: Path) -> None:
    def swap(members: Members) -> None:
        name = next(name for name in members if name.endswith(".txt"))
        members[name] = members[name].swapcase()

    error = refused(rewrite(good, tmp_path / "evil.zip", swap, signed=False), data, "SHA-256")
    assert error.entry.endswith(".txt")
    refused(rewrite(good, tmp_path / "evil.zip", swap), data, "other bytes than its name says")


@pytest.mark.parametrize("prefix", ["catalog.jsonl", "files/", "vectors/"])
def test_a_member_that_is_missing(good: Path, data: Path, tmp_path: Path, prefix: str) -> None:
    def drop(members: Members) -> None:
        del members[next(name for name in members if name.startswith(prefix))]

    refused(rewrite(good, tmp_path / "evil.zip", drop, signed=False), data, f"'{prefix}.*missing from the archive")
    if prefix != "vectors/":
        refused(rewrite(good, tmp_path / "evil.zip", drop), data, "is missing|holds no catalog")


MANIFESTS: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda said: said.update(contract="canonry/export/2", canonry="9.1.0"), "install canonry 9.1.0 or later"),
    (lambda said: said.update(catalog_version=99, canonry="9.1.0"), "install canonry 9.1.0 or later"),
    (lambda said: said.update(catalog_version=0), "catalog version 0"),
    (lambda said: said.update(catalog_version=True), "'catalog_version'"),
    (lambda said: said.pop("contract"), "no export of canonry"),
    (lambda said: said.pop("members"), "'members'"),
    (lambda said: said.update(members=[1]), "'members'"),
    (lambda said: said["members"].append(said["members"][0]), "twice"),
    (lambda said: said["members"][0].update(bytes=-1), "below 0"),
    (lambda said: said["members"][0].update(bytes="7"), "'bytes'"),
    (lambda said: said.update(campaign_id="../up"), "no id of a campaign"),
    (lambda said: said.update(campaign_id="other"), "of another campaign"),
    (lambda said: said["rows"].update(knowledge_source=7), "knowledge_source, and the manifest says 7"),
    (lambda said: said["rows"].update(extra=7), "rows of extra"),
    (lambda said: said.update(embeddings=[]), "does not describe"),
    (lambda said: said["embeddings"][0].update(dimensions=65), "65 dimensions"),
]


@pytest.mark.parametrize(("change", "reason"), MANIFESTS)
def test_a_manifest_that_does_not_fit(
    good: Path, data: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object], reason: str
) -> None:
    refused(rewrite(good, tmp_path / "evil.zip", manifest=change), data, reason)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"[" * 100_000, b"\xff\xfe"])
def test_a_manifest_that_is_none(good: Path, data: Path, tmp_path: Path, text: bytes) -> None:
    def put(file: zipfile.ZipFile) -> None:
        file.writestr("manifest.json", text)

    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as file:
        put(file)
    assert refused(tmp_path / "evil.zip", data, "not JSON|no export").entry == "manifest.json"


def test_a_zip_of_something_else(data: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as file:
        file.writestr("beach.jpg", b"\xff\xd8")
    refused(tmp_path / "photos.zip", data, "holds no manifest.json; this is no export of canonry")


def line(table: str, **row: object) -> bytes:
    return json.dumps({"table": table, "row": row}).encode() + b"\n"


def add_line(text: bytes) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        members["catalog.jsonl"] += text

    return change


def set_rows(table: str, **values: object) -> Callable[[Members], None]:
    return lambda members: change_rows(members, table, **values)


ROWS: list[tuple[Callable[[Members], None], str]] = [
    (add_line(b"{"), "line .* no row"),
    (add_line(b"[1]\n"), "not a table and a row"),
    (add_line(b"[" * 200_000 + b"\n"), "no row"),
    (add_line(line("sqlite_master", type="trigger")), "no table 'sqlite_master'"),
    (add_line(line("setting", key="mode", value="hybrid", more=1)), "other columns"),
    (add_line(line("setting", key="colour", value="blue")), "'colour' is unknown"),
    (add_line(line("setting", key="mode", value=["hybrid"])), "no row"),
    (add_line(b'{"table": "setting", "row": {"key": "mode", "value": "\\ud800"}}\n'), "no row"),
    (add_line(line("source_label", source_id="ghost", kind="tag", label="a", folded="a")), "not there"),
    (set_rows("knowledge_source", class_="canon"), "other columns"),
    (set_rows("knowledge_source", **{"class": "gospel"}), "CHECK constraint"),
    (set_rows("knowledge_source", spoiler_level=-1), "CHECK constraint"),
    (set_rows("knowledge_source", spoiler_level=10**30), "spoiler_level is above"),
    (set_rows("knowledge_source", spoiler_level="low"), "no row"),
    (set_rows("knowledge_source", heading_rules='[["a", 1]]'), "heading_rules holds something else"),
    (set_rows("knowledge_source", edited='["no such field"]'), "edited holds something else"),
    (set_rows("knowledge_source", extra="[]"), "extra holds something else"),
    (set_rows("knowledge_source", title=None), "NOT NULL"),
    (set_rows("knowledge_source_version", stated_tags='{"a": 1}'), "stated_tags holds something else"),
    (set_rows("knowledge_source_version", content_hash="../" * 21 + "x"), "belongs to"),
    (set_rows("knowledge_source_version", file_size=7_000), "and the catalog says 7,000"),
    (set_rows("meta", value="many"), "of another campaign"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "reason"), ROWS)
def test_rows_that_are_no_catalog(
    good: Path, data: Path, tmp_path: Path, change: Callable[[Members], None], reason: str
) -> None:
    refused(rewrite(good, tmp_path / "evil.zip", change), data, reason)


def test_a_part_of_vectors_that_is_none(good: Path, data: Path, tmp_path: Path) -> None:
    def spoil(members: Members) -> None:
        members[next(name for name in members if name.startswith("vectors/"))] = b"PAR1" + b"x" * 50 + b"PAR1"

    assert "vectors/" in refused(rewrite(good, tmp_path / "evil.zip", spoil), data, "not a readable Parquet").entry


def test_a_secret_that_an_export_brings_is_not_taken(good: Path, tmp_path: Path) -> None:
    """Whoever made it would know the marks of the frames."""
    known = line("meta", key="frame_secret", value="known")
    at = restore(rewrite(good, tmp_path / "evil.zip", add_line(known)), tmp_path / "data2", with_index=False).at
    assert b"frame_secret" not in at.catalog.read_bytes()


def test_the_good_one_is_restored(good: Path, data: Path, tmp_path: Path) -> None:
    """So that each refusal above is of what was changed."""
    assert restore(rewrite(good, tmp_path / "same.zip"), data).at.campaign == "vell"
