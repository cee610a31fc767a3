"""Leak tests that a campaign makes of itself: every secret passage is asked for as everyone who may not see it.

For a passage and an asker: each question of `eval.probes` in every mode, as plain results and as a rendered pack; then
`why` of the passage, and a pack that pins it, which must answer as for an id that does not exist. (A narrator is told by
`why` of everything, on purpose.)
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from typing import Any

from canonry.campaign import Campaign
from canonry.catalog import Catalog
from canonry.config import MODES
from canonry.eligibility import NARRATOR, Scope
from canonry.errors import CanonryError, NotFound, UsageError
from canonry.pack import build_pack
from canonry.retrieval import Passage
from canonry.timestamps import now
from eval.open_names import OpenName, open_names
from eval.probes import Probe, count_passages, probes
from eval.sight import ROLES, Key, Sight, key, sights
from eval.watch import Secret, Secrets, Watch

CONTRACT = "canonry/leaks/1"
MAX_CHUNKS = 25
_LIMIT = 10  # passages of a plain result
_NO_ID = f"c{0:020x}"
Progress = Callable[[str, int, int], None]
Step = Callable[..., Any]  # (name, function, *arguments) -> what the function gives


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is tried. `levels` None: every level there is. `max_chunks` None: every secret passage, else a sample by seed."""

    levels: tuple[int, ...] | None = None
    roles: tuple[str, ...] = ROLES
    modes: tuple[str, ...] = MODES
    max_chunks: int | None = MAX_CHUNKS
    seed: int = 1

    def __post_init__(self) -> None:
        unknown = [mode for mode in self.modes if mode not in MODES]
        if unknown or not self.modes:
            raise UsageError(f"mode {', '.join(unknown)!r} is unknown; choose from {', '.join(MODES)}")
        if self.max_chunks is not None and self.max_chunks < 1:
            raise UsageError(f"a sample of {self.max_chunks} passages tests nothing; ask for at least 1, or for all")


@dataclass(frozen=True, slots=True)
class Leak:
    """Something of a forbidden passage in an answer. `where` is results, pack, why or pin."""

    mode: str
    asker: str
    where: str
    query: str
    probe: str  # the kind of question
    secret: Secret


@dataclass(frozen=True, slots=True)
class LeakReport:
    """What was tried, what was shown, and what leaked. `names` are secret names inside passages in sight: no leaks."""

    campaign_id: str
    created_at: str
    wanted: Wanted
    askers: dict[str, dict[str, int]]  # asker -> passages allowed, forbidden, asked for
    counts: dict[str, int]
    probes: dict[str, int]  # kind -> questions asked
    leaks: tuple[Leak, ...]
    names: tuple[OpenName, ...]
    degraded: dict[str, int]  # mode -> questions for which less was searched than was asked for
    contract: str = field(default=CONTRACT)

    @property
    def is_degraded(self) -> bool:
        """Whether a mode could not search as it should for any question, so that its figures say nothing."""
        asked = self.counts["questions"] // len(self.wanted.modes)
        return asked > 0 and any(count == asked for count in self.degraded.values())

    def as_json(self) -> dict[str, Any]:
        """The whole as a JSON document."""
        return asdict(self)


