from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from canonry import readership
from canonry.eligibility import Scope

ROWS = (("player", 0, None), ("Player", 2, -1), ("narrator", 0, -1), ("npc:mara", 1, 4), ("npc:perrin", 0, -1))


@pytest.mark.parametrize(
    ("scope", "read"),
    [
        (Scope(), [0]),
        (Scope(spoiler_level=2), [0, 1]),
        (Scope("narrator", 2), [0, 1, 2]),
        (Scope("npc:mara", 1, story_time=4), [0, 3]),
        (Scope("npc:mara", 1, story_time=3), [0]),
        (Scope("npc:mara", 1), [0]),
        (Scope("npc:mara", 0, story_time=9), [0]),
    ],
)
def test_one_reads_what_was_made_for_oneself_and_for_players_and_for_who_sees_no_more(
    scope: Scope, read: list[int]
) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE made (number, role, spoiler_level, story_time)")
        db.executemany("INSERT INTO made VALUES (?, ?, ?, ?)", [(number, *row) for number, row in enumerate(ROWS)])
        where, values = readership.condition(scope)
        assert [number for (number,) in db.execute(f"SELECT number FROM made WHERE {where}", values)] == read
