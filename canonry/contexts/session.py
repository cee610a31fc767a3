"""A session: somebody selects context for a task by search, fetch, select and stop, within a budget of calls and tokens.

Every call is an event on the disk before it is answered. What was selected is rebuilt from the events, never from what
the model remembers, and is held against today's sources before it goes on.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from canonry.campaign import Campaign
from canonry.contexts.assembly import Assembly, Ref, assemble, failures_of
from canonry.contexts.blocks import parse_blocks
from canonry.contexts.calls import Call, check, session_calls
from canonry.contexts.failures import BudgetSpent, ContextFailure, MissingEvidence, SessionClosed, named, raise_all
from canonry.contexts.game import SavedGame, no_game
from canonry.contexts.inventory import Inventory
from canonry.contexts.item import KNOWLEDGE, Item
from canonry.contexts.journal import Event, Journal, Opened
from canonry.contexts.memory import remembered
from canonry.contexts.selection import read_refs
from canonry.contexts.task import Task, task_of
from canonry.errors import CanonryError, NotFound
from canonry.readership import told_until
from canonry.timestamps import now
from canonry.tokens import count_tokens

Answered = tuple[Mapping[str, object], Mapping[str, Any]]  # what a call answers, and what its event keeps
CHECKPOINT_EVERY = 20
_LEFT_EARLIER = "left the selection when the session was taken up before; search and select again"
_EXCERPT = 160  # characters
_DEFAULT_LIMIT = 8


@dataclass(frozen=True, slots=True)
class State:
    """What the events of a session come to. `spent` counts what was answered; grants raise what there is."""

    selected: tuple[Ref, ...] = ()
    calls: int = 0
    tokens: int = 0
    granted_calls: int = 0
    granted_tokens: int = 0
    stopped: bool = False
    last: int = 0  # number of the last event

    def after(self, event: Event) -> State:
        """The state once that event has happened too."""
        body = event.body
        if event.kind == "checkpoint":
            held = dict(body["state"])
            return State(tuple(Ref(**ref) for ref in held.pop("selected")), **held | {"last": event.number})
        selected, stopped = self.selected, self.stopped
        if event.kind in ("select", "resumed"):
            selected = tuple(Ref(**ref) for ref in body["selected"])
        if event.kind == "stop":
            stopped = True
        return replace(
            self, selected=selected, stopped=stopped, last=event.number, calls=self.calls + body.get("calls", 0),
            tokens=self.tokens + body.get("tokens", 0), granted_calls=self.granted_calls + body.get("granted_calls", 0),
            granted_tokens=self.granted_tokens + body.get("granted_tokens", 0),
        )  # fmt: skip


def fold(events: Sequence[Event]) -> State:
    """The state after events in order; the first may be a checkpoint."""
    state = State()
    for event in events:
        state = state.after(event)
    return state


def _untold(events: Sequence[Event]) -> list[dict[str, str]]:
    """What earlier take-ups took out since something was last selected: whoever drives it may not have heard of it."""
    found: list[dict[str, str]] = []
    for event in events:
        if event.kind == "select":
            found = []
        if event.kind == "resumed":
            found += [
                {"id": one["id"], "error": one["error"], "message": f"{named([one['id']])}: {_LEFT_EARLIER}"}
                for one in event.body["stale"]
            ]
    return found


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a selected item: empty `failure` where it is what it was."""

    ref: Ref
    failure: ContextFailure | None

    def as_json(self) -> dict[str, object]:
        return {"id": self.ref.id, "is_current": self.failure is None} | (
            self.failure.as_json() if self.failure else {}
        )


