"""A trial of an embedder: does it answer, how quickly, and does it put a paraphrase before something unrelated?"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from canonry.embedders import Embedder, knows

_QUESTIONS = 5
_PASSAGES = 8
LEAST_MARGIN = 0.02  # of two cosines; less is chance
SAMPLES = {
    "English": (
        "Who counts the ships in the evening?",
        "The keeper of the tower counts the ships twice in the evening, then lights the lamp.",
        "Stew wants two onions, a handful of barley and smoked eel.",
    ),
    "Chinese": (
        "傍晚是谁在数船？",
        "守塔人每天傍晚都要把船数上两遍，然后点灯。",
        "炖菜需要两个洋葱、一把大麦和熏鳗鱼。",
    ),
}  # language -> (question, answer in other words, unrelated)


@dataclass(frozen=True, slots=True)
class Sample:
    """Cosines of a question with its answer and with something unrelated."""

    language: str
    paraphrase: float
    unrelated: float

    @property
    def is_sound(self) -> bool:
        return self.paraphrase - self.unrelated >= LEAST_MARGIN

    @property
    def is_told_apart(self) -> bool:
        """Whether the two differ by more than chance, whichever is nearer."""
        return abs(self.paraphrase - self.unrelated) >= LEAST_MARGIN


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it. Seconds are of one question (the median) and of one passage of a few lines, in a batch.

    `unknown` names the languages that were not tried because the embedder does not know their script.
    """

    question_s: float
    passage_s: float
    samples: tuple[Sample, ...]
    unknown: tuple[str, ...]

    @property
    def unsound(self) -> tuple[str, ...]:
        """The languages in which a paraphrase is not clearly nearer than something unrelated."""
        return tuple(sample.language for sample in self.samples if not sample.is_sound)


def try_out(embedder: Embedder) -> Trial:
    """Embed the samples and time it; an EmbedderError where the embedder does not answer."""
    known = {language: texts for language, texts in SAMPLES.items() if knows(embedder, texts[0])}
    samples = tuple(_sample(embedder, language, texts) for language, texts in known.items())
    question, answer, unrelated = next(iter(known.values()), SAMPLES["English"])
    questions = [_seconds(lambda: embedder.embed_query(question)) for _ in range(_QUESTIONS)]
    passages = [f"{answer} {unrelated} {number}" for number in range(_PASSAGES)]
    whole = _seconds(lambda: embedder.embed_documents(passages))
    unknown = tuple(language for language in SAMPLES if language not in known)
    return Trial(median(questions), whole / _PASSAGES, samples, unknown)


def _sample(embedder: Embedder, language: str, texts: Sequence[str]) -> Sample:
    question, *passages = texts
    near, far = embedder.embed_documents(passages) @ embedder.embed_query(question)
    return Sample(language, float(near), float(far))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
