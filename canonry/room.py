"""The room in a pack: which candidates get a place, in which order, and why the others get none.

1. Canon that is always included, in its own order, up to the whole budget.
2. Pins, or an error that names the one that does not fit.
3. What is left is shared 60 : 25 : 15 among canon, reference and inspiration, each by rank. The best of a class may
   take room of the classes below it. What a class leaves goes to canon first, then reference, then inspiration.

A passage that another one corrects comes with that one, or not at all. A passage without room is passed over and
smaller ones after it may still fit; none is ever cut. A budget that was given for a class is a limit for it, over all
three steps. Everything is counted as it is rendered, frames and headings
included; pieces are counted apart, which never comes to less than the whole does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from canonry import frame
from canonry.errors import PinDoesNotFit, UsageError
from canonry.overlap import ALL, NEARLY_ALL, Said, shingles
from canonry.records import CLASSES
from canonry.retrieval import Passage
from canonry.tokens import count_tokens

DEFAULT_BUDGET = 2_000
LARGEST_BUDGET = 10_000_000
SHARES = {"canon": 0.60, "reference": 0.25, "inspiration": 0.15}
_PRICES = {section: count_tokens(heading) for section, heading in frame.SECTIONS.items()}
_GUARD_PRICE = count_tokens(frame.GUARD)
_ORDER = {section: place for place, section in enumerate((frame.ALWAYS, frame.CORRECTION, *CLASSES))}


Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Limits:
    """Budgets in tokens: of the whole pack, and of classes where one is given."""

    whole: int = DEFAULT_BUDGET
    canon: int | None = None
    reference: int | None = None
    inspiration: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("", self.whole), *((f" for {name}", self.of(name)) for name in CLASSES)):
            if value is not None and not 0 <= value <= LARGEST_BUDGET:
                raise UsageError(f"budget{name} {value} must lie between 0 and {LARGEST_BUDGET:,} tokens; give another")

    def of(self, class_: str) -> int | None:
        """The budget that was given for a class."""
        given: int | None = getattr(self, class_)
        return given


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage as it would stand in a pack: its section, its title and headings, its framed block and what that costs."""

    passage: Passage
    section: str
    why: str
    name: str
    block: str
    tokens: int
    shingles: frozenset[str]

    @property
    def key(self) -> Key:
        return self.passage.source_version_id, self.passage.chunk_id


