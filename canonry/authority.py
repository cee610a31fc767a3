"""How far a passage holds: what its scope says, what corrects it, and where the accepted state has moved on.

From the strongest: corrections by the user, the campaign's own canon (`type: campaign`), imported canon, the accepted
state, reference, inspiration. The accepted state holds over canon that tells how things were, unless its scope is
`invariant`: a story changes its world. Only canon and the state establish anything, so only they can disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from canonry.claims import Claim, claims, contradict
from canonry.records import PRIORITIES
from canonry.retrieval import Passage
from canonry.vocabulary import NAMELESS

CORRECTION_TYPE = "correction"
CAMPAIGN_TYPE = "campaign"
CURRENT_STATE = "the current state"
SCOPE_NOTES = {
    "invariant": "always holds",
    "initial": "as things stood when the story began; where the current state says otherwise, that holds",
    "descriptive": "",
    "historical": "as things once were; not a statement about now",
}
CORRECTED = "where another passage here corrects it, that one holds"
OVERTAKEN = "where the current state says otherwise, that holds"
UNSHAKEN = "holds against the current state"
_SCOPE_RANK = {"invariant": 2, "initial": 0, "historical": 0}
_MOSTLY = 0.5  # from this share on, what is overtaken is all that a passage has to say


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A statement of canon and one of the accepted state that cannot both hold, and which of them does."""

    chunk_id: str
    source_id: str
    statement: str
    state: str
    holds: str  # "state" or "canon"

    def as_json(self) -> dict[str, object]:
        return asdict(self)

    @property
    def warning(self) -> str:
        """The disagreement in a line."""
        if self.holds == "state":
            return f"{CURRENT_STATE} holds: {self.state!r}, where canon had {self.statement!r} ({self.chunk_id})"
        return f"canon that always holds, {self.statement!r} ({self.chunk_id}), is contradicted by {CURRENT_STATE}: {self.state!r}; mend one of them"


def rank(passage: Passage) -> tuple[int, int, int, int]:
    """How strong a passage of canon is; of two that disagree, the greater holds, and equal ones are for the user to decide."""
    return (
        int(passage.source_type == CORRECTION_TYPE),
        int(passage.source_type == CAMPAIGN_TYPE),
        _SCOPE_RANK.get(passage.scope or "", 1),
        PRIORITIES.index(passage.priority),
    )


def about(passage: Passage) -> str:
    """Whom the lines of a passage are of: the nearest heading that names something, else the title."""
    names = [name for name in passage.heading_path if name.casefold() not in NAMELESS]
    return names[-1] if names else passage.title


def stated(passage: Passage) -> list[Claim]:
    """The claims of a passage of canon that tells of now; none of any other."""
    if passage.class_ != "canon" or passage.scope == "historical":
        return []
    return claims(passage.exact_text, about(passage))


def disagreements(passage: Passage, state: Sequence[Claim]) -> list[Disagreement]:
    """Where a passage and the accepted state cannot both hold."""
    if not state:
        return []
    firm = passage.scope == "invariant" or passage.source_type == CORRECTION_TYPE
    return [
        Disagreement(passage.chunk_id, passage.source_id, claim.statement, said.statement, "canon" if firm else "state")
        for claim in stated(passage)
        for said in state
        if contradict(claim, said)
    ]


def is_mostly(passage: Passage, found: Sequence[Disagreement]) -> bool:
    """Whether what the state has overtaken is most of what a passage says."""
    overtaken = sum(len(statement) for statement in {one.statement for one in found if one.holds == "state"})
    return overtaken >= _MOSTLY * len(passage.exact_text.strip())


def notes(passage: Passage, found: Sequence[Disagreement], *, corrected: bool) -> tuple[str, ...]:
    """What the frame of a passage says of how far it holds, in our own words."""
    if passage.class_ != "canon":
        return ()
    told = [SCOPE_NOTES.get(passage.scope or "", "")]
    held = {one.holds for one in found}
    if "state" in held and passage.scope != "initial":
        told.append(OVERTAKEN)
    if "canon" in held:
        told.append(UNSHAKEN)
    if corrected:
        told.append(CORRECTED)
    return tuple(filter(None, told))
