"""A baseline lets noise pass, and nothing that three questions would notice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from canonry.eligibility import Scope
from canonry.errors import CanonryError, UsageError
from eval.evaluation import Evaluation, summed_up
from eval.judge import Place
from eval.metrics import Result
from eval.questions import Judgement, Question, QuestionSet, read_set
from eval.regression import Regression, baseline_of, read_baseline, regression, write_baseline
from flows.regression import hash_of
from tests.conftest import Workshop

ROOT = Path(__file__).parents[2]
KINDS = ("name", "paraphrase")
COUNT = 40
Change = Callable[[list[Result]], list[Result]]


class Bench:
    """Forty questions that were answered by their second passage, by words and by both; every fifth by its first."""

    def __init__(self, workshop: Workshop) -> None:
        self.at = workshop.create()
        lore = "# Rooms\n\n" + "".join(
            f"## Room {n}\n\nRoom {n} of the house holds lamp {n}.\n\n" for n in range(COUNT)
        )
        workshop.bring(self.at, workshop.write("rooms.md", lore))
        with workshop.ask(self.at) as campaign:
            self.passages = campaign.survey(Scope(), list)
        base = self.passages[0]
        self.passages = [
            replace(base, chunk_id=f"c{n}", start_byte=100 * n, end_byte=100 * n + 50, exact_text=f"Room {n}.", heading_path=["Rooms", f"Room {n}"])
            for n in range(COUNT + 20)
        ]  # fmt: skip
        asked = [Question(f"q{n:02}", f"where is lamp {n}?", KINDS[n % 2]) for n in range(COUNT)]
        asked += [Question(f"u{n}", "nothing", "unanswerable") for n in range(4)]
        judged = [Judgement(f"q{n:02}", "rooms.md", f"lamp {n}", 2) for n in range(COUNT)]
        self.questions = QuestionSet(tuple(asked), tuple(judged))
        self.places: Mapping[str, list[Place]] = {
            f"q{n:02}": [Place(f"p{n}", base.source_id, 100 * n, 100 * n + 50, 2, f"lamp {n}")] for n in range(COUNT)
        }

    def results(self) -> list[Result]:
        found = [self.answered(n, 1 if n % 5 else 0) for n in range(COUNT)]
        return found + [Result(f"u{n}", [], 1.0) for n in range(4)]

    def answered(self, number: int, place: int | None) -> Result:
        """Six passages, the one that answers at that place from 0; None for nowhere."""
        passages = [self.passages[COUNT + other] for other in range(6)]
        if place is not None:
            passages[place] = self.passages[number]
        return Result(f"q{number:02}", passages, 1.0)

    def evaluation(self, change: Change = lambda results: results) -> Evaluation:
        by_mode = {"lexical": self.results(), "hybrid": change(self.results())}
        return summed_up(self.at, self.questions, "bench", self.places, by_mode, {}, (1, 5, 10))

    def compared(self, change: Change) -> Regression:
        baseline = json.loads(json.dumps(baseline_of(self.evaluation(), "lore")))
        return regression(baseline, self.evaluation(change), "lore", self.questions)


@pytest.fixture
def bench(workshop: Workshop) -> Bench:
    return Bench(workshop)


def test_the_same_results_are_no_worse(bench: Bench) -> None:
    found = bench.compared(lambda results: results)
    assert (found.failures, found.dropped, found.notes) == ((), (), ())
    assert {mode: means["nDCG@10"][1] for mode, means in found.means.items()} == pytest.approx(
        {"lexical": 0.705, "hybrid": 0.705}, abs=0.001
    )


def moved(bench: Bench, places: Mapping[int, int | None]) -> Change:
    """Results with the answers to some questions at other places."""
    return lambda results: [bench.answered(n, places[n]) if n in places else result for n, result in enumerate(results)]


def test_neighbours_that_change_places_are_noise(bench: Bench) -> None:
    swapped = dict.fromkeys(range(1, 8), 2) | {11: 0, 12: 0, 5: 1, 10: 1, 0: 1}
    found = bench.compared(moved(bench, swapped))
    assert found.failures == ()
    assert {one.query_id for one in found.dropped} == {"q00", "q01", "q02", "q03", "q04", "q05", "q06", "q07", "q10"}


@pytest.mark.parametrize("lost", [(1, 2, 3), (2, 4, 6), (0, 5, 11)])
def test_three_lost_questions_are_a_failure_that_names_them(bench: Bench, lost: tuple[int, ...]) -> None:
    found = bench.compared(moved(bench, dict.fromkeys(lost)))
    assert any("hybrid, all: Recall@5 fell by 0.075, as much as 3.0 of 40" in line for line in found.failures)
    assert all(f"q{n:02}" in found.failures[-1] for n in lost)
    (first, *_) = found.dropped
    assert (first.after, first.wanted) == ((0.0, 0.0), (f"lamp {int(first.query_id[1:])}",))
    assert first.instead[0] == "- Rooms > Room 40: Room 40."


def test_two_lost_questions_are_told_and_are_no_failure(bench: Bench) -> None:
    found = bench.compared(moved(bench, dict.fromkeys((1, 2))))
    assert (found.failures, [one.query_id for one in found.dropped]) == ((), ["q01", "q02"])


def test_a_kind_that_lost_three_is_a_failure_though_another_won_as_many(bench: Bench) -> None:
    won = dict.fromkeys((2, 4, 6, 8, 12, 14, 16), 0)
    found = bench.compared(moved(bench, won | dict.fromkeys((1, 3, 7))))
    assert {line.partition(":")[0] for line in found.failures if "Recall" not in line} <= {"hybrid, paraphrase"}
    assert any(line.startswith("hybrid, paraphrase: Recall@5") for line in found.failures)


def test_a_small_drop_everywhere_is_a_failure_by_its_test(bench: Bench) -> None:
    found = bench.compared(moved(bench, dict.fromkeys(range(1, 20), 2)))
    assert any(line.startswith("hybrid, all: nDCG@10 fell") and "p 0.000" in line for line in found.failures)


def test_a_leak_is_a_failure_however_good_the_rest(bench: Bench) -> None:
    forbidden = Place("secret", bench.passages[0].source_id, 100 * COUNT, 100 * COUNT + 50, -1, "Room 40.")
    baseline = baseline_of(bench.evaluation(), "lore")
    bench.places = {**bench.places, "u0": [forbidden]}
    leaking = bench.evaluation(
        lambda results: [*results[:-4], Result("u0", [bench.passages[COUNT]], 1.0), *results[-3:]]
    )
    found = regression(baseline, leaking, "lore", bench.questions)
    assert found.failures == ("hybrid: 1 leaks in results, 0 in the baseline",)


def test_answers_where_there_are_none_are_a_failure(bench: Bench) -> None:
    def answered(count: int) -> Change:
        return lambda results: [
            *results[:-4], *(Result(f"u{n}", [bench.passages[0]] if n < count else [], 1.0) for n in range(4)),
        ]  # fmt: skip

    assert bench.compared(answered(2)).failures == ()
    assert bench.compared(answered(3)).failures == (
        "hybrid: 1 of the questions without an answer get none, 4 in the baseline",
    )


def test_a_search_that_is_degraded_is_a_failure_with_its_reason(bench: Bench) -> None:
    found = bench.compared(lambda results: [replace(results[0], degraded="the model is away"), *results[1:]])
    assert found.failures == (
        "hybrid: 1 questions were searched less than asked for, 0 in the baseline (the model is away)",
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"embedder": "other other-1"}, r"embedder \(other other-1, now none \)"),
        ({"questions": "0"}, r"questions \(0, now "),
        ({"campaign": "another"}, r"campaign \(another, now lore\)"),
    ],
)
def test_a_baseline_of_something_else_says_how_to_renew_it(bench: Bench, change: dict[str, str], message: str) -> None:
    baseline = baseline_of(bench.evaluation(), "lore")
    baseline["evidence"] |= change
    with pytest.raises(CanonryError, match=f"of something else: {message}.*--write` stores a new baseline"):
        regression(baseline, bench.evaluation(), "lore", bench.questions)


def test_other_settings_are_what_is_compared(bench: Bench) -> None:
    baseline = baseline_of(bench.evaluation(), "lore")
    baseline["evidence"]["fusion"] = "fusion.k=60"
    found = regression(baseline, bench.evaluation(), "lore", bench.questions)
    assert (found.failures, found.notes[0].startswith("fusion: fusion.k=60 → ")) == ((), True)


def test_a_mode_that_was_not_asked_is_missed(bench: Bench) -> None:
    baseline = baseline_of(bench.evaluation(), "lore")
    baseline["modes"]["semantic"] = baseline["modes"]["hybrid"]
    with pytest.raises(CanonryError, match="of something else: mode semantic"):
        regression(baseline, bench.evaluation(), "lore", bench.questions)


def test_a_baseline_is_read_as_it_was_written_a_question_a_line(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "baselines" / "bench.json"
    baseline = baseline_of(bench.evaluation(), "lore")
    write_baseline(path, baseline)
    assert read_baseline(path) == baseline
    assert '    "q00": [1.0, 1.0],\n' in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "cannot be read"), ("{", "is not JSON"), ("[]", "is no baseline"), ('{"contract": "x"}', "is no baseline")],
)
def test_what_is_no_baseline_is_refused(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "baseline.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError, match=f"{message}.*stores a new baseline"):
        read_baseline(path)


def test_the_stored_baseline_is_of_the_set_and_the_lore_that_come_with_canonry() -> None:
    baseline = read_baseline(ROOT / "eval" / "baselines" / "demo.json")
    questions = {question.query_id for question in read_set(ROOT / "eval" / "sets" / "demo").questions}
    assert baseline["evidence"]["campaign"] == hash_of(ROOT / "canonry" / "demo_campaign")
    assert list(baseline["modes"]) == ["lexical", "semantic", "hybrid"]
    for mode in baseline["modes"].values():
        assert set(mode["questions"]) <= questions
        assert (mode["leaks"], mode["pack_leaks"]) == (0, 0)


def test_a_hash_of_lore_knows_every_name_and_byte_but_no_line_end(tmp_path: Path) -> None:
    def hashed(name: str, data: bytes) -> str:
        folder = tmp_path / f"{name}{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        (folder / name).write_bytes(data)
        return hash_of(folder)

    assert hashed("a.md", b"x\ny") == hashed("a.md", b"x\r\ny") != hashed("a.md", b"x\nz")
    assert hashed("a.md", b"x") != hashed("b.md", b"x")