class Session:
    """One session, open for calls. Its journal and its campaign are the caller's to close."""

    def __init__(self, journal: Journal, inventory: Inventory, session_id: str, task: Task, state: State) -> None:
        self.journal = journal
        self.inventory = inventory
        self.session_id = session_id
        self.task = task
        self.state = state
        self.assembly: Assembly | None = None
        self.stale: list[
            dict[str, str]
        ] = []  # what take-ups took out of the selection, until something is selected anew

    @property
    def calls(self) -> list[Call]:
        return session_calls(self.task.searches)

    @property
    def left(self) -> dict[str, int]:
        state, task = self.state, self.task
        return {
            "calls": max(0, task.calls + state.granted_calls - state.calls),
            "tokens": max(0, task.tokens + state.granted_tokens - state.tokens),
        }

    def opening(self) -> dict[str, object]:
        """What a driver is told first: the task, the calls, the budget, what is pinned, and the items that are no passages.

        `stale` is what left the selection when the session was taken up, by id, with the failure.
        """
        others = [item for item in self.inventory.others() if not item.pinned]
        return {
            "session": self.session_id, "task": self.task.task, "role": self.task.scope.role,
            "calls": [asdict(call) for call in self.calls], "left": self.left,
            "budgets": asdict(self.task.budgets), "required": [ref.id for ref in self.task.required],
            "pinned": [candidate(item) for item in self.inventory.pinned()],
            "candidates": [candidate(item) for item in others], "selected": [ref.id for ref in self.state.selected],
            "stale": self.stale,
        }  # fmt: skip

    def call(self, name: object, arguments: object) -> dict[str, object]:
        """The answer to a call: `ok` true with its results, or false with the failure; and what is left of the budget."""
        try:
            answer = self._answer(name, arguments)
        except ContextFailure as failure:
            return {
                "ok": False,
                "call": name if isinstance(name, str) else None,
                **failure.as_json(),
                "left": self.left,
            }
        except CanonryError as error:  # of the campaign: it may go on later
            return {
                "ok": False, "call": name, "error": type(error).__name__, "ids": [], "message": str(error), "left": self.left,
            }  # fmt: skip
        return {"ok": True, "call": name, **answer, "left": self.left}

    def refuse(self, failure: ContextFailure) -> dict[str, object]:
        """The answer to what could not even be read as a call; it costs a call as any other."""
        if self.left["calls"] and not self.state.stopped:
            self._record("refused", {"calls": 1, "error": type(failure).__name__})
        return {"ok": False, "call": None, **failure.as_json(), "left": self.left}

    def grant(self, calls: int, tokens: int) -> None:
        """More budget, by whoever owns the session; never by who drives it."""
        if calls or tokens:
            self._record("granted", {"granted_calls": calls, "granted_tokens": tokens})

    def verify(self) -> list[Verdict]:
        """Each selected item against today's sources."""
        verdicts = []
        for ref in self.state.selected:
            failures = failures_of(self.inventory, [ref], alone=True)
            verdicts.append(Verdict(ref, failures[0] if failures else None))
        return verdicts

    def take_up(self) -> list[Verdict]:
        """Go on after an interruption: what is no longer what it was leaves the selection, and is told."""
        verdicts = self.verify()
        if not self.state.stopped:
            kept = [asdict(one.ref) for one in verdicts if one.failure is None]
            stale = [{"id": one.ref.id, "error": type(one.failure).__name__} for one in verdicts if one.failure]
            messages = [str(one.failure) for one in verdicts if one.failure]
            earlier = _untold(self.journal.events(self.session_id))
            self.stale = [*earlier, *(one | {"message": text} for one, text in zip(stale, messages, strict=True))]
            self._record("resumed", {"selected": kept, "stale": stale})
            self._checkpoint()
        return verdicts

    def _answer(self, name: object, arguments: object) -> dict[str, object]:
        if self.state.stopped:
            raise SessionClosed(f"session {self.session_id} was stopped; begin another one")
        if name != "stop" and not self.left["calls"]:
            raise BudgetSpent("no calls are left; stop, and what is selected is put together")
        try:
            answer, recorded, tokens = self._carried_out(name, arguments)
        except CanonryError as error:
            if name != "stop":
                self._record("refused", {"call": str(name)[:40], "calls": 1, "error": type(error).__name__})
            raise
        self._record(str(name), {**recorded, "calls": int(name != "stop"), "tokens": tokens})
        if self.state.stopped or self.state.last % CHECKPOINT_EVERY == 0:
            self._checkpoint()
        return dict(answer)

    def _carried_out(self, name: object, arguments: object) -> tuple[Mapping[str, object], Mapping[str, Any], int]:
        given = check(self.calls, name, arguments)
        answer, recorded = getattr(self, f"_{name}")(given)
        tokens = 0 if name == "stop" else count_tokens(json.dumps(answer, ensure_ascii=False))
        left = self.left["tokens"]
        if tokens > left:
            why = f"{name}: the answer has {tokens:,} tokens and {left:,} are left; ask for less, or stop"
            raise BudgetSpent(why, recorded.get("ids", ()))
        return answer, recorded, tokens

    def _search(self, given: Mapping[str, Any]) -> Answered:
        mode = given.get("mode") or ("lexical" if "lexical" in self.task.searches else self.task.searches[0])
        told = candidates(self.inventory, given["query"], mode, given.get("limit"))
        ids = [one["id"] for one in told["candidates"]]
        return told, {"query": given["query"], "mode": told["mode"], "ids": ids}

    def _fetch(self, given: Mapping[str, Any]) -> Answered:
        ids = list(dict.fromkeys(given["ids"]))
        found = self.inventory.find(ids)
        if missing := [id_ for id_ in ids if id_ not in found]:
            raise MissingEvidence(f"{named(missing)}: not there for this role; search shows what is", missing)
        items = [candidate(found[id_], whole=True) for id_ in ids]
        return {"items": items}, {"ids": ids, "fingerprints": [found[id_].fingerprint for id_ in ids]}

    def _select(self, given: Mapping[str, Any]) -> Answered:
        refs = read_refs(given["items"])
        raise_all(failures_of(self.inventory, refs))
        found = self.inventory.find(ref.id for ref in refs)
        selected = [Ref.of(found[ref.id]) for ref in refs]
        self.stale = []
        told = {"selected": [{"id": ref.id, "tokens": found[ref.id].tokens} for ref in refs]}
        return told, {"selected": [asdict(ref) for ref in selected], "ids": [ref.id for ref in refs]}

    def _stop(self, given: Mapping[str, Any]) -> Answered:
        self.assembly = assemble(self.inventory, self.state.selected, self.task.required, budgets=self.task.budgets)
        said = self.assembly.as_json()
        artifact = self.journal.put(json.dumps(said, ensure_ascii=False))
        return {"assembly": said}, {"artifact": artifact, "reason": given.get("reason", "")}

    def _record(self, kind: str, body: Mapping[str, Any]) -> None:
        event = self.journal.append(self.session_id, self.state.last + 1, kind, body)
        self.state = self.state.after(event)

    def _checkpoint(self) -> None:
        self._record("checkpoint", {"state": asdict(self.state)})