class Room:
    """The budget while it is being spent. `state` is what the prompt says already.

    `companions` are, by the key of a passage, those that hold where it says otherwise, theirs included.
    """

    def __init__(
        self, limits: Limits, state: str = "", companions: Mapping[Key, Sequence[Candidate]] | None = None
    ) -> None:
        self._limits = limits
        self._companions = companions or {}
        self._state = shingles(state)
        self._used = 0
        self._spent = dict.fromkeys(CLASSES, 0)
        self._taken: dict[Key, tuple[tuple[int, int], Candidate]] = {}  # with its place in the pack
        self._left: dict[Key, tuple[Candidate, str]] = {}
        self._said = self._said_at_first()

    @property
    def chosen(self) -> list[Candidate]:
        """In the order of the pack: by section, then always-included and pinned as given, then by rank."""
        return [candidate for _, candidate in sorted(self._taken.values(), key=lambda taken: taken[0])]

    def leave(self, candidate: Candidate, reason: str) -> None:
        """Give it no place, whatever room there is."""
        self._left[candidate.key] = (candidate, reason)

    def omitted(self) -> list[tuple[Candidate, str]]:
        """What found no place, with the reason."""
        return [left for key, left in self._left.items() if key not in self._taken]

    def take_always(self, candidates: Sequence[Candidate]) -> list[str]:
        """Canon that is always included: left out only where all of it is said already, or without room.

        Returns the warnings: that it takes over half of the budget, and which of it found no room.
        """
        for rank, candidate in enumerate(candidates):
            if candidate.key not in self._taken:
                self._take_or_leave(candidate, rank, ALL)
        return self._always_warnings([left for left, reason in self._left.values() if reason.startswith("over ")])

    def take_pins(self, candidates: Sequence[Candidate]) -> None:
        """Every pin that is not there yet; PinDoesNotFit names the first that has no room."""
        for rank, candidate in enumerate(candidates):
            if candidate.key in self._taken:
                continue
            missing, budget = self._shortfall(candidate)
            if missing > 0:
                with_others = " with what corrects it" if len(self._group(candidate)) > 1 else ""
                raise PinDoesNotFit(
                    f"pin {candidate.passage.chunk_id!r} takes {self._price(candidate):,} tokens{with_others}, for which {budget} is "
                    f"{missing:,} tokens short; raise the budget or leave a pin out"
                )
            self._take(candidate, rank - len(candidates))

    def take_ranked(self, candidates: Sequence[Candidate]) -> None:
        """Candidates by rank, best first, as far as they fit and say something new."""
        ranks = {candidate.key: rank for rank, candidate in enumerate(candidates)}
        open_ = [candidate for candidate in candidates if candidate.key not in self._taken | self._left]
        new, twins = self._apart(sorted(open_, key=lambda candidate: _ORDER[candidate.section]))
        rest = self._limits.whole - self._used
        for class_ in CLASSES:
            share, most = self._shares(class_, rest)
            before = self._used
            for number, candidate in enumerate(c for c in new if c.passage.class_ == class_):
                if candidate.key in self._taken:  # as what corrects another one
                    continue
                within = most if number == 0 else share
                if self._used - before + self._price(candidate) <= within and self._fits(candidate):
                    self._take(candidate, ranks[candidate.key])
        for candidate in (*new, *twins):
            if candidate.key not in self._taken:
                self._take_or_leave(candidate, ranks[candidate.key], NEARLY_ALL)

    def _shares(self, class_: str, rest: int) -> tuple[int, int]:
        """What a class may take of the rest, and what its best passage may: with the shares of the classes below."""
        if self._limits.of(class_) is not None:
            return rest, rest
        below = sum(SHARES[other] for other in CLASSES[CLASSES.index(class_) :])
        return int(rest * SHARES[class_]), int(rest * min(1.0, below) + 1e-6)

    def _said_at_first(self) -> Said:
        said = Said()
        said.add("is in the current state", self._state)
        return said

    def _apart(self, ordered: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
        """Candidates that say something new, and those that say what the state, the pack or one before them says."""
        said = self._said_at_first()
        for candidate in self.chosen:
            said.add(_same_as(candidate), candidate.shingles)
        new: list[Candidate] = []
        twins: list[Candidate] = []
        for candidate in ordered:
            if said.by(candidate.shingles, NEARLY_ALL):
                twins.append(candidate)
            else:
                new.append(candidate)
                said.add(_same_as(candidate), candidate.shingles)
        return new, twins

    def _always_warnings(self, homeless: Sequence[Candidate]) -> list[str]:
        tokens = self._used + sum(candidate.tokens for candidate in homeless)
        warnings = []
        if 2 * tokens > self._limits.whole:
            warnings.append(
                f"canon that is always included needs {tokens:,} tokens, more than half of a budget of {self._limits.whole:,}; "
                "raise the budget or let fewer sources be always included"
            )
        if homeless:
            names = ", ".join(f"{candidate.name} ({candidate.tokens:,} tokens)" for candidate in homeless)
            warnings.append(f"left out for want of room, although always included: {names}")
        return warnings

    def _group(self, candidate: Candidate) -> list[Candidate]:
        """What would have to be taken with it, and with that, before itself; itself last."""
        group: dict[Key, Candidate] = {}

        def gather(one: Candidate) -> None:
            if one.key in seen or one.key in self._taken:
                return
            seen.add(one.key)
            for other in self._companions.get(one.key, ()):
                gather(other)
            group[one.key] = one

        seen: set[Key] = set()
        gather(candidate)
        return list(group.values())

    def _price(self, candidate: Candidate) -> int:
        """What it would cost now, with what corrects it and the headings of sections that are not there yet."""
        group = self._group(candidate)
        sections = {taken.section for _, taken in self._taken.values()}
        headings = sum(_PRICES[section] for section in {one.section for one in group} - sections)
        return sum(one.tokens for one in group) + headings + (0 if sections else _GUARD_PRICE)

    def _shortfall(self, candidate: Candidate) -> tuple[int, str]:
        """How many tokens are missing for it, 0 or less where it fits, and in which budget."""
        price, class_ = self._price(candidate), candidate.passage.class_
        whole = self._used + price - self._limits.whole
        given = self._limits.of(class_)
        own = whole if given is None else self._spent[class_] + price - given
        return (own, f"the {class_} budget") if own > whole else (whole, "the whole budget")

    def _fits(self, candidate: Candidate) -> bool:
        return self._shortfall(candidate)[0] <= 0

    def _take_or_leave(self, candidate: Candidate, rank: int, enough: float) -> None:
        said = self._said.by(candidate.shingles, enough)
        missing, budget = self._shortfall(candidate)
        if said or missing > 0:
            self._left[candidate.key] = (candidate, said or f"over {budget}")
        else:
            self._take(candidate, rank)

    def _take(self, candidate: Candidate, rank: int) -> None:
        self._used += (price := self._price(candidate))
        self._spent[candidate.passage.class_] += price
        for one in self._group(candidate):
            self._taken[one.key] = ((_ORDER[one.section], rank), one)
            self._said.add(_same_as(one), one.shingles)


def _same_as(candidate: Candidate) -> str:
    return f"says the same as {candidate.name} ({candidate.passage.chunk_id})"
