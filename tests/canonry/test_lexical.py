from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator

import pytest

from canonry import database, lexical
from canonry.lexical import Hit, Match, Ranges, match_expression, search
from canonry.text import index_terms, parse_query
from tests.conftest import Workshop

WORDS = ["mill", "weir", "barley", "clerk", "dusk", "tide", "salt", "rope", "lamp", "oath"]
ROWS = 400


@pytest.fixture(scope="module")
def store() -> Iterator[sqlite3.Connection]:
    """Four hundred rows of a few words each, many of them alike, so that scores tie."""
    db = sqlite3.connect(":memory:")
    for statement in lexical.SCHEMA.split(";\n"):
        db.execute(statement)
    dice = random.Random(7)
    for row in range(1, ROWS + 1):
        body = index_terms(" ".join(dice.choices(WORDS, k=dice.randint(2, 6))))
        db.execute("INSERT INTO chunk_terms VALUES (?, 'note', '', ?)", (row, body))
    db.execute("INSERT INTO chunk_fts(chunk_fts) VALUES ('rebuild')")
    yield db
    db.close()


def everything(db: sqlite3.Connection, query: str) -> list[Hit]:
    return search(db, parse_query(query), Ranges(((1, ROWS),)), ROWS)


def brute_force(db: sqlite3.Connection, query: str, ranges: Ranges, limit: int) -> list[Hit]:
    """Every hit that lies in the ranges, best first; cut at the limit, but ties with the last are kept."""
    found = [hit for hit in everything(db, query) if hit.row in ranges]
    return [hit for hit in found if len(found) <= limit or hit.score >= found[limit - 1].score]


def random_ranges(dice: random.Random, count: int) -> Ranges:
    ends = sorted(dice.sample(range(1, ROWS + 1), 2 * count))
    return Ranges.merged(list(zip(ends[::2], ends[1::2], strict=True)))


@pytest.mark.parametrize("count", [1, 2, 8, 9, 40], ids="{} ranges".format)
@pytest.mark.parametrize("query", ["mill", "salt rope", "clerk dusk barley tide", '"mill weir"', "oath nothing"])
@pytest.mark.parametrize("limit", [1, 5, 50])
def test_a_search_inside_ranges_is_a_search_of_everything_that_is_filtered(
    store: sqlite3.Connection, query: str, count: int, limit: int
) -> None:
    for seed in range(5):
        ranges = random_ranges(random.Random(seed), count)
        assert search(store, parse_query(query), ranges, limit) == brute_force(store, query, ranges, limit)


def test_ties_with_the_last_hit_are_all_kept(store: sqlite3.Connection) -> None:
    found = search(store, parse_query("salt"), Ranges(((1, ROWS),)), 10)
    assert len(found) > 10
    assert len({hit.score for hit in found[9:]}) == 1


def test_the_best_come_first_and_equal_scores_by_row(store: sqlite3.Connection) -> None:
    found = everything(store, "salt rope mill")
    assert found == sorted(found, key=lambda hit: (-hit.score, hit.row))
    assert all(hit.score > 0 for hit in found)


@pytest.mark.parametrize("pairs", [(), ((401, 500),)], ids=["none", "outside"])
def test_ranges_that_hold_nothing_find_nothing(store: sqlite3.Connection, pairs: tuple[tuple[int, int], ...]) -> None:
    assert search(store, parse_query("salt"), Ranges(pairs), 5) == []


def test_a_question_without_words_finds_nothing(store: sqlite3.Connection) -> None:
    assert search(store, parse_query("? -"), Ranges(((1, ROWS),)), 5) == []


@pytest.mark.parametrize(
    ("runs", "pairs"),
    [
        ([], ()),
        ([(1, 3)], ((1, 3),)),
        ([(1, 3), (4, 9)], ((1, 9),)),
        ([(1, 3), (5, 9)], ((1, 3), (5, 9))),
        ([(1, 1), (2, 2), (3, 3), (7, 7)], ((1, 3), (7, 7))),
    ],
    ids=["none", "one", "neighbours join", "a gap stays", "single rows"],
)
def test_neighbouring_runs_become_one_range(runs: list[tuple[int, int]], pairs: tuple[tuple[int, int], ...]) -> None:
    assert Ranges.merged(runs).pairs == pairs


def test_a_row_is_in_the_ranges_with_both_ends() -> None:
    ranges = Ranges(((3, 5), (9, 9)))
    assert [row for row in range(12) if row in ranges] == [3, 4, 5, 9]


# what is asked of FTS5