def begin(journal: Journal, campaign: Campaign, task: Task, *, save: Path | None = None, blocks: str = "") -> Session:
    """A new session. `save` is read again whenever it is taken up; `blocks` (JSON) are kept with it."""
    session_id = secrets.token_hex(6)
    inventory = _inventory(campaign, task, save, blocks)
    scope = task.scope
    journal.begin(Opened(session_id, now(), scope.role, scope.spoiler_level, told_until(scope), scope.forbid_tags))
    session = Session(journal, inventory, session_id, task, State())
    supplied = {"save": str(save.resolve()) if save else None, "blocks": journal.put(blocks) if blocks else None}
    session._record("opened", {"task": task.as_json(), **supplied})
    return session


def resume(journal: Journal, campaign: Campaign, session_id: str) -> tuple[Session, list[str]]:
    """A session as its events left it, over today's sources, and warnings. `take_up` goes on with it."""
    opened = journal.events(session_id)[:1]
    if not opened:
        raise NotFound(f"session {session_id!r} never began; `canonry session list` shows what there is")
    body = opened[0].body
    task = task_of(body["task"])
    save, warnings = Path(body["save"]) if body["save"] else None, []
    if save and not save.is_file():
        warnings.append(f"{save}: the game is not there any more; go on without its state, or put it back")
        save = None
    if body.get("had_save"):
        warnings.append("the game that it was begun with did not come with the export; go on without its state")
    blocks = journal.artifact(body["blocks"]) if body["blocks"] else ""
    state = fold(journal.events(session_id, journal.last_checkpoint(session_id)))
    return Session(journal, _inventory(campaign, task, save, blocks), session_id, task, state), warnings


def _inventory(campaign: Campaign, task: Task, save: Path | None, blocks: str) -> Inventory:
    supplied = parse_blocks(blocks.encode(), "blocks") if blocks else []
    return Inventory(campaign, task.scope, SavedGame(save) if save else no_game, tuple(supplied), remembered)


def candidates(inventory: Inventory, query: str, mode: str | None, limit: int | None) -> dict[str, Any]:
    """What a search found, in its order, with the scores as evidence."""
    answer, items = inventory.search(query, mode=mode, limit=limit or _DEFAULT_LIMIT)
    found = []
    for passage, item in zip(answer.results, items, strict=True):
        evidence = {
            "lexical_score": passage.lexical_score, "semantic_score": passage.semantic_score,
            "fused_score": passage.fused_score, "reasons": passage.reasons,
        }  # fmt: skip
        found.append(candidate(item) | {"evidence": evidence})
    return {"mode": answer.mode, "degraded": answer.degraded, "candidates": found}


def candidate(item: Item, *, whole: bool = False) -> dict[str, object]:
    """An item as a driver sees it: with its whole text, or how that begins."""
    text = " ".join(item.text.split())
    said = {"text": item.text} if whole else {"excerpt": text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"}
    source = {"source_id": item.source_id} if item.origin == KNOWLEDGE else {}
    return {
        "id": item.id, "title": item.title, "place": list(item.place), "origin": item.origin, "kind": item.kind,
        "authority": item.authority, "derived": item.derived, "fingerprint": item.fingerprint, "tokens": item.tokens,
        **source, **said,
    }  # fmt: skip
