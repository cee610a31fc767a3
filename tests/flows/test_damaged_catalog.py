"""A campaign whose catalog cannot be read is named, and is deleted and restored; the others go on meanwhile."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from canonry.layout import Layout
from tests.archives import tree
from tests.conftest import Workshop

Cli = Callable[..., tuple[int, str, str]]


def empty_page(catalog: Path) -> None:
    """A first page that is whole, and nothing of use after it."""
    data = catalog.read_bytes()
    catalog.write_bytes(data[:4096] + bytes(len(data) - 4096))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda catalog: catalog.write_bytes(b""),
    "noise": lambda catalog: catalog.write_bytes(bytes(range(7, 256)) * 40),
    "missing": lambda catalog: catalog.unlink(),
    "zeros after the first page": empty_page,
}


def build(workshop: Workshop) -> Layout:
    for campaign in ("good", "bad"):
        at = workshop.create(campaign)
        workshop.bring(at, workshop.write("lamp.md", "A lamp.\n"))
    return at


@pytest.fixture
def bad(workshop: Workshop, run_cli: Cli) -> Layout:
    """The campaign `bad`, which was exported, beside `good`."""
    at = workshop.once(build)
    assert run_cli("export", workshop.root / "bad.zip", "-c", "bad", "--data", workshop.data)[0] == 0
    return at


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_it_is_listed_deleted_and_restored(
    workshop: Workshop, bad: Layout, run_cli: Cli, damage: Callable[[Path], object]
) -> None:
    damage(bad.catalog)
    where = ("--data", workshop.data)

    code, out, err = run_cli("campaign", "list", *where, "--json")
    assert (code, len(err.splitlines())) == (1, 1)
    assert [(row["campaign_id"], row["state"], row["sources"]) for row in json.loads(out)] == [
        ("bad", "damaged", None),
        ("good", "whole", 1),
    ]
    assert json.loads(out)[0]["problem"] == err.strip()
    code, out, err = run_cli("campaign", "list", *where)
    assert (code, [line.split()[:2] for line in out.splitlines()[1:]]) == (1, [["bad", "damaged"], ["good", "1"]])
    assert "canonry campaign delete bad" in err

    before = tree(workshop.data)
    code, out, err = run_cli("restore", workshop.root / "bad.zip", *where)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "its catalog" in err
    assert "delete it first (`canonry campaign delete bad`), then restore" in err
    code, _, err = run_cli("campaign", "delete", "bad", *where)
    assert (code, "its catalog" in err, "--yes" in err) == (2, True, True)
    assert tree(workshop.data) == before

    code, out, err = run_cli("campaign", "delete", "bad", "--yes", *where)
    assert (code, out, len(err.splitlines())) == (0, "Deleted campaign bad.\n", 1)
    assert "its catalog" in err
    assert not any(folder.exists() for folder in (bad.raw, bad.chunks, bad.index))
    assert run_cli("restore", workshop.root / "bad.zip", *where)[0] == 0
    code, out, err = run_cli("campaign", "list", *where, "--json")
    assert (code, err, [row["state"] for row in json.loads(out)]) == (0, "", ["whole", "whole"])
    assert len(json.loads(run_cli("query", "-c", "bad", "--json", "lamp", *where)[1])["results"]) == 1


def test_a_catalog_of_a_later_canonry_is_listed_and_not_deleted(workshop: Workshop, bad: Layout, run_cli: Cli) -> None:
    with closing(sqlite3.connect(bad.catalog)) as db:
        db.execute("PRAGMA user_version = 99")
    where = ("--data", workshop.data)
    code, out, err = run_cli("campaign", "list", *where, "--json")
    assert (code, [row["state"] for row in json.loads(out)]) == (1, ["unreadable", "whole"])
    assert "install" in err
    before = tree(bad.raw)
    code, _, err = run_cli("campaign", "delete", "bad", "--yes", *where)
    assert (code, "install" in err) == (1, True)
    code, _, err = run_cli("restore", workshop.root / "bad.zip", *where)
    assert (code, "exists already" in err) == (2, True)
    assert tree(bad.raw) == before


def test_a_folder_in_the_making_is_no_damaged_campaign(workshop: Workshop, bad: Layout, run_cli: Cli) -> None:
    (workshop.data / "raw" / "new" / "files").mkdir(parents=True)
    (workshop.data / "raw" / "new" / ".tmp-0-catalog.sqlite").write_bytes(b"half")
    code, out, _ = run_cli("campaign", "list", "--data", workshop.data, "--json")
    assert (code, [row["campaign_id"] for row in json.loads(out)]) == (0, ["bad", "good"])
