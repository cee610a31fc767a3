"""What an agent may do without a session: a set of tools for narrators, and a smaller one for everyone else.

The role, its spoiler level and its story time are those of whoever starts the server; no tool takes them from the agent.
Nothing here writes, but the tools that are asked for with `writing`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from canonry.canonlog.injection import inject
from canonry.contexts.assembly import assemble
from canonry.contexts.calls import AS_READ, DATA, FETCH, QUERY, REFS, Call, check, make_call, search_call
from canonry.contexts.failures import MissingEvidence, named
from canonry.contexts.inventory import Inventory
from canonry.contexts.journal import open_journal
from canonry.contexts.memory import LONGEST, remember
from canonry.contexts.selection import read_refs
from canonry.contexts.session import candidate, candidates
from canonry.contexts.tiers import Budgets
from canonry.eligibility import HIGHEST_LEVEL, NARRATOR, Scope
from canonry.pack import build_pack
from canonry.room import Limits

Run = Callable[[Mapping[str, Any]], Mapping[str, object]]
_BUDGET = {"type": "integer", "minimum": 0, "maximum": 100_000}
_ROLE = {"type": "string", "minLength": 1, "maxLength": 100}
_LEVEL = {"type": "integer", "minimum": 0, "maximum": HIGHEST_LEVEL}
_MOST_LEFT = 20  # of what a pack left out, by name


@dataclass(frozen=True, slots=True)
class Tool:
    """A call and what carries it out. `writes` marks those that change something."""

    call: Call
    run: Run
    writes: bool = False


def run_tool(tools: Sequence[Tool], name: str, arguments: object) -> Mapping[str, object]:
    """What a tool answers; MalformedCall for an unknown one or arguments that it does not take."""
    given = check([tool.call for tool in tools], name, arguments)
    return next(tool for tool in tools if tool.call.name == name).run(given)


def tools_for(inventory: Inventory, *, writing: bool = False) -> list[Tool]:
    """The tools of the inventory's role; those that write only with `writing`."""
    there = _Tools(inventory)
    found = [
        Tool(search_call(), there.search),
        Tool(FETCH, there.fetch),
        Tool(_PACK, there.pack),
        Tool(_ASSEMBLE, there.assemble),
    ]
    if inventory.game() is not None:
        found.append(Tool(_STATE, there.state))
    if inventory.scope.role == NARRATOR:
        found += [Tool(_INSPECT, there.inspect), Tool(_WHY, there.why)]
    if writing:
        found.append(Tool(_REMEMBER, there.remember, writes=True))
    return found


