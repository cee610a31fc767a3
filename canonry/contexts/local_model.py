"""A session driven by a model on this machine, over `/v1/chat/completions`: by tools, or by JSON where it has none.

The model is told the calls, the task and what there is; what it asks for is answered as any other driver's. It is given
so many turns as the session has calls and a few more to stop; a model that goes on without sense leaves the session open.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from canonry.canonlog.document import parse_document
from canonry.canonlog.problem import InvalidData
from canonry.contexts.calls import DATA
from canonry.contexts.failures import MalformedCall
from canonry.contexts.session import Session
from canonry.errors import EmbedderError, UsageError
from canonry.servers.address import parse_address, resolve, standing_of
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
_NO_TOOLS = {400, 404, 422, 500, 501}  # what servers answer that cannot take tools

Message = dict[str, Any]


def open_model(spec: str) -> Endpoint:
    """The server of a SPEC such as openai:MODEL@http://127.0.0.1:8080. UsageError where it is not on this machine."""
    address = parse_address(spec)
    ip = resolve(address, allow_remote=False)
    if standing_of(ip) != "loopback":
        raise UsageError(f"{address.url} is not this machine, and the story would be sent there; name a server here")
    return Endpoint(replace(address, host=str(ip)))


def drive_by_model(session: Session, endpoint: Endpoint) -> None:
    """Let the model call until it stops or its turns are over. EmbedderError where the server cannot be used."""
    told = {key: value for key, value in session.opening().items() if key != "calls"}
    messages: list[Message] = [
        {"role": "system", "content": _RULES},
        {"role": "user", "content": json.dumps(told, ensure_ascii=False)},
    ]
    with_tools = True
    turns = session.left["calls"] + _TURNS_TO_STOP
    while turns > 0 and not session.state.stopped:
        turns -= 1
        reply = endpoint.ask(_PATH, _request(session, endpoint.address.model, messages, with_tools), PATIENCE)
        if reply.status in _NO_TOOLS and with_tools:
            with_tools = False
            messages[0]["content"] += f" The calls are: {json.dumps([asdict(call) for call in session.calls])}"
            continue
        message = _message(reply, endpoint)
        messages += _answered(session, message)


def _request(session: Session, model: str, messages: Sequence[Message], with_tools: bool) -> dict[str, object]:
    asked: dict[str, object] = {"model": model, "messages": list(messages), "temperature": 0, "stream": False}
    if with_tools:
        asked["tools"] = [
            {"type": "function", "function": {"name": one.name, "description": one.description, "parameters": one.parameters}}
            for one in session.calls
        ]  # fmt: skip
        return asked
    shape = {
        "type": "object",
        "properties": {"call": {"enum": [call.name for call in session.calls]}, "arguments": {"type": "object"}},
        "required": ["call", "arguments"],
        "additionalProperties": False,
    }
    asked["response_format"] = {"type": "json_schema", "json_schema": {"name": "call", "schema": shape}}
    return asked


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


def _answered(session: Session, message: Message) -> list[Message]:
    """The model's message, and after it the answer to each of its calls."""
    if "tool_calls" not in message:
        answer = _carried_out(session, message["content"], "call", "arguments")
        return [message, {"role": "user", "content": json.dumps(answer, ensure_ascii=False)}]
    answers = []
    for call in message["tool_calls"]:
        answer = _carried_out(session, call.get("function"), "name", "arguments")
        answers.append({
            "role": "tool", "tool_call_id": str(call.get("id", "")), "content": json.dumps(answer, ensure_ascii=False),
        })  # fmt: skip
    return [message, *answers]


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
