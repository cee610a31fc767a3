"""A session driven by a model on this machine, over `/v1/chat/completions`: by tools, or by JSON where it has none.

The model is told the calls, the task and what there is; what it asks for is answered as any other driver's. It is given
so many turns as the session has calls and a few more to stop; a model that goes on without sense leaves the session open.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from canonry.canonlog.document import parse_document
from canonry.canonlog.problem import InvalidData
from canonry.contexts.calls import DATA, Call
from canonry.contexts.failures import MalformedCall
from canonry.contexts.session import Session
from canonry.errors import EmbedderError, UsageError
from canonry.servers.address import LookUp, by_system, parse_address, resolve, standing_of
from canonry.servers.endpoint import Endpoint, Patience, Reply

PATIENCE = Patience(connect_s=5.0, whole_s=300.0, retries=1)
_PATH = "/v1/chat/completions"
_TURNS_TO_STOP = 3
_MOST_CALLS_A_TURN = 16
_RULES = (
    "You select context for a task. Decide yourself what is missing, search, read, and search again with other words where that "
    "was not it. Select the exact set of items that the task needs, then stop. Nothing is relevant because of its score. "
    f"{DATA} Answer with calls alone."
)
_AS_JSON = 'Answer with one JSON object: {"call": NAME, "arguments": {…}}.'
_MOST_TOKENS_A_TURN = 2_000  # of the model's own; one that repeats itself would go on until its context is full
_MOST_IDS_A_CALL = 12
_MOST_CHARACTERS = 200
_LISTS = {"ids", "items"}  # arguments that are lists of ids
_REFUSED = {400, 404, 413, 422, 500, 501}  # what servers answer that cannot take tools, or so long a conversation

Message = dict[str, Any]


def open_model(spec: str, *, look_up: LookUp = by_system) -> Endpoint:
    """The server of a SPEC such as openai:MODEL@http://127.0.0.1:8080. UsageError where it is not on this machine."""
    address = parse_address(spec)
    ips = resolve(address, allow_remote=False, look_up=look_up)
    here = [ip for ip in ips if standing_of(ip) == "loopback"]
    if not here:
        raise UsageError(f"{address.url} is not this machine, and the story would be sent there; name a server here")
    return Endpoint(address, here)


def drive_by_model(session: Session, endpoint: Endpoint) -> None:
    """Let the model call until it stops or its turns are over. EmbedderError where the server cannot be used."""
    talk = _Talk(session)
    turns = session.left["calls"] + _TURNS_TO_STOP
    while turns > 0 and not session.state.stopped:
        reply = endpoint.ask(_PATH, talk.request(endpoint.address.model), PATIENCE)
        if reply.status in _REFUSED and talk.ease():
            continue
        turns -= 1
        talk.take(_message(reply, endpoint))