_PACK = make_call(
    "pack",
    "The passages that answer a question as one text for a prompt, whole passages within a budget of tokens, framed as data; and "
    f"what was left out, with the reason. {DATA}",
    ("query",),
    query=QUERY, budget=_BUDGET,
)  # fmt: skip
_ASSEMBLE = make_call(
    "assemble",
    "Put an exact set of items, chosen by you, into one text for a prompt. Each must be there for your role; what is pinned comes "
    f"by itself, and what is required must have been chosen and have room. {AS_READ}",
    ("items",),
    items=REFS, required=REFS, hot=_BUDGET, working=_BUDGET,
)  # fmt: skip
_STATE = make_call("state", f"The accepted state of the running game, for your role. {DATA}")
_INSPECT = make_call(
    "inspect",
    "Which of the items that you may see another role would be given, by id and title, without their texts. For narrators.",
    ("role",),
    role=_ROLE, spoiler_level=_LEVEL, story_time=_LEVEL,
)  # fmt: skip
_WHY = make_call(
    "why",
    "Which step kept or dropped a passage when another role asked a question. For narrators.",
    ("chunk_id", "query", "role"),
    chunk_id={"type": "string", "minLength": 1, "maxLength": 200}, query=QUERY, role=_ROLE, spoiler_level=_LEVEL, story_time=_LEVEL,
)  # fmt: skip
_REMEMBER = make_call(
    "remember",
    "Keep a note that you derived from passages, by their ids. It is never canon, and is invalid once a source of it changes.",
    ("text", "ids"),
    text={"type": "string", "minLength": 1, "maxLength": LONGEST}, ids=FETCH.parameters["properties"]["ids"],
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Tools:
    inventory: Inventory

    def search(self, given: Mapping[str, Any]) -> Mapping[str, object]:
        return candidates(self.inventory, given["query"], given.get("mode"), given.get("limit"))

    def fetch(self, given: Mapping[str, Any]) -> Mapping[str, object]:
        found = self.inventory.find(given["ids"])
        if missing := [id_ for id_ in given["ids"] if id_ not in found]:
            raise MissingEvidence(f"{named(missing)}: not there for this role; search shows what is", missing)
        return {"items": [candidate(found[id_], whole=True) for id_ in dict.fromkeys(given["ids"])]}

    def pack(self, given: Mapping[str, Any]) -> Mapping[str, object]:
        limits = Limits(given["budget"]) if "budget" in given else Limits()
        made = build_pack(self.inventory.campaign, given["query"], scope=self.inventory.scope, limits=limits)
        items = [{"id": item.passage.chunk_id, "title": item.name, "why": item.why} for item in made.items]
        left = [{"id": one.chunk_id, "title": one.name, "reason": one.reason} for one in made.omitted[:_MOST_LEFT]]
        return {
            "text": made.text, "total_tokens": made.total_tokens, "items": items, "warnings": list(made.warnings),
            "degraded": made.degraded, "left": left, "left_more": max(0, len(made.omitted) - _MOST_LEFT),
        }  # fmt: skip

    def assemble(self, given: Mapping[str, Any]) -> Mapping[str, object]:
        budgets = Budgets(**{name: given[name] for name in ("hot", "working") if name in given})
        items, required = read_refs(given["items"]), read_refs(given.get("required", []))
        return assemble(self.inventory, items, required, budgets=budgets).as_json()

    def state(self, given: Mapping[str, Any]) -> Mapping[str, object]:
        items = [item for item in self.inventory.others() if item.origin == "log"]
        said: dict[str, object] = {"items": [candidate(item, whole=True) for item in items]}
        save = self.inventory.game()
        if self.inventory.scope.role == NARRATOR and save is not None:
            said["log"] = inject(save, NARRATOR).text
        return said

    def inspect(self, given: Mapping[str, Any]) -> Mapping[str, object]:
        scope = self._scope_of(given)
        items = replace(self.inventory, scope=scope).items()
        own = {item.id for item in self.inventory.items()}
        return {"role": scope.role, "items": [item.as_json(with_text=False) for item in items if item.id in own]}

    def why(self, given: Mapping[str, Any]) -> Mapping[str, object]:
        scope = self._scope_of(given)
        if not self.inventory.find([given["chunk_id"]]):
            raise MissingEvidence(
                f"{named([given['chunk_id']])}: not there for this role; search shows what is", [given["chunk_id"]]
            )
        verdict = self.inventory.campaign.why(
            given["chunk_id"], given["query"], as_narrator=True, role=scope.role, spoiler_level=scope.spoiler_level,
            story_time=scope.story_time,
        )  # fmt: skip
        return verdict.as_json()

    def remember(self, given: Mapping[str, Any]) -> Mapping[str, object]:
        with open_journal(self.inventory.campaign.at, make=True) as journal:
            note = remember(
                journal, self.inventory, given["text"], given["ids"], author=f"agent ({self.inventory.scope.role})"
            )
        return {"id": note.id}

    def _scope_of(self, given: Mapping[str, Any]) -> Scope:
        """The other role's, never above the level of whoever asks."""
        level = min(given.get("spoiler_level", 0), self.inventory.scope.spoiler_level)
        return Scope(given["role"], level, self.inventory.scope.forbid_tags, story_time=given.get("story_time"))
