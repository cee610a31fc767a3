"""A campaign that was exported and restored answers as the one that it came from."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from canonry.catalog import Catalog
from canonry.eligibility import Scope
from canonry.embedders import register
from canonry.export import export_campaign
from canonry.history import list_records, record_pack
from canonry.layout import Layout, list_campaigns
from canonry.locking import writing
from canonry.pack import build_pack
from canonry.proposals import find_all
from canonry.secret import campaign_secret
from canonry.timestamps import now
from flows.acceptance import accept
from flows.pipeline import loaded
from flows.plan import make_plan
from flows.restating import index_new_titles
from flows.restore import restore
from tests.archives import tree
from tests.conftest import Workshop
from tests.fakes import WordBag

LAW = """---
title: The Law of Pledge
class: canon
tags: [law]
entities: [Tolleth]
order: 2
mood: grave
---
# Law

The tower key is held by Mara, the broker.

## Ending {spoiler=4 tags=ending}

Mara drowns with the tower key.

## The Assessor {visibility=hidden}

The Assessor wrote the ledger.
"""


@pytest.fixture
def bag() -> WordBag:
    bag = WordBag()
    register(bag)
    loaded.cache_clear()
    return bag


@pytest.fixture
def moments() -> list[str]:
    """Instants between the imports, the earliest first."""
    return []


def build(workshop: Workshop) -> Layout:
    moments = []
    at = workshop.create(embedder="wordbag", chunk_target="60", chunk_min="10", mode="hybrid")
    law = workshop.write("law.md", LAW)
    lamp = workshop.write("lamp.txt", "A lamp of brass, held by Mara.\r\n")
    workshop.bring(
        at, law, lamp, workshop.write("旅.md", "竹钱在旅店。\n"), workshop.write("rumour.md", "The tower fell.\n")
    )
    moments.append(now())
    workshop.bring(at, workshop.write("lamp.txt", "A lamp of tin, held by nobody.\n"))
    moments.append(now())
    workshop.bring(at, workshop.write("lamp.txt", "A lamp of tin, held by the broker.\n"))
    catalog = Catalog.open(at.catalog, write=True)
    by_name = {source.original_filename: source for source in catalog.sources()}
    catalog.set_enabled(by_name["rumour.md"].source_id, False)
    facts = replace(
        by_name["lamp.txt"].facts, title="A Lamp", tags=("light", "Brass"), spoiler_level=1, notes="dull\u2028"
    )
    catalog.edit(by_name["lamp.txt"].source_id, facts, ["title", "tags"])
    catalog.connection.execute(
        "UPDATE knowledge_source SET locked = 1, superseded_by = source_id WHERE title = 'A Lamp'"
    )
    catalog.close()
    index_new_titles(at)
    campaign = workshop.ask(at)
    for scope in (Scope(), Scope("narrator", 9)):
        record_pack(at, build_pack(campaign, "who holds the tower key?", scope=scope))
    (workshop.root / "moments").write_text("\n".join(moments))
    return at


@pytest.fixture
def vell(workshop: Workshop, bag: WordBag, moments: list[str]) -> Layout:
    """A campaign with everything that an export must carry."""
    at = workshop.once(build)
    moments += (workshop.root / "moments").read_text().splitlines()
    return at


def answers(workshop: Workshop, at: Layout, moments: list[str]) -> list[dict[str, Any]]:
    """What the campaign answers to several questions in every mode, as several roles, now and earlier."""
    campaign = workshop.ask(at)
    return [
        campaign.retrieve(question, mode=mode, role=role, spoiler_level=level, as_of=as_of, explain=True).as_json()
        for question in ("who holds the tower key?", "lamp of brass", "竹钱", "the tower fell")
        for mode in ("lexical", "semantic", "hybrid")
        for role, level in (("player", 0), ("player", 1), ("narrator", 9))
        for as_of in (None, *moments)
    ]


def rows(at: Layout) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table of a catalog, but for the secret and when it was restored."""
    db = Catalog.open(at.catalog).connection
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return {
        table: sorted(
            row for row in db.execute(f"SELECT * FROM {table}") if row[0] not in ("frame_secret", "restored_at")
        )
        for table in tables
    }


@pytest.mark.parametrize("with_embeddings", [False, True])
def test_the_restored_campaign_answers_the_same(
    workshop: Workshop, vell: Layout, bag: WordBag, moments: list[str], tmp_path: Path, with_embeddings: bool
) -> None:
    before = answers(workshop, vell, moments)
    assert any(answer["results"] for answer in before)
    texts = {passage["exact_text"] for answer in before for passage in answer["results"]}
    assert {"A lamp of brass, held by Mara.", "A lamp of tin, held by nobody."} <= {text.strip() for text in texts}
    kept = rows(vell)
    export_campaign(vell, tmp_path / "vell.zip", with_embeddings=with_embeddings)
    workshop.close()
    shutil.rmtree(vell.root)
    shutil.rmtree(workshop.root / "lore")
    bag.embedded.clear()
    done = restore(tmp_path / "vell.zip", tmp_path / "elsewhere")
    assert (not bag.embedded) == with_embeddings
    assert done.index is not None
    assert done.index.degraded is None
    assert rows(done.at) == kept
    assert make_plan(done.at).is_empty
    assert answers(workshop, done.at, moments) == before


