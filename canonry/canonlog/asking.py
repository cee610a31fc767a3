"""A running game around a question: its log as the context of a search for lore, and as the state that lore gives way to."""

from __future__ import annotations

from collections.abc import Iterable

from canonry.canonlog.accepted import AcceptedState
from canonry.context import QueryContext


def context_of(state: AcceptedState, stated: QueryContext) -> QueryContext:
    """The context of a question: what is `stated` of it, and where that says nothing, what the game says.

    The party joins whoever was mentioned, the quests are the thread, and all the names around the question are keywords.
    """
    return QueryContext(
        stated.scene or "; ".join(state.objectives),
        stated.location or state.location,
        _distinct((*stated.entities, *state.party)),
        stated.thread or "; ".join(state.active_quests),
        stated.genre,
        _distinct((*stated.state_keywords, *state.entities)),
    )


def statements_of(state: AcceptedState) -> str:
    """What is accepted, one statement a line: facts, recent events, and what the role itself knows."""
    lines = (*state.facts, *state.recent_events, *state.knowledge)
    return "".join(
        f"{line if line.rstrip().endswith(('.', '!', '?', '。')) else line.rstrip() + '.'}\n" for line in lines
    )


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
