"""A stored baseline of search, and what is worse than it by more than noise.

Vectors differ a little from processor to processor, so neighbours in a ranking may change places, up as often as down. A
mode has got worse where, of nDCG@10 or Recall@5, over all questions or those of a kind,

- the sum fell by LOST questions or more, that is by what as many questions are worth that were answered and are not;
- or the mean fell by more than MEAN_DROP, and not by chance (paired permutation, p < 0.05, Holm over the kinds);

and where it leaks more, in results or packs, where it answers MORE_ANSWERED more of the questions that have no answer,
or where for more questions less was searched than was asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from canonry.errors import CanonryError, UsageError
from canonry.files import whole_file
from eval.evaluation import COMPARED, Evaluation, ModeFigures
from eval.questions import QuestionSet
from eval.significance import ALPHA, Comparison, compare

CONTRACT = "canonry/baseline/1"
MEAN_DROP = 0.01
LOST = 3
MORE_ANSWERED = 3
RENEW = "`canonry eval regression --write` stores a new baseline; look at its figures before you keep it"
_MUST_BE_SAME = ("questions", "campaign", "embedder")
_INSTEAD = 3  # passages
_NAMED = 12  # questions in a sentence
_DIGITS = 4
_VALUES = re.compile(r"\[\s+([\d.]+),\s+([\d.]+)\s+\]")


@dataclass(frozen=True, slots=True)
class Dropped:
    """A question that does worse than in the baseline, and what came."""

    mode: str
    query_id: str
    text: str
    kind: str
    asker: str
    before: tuple[float, ...]  # by COMPARED
    after: tuple[float, ...]
    wanted: tuple[str, ...]  # quotes, or sections
    instead: tuple[str, ...]  # the first passages that came, with a `+` where one answers

    @property
    def loss(self) -> float:
        """By how much it fell, over all measures."""
        return sum(self.before) - sum(self.after)


@dataclass(frozen=True, slots=True)
class Regression:
    """What is worse than the baseline beyond noise, a sentence each; and every question that dropped, by mode, the worst first."""

    failures: tuple[str, ...]
    dropped: tuple[Dropped, ...]
    means: dict[str, dict[str, tuple[float, float]]]  # mode -> measure -> (baseline, now)
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The whole as a JSON document."""
        return asdict(self)


def baseline_of(found: Evaluation, campaign: str) -> dict[str, Any]:
    """What is kept of an evaluation: figures and what they depend on, no times. `campaign` is a hash of its files."""
    return {
        "contract": CONTRACT,
        "set": found.set_name,
        "evidence": {**found.evidence, "campaign": campaign},
        "measures": list(COMPARED),
        "modes": {mode: _kept(figures) for mode, figures in found.modes.items()},
    }


def _kept(figures: ModeFigures) -> dict[str, Any]:
    def rounded(values: dict[str, float], names: Sequence[str]) -> dict[str, float]:
        return {name: round(values[name], _DIGITS) for name in names}

    return {
        "means": rounded(figures.means, tuple(figures.means)),
        "by_kind": {kind: rounded(values, ("questions", *COMPARED)) for kind, values in figures.by_kind.items()},
        "leaks": figures.leaks,
        "pack_leaks": figures.pack_leaks,
        "empty": figures.empty,
        "degraded": figures.degraded,
        "questions": {
            query_id: [round(row["values"][name], _DIGITS) for name in COMPARED]
            for query_id, row in figures.questions.items()
            if row["values"] is not None
        },
    }


