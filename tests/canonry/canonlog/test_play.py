"""A scripted play of forty events, and plays at random: the log stays valid and replay gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from canonry.canonlog.injection import inject
from canonry.canonlog.play import Play, play, read_events
from canonry.canonlog.save import Save, read_save, replayed, undo, write_save
from canonry.canonlog.schema import problems_in

AT = "2026-03-01T18:00:00+00:00"


def scripted(fixtures: Path, save: Save) -> Play:
    return play(save, read_events((fixtures / "canonlog" / "play.jsonl").read_bytes(), "play.jsonl"), AT)


def test_a_play_of_forty_events_ends_where_it_should(fixtures: Path, save: Save) -> None:
    played = scripted(fixtures, save)
    assert (len(played.applied), played.dropped) == (40, ())
    log = played.save.log
    assert log.as_json() == {
        "schema_version": 1,
        "player": {"name": "Aldric", "class_id": "sellsword", "luck_descriptor": "Fortune keeps her own counsel"},
        "location": {"id": "weigh_house_cells", "name": "the Weigh House cells"},
        "party": [
            {"id": "pim_tallow", "name": "Pim Tallow", "disposition": 100},
            {"id": "sexton_ruhl", "name": "Sexton Ruhl", "disposition": 35},
        ],
        "recent_events": [
            "Mother Keddle read the day book aloud, the price first",
            "A gull took the eel pie",
            "Every lamp on the stair went out at once",
            "The bottle was opened over the water and the choir was whole",
            "Thessel drew a pawn on the wall and pointed at the Reeve's window",
        ],
        "established_facts": [
            *save.log.established_facts,
            "ticket 4117 was redeemed by a left-handed man",
            "Perrin Dray lights ninety-three lamps",
            "the chalk wall reads [OWING] in blue",
            'the stranger\'s card says "room ]7" on its back',
            "Ouseley says two grey coats were cut in one week to the same measure",
            "two grey coats were cut in one week",
            "雾津的竹钱在烛湾不通行。",
            "Aldric sings flat",
        ],
        "active_quests": [
            {
                "id": "the_ticket",
                "name": "The Ticket",
                "status": "complete",
                "objective": "Find out who redeemed ticket 4117",
            },
            {
                "id": "a_light_for_pim",
                "name": "A Light for Pim",
                "status": "failed",
                "objective": "Feed the flame twice more",
            },
            {
                "id": "two_coats",
                "name": "Two Coats",
                "status": "complete",
                "objective": "Find the second ledger of the fence on Tar Alley",
            },
            {
                "id": "the_drowned_choir",
                "name": "The Drowned Choir",
                "status": "complete",
                "objective": "Bring the thirteenth voice back to Cantor Ulwin",
            },
            {
                "id": "the_auditors_silence",
                "name": "The Auditor's Silence",
                "status": "active",
                "objective": "Learn why Auditor Thessel says nothing",
            },
        ],
        "humiliations": [
            {
                "id": "h_0001",
                "text": "slipped on the third stair and sat in the lamplighter's oil",
                "weight": 6,
                "turn": 3,
            },
            {"id": "h_0002", "text": "lost at chess to a wall", "weight": 9, "turn": 13},
        ],
    }
    state = played.save.state
    assert (state.turn, state.luck) == (14, 10)
    assert state.inventory == {"clean_collar": 1, "pawn_ticket": 1, "second_ledger": 1, "tin_scale": 20}
    assert {id_: state.npc_dispositions[id_] for id_ in ("mother_keddle", "perrin_dray", "ouseley", "jorun_saithe")} == {
        "mother_keddle": 30, "perrin_dray": 15, "ouseley": -5, "jorun_saithe": -35,
    }  # fmt: skip
    assert state.npc_dispositions["emeric_vane"] == -20


def test_the_play_in_pieces_and_over_saves_is_the_same_play(fixtures: Path, save: Save, tmp_path: Path) -> None:
    whole = scripted(fixtures, save).save
    path = tmp_path / "game.json"
    write_save(path, save)
    for line in (fixtures / "canonlog" / "play.jsonl").read_bytes().splitlines():
        write_save(path, play(read_save(path), read_events(line, "one"), AT).save)
    assert read_save(path) == whole
    assert inject(read_save(path), "banter") == inject(whole, "banter")


def test_every_step_of_the_play_can_be_undone(fixtures: Path, save: Save) -> None:
    lines = (fixtures / "canonlog" / "play.jsonl").read_bytes().splitlines(keepends=True)
    whole = scripted(fixtures, save).save
    for count in (1, 7, 20, 39, 40):
        before = play(save, read_events(b"".join(lines[: 40 - count]), "some"), AT).save
        back, _ = undo(whole, count, AT)
        assert (back.log, back.state) == (before.log, before.state)


IDS = st.sampled_from(
    ["pawnshop", "cinder_steps", "candle_basin", "pim_tallow", "ouseley", "the_ticket", "two_coats", "chalk", "nowhere"]
)
TEXTS = st.one_of(
    st.text(max_size=40),
    st.lists(
        st.sampled_from(
            ["[FACT: ", "[ADJUST_DISPOSITION: ", "]", "[", '"', "“", "+5", "a", "the lamp", "\n\n", "雾", "："]
        )
    ).map("".join),
)
NUMBERS = st.one_of(
    st.integers(-25, 25), st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)
)
EVENTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["say", "beat", "move", "disposition", "humiliation", "luck", "quest", "item", "summary"]
        )
    },
    optional={
        "by": st.sampled_from(["narrator", "npc:ouseley", "npc:pim_tallow", "improviser", "player", "gm", "code"]),
        "turn": st.integers(-1, 6),
        "text": TEXTS,
        "fact": TEXTS,
        "replaces": st.lists(TEXTS, max_size=3),
        "location_id": IDS,
        "npc_id": IDS,
        "quest_id": IDS,
        "item_id": IDS,
        "status": st.sampled_from(["active", "complete", "failed", "open"]),
        "change": NUMBERS,
        "weight": NUMBERS,
        "qty": NUMBERS,
    },
)
FIELDS = {
    "say": {"text"}, "beat": {"text"}, "move": {"location_id"}, "disposition": {"npc_id", "change"},
    "humiliation": {"text", "weight"}, "luck": {"change"}, "quest": {"quest_id", "status"},
    "item": {"item_id", "qty"}, "summary": {"replaces", "fact"},
}  # fmt: skip


def fitting(event: dict[str, Any]) -> dict[str, Any]:
    """The event without the fields of other types, so that many of them are valid."""
    return {key: value for key, value in event.items() if key in {"type", "by", "turn", *FIELDS[event["type"]]}}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(EVENTS.map(fitting), EVENTS), max_size=12), st.integers(1, 12))
def test_whatever_happens_the_log_is_valid_and_replay_gives_the_same_bytes(
    save: Save, tmp_path: Path, happen: Callable[..., Play], events: list[dict[str, Any]], count: int
) -> None:
    played = happen(*events)
    assert problems_in(played.save.log.as_json(), "canon-log", "log") == []
    assert len(played.applied) + len({one.file for one in played.dropped}) == len(events)
    path = tmp_path / "game.json"
    write_save(path, played.save)
    loaded = read_save(path)
    assert loaded == played.save
    story, _ = replayed(loaded)
    again = loaded.with_story(story, loaded.records)
    write_save(tmp_path / "again.json", again)
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    assert inject(again, "npc:ouseley").text == inject(played.save, "npc:ouseley").text
    if count <= len(loaded.records):
        back, _ = undo(loaded, count, AT)
        kept = [dict(record.event) for record in loaded.records[: len(loaded.records) - count]]
        assert (back.log, back.state) == ((before := happen(*kept).save).log, before.state)


def test_an_events_file_may_have_a_mark_blank_lines_and_other_line_ends(save: Save) -> None:
    data = (
        b'\xef\xbb\xbf{"type": "beat", "text": "one"}\r\n\r\n'
        + '{"type": "beat", "text": "a\u2028b"}\n{"type"'.encode()
    )
    played = play(save, read_events(data, "e.jsonl"), AT)
    assert [record.event["text"] for record, _ in played.applied] == ["one"]
    assert [(one.file, one.pointer) for one in played.dropped] == [("e.jsonl:3", "/text"), ("e.jsonl:4", "")]
