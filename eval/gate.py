"""gate.toml: what an evaluation must show before hybrid search becomes a campaign's default.

[recall]                    # least Recall@5 of hybrid: over all questions, and by kind
measure = "Recall@5"
all = 0.7
exact-name = 0.9

[leaks]
most = 0                    # in results and packs, of every mode

[latency]
hybrid_over_lexical = 8.0   # largest ratio of the medians

[comparison]                # hybrid against lexical, paired
measure = "nDCG@10"
better_overall = true       # the mean is higher, and not by chance (p < 0.05)
worse_on_no_kind = true     # no kind is worse by more than chance (Holm)
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from canonry.errors import UsageError
from eval.evaluation import COMPARED, Evaluation
from eval.metrics import names

_SECTIONS = {
    "recall": None,  # measure, all, and any kind
    "leaks": {"most"},
    "latency": {"hybrid_over_lexical"},
    "comparison": {"measure", "better_overall", "worse_on_no_kind"},
}
CANDIDATE, BASE = "hybrid", "lexical"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the gate: what was wanted, what was found, and whether it holds."""

    name: str
    wanted: str
    found: str
    holds: bool


def read_rules(path: Path) -> dict[str, dict[str, Any]]:
    """The rules of a gate; UsageError that names what cannot be meant."""
    try:
        rules = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); name a gate.toml") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: is not TOML ({error}); mend it") from error
    for section, values in rules.items():
        if section not in _SECTIONS or not isinstance(values, dict):
            raise UsageError(f"{path}: section [{section}] is unknown; a gate has {', '.join(_SECTIONS)}")
        if not set(values) - {"measure"}:
            raise UsageError(f"{path}: section [{section}] holds no rule; write one or take it out")
        known = _SECTIONS[section]
        for key, value in values.items():
            if known is not None and key not in known:
                raise UsageError(f"{path}: [{section}] {key} is unknown; it has {', '.join(sorted(known))}")
            if key != "measure" and not isinstance(value, bool | int | float):
                raise UsageError(f"{path}: [{section}] {key} = {value!r} is neither a number nor true or false")
    if not rules:
        raise UsageError(f"{path}: holds no rule, so that it would let everything pass; write one")
    return rules


def check(found: Evaluation, rules: dict[str, dict[str, Any]]) -> list[Check]:
    """Every line of the gate against an evaluation that has asked by words and in hybrid mode."""
    for mode in (BASE, CANDIDATE):
        if mode not in found.modes:
            raise UsageError(f"a gate needs the modes {BASE} and {CANDIDATE}; ask with --modes {BASE},{CANDIDATE}")
    checks: list[Check] = []
    if "recall" in rules:
        checks += _recall(found, dict(rules["recall"]))
    if "leaks" in rules:
        checks += _leaks(found, int(rules["leaks"].get("most", 0)))
    if "latency" in rules:
        checks += _latency(found, float(rules["latency"]["hybrid_over_lexical"]))
    if "comparison" in rules:
        checks += _comparison(found, rules["comparison"])
    return checks


def _recall(found: Evaluation, rules: dict[str, Any]) -> list[Check]:
    measure = str(rules.pop("measure", "Recall@5"))
    if measure not in names(found.ks):
        raise UsageError(
            f"gate: [recall] measure {measure!r} is not measured; ask with -k, or take one of {', '.join(names(found.ks))}"
        )
    figures = found.modes[CANDIDATE]
    checks = []
    for kind, least in rules.items():
        if kind != "all" and kind not in found.kinds:
            raise UsageError(
                f"gate: [recall] {kind} is no kind of question of this set, which has {', '.join(found.kinds)}"
            )
        values = figures.means if kind == "all" else figures.by_kind.get(kind, {})
        value = values.get(measure)
        shown = "no question of it has an answer" if value is None else f"{value:.3f}"
        checks.append(Check(f"{measure}, {kind}", f"at least {least:g}", shown, value is not None and value >= least))
    return checks


def _leaks(found: Evaluation, most: int) -> list[Check]:
    return [
        Check(f"leaks, {mode}", f"at most {most}", f"{figures.leaks} in results, {figures.pack_leaks} in packs",
              figures.leaks + figures.pack_leaks <= most)
        for mode, figures in found.modes.items()
    ]  # fmt: skip


NOISE_MS = 2.0  # a median of words below this counts as this: in a small campaign it is 1 ms or 0.7 by chance


def _latency(found: Evaluation, most: float) -> list[Check]:
    ratio = found.modes[CANDIDATE].p50_ms / max(found.modes[BASE].p50_ms, NOISE_MS)
    return [Check("median latency, hybrid over lexical", f"at most {most:g}", f"{ratio:.1f}", ratio <= most)]


def _comparison(found: Evaluation, rules: dict[str, Any]) -> list[Check]:
    measure = str(rules.get("measure", "nDCG@10"))
    if measure not in COMPARED:
        raise UsageError(f"gate: [comparison] measure {measure!r} is not compared; take one of {', '.join(COMPARED)}")
    rows = [row for row in found.comparisons.get(CANDIDATE, []) if row.measure == measure]
    checks = []
    if rules.get("better_overall"):
        whole = next((row for row in rows if row.kind == "all"), None)
        shown = "nothing to compare" if whole is None else f"{whole.difference:+.3f} (p = {whole.p:.3f})"
        checks.append(
            Check(
                f"{measure} against lexical", "better, and not by chance", shown, whole is not None and whole.is_better
            )
        )
    if rules.get("worse_on_no_kind"):
        worse = [row.kind for row in rows if row.kind != "all" and row.is_worse]
        checks.append(
            Check(f"{measure} by kind", "worse on none", ", ".join(worse) or "worse on none", bool(rows) and not worse)
        )
    return checks