def test_sources_records_and_settings_are_as_they_were(workshop: Workshop, vell: Layout, tmp_path: Path) -> None:
    export_campaign(vell, tmp_path / "vell.zip")
    there = restore(tmp_path / "vell.zip", tmp_path / "elsewhere", with_index=False).at
    for scope in (Scope(), Scope("narrator", 9)):
        assert list_records(there, scope, 9) == list_records(vell, scope, 9) != []
    before, after = Catalog.open(vell.catalog), Catalog.open(there.catalog)
    assert after.sources() == before.sources()
    lamp = after.source("A Lamp")
    assert (lamp.locked, lamp.facts.tags, lamp.facts.notes) == (True, ("Brass", "light"), "dull\u2028")
    assert after.edited(lamp.source_id) == ("tags", "title")
    assert [after.versions(s.source_id) for s in after.sources()] == [
        before.versions(s.source_id) for s in before.sources()
    ]
    assert json.loads(after.source("law.md").facts.extra) == {"mood": "grave"}
    assert {source.original_filename: source.enabled for source in after.sources()}["rumour.md"] is False
    assert tree(there.files) == tree(vell.files)


def test_it_can_be_restored_as_another_beside_the_first(
    workshop: Workshop, vell: Layout, moments: list[str], tmp_path: Path
) -> None:
    export_campaign(vell, tmp_path / "vell.zip")
    other = restore(tmp_path / "vell.zip", vell.root, campaign="other").at
    assert list_campaigns(vell.root) == ["other", "vell"]
    assert {source.campaign_id for source in Catalog.open(other.catalog).sources()} == {"other"}
    renamed = json.loads(
        json.dumps(answers(workshop, vell, moments)).replace('"campaign_id": "vell"', '"campaign_id": "other"')
    )
    assert answers(workshop, other, moments) == renamed
    assert list_records(other, Scope(), 9) == list_records(vell, Scope(), 9)


def test_the_secret_stays_behind(workshop: Workshop, vell: Layout, tmp_path: Path) -> None:
    secret, _ = campaign_secret(vell)
    export_campaign(vell, tmp_path / "vell.zip", with_embeddings=True)
    there = restore(tmp_path / "vell.zip", tmp_path / "elsewhere", with_index=False).at
    assert secret.encode() not in there.catalog.read_bytes()
    assert campaign_secret(there)[0] not in ("", secret)


def test_a_restored_campaign_goes_on_as_any_other(workshop: Workshop, vell: Layout, tmp_path: Path) -> None:
    export_campaign(vell, tmp_path / "vell.zip")
    there = restore(tmp_path / "vell.zip", tmp_path / "elsewhere").at
    report = workshop.bring(there, workshop.root / "lore")
    assert {file.outcome for file in report.imported} == {"unchanged"}
    report = workshop.bring(there, workshop.write("law.md", LAW + "\nA lamp of gold.\n"))
    assert [file.outcome for file in report.imported] == ["updated"]
    export_campaign(there, tmp_path / "again.zip")


def test_a_proposal_that_waits_can_be_accepted_elsewhere(workshop: Workshop, vell: Layout, tmp_path: Path) -> None:
    report = workshop.bring(vell, workshop.write("lamp.txt", "A lamp of gold.\n"))
    assert [file.outcome for file in report.imported] == ["proposed"]
    export_campaign(vell, tmp_path / "vell.zip")
    there = restore(tmp_path / "vell.zip", tmp_path / "elsewhere").at
    with closing(Catalog.open(there.catalog)) as catalog:
        (waiting,) = find_all(catalog.connection)
    with writing(there):
        accept(there, waiting.proposal_id)
    with closing(Catalog.open(there.catalog)) as catalog:
        live = catalog.source("A Lamp")
    assert there.file(live.content_hash, "txt").read_text() == "A lamp of gold.\n"


def test_an_empty_campaign_is_a_campaign(workshop: Workshop, tmp_path: Path) -> None:
    export_campaign(workshop.create(), tmp_path / "vell.zip")
    there = restore(tmp_path / "vell.zip", tmp_path / "elsewhere").at
    assert rows(there)["knowledge_source"] == []
    workshop.bring(there, workshop.write("lamp.md", "A lamp.\n"))
    assert len(workshop.ask(there).retrieve("lamp").results) == 1


def test_without_its_embedder_it_is_found_by_words(workshop: Workshop, vell: Layout, tmp_path: Path) -> None:
    with set_to(vell, embedder="from-elsewhere"):
        export_campaign(vell, tmp_path / "vell.zip")
    done = restore(tmp_path / "vell.zip", tmp_path / "elsewhere")
    assert done.index is not None
    assert "from-elsewhere" in str(done.index.degraded)
    assert Catalog.open(done.at.catalog).settings()["embedder"] == "from-elsewhere"
    assert len(workshop.ask(done.at).retrieve("tower key", mode="lexical").results) == 1


class set_to:  # noqa: N801 - reads as a verb
    """Settings of a campaign, for a while."""

    def __init__(self, at: Layout, **values: str) -> None:
        self._at, self._values = at, values

    def __enter__(self) -> None:
        catalog = Catalog.open(self._at.catalog, write=True)
        self._before = catalog.settings()
        catalog.set_settings(self._values)
        catalog.close()

    def __exit__(self, *exception: object) -> None:
        catalog = Catalog.open(self._at.catalog, write=True)
        catalog.set_settings(self._before)
        catalog.close()