def with_common_terms(**rows: int) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE common_term (term TEXT PRIMARY KEY, rows INTEGER NOT NULL) STRICT")
    db.executemany("INSERT INTO common_term VALUES (?, ?)", rows.items())
    return db


def test_words_are_ored_the_rarest_first() -> None:
    assert (
        match_expression(with_common_terms(mill=500, weir=20), parse_query("mill weir oath")).expression
        == '"oath" OR "weir" OR "mill"'
    )


def test_the_most_common_words_are_left_out_beyond_the_budget() -> None:
    budget = lexical.POSTINGS_BUDGET
    db = with_common_terms(the=budget, mill=budget // 2, weir=10)
    asked = match_expression(db, parse_query("the weir stone mill"))
    assert "stone" in asked.expression
    assert "mill" in asked.expression
    assert (
        match_expression(with_common_terms(mill=2 * budget, weir=10), parse_query("weir mill")).expression == '"weir"'
    )


def test_in_a_large_index_a_row_needs_a_rarer_word_and_is_ranked_by_all() -> None:
    """Each word is named twice, so that all keep their weight."""
    db = with_common_terms(mill=lexical.RANKED_ROWS, weir=10, oath=20)
    assert match_expression(db, parse_query("mill weir oath")) == Match(
        '("weir" OR "oath") AND ("weir" OR "oath" OR "mill" OR "mill")', 2
    )


def test_a_common_word_alone_is_still_asked_for() -> None:
    db = with_common_terms(the=10 * lexical.POSTINGS_BUDGET, of=20 * lexical.POSTINGS_BUDGET)
    assert match_expression(db, parse_query("of the")).expression == '"the"'


def test_a_very_long_question_is_asked_by_its_rarest_words() -> None:
    words = [f"w{number}" for number in range(3_000)]
    common = with_common_terms(**dict.fromkeys(words[:2990], 2))
    expression = match_expression(common, parse_query(" ".join(words))).expression
    assert expression.count(" OR ") == lexical.MOST_TERMS - 1
    assert all(f'"{word}"' in expression for word in words[2_990:])


def test_phrases_must_all_occur_and_words_only_rank() -> None:
    expression = match_expression(with_common_terms(), parse_query('"blue heron" "brass key" salt')).expression
    assert expression.startswith('("blue heron" AND "brass key") AND (')


def test_a_compound_with_a_digit_matches_by_its_parts_and_more_so_as_a_whole() -> None:
    assert (
        match_expression(with_common_terms(), parse_query("version 3.5")).expression
        == '"version" OR "3" OR "5" OR "3 5"'
    )


def test_a_compound_of_words_matches_by_its_parts() -> None:
    assert match_expression(with_common_terms(), parse_query("half-orc")).expression == '"half" OR "orc"'


def test_a_single_character_of_an_unspaced_script_asks_for_what_begins_with_it() -> None:
    assert match_expression(with_common_terms(), parse_query("雨")).expression == '"雨"*'


def test_what_a_rarer_word_finds_is_ranked_as_an_or_over_all_words_would(workshop: Workshop) -> None:
    """The same scores and the same order, cut down to the rows that hold a rarer word."""
    at = workshop.create()
    for number in range(40):
        rare = "weir " * (number % 3) + "oath " * (number % 5 == 0)
        workshop.write(
            f"n{number}.md", f"The mill stands by mill number {number}. {rare}Mill wheels turn. {'water ' * number}\n"
        )
    workshop.bring(at, workshop.root / "lore")
    db = database.open_reader(at.lexical)
    everything = Ranges(((1, 10_000),))
    plain = search(db, parse_query("mill weir oath"), everything, 100)
    writer = database.open_writer(at.lexical)
    writer.execute("INSERT OR REPLACE INTO common_term VALUES ('mill', ?)", (lexical.RANKED_ROWS,))
    writer.close()
    cut = search(db, parse_query("mill weir oath"), everything, 100)
    rarer = {hit.row for hit in search(db, parse_query("weir oath"), everything, 100)}
    assert [hit.row for hit in cut] == [hit.row for hit in plain if hit.row in rarer]
    assert [hit.score for hit in cut] == pytest.approx([hit.score for hit in plain if hit.row in rarer])


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("雾津的钱币是什么", '"雾津" OR "津的" OR "的钱" OR "钱币" OR "币是"'),
        ("谁是国王？", '"是国" OR "国王"'),
        ("什么是什么", '"什么" OR "么是" OR "是什"'),  # nothing else is asked for
    ],
)
def test_what_a_chinese_question_is_asked_with_finds_nothing(
    store: sqlite3.Connection, question: str, asked: str
) -> None:
    assert match_expression(store, parse_query(question)).expression.replace("*", "") == asked
