"""What must hold after a fault."""

from __future__ import annotations

from canonry.locking import writing
from tests.faults.harness import Bench
from tests.faults.state import FILES, Answers, answers_of, difference, leavings, passages, rows_of


def check_after(bench: Bench) -> None:
    """Opens, answers as before or after, and the next run ends as an undisturbed one, with nothing lying about."""
    check_answers(answers_of(bench.at), bench)
    if bench.at.catalog.exists():
        done = bench.run(("status",))
        assert done.code in (0, 3), done
    bench.recover()
    assert leavings(bench.root) == []
    rows = rows_of(bench.at, apart_from=bench.scenario.unlike)
    assert rows == bench.rows, difference(rows, bench.rows)
    with writing(bench.at, wait_s=0):
        pass
    assert answers_of(bench.at) == bench.after


def check_answers(found: Answers, bench: Bench) -> None:
    """Every answer is one of the two; of a command that works in batches, every file is as before or as after.

    Between two of a command's commits scores may be others, since rows that nobody sees any more, or yet, still count
    among the statistics of words; the passages and their order are not.
    """
    known = {one for answers in (bench.before, bench.after) for answer in answers.values() for one in passages(answer)}
    for name, answer in found.items():
        both = (bench.before[name], bench.after[name])
        if answer in both:
            continue
        if answer == "IndexMissing" and bench.scenario.index_later:
            continue
        assert not isinstance(answer, str), f"{name}: {answer}"
        if name in FILES or not (bench.scenario.in_batches or answer["degraded"]):
            assert (passages(answer), answer["degraded"]) in [(passages(one), None) for one in both], name
        assert set(passages(answer)) <= known, name
        versions: dict[str, str] = {}
        for version, _, _ in passages(answer):
            assert versions.setdefault(version.partition("@")[0], version) == version, f"{name}: two versions at once"