def write_baseline(path: Path, baseline: dict[str, Any]) -> None:
    """Write it whole, each question on a line of its own, so that a change of it can be read."""
    text = _VALUES.sub(r"[\1, \2]", json.dumps(baseline, ensure_ascii=False, indent=1))
    with whole_file(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def read_baseline(path: Path) -> dict[str, Any]:
    """A stored baseline; UsageError for anything else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); {RENEW}") from error
    except ValueError as error:
        raise UsageError(f"{path}: is not JSON ({error}); {RENEW}") from error
    if not isinstance(found, dict) or found.get("contract") != CONTRACT or found.get("measures") != list(COMPARED):
        raise UsageError(f"{path}: is no baseline of this canonry ({CONTRACT}); {RENEW}")
    return found


def regression(baseline: dict[str, Any], found: Evaluation, campaign: str, questions: QuestionSet) -> Regression:
    """What is worse now. CanonryError where the two measure something else: other questions, lore, embedder or modes."""
    now = {**found.evidence, "campaign": campaign}
    then = baseline["evidence"]
    other = [f"{name} ({then.get(name)}, now {now[name]})" for name in _MUST_BE_SAME if then.get(name) != now[name]]
    other += [f"mode {mode}" for mode in baseline["modes"] if mode not in found.modes]
    if other:
        raise CanonryError(f"the baseline is of something else: {', '.join(other)}; {RENEW}")
    kinds = {question.query_id: question.kind for question in questions.questions}
    failures: list[str] = []
    dropped: list[Dropped] = []
    for mode, stored in baseline["modes"].items():
        figures = found.modes[mode]
        fell = sorted(_dropped(stored, figures, questions), key=lambda one: (-one.loss, one.query_id))
        failures += _failures(stored, figures, kinds, fell)
        dropped += fell
    changed = [f"{name}: {then.get(name)} → {now[name]}" for name in now if then.get(name) != now[name]]
    return Regression(tuple(failures), tuple(dropped), _means(baseline, found), tuple(changed))


def _means(baseline: dict[str, Any], found: Evaluation) -> dict[str, dict[str, tuple[float, float]]]:
    return {
        mode: {name: (value, found.modes[mode].means[name]) for name, value in stored["means"].items()}
        for mode, stored in baseline["modes"].items()
    }


def _failures(
    stored: dict[str, Any], figures: ModeFigures, kinds: dict[str, str], dropped: Sequence[Dropped]
) -> Iterator[str]:
    mode = figures.mode
    for name, where, now in (("leaks", "results", figures.leaks), ("pack_leaks", "packs", figures.pack_leaks)):
        if now > stored[name]:
            yield f"{mode}: {now} leaks in {where}, {stored[name]} in the baseline"
    for row in _compared(stored, figures, kinds):
        lost = -row.difference * row.questions
        if lost > LOST - 0.01 or (row.difference < -MEAN_DROP and row.p_holm < ALPHA):
            at = COMPARED.index(row.measure)
            of = [one for one in dropped if row.kind in ("all", one.kind) and one.after[at] < one.before[at]]
            named = ", ".join(one.query_id for one in of[:_NAMED]) + (" …" if len(of) > _NAMED else "")
            yield (
                f"{mode}, {row.kind}: {row.measure} fell by {-row.difference:.3f}, as much as {lost:.1f} of {row.questions} "
                f"questions (p {row.p_holm:.3f}): {row.losses} worse, {row.wins} better; worse are {named}"
            )
    if stored["empty"] - figures.empty >= MORE_ANSWERED:
        yield f"{mode}: {figures.empty} of the questions without an answer get none, {stored['empty']} in the baseline"
    if figures.degraded > stored["degraded"]:
        reason = next(row["degraded"] for row in figures.questions.values() if row["degraded"])
        yield f"{mode}: {figures.degraded} questions were searched less than asked for, {stored['degraded']} in the baseline ({reason})"


def _compared(stored: dict[str, Any], figures: ModeFigures, kinds: dict[str, str]) -> list[Comparison]:
    pairs = _pairs(stored, figures)
    return [
        row
        for at, measure in enumerate(COMPARED)
        for row in compare(
            measure,
            {query: before[at] for query, (before, _) in pairs.items()},
            {query: after[at] for query, (_, after) in pairs.items()},
            kinds,
        )
    ]


def _pairs(stored: dict[str, Any], figures: ModeFigures) -> dict[str, tuple[tuple[float, ...], tuple[float, ...]]]:
    """Query id -> its values in the baseline and now, by COMPARED."""
    return {
        query: (tuple(values), tuple(round(figures.questions[query]["values"][name], _DIGITS) for name in COMPARED))
        for query, values in stored["questions"].items()
    }


def _dropped(stored: dict[str, Any], figures: ModeFigures, questions: QuestionSet) -> Iterator[Dropped]:
    asked = {question.query_id: question for question in questions.questions}
    wanted: dict[str, list[str]] = {}
    for one in questions.judgements:
        if one.relevance > 0:
            wanted.setdefault(one.query_id, []).append(one.quote or f"{one.source}: {' > '.join(one.heading)}")
    for query_id, (before, after) in _pairs(stored, figures).items():
        if any(now < then for then, now in zip(before, after, strict=True)):
            question = asked[query_id]
            came = tuple(
                f"{'+' if one['answers'] else '-'} {' > '.join(one['heading_path']) or one['title']}: {one['excerpt']}"
                for one in figures.questions[query_id]["passages"][:_INSTEAD]
            )
            yield Dropped(
                figures.mode, query_id, question.text, question.kind, f"{question.role} at level {question.spoiler_level}",
                before, after, tuple(wanted.get(query_id, ())), came,
            )  # fmt: skip