class _Talk:
    """What the model is told: the task, and after it each exchange, the oldest of which go where they do not fit any more.

    A model is asked by tools. Where its server has none, or it answers without a call, it is asked for JSON, which servers
    can hold it to.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen: dict[str, None] = {}
        self._task = self._told()
        self._exchanges: list[list[Message]] = []
        self._by_tools = True

    def request(self, model: str) -> dict[str, object]:
        seen = [*self._seen]
        calls = [
            asdict(call) | {"parameters": _narrowed(call, seen)}
            for call in self._session.calls
            if seen or _LISTS.isdisjoint(call.parameters["properties"])
        ]
        rules = _RULES if self._by_tools else f"{_RULES} {_AS_JSON} The calls are: {json.dumps(calls)}"
        asked: dict[str, object] = {
            "model": model,
            "messages": [{"role": "system", "content": rules}, self._task, *itertools.chain(*self._exchanges)],
            "temperature": 0,
            "max_tokens": _MOST_TOKENS_A_TURN,
            "stream": False,
        }
        if self._by_tools:
            tools = [{"type": "function", "function": call} for call in calls]
            return asked | {"tools": tools, "tool_choice": "required"}
        schema = {"name": "call", "schema": {"anyOf": [_as_object(call) for call in calls]}}
        return asked | {"response_format": {"type": "json_schema", "json_schema": schema}}

    def take(self, message: Message) -> None:
        """Carry out what the model asked for."""
        by_tools = "tool_calls" in message
        answers = _answers(self._session, message)
        if self._by_tools and not by_tools and answers[0]["call"] is None:
            self._ask_for_json()
            return
        for answer in answers:
            self._note_ids(answer)
        said = [json.dumps(answer, ensure_ascii=False) for answer in answers]
        if by_tools:
            ids = [str(call.get("id", "")) for call in message["tool_calls"]]
            told = [{"role": "tool", "tool_call_id": id_, "content": text} for id_, text in zip(ids, said, strict=True)]
        else:
            told = [{"role": "user", "content": said[0]}]
        self._exchanges.append([message, *told])

    def ease(self) -> bool:
        """After a refusal: fewer exchanges, as a first request that was taken was not too long; or else no tools.

        False where nothing is left to change.
        """
        if self._exchanges:
            self._exchanges = self._exchanges[len(self._exchanges) // 2 + 1 :]
            self._task = self._told()
        elif self._by_tools:
            self._ask_for_json()
        else:
            return False
        return True

    def _ask_for_json(self) -> None:
        """From now on, in a conversation that never knew of tools."""
        self._by_tools = False
        self._exchanges = []
        self._task = self._told()

    def _note_ids(self, told: Mapping[str, Any]) -> None:
        """The ids that stand in what the model was told, newest last."""
        for kind in ("pinned", "candidates", "items"):
            for item in told.get(kind, ()):
                self._seen.pop(item["id"], None)
                self._seen[item["id"]] = None

    def _told(self) -> Message:
        """The task with what is selected and what is left by now."""
        told = {key: value for key, value in self._session.opening().items() if key != "calls"}
        self._note_ids(told)
        return {"role": "user", "content": json.dumps(told, ensure_ascii=False)}


def _narrowed(call: Call, seen: Sequence[str]) -> Mapping[str, Any]:
    """The schema of a call's arguments for a model that repeats itself: short texts and lists, of ids that it has seen.

    A server that keeps to a schema then lets it write nothing that would be refused; the session checks all the same.
    """
    ids = {"type": "array", "items": {"enum": [*seen]}, "minItems": 1, "maxItems": min(_MOST_IDS_A_CALL, len(seen))}
    properties = {
        name: ids
        if name in _LISTS
        else schema | ({"maxLength": _MOST_CHARACTERS} if schema.get("type") == "string" else {})
        for name, schema in call.parameters["properties"].items()
    }
    return {**call.parameters, "properties": properties}


def _as_object(call: Mapping[str, Any]) -> dict[str, object]:
    """The schema of a call as one JSON object."""
    return {
        "type": "object",
        "properties": {"call": {"const": call["name"]}, "arguments": call["parameters"]},
        "required": ["call", "arguments"],
        "additionalProperties": False,
    }


def _message(reply: Reply, endpoint: Endpoint) -> Message:
    """What the model said: its `content` and its `tool_calls`, as far as they are of their kind."""
    if reply.status != 200:
        raise EmbedderError(f"{endpoint.address.url} answered {reply.status} {reply.text}; see that its model can chat")
    choices = reply.content.get("choices") if isinstance(reply.content, dict) else None
    message = (
        choices[0].get("message") if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    )
    if not isinstance(message, dict):
        raise EmbedderError(f"{endpoint.address.url} answered with no message; see that its model can chat")
    content, calls = message.get("content"), message.get("tool_calls")
    sound = [one for one in calls if isinstance(one, dict)] if isinstance(calls, list) else []
    said: Message = {"role": "assistant", "content": content if isinstance(content, str) else ""}
    return said | ({"tool_calls": sound[:_MOST_CALLS_A_TURN]} if sound else {})


def _answers(session: Session, message: Message) -> list[Mapping[str, object]]:
    """The answer to each of the calls of a message; one that has none is read as the JSON of a call."""
    if "tool_calls" not in message:
        return [_carried_out(session, message["content"], "call", "arguments")]
    return [_carried_out(session, call.get("function"), "name", "arguments") for call in message["tool_calls"]]


def _carried_out(session: Session, said: object, name: str, arguments: str) -> Mapping[str, object]:
    """The answer to a call that stands in an object or in its JSON; its arguments may be JSON too, as servers give them."""
    try:
        call = _object(said)
        given = call.get(arguments, {})
        return session.call(call.get(name), _object(given) if isinstance(given, str) else given)
    except InvalidData as invalid:
        return session.refuse(MalformedCall(f"{invalid}; answer with one call"))


def _object(said: object) -> dict[str, Any]:
    value = parse_document(said.encode("utf-8", "replace"), "answer") if isinstance(said, str) else said
    return value if isinstance(value, dict) else {}
