"""Content is checked whole before any game starts: every problem at once, each with its file and pointer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from canonry.canonlog.content import Content, load_content
from canonry.canonlog.problem import InvalidData
from canonry.canonlog.world import World
from canonry.errors import NotFound


def problems(at: Path) -> dict[str, str]:
    with pytest.raises(InvalidData) as caught:
        load_content(at)
    return {f"{one.file}#{one.pointer}": one.message for one in caught.value.problems}


def test_the_world_that_comes_with_canonry_is_in_order(content: Content) -> None:
    world = content.world
    assert len(world.locations) >= 6
    assert len([npc for npc in world.npcs.values() if npc.knowledge]) >= 10
    assert len(world.quests) >= 6
    assert len(world.items) >= 20
    assert len(content.origins) >= 3


def test_a_world_is_the_same_after_a_round_through_json(content: Content) -> None:
    assert World.from_json(content.world.as_json()) == content.world


def test_every_dangling_id_is_reported_at_once(folder: Any) -> None:
    folder.edit("origins/unredeemed.json", start_location_id="greywater", start_quest_id="find_ledger")
    folder.edit("origins/the_return.json", inventory_grants=[{"item_id": "harp", "qty": 1}])
    folder.edit("origins/lock_deserter.json", disposition_overrides={"brannoc": 4})
    folder.edit("world/locations/long_cut.json", exits=["candle_basin", "upper_basin"])
    folder.edit("world/npcs/ouseley.json", location_id="tar_alley")
    folder.edit("world/quests/nine_locks.json", giver_id="nobody", requires=["two_hats"])
    folder.edit("world/world.json", roster=["pim_tallow", "gannet"])
    assert set(problems(folder.at)) == {
        "origins/unredeemed.json#/start_location_id",
        "origins/unredeemed.json#/start_quest_id",
        "origins/the_return.json#/inventory_grants/0/item_id",
        "origins/lock_deserter.json#/disposition_overrides/brannoc",
        "world/locations/long_cut.json#/exits/1",
        "world/npcs/ouseley.json#/location_id",
        "world/quests/nine_locks.json#/giver_id",
        "world/quests/nine_locks.json#/requires/0",
        "world/world.json#/roster/1",
    }


def test_quests_that_wait_for_each_other_are_shown_as_a_circle(folder: Any) -> None:
    folder.edit("world/quests/the_ticket.json", requires=["nine_locks"])
    folder.edit("world/quests/a_light_for_pim.json", requires=["a_light_for_pim"])
    folder.edit("origins/unredeemed.json", start_quest_id=None)
    found = problems(folder.at)
    assert len(found) == 2
    assert "a_light_for_pim → a_light_for_pim" in found["world/quests/a_light_for_pim.json#/requires"]
    (circle,) = (message for place, message in found.items() if "a_light" not in place)
    assert {"the_ticket", "two_coats", "the_auditors_silence", "nine_locks"} <= set(circle.replace("→", " ").split())


def test_a_first_quest_that_must_wait_for_another_is_refused(folder: Any) -> None:
    folder.edit("origins/the_return.json", start_quest_id="two_coats")
    assert "requires the_ticket first" in problems(folder.at)["origins/the_return.json#/start_quest_id"]


def test_a_file_is_named_after_its_id(folder: Any) -> None:
    folder.edit("world/items/chalk.json", id="charcoal")
    assert "world/items/chalk.json#/id" in problems(folder.at)


@pytest.mark.parametrize(
    ("written", "where", "message"),
    [
        (b'{"id": "chalk", "id": "chalk", "name": "chalk"}', "#/id", "stands twice"),
        (b'{"id": "chalk", "name": "chalk"', "#", "is not JSON, or not all of it"),
        (b'{"id": "chalk\n"}', "#", "all of it: invalid control character at line 1, column 14"),
        (b"id: chalk", "#", "is not JSON"),
        (b"[" * 100_000, "#", "nests deeper"),
        (b'{"id": "chalk", "name": ' + b"[" * 200 + b"]" * 200 + b"}", "#/name/0/0", "nests deeper"),
        (b'{"id": "chalk", "name": "\xff"}', "#", "is not UTF-8"),
        (b'{"id": "chalk", "name": "\\ud800"}', "#/name", "half of a character"),
        (b'{"id": "chalk", "name": NaN}', "#", "holds NaN"),
        (b'{"id": "chalk", "name": ' + b"9" * 5000 + b"}", "#", "5,000 digits"),
        (b'{"id": "chalk", "name": "c", "a/b~": 1}', "#/a~1b~0", "has no place here"),
        (b'"chalk"', "#", "must be an object"),
        (b" " * 1_000_001, "#", "is larger than"),
    ],
)
def test_a_broken_file_is_one_problem_among_the_others(folder: Any, written: bytes, where: str, message: str) -> None:
    (folder.at / "world/items/chalk.json").write_bytes(written)
    folder.edit("world/npcs/ouseley.json", location_id="tar_alley")
    found = problems(folder.at)
    assert set(found) == {f"world/items/chalk.json{where}", "world/npcs/ouseley.json#/location_id"}
    assert message in found[f"world/items/chalk.json{where}"]


def test_other_files_are_no_content(folder: Any) -> None:
    (folder.at / "fallback").mkdir()
    (folder.at / "fallback" / "inn.json").write_text("not even JSON")
    (folder.at / "world" / "npcs" / "README.md").write_text("notes")
    (folder.at / "world" / "npcs" / ".DS_Store").write_bytes(b"\x00")
    assert len(load_content(folder.at).world.npcs) == 11


def test_a_folder_without_a_world_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="has no folder `world`"):
        load_content(tmp_path)
    (tmp_path / "world").mkdir()
    assert set(problems(tmp_path)) == {"world/world.json#"}
