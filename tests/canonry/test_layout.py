from __future__ import annotations

from pathlib import Path

import pytest

from canonry.errors import UsageError
from canonry.layout import Layout, check_campaign_id, default_root, list_campaigns


@pytest.mark.parametrize("campaign", ["a", "0", "vell", "my-world_2", "x" * 63, "console", "nul-1"])
def test_plain_ids_are_taken_as_they_are(campaign: str) -> None:
    assert check_campaign_id(campaign) == campaign


@pytest.mark.parametrize(
    "campaign",
    [
        "",
        "x" * 64,
        "A",
        "a b",
        "a/b",
        "a\\b",
        "..",
        ".",
        ".a",
        "-a",
        "_a",
        "a.b",
        "é",
        "ａ",
        "١",
        "a\n",
        "a\0",
        "con",
        "nul",
        "com1",
        "lpt9",
    ],
    ids=repr,
)
def test_ids_that_are_no_folder_name_everywhere_are_refused(campaign: str) -> None:
    with pytest.raises(UsageError, match="campaign id"):
        Layout(Path("data"), campaign)


def test_every_path_lies_under_the_campaign_s_own_folders() -> None:
    at = Layout(Path("data"), "vell")
    folders = {Path("data/raw/vell"), Path("data/chunks/vell"), Path("data/index/vell")}
    paths = [
        at.files, at.catalog, at.lexical, at.manifest, at.file("0" * 64, "md"), at.part("k"), at.embeddings("minilm-384-0"),
        at.vectors("g"), at.scan("g"),
    ]  # fmt: skip
    assert all(folders & set(path.parents) for path in paths)
    assert len({*paths}) == len(paths)


def test_the_lock_outlives_its_campaign_s_folder() -> None:
    """Deleting a campaign removes the folder while the lock is held."""
    at = Layout(Path("data"), "vell")
    assert at.raw not in at.lock.parents
    assert at.lock != Layout(Path("data"), "vell2").lock


def test_a_layout_touches_no_disk(tmp_path: Path) -> None:
    at = Layout(tmp_path, "vell")
    assert not at.catalog.exists()
    assert list(tmp_path.iterdir()) == []


def test_the_data_directory_comes_from_the_environment_or_is_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANONRY_DATA", "/somewhere")
    assert default_root() == Path("/somewhere")
    monkeypatch.setenv("CANONRY_DATA", "")
    assert default_root() == Path("data")


def catalog_in(root: Path, folder: str) -> None:
    (root / "raw" / folder).mkdir(parents=True)
    (root / "raw" / folder / "catalog.sqlite").touch()


def test_campaigns_are_listed_sorted_and_other_folders_are_not(tmp_path: Path) -> None:
    assert list_campaigns(tmp_path) == []
    for folder in ("vell", "abbey"):
        catalog_in(tmp_path, folder)
    (tmp_path / "raw" / "empty").mkdir()
    assert list_campaigns(tmp_path) == ["abbey", "vell"]


@pytest.mark.parametrize("folder", [".tmp-deleted-vell", "Old Copy of vell", "con"])
def test_a_folder_whose_name_is_no_id_is_no_campaign(tmp_path: Path, folder: str) -> None:
    """What a killed `campaign delete` leaves, or a person's own copy, must not stop `campaign list`."""
    catalog_in(tmp_path, folder)
    catalog_in(tmp_path, "vell")
    assert list_campaigns(tmp_path) == ["vell"]
