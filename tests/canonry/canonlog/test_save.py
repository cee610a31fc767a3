"""A save is read as it was written, refused where it is wrong, taken up from old versions, and undone by replay."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from canonry.canonlog.injection import inject
from canonry.canonlog.play import Play, play, read_events
from canonry.canonlog.problem import InvalidData
from canonry.canonlog.save import Save, changing, read_save, replayed, undo, write_save
from canonry.canonlog.upgrade import Versions
from canonry.errors import NotFound, UsageError

Happen = Callable[..., Play]
LATER = "2026-03-02T18:00:00+00:00"
BEATS = [{"type": "beat", "text": f"beat {n}", "turn": n} for n in range(4)]


@pytest.fixture
def written(tmp_path: Path, happen: Happen) -> Path:
    """A save with four events."""
    path = tmp_path / "game.json"
    write_save(path, happen(*BEATS).save)
    return path


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    said = json.loads(path.read_text(encoding="utf-8"))
    change(said)
    path.write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")


def problems(path: Path, **versions: Versions) -> dict[str, str]:
    before = path.read_bytes()
    with pytest.raises(InvalidData) as caught:
        read_save(path, **versions)
    assert path.read_bytes() == before
    assert {one.file for one in caught.value.problems} == {str(path)}
    return {one.pointer: one.message for one in caught.value.problems}


def test_a_save_is_read_as_it_was_written(written: Path, happen: Happen, tmp_path: Path) -> None:
    save = read_save(written)
    assert save == happen(*BEATS).save
    write_save(tmp_path / "again.json", save)
    assert (tmp_path / "again.json").read_bytes() == written.read_bytes()


@pytest.mark.parametrize("role", ["narrator", "npc:ouseley", "improviser", "banter", "adjudicator"])
def test_a_loaded_save_injects_the_same_bytes(written: Path, happen: Happen, role: str) -> None:
    assert inject(read_save(written), role).text == inject(happen(*BEATS).save, role).text


@pytest.mark.parametrize(
    ("change", "pointer", "message"),
    [
        (lambda s: s["log"]["player"].update(luck=7), "/log/player/luck", "has no place here"),
        (lambda s: s["log"].update(luck=7), "/log/luck", "has no place here"),
        (lambda s: s["log"]["player"].update(luck_descriptor="luck: 7"), "/log/player/luck_descriptor", "must be one of"),
        (lambda s: s["log"]["party"][0].update(knowledge=["x"]), "/log/party/0/knowledge", "has no place here"),
        (lambda s: s["log"]["location"].update(id="moon"), "/log/location/id", "not in the world's locations"),
        (lambda s: s["log"]["party"].append(s["log"]["party"][0]), "/log/party/2/id", "stands there already"),
        (lambda s: s["log"]["established_facts"].append("x" * 10_000_000), "/log/established_facts/5", "10,000,000 char"),
        (lambda s: s["log"]["recent_events"].append("one more"), "/log/recent_events", "at most 5"),
        (lambda s: s["game_state"].update(luck=21), "/game_state/luck", "at most 20"),
        (lambda s: s["game_state"]["inventory"].update(harp=1), "/game_state/inventory/harp", "not in the world's items"),
        (lambda s: s["world"]["npcs"].append(s["world"]["npcs"][0]), "/world/npcs/11/id", "stands there already"),
        (lambda s: s["world"]["quests"][0].update(requires=["x"]), "/world/quests/0/requires/0", "not in the world's"),
        (lambda s: s["start"]["origin"].update(start_location_id="moon"), "/start/origin/start_location_id", "not in"),
        (lambda s: s["events"][1].update(number=7), "/events/1/number", "without a gap"),
        (lambda s: s["events"][1]["event"].update(text="a\nb"), "/events/1/event/text", "one line"),
        (lambda s: s["events"][1]["event"].pop("turn"), "/events/1/event", "lacks turn"),
        (lambda s: s.pop("game_state"), "", "lacks 'game_state'"),
        (lambda s: s.update(schema_version=2), "/schema_version", "update canonry"),
        (lambda s: s["log"].update(schema_version=9), "/log/schema_version", "update canonry"),
        (lambda s: s.update(schema_version=0), "/schema_version", "no step leads on"),
        (lambda s: s.update(schema_version="1"), "/schema_version", "must be 1"),
        (lambda s: s.update(log=[]), "/log", "must be an object"),
        (lambda s: s.update(format="other"), "", "is not a save of canonry"),
    ],
)  # fmt: skip
def test_a_save_that_was_spoilt_by_hand_is_refused_with_the_place(
    written: Path, change: Callable[[dict[str, Any]], object], pointer: str, message: str
) -> None:
    edit(written, change)
    assert message in problems(written)[pointer]


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        (lambda data: data[: len(data) // 2], "not all of it"),
        (lambda data: b"", "not all of it"),
        (lambda data: b"[]", "is not a save of canonry"),
        (lambda data: b"\x89PNG\r\n\x1a\n\xff", "is not UTF-8"),
        (lambda data: b'{"a":' * 50_000, "nests deeper"),
        (lambda data: data.replace(b'"turn": 3', b'"turn": 3, "turn": 4', 1), "stands twice"),
    ],
)
def test_a_file_that_is_no_whole_save_is_refused(written: Path, spoilt: Callable[[bytes], bytes], message: str) -> None:
    written.write_bytes(spoilt(written.read_bytes()))
    assert message in " ".join(problems(written).values())


def test_a_seal_holds_until_a_byte_changes(written: Path) -> None:
    said = written.read_bytes()
    sealed = json.loads(said)["seal"]
    assert sealed == hashlib.sha256(said[: said.rindex(b',\n "seal"')]).hexdigest()
    written.write_bytes(said.replace(b'"text": "beat 3"', b'"text": "beat\\n3"'))
    assert "one line" in problems(written)["/events/3/event/text"]
    edit(written, lambda said: said["events"][3]["event"].update(text="beat 3"))
    assert read_save(written).records[3].event["text"] == "beat 3"


def test_a_save_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no such file"):
        read_save(tmp_path / "game.json")


def test_an_old_save_and_an_old_log_go_up_step_by_step(written: Path, happen: Happen) -> None:
    def split_player(said: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in said.items() if key != "hero"} | {"player": said["hero"]}

    def rename(said: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in said.items() if key != "history"} | {"events": said["history"]}

    def age(said: dict[str, Any]) -> None:
        said["schema_version"] = -1
        said["history"] = said.pop("events")
        said["log"]["schema_version"] = 0
        said["log"]["hero"] = said["log"].pop("player")

    edit(written, age)
    assert "no step leads on" in problems(written)["/schema_version"]
    saves = Versions("save", 1, {-1: rename, 0: lambda said: said})
    logs = Versions("log", 1, {0: split_player})
    assert read_save(written, saves=saves, logs=logs) == happen(*BEATS).save


def test_a_valid_edit_by_hand_is_kept(written: Path, happen: Happen) -> None:
    edit(written, lambda said: said["log"]["established_facts"].append("a fact of the author's"))
    save = read_save(written)
    assert save.log.established_facts[-1] == "a fact of the author's"
    assert (
        happen({"type": "beat", "text": "on it goes"}, to=save).save.log.established_facts == save.log.established_facts
    )


def test_a_humiliation_gets_an_id_of_its_own_after_one_was_taken_out(written: Path, happen: Happen) -> None:
    fell = {"type": "humiliation", "text": "fell", "weight": 9}
    write_save(written, happen(fell, fell).save)
    edit(written, lambda said: said["log"]["humiliations"].pop(0))
    assert [one.id for one in happen(fell, to=read_save(written)).save.log.humiliations] == ["h_0002", "h_0003"]


def test_replay_gives_what_was_saved(written: Path) -> None:
    save = read_save(written)
    story, outcomes = replayed(save)
    assert (story.log, story.state) == (save.log, save.state)
    assert [outcome.changes for _, outcome in outcomes if outcome] == [(f"beat: beat {n}",) for n in range(4)]


def test_undo_takes_back_the_last_events_and_keeps_them_on_record(save: Save, happen: Happen) -> None:
    played = happen(*BEATS).save
    back, gone = undo(played, 3, LATER)
    assert (back.log, back.state) == (happen(BEATS[0]).save.log, happen(BEATS[0]).save.state)
    assert [record.number for record in gone] == [4, 3, 2]
    assert [record.undone_at for record in back.records] == [None, LATER, LATER, LATER]
    assert [record.event for record in back.records] == [record.event for record in played.records]

    again = happen({"type": "beat", "text": "another way", "turn": 1}, to=back).save
    assert again.records[-1].number == 5
    start, _ = undo(again, 2, LATER)
    assert (start.log, start.state) == (save.log, save.state)


@pytest.mark.parametrize("count", [0, -1, 5])
def test_no_more_can_be_undone_than_there_is(happen: Happen, count: int) -> None:
    with pytest.raises(UsageError, match="name a number from 1 to 4"):
        undo(happen(*BEATS).save, count, LATER)


def test_undo_does_not_lose_an_edit_by_hand_unasked(written: Path) -> None:
    edit(written, lambda said: said["log"]["established_facts"].append("a fact of the author's"))
    save = read_save(written)
    with pytest.raises(UsageError, match=r"edited by hand.*--force"):
        undo(save, 1, LATER)
    assert "a fact of the author's" not in undo(save, 1, LATER, discard_edits=True)[0].log.established_facts


def test_writers_wait_for_each_other(written: Path) -> None:
    def write(name: str) -> None:
        for number in range(10):
            line = json.dumps({"type": "beat", "text": f"{name} {number}"}).encode()
            with changing(written) as save:
                write_save(written, play(save, read_events(line, name), LATER).save)

    with ThreadPoolExecutor() as writers:
        list(writers.map(write, ("one", "other")))
    assert len(read_save(written).records) == 4 + 20
