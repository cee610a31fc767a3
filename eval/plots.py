"""The report's plots, as SVG: matplotlib without a display, text kept as text."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from canonry.errors import UsageError
from canonry.records import CLASSES
from eval.evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"lexical": "#4c72b0", "semantic": "#dd8452", "hybrid": "#55a868", "rerank": "#8172b3"}
SECTION_COLOURS = {
    "always": "#333333",
    "correction": "#c44e52",
    "canon": "#4c72b0",
    "reference": "#8c8c8c",
    "inspiration": "#ccb974",
}
SECTIONS = ("always", "correction", *CLASSES)
_SIZE = (7.2, 3.6)  # inches
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "canonry",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def plots(found: Evaluation) -> list[tuple[str, str, str]]:
    """(title, what to look at, SVG) of each plot that the evaluation has figures for."""
    made: list[tuple[str, str, str]] = []
    for title, note, draw in _PLOTS:
        svg = _drawn(found, draw)
        if svg:
            made.append((title, note, svg))
    return made


def _drawn(found: Evaluation, draw: Callable[[Evaluation, Axes], bool]) -> str:
    with _axes() as (axes, finish):
        return finish() if draw(found, axes) else ""


@contextmanager
def _axes() -> Iterator[tuple[Axes, Callable[[], str]]]:
    try:
        import matplotlib
    except ImportError as error:
        raise UsageError(
            'the plots of a report need matplotlib: pip install "canonry[report]", or leave --report out'
        ) from error
    matplotlib.use("svg")
    from matplotlib import pyplot

    with matplotlib.rc_context(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "canonry",
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    ):
        figure, axes = pyplot.subplots(figsize=_SIZE, layout="constrained")

        def finish() -> str:
            with io.StringIO() as out:
                figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
                text = out.getvalue()
            return re.sub(r"^.*?(?=<svg)", "", text, flags=re.DOTALL)

        try:
            yield axes, finish
        finally:
            pyplot.close(figure)


def _recall(found: Evaluation, axes: Axes) -> bool:
    for mode, figures in found.modes.items():
        values = [figures.means.get(f"Recall@{k}", 0.0) for k in found.ks]
        axes.plot(found.ks, values, marker="o", label=mode, color=_colour(mode))
    axes.set(xlabel="k, passages", ylabel="Recall@k", ylim=(0, 1.02), xticks=list(found.ks))
    axes.legend(frameon=False, loc="lower right")
    axes.grid(axis="y", alpha=0.3)
    return any(figures.means for figures in found.modes.values())


def _by_kind(found: Evaluation, axes: Axes) -> bool:
    kinds = sorted({kind for figures in found.modes.values() for kind in figures.by_kind})
    width = 0.8 / max(1, len(found.modes))
    for at, (mode, figures) in enumerate(found.modes.items()):
        places = [number + (at - (len(found.modes) - 1) / 2) * width for number in range(len(kinds))]
        axes.bar(
            places,
            [figures.by_kind.get(kind, {}).get("nDCG@10", 0.0) for kind in kinds],
            width * 0.92,
            label=mode,
            color=_colour(mode),
        )
    axes.set(ylabel="nDCG@10", ylim=(0, 1.02))
    axes.set_xticks(range(len(kinds)), [f"{kind}\n({found.judged(kind)})" for kind in kinds], fontsize=8)
    axes.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    axes.grid(axis="y", alpha=0.3)
    return bool(kinds)


def _differences(found: Evaluation, axes: Axes) -> bool:
    rows = [(mode, row) for mode, rows in found.comparisons.items() for row in rows if row.measure == "nDCG@10"]
    for at, (mode, row) in enumerate(reversed(rows)):
        axes.plot([row.low, row.high], [at, at], color=_colour(mode), linewidth=2)
        axes.plot([row.difference], [at], marker="o", color=_colour(mode))
    axes.axvline(0, color="#333333", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [f"{mode}, {row.kind}" for mode, row in reversed(rows)], fontsize=8)
    axes.set(xlabel="nDCG@10 minus that of lexical; line: 95 % interval")
    axes.grid(axis="x", alpha=0.3)
    return bool(rows)


def _latency(found: Evaluation, axes: Axes) -> bool:
    for mode, figures in found.modes.items():
        times = sorted(row["milliseconds"] for row in figures.questions.values())
        axes.plot(
            times,
            [(at + 1) / len(times) for at in range(len(times))],
            label=mode,
            color=_colour(mode),
            drawstyle="steps-post",
        )
    axes.set(xlabel="milliseconds, warm", ylabel="share of questions", ylim=(0, 1.02), xscale="log")
    axes.legend(frameon=False, loc="lower right")
    axes.grid(alpha=0.3)
    return any(figures.questions for figures in found.modes.values())


def _leaks(found: Evaluation, axes: Axes) -> bool:
    modes = list(found.modes)
    for offset, (name, values) in enumerate({
        "in results": [found.modes[mode].leaks for mode in modes],
        "in packs": [found.modes[mode].pack_leaks for mode in modes],
    }.items()):  # fmt: skip
        axes.bar(
            [at + (offset - 0.5) * 0.36 for at in range(len(modes))],
            values,
            0.34,
            label=name,
            color=("#c44e52", "#937860")[offset],
        )
    for at, mode in enumerate(modes):
        total = found.modes[mode].leaks + found.modes[mode].pack_leaks
        axes.annotate(str(total), (at, max(0, total)), ha="center", va="bottom")
    axes.set_xticks(range(len(modes)), modes)
    axes.set(
        ylabel="forbidden passages shown",
        ylim=(0, max(1, *(max(f.leaks, f.pack_leaks) for f in found.modes.values())) * 1.3),
    )
    axes.set_yticks(sorted({0, max(1, *(max(f.leaks, f.pack_leaks) for f in found.modes.values()))}))
    axes.legend(frameon=False)
    return any(figures.leaks or figures.pack_leaks for figures in found.modes.values())


def _budget(found: Evaluation, axes: Axes) -> bool:
    modes = list(found.modes)
    below = [0.0] * len(modes)
    for section in SECTIONS:
        values = [
            _mean([row["pack_by_class"].get(section, 0) for row in found.modes[mode].questions.values()])
            for mode in modes
        ]
        if any(values):
            axes.barh(modes, values, left=below, label=section, color=SECTION_COLOURS[section])
            below = [one + other for one, other in zip(below, values, strict=True)]
    axes.set(xlabel="tokens in a pack of the default budget, mean")
    axes.legend(frameon=False, ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=8)
    return any(below)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _colour(mode: str) -> str:
    return COLOURS.get(mode, "#937860")


_PLOTS = (
    ("Recall by k", "The share of the judged places that the first k passages cover.", _recall),
    (
        "By kind of question",
        "nDCG@10; the number of judged questions, which it is the mean of, is in brackets.",
        _by_kind,
    ),
    (
        "Against search by words",
        "Right of the line is better; an interval that crosses it may be chance.",
        _differences,
    ),
    ("Latency", "In one process, after the first question; further left is faster.", _latency),
    ("Leaks", "Passages that their asker may not see. Anything but 0 is a defect.", _leaks),
    ("What a pack is made of", "Tokens by class, averaged over the questions.", _budget),
)