def plain_step(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """A step without a flow around it."""
    return function(*arguments)


def find_leaks(
    campaign: Campaign,
    wanted: Wanted,
    progress: Progress = lambda step, done, total: None,
    step: Step = plain_step,
) -> LeakReport:
    """Ask for secrets in every way there is. The same campaign and seed give the same questions, in the same order.

    CanonryError where something leaked while the campaign was changed: what may be seen changed too.
    """
    before = _sequence(campaign)
    hunt: _Hunt = step("survey", lambda: _Hunt(campaign, wanted))
    for mode in wanted.modes:
        step(f"ask {mode}", lambda mode=mode: hunt.ask(mode, progress))
    names = step("names", lambda: open_names(hunt.sights, progress))
    found = hunt.report(names)
    if found.leaks and _sequence(campaign) != before:
        raise CanonryError(f"campaign {campaign.at.campaign} was changed while it was tested; repeat the command")
    return found


def _sequence(campaign: Campaign) -> int:
    with closing(Catalog.open(campaign.at.catalog)) as catalog:
        return catalog.sequence()


@dataclass(slots=True)
class _Target:
    """A forbidden passage, the asker from whom it is kept, and the questions for it that he was not asked yet."""

    sight: Sight
    watch: Watch
    passage: Passage
    probes: list[Probe]


class _Hunt:
    """One campaign under test: who is asked as, what for, and what came."""

    def __init__(self, campaign: Campaign, wanted: Wanted) -> None:
        self._campaign = campaign
        self._wanted = wanted
        self.sights = sights(campaign, wanted.levels, wanted.roles)
        self._targets = list(self._made_targets())
        self._counts: Counter[str] = Counter()
        self._probes: Counter[str] = Counter()
        self._leaks: dict[Leak, None] = {}
        self._degraded: Counter[str] = Counter()
        self._shown: set[Key] = set()

    def _made_targets(self) -> Iterator[_Target]:
        secret = {at: passage for sight in self.sights for at, passage in sight.forbidden.items()}
        known = secret | {at: passage for sight in self.sights for at, passage in sight.allowed.items()}
        passages_with = count_passages(known.values())
        secrets = Secrets(secret.values(), known.values())
        chosen = _sample(self.sights, self._wanted.max_chunks, self._wanted.seed)
        questions = {key(passage): probes(passage, passages_with, self._wanted.seed) for passage in chosen}
        for sight in self.sights:
            watch, asked = Watch(sight, secrets), set[str]()
            for passage in chosen:
                if key(passage) in sight.forbidden:
                    fresh = [probe for probe in questions[key(passage)] if probe.text not in asked]
                    asked.update(probe.text for probe in fresh)
                    yield _Target(sight, watch, passage, fresh)

    def ask(self, mode: str, progress: Progress) -> None:
        """Every question for every target in one mode."""
        for done, target in enumerate(self._targets, 1):
            for probe in target.probes:
                self._results(mode, target, probe)
                self._pack(mode, target, probe)
            self._by_id(mode, target)
            progress(f"ask {mode}", done, len(self._targets))

    def _results(self, mode: str, target: _Target, probe: Probe) -> None:
        scope = target.sight.scope
        answer = self._campaign.retrieve(
            probe.text, role=scope.role, spoiler_level=scope.spoiler_level, mode=mode, limit=_LIMIT, explain=True
        )
        self._counts["questions"] += 1
        self._probes[probe.kind] += 1
        self._counts["passages shown"] += len(answer.results)
        self._shown.update(map(key, answer.results))
        self._degraded[mode] += answer.degraded is not None
        self._keep(mode, target, "results", probe, target.watch.of_answer(answer))

    def _pack(self, mode: str, target: _Target, probe: Probe) -> None:
        pack = build_pack(self._campaign, probe.text, scope=target.sight.scope, mode=mode)
        self._counts["packs"] += 1
        self._counts["passages in packs"] += len(pack.items)
        self._keep(mode, target, "pack", probe, target.watch.of_pack(pack))

    def _by_id(self, mode: str, target: _Target) -> None:
        """Ask for the passage by its id; where an equal one is in sight, the id is no secret."""
        chunk_id = target.passage.chunk_id
        if any(chunk_id == other for _, other in target.sight.allowed):
            return
        probe = Probe("id", target.passage.title)
        scope = target.sight.scope
        for where, ask in (("why", self._why), ("pin", self._pin)):
            if where == "why" and scope.role == NARRATOR:
                continue
            self._counts[where] += 1
            told, unknown = (ask(mode, scope, probe.text, one) for one in (chunk_id, _NO_ID))
            if told.replace(chunk_id, _NO_ID) != unknown:
                self._keep(mode, target, where, probe, target.watch.of_text(told) or [_answered(target.passage, told)])

    def _why(self, mode: str, scope: Scope, query: str, chunk_id: str) -> str:
        """What `why` says of a chunk: of one that may not be seen, the words for an unknown id."""
        try:
            verdict = self._campaign.why(
                chunk_id, query, role=scope.role, spoiler_level=scope.spoiler_level, mode=mode, limit=_LIMIT
            )
        except NotFound as error:
            return str(error)
        return f"{verdict.step}: {verdict.reason}"

    def _pin(self, mode: str, scope: Scope, query: str, chunk_id: str) -> str:
        try:
            pack = build_pack(self._campaign, query, scope=scope, mode=mode, pins=[chunk_id])
        except NotFound as error:
            return str(error)
        return pack.text

    def _keep(self, mode: str, target: _Target, where: str, probe: Probe, secrets: Sequence[Secret]) -> None:
        for secret in secrets:
            self._leaks.setdefault(Leak(mode, target.sight.asker, where, probe.text, probe.kind, secret))

    def report(self, names: Sequence[OpenName]) -> LeakReport:
        """What was found so far."""
        asked: Counter[str] = Counter(target.sight.asker for target in self._targets)
        counts = {
            "askers": len(self.sights),
            "secret passages": len({at for sight in self.sights for at in sight.forbidden}),
            "secret passages asked for": len({key(target.passage) for target in self._targets}),
            **{name: self._counts[name] for name in _COUNTED},
            "different passages shown": len(self._shown),
            "leaks": len(self._leaks),
            "secret names in sight": len(names),
        }
        return LeakReport(
            self._campaign.at.campaign, now(), self._wanted,
            {
                sight.asker: {
                    "allowed": len(sight.allowed), "forbidden": len(sight.forbidden), "asked for": asked[sight.asker],
                }
                for sight in self.sights
            },
            counts, dict(sorted(self._probes.items())), tuple(self._leaks), tuple(names), dict(self._degraded),
        )  # fmt: skip


_COUNTED = ("questions", "passages shown", "packs", "passages in packs", "why", "pin")


def _sample(sights: Sequence[Sight], most: int | None, seed: int) -> list[Passage]:
    """So many secret passages in their order, chosen by the seed; as many as can be of each number of askers kept from."""
    secret = {at: passage for sight in sights for at, passage in sight.forbidden.items()}
    ordered = sorted(secret.values(), key=lambda one: (one.source_version_id, one.start_byte, one.chunk_id))
    if most is None or most >= len(ordered):
        return ordered
    groups: dict[int, list[int]] = {}
    for place, passage in enumerate(ordered):
        groups.setdefault(sum(key(passage) in sight.forbidden for sight in sights), []).append(place)
    chance = random.Random(seed)  # noqa: S311 - chosen to be the same again
    drawn = [chance.sample(places, len(places)) for _, places in sorted(groups.items())]
    in_turn = [place for row in zip_longest(*drawn) for place in row if place is not None]
    return [ordered[place] for place in sorted(in_turn[:most])]


def _answered(passage: Passage, told: str) -> Secret:
    """Another answer than an unknown id gets: it tells that the passage is there."""
    return Secret("existence", passage.chunk_id, passage.source_id, passage.start_line, " ".join(told.split())[:300])
