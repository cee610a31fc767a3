"""A session driven by a model: a server on loopback that says what a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from canonry.contexts.journal import open_journal
from canonry.contexts.local_model import PATIENCE, drive_by_model, open_model
from canonry.contexts.session import Session, begin
from canonry.contexts.task import Task
from canonry.eligibility import Scope
from canonry.errors import EmbedderError, UsageError
from canonry.layout import Layout
from tests.conftest import Workshop
from tests.servers import looks_up, send

Script = Callable[[dict[str, Any]], Any]  # the request -> the message of the model, or (status, content)


class Chat:
    """A server of `/v1/chat/completions`. `requests` holds what it was asked."""

    def __init__(self) -> None:
        self.script: Script = lambda request: {"content": ""}
        self.requests: list[dict[str, Any]] = []
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *arguments: object) -> None:
                """Quiet."""

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                chat.requests.append({"path": self.path, **request})
                said = chat.script(request)
                status, content = said if isinstance(said, tuple) else (200, {"choices": [{"message": said}]})
                send(self, status, content)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def spec(self) -> str:
        return f"openai:lantern@http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def chat() -> Iterator[Chat]:
    chat = Chat()
    yield chat
    chat.server.shutdown()
    chat.server.server_close()


@pytest.fixture
def session(workshop: Workshop, at: Layout) -> Iterator[Session]:
    task = Task("Write the scene at the gate.", Scope("writer"), searches=("lexical",), calls=5)
    with open_journal(at, make=True) as journal:
        yield begin(journal, workshop.ask(at), task)


def tool(name: str, arguments: Any, id_: str = "c1") -> dict[str, Any]:
    said = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {
        "content": None,
        "tool_calls": [{"id": id_, "type": "function", "function": {"name": name, "arguments": said}}],
    }


def drive(session: Session, chat: Chat) -> None:
    endpoint = open_model(chat.spec)
    try:
        drive_by_model(session, endpoint)
    finally:
        endpoint.close()


def names(request: dict[str, Any]) -> list[str]:
    return [one["function"]["name"] for one in request["tools"]]


def last(request: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(request["messages"][-1]["content"])
    return found


def test_a_model_searches_selects_and_stops_by_tools(session: Session, chat: Chat) -> None:
    def script(request: dict[str, Any]) -> Any:
        said = last(request)
        if said.get("call") == "search":
            return tool("select", {"items": [said["candidates"][0]["id"]]})
        if said.get("call") == "select":
            return tool("stop", {"reason": "enough"})
        return tool("search", {"query": "gatekeeper"})

    chat.script = script
    drive(session, chat)
    assert session.assembly
    assert "gatekeeper sleeps" in session.assembly.text
    first = chat.requests[0]
    assert (first["path"], first["model"]) == ("/v1/chat/completions", "lantern")
    assert first["tool_choice"] == "required"
    assert names(first) == ["search", "stop"]  # before anything was seen there is nothing to fetch
    assert [names(later) for later in chat.requests[1:]] == [["search", "fetch", "select", "stop"]] * 2
    fetch = chat.requests[1]["tools"][1]["function"]["parameters"]["properties"]["ids"]
    assert fetch["items"]["enum"] == [one["id"] for one in last(chat.requests[1])["candidates"]]
    assert chat.requests[1]["messages"][-1]["tool_call_id"] == "c1"


def test_a_model_without_tools_answers_in_json(session: Session, chat: Chat) -> None:
    def script(request: dict[str, Any]) -> Any:
        if "tools" in request:
            return 400, {"error": {"message": "tools are not supported"}}
        call = (
            {"call": "stop", "arguments": {}}
            if last(request).get("call")
            else {"call": "search", "arguments": {"query": "lamp"}}
        )
        return {"content": json.dumps(call)}

    chat.script = script
    drive(session, chat)
    assert session.state.stopped
    forms = chat.requests[1]["response_format"]["json_schema"]["schema"]["anyOf"]
    assert [form["properties"]["call"]["const"] for form in forms] == ["search", "stop"]
    assert forms[0]["properties"]["arguments"]["required"] == ["query"]
    assert "Look for passages" in chat.requests[1]["messages"][0]["content"]


def test_a_model_that_chats_where_it_has_tools_is_asked_for_json_and_forgets_its_chat(
    session: Session, chat: Chat
) -> None:
    def script(request: dict[str, Any]) -> Any:
        if "tools" in request:
            return {"content": "The scene at the gate. " * 500}
        return {"content": '{"call": "stop", "arguments": {}}'}

    chat.script = script
    drive(session, chat)
    assert session.state.stopped
    first, second = chat.requests
    assert first["max_tokens"] == 2_000
    assert "response_format" in second
    assert len(second["messages"]) == 2
    assert "The scene at the gate. The scene" not in json.dumps(second)
    assert last(second)["left"]["calls"] == 4  # the chat has cost a call


def test_a_conversation_that_is_too_long_for_the_model_loses_its_oldest_part(session: Session, chat: Chat) -> None:
    def script(request: dict[str, Any]) -> Any:
        if len(request["messages"]) > 6:
            return 400, {"error": {"message": "the request exceeds the available context size"}}
        if session.left["calls"] == 1:
            return tool(
                "select",
                {"items": [request["tools"][1]["function"]["parameters"]["properties"]["ids"]["items"]["enum"][0]]},
            )
        return (
            tool("stop", {})
            if not session.left["calls"]
            else tool("search", {"query": f"lamp {session.left['calls']}"})
        )

    chat.script = script
    drive(session, chat)
    assert session.assembly
    assert len(session.assembly.working) == 1
    lengths = [len(request["messages"]) for request in chat.requests]
    assert lengths == [2, 4, 6, 8, 4, 6, 8, 4]
    told = [json.loads(chat.requests[at]["messages"][1]["content"])["selected"] for at in (0, 4, 7)]
    assert told == [[], [], [ref.id for ref in session.state.selected]]


def test_a_model_whose_context_does_not_hold_the_task_ends_with_the_servers_words(session: Session, chat: Chat) -> None:
    chat.script = lambda request: (400, {"error": {"message": "exceeds the available context size"}})
    with pytest.raises(EmbedderError, match="exceeds the available context size"):
        drive(session, chat)
    assert len(chat.requests) == 2  # with tools, and without


@pytest.mark.parametrize(
    "said",
    [
        {"content": "I would rather write a poem."},
        {"content": '{"call": "search"}'},
        {"content": "7"},
        {"content": ["a"], "tool_calls": "none"},
        tool("dance", {}),
        tool("search", "{not json"),
        tool("search", {"query": "lamp", "role": "narrator"}),
        {"tool_calls": [{"function": "search"}, {"id": 3}, 7]},
        tool("search", {"query": "the same again"}),
    ],
)  # fmt: skip
def test_a_model_that_answers_nonsense_or_loops_ends_and_leaves_the_session_open(
    session: Session, chat: Chat, workshop: Workshop, said: Any
) -> None:
    chat.script = lambda request: said
    drive(session, chat)
    assert not session.state.stopped
    assert len(chat.requests) == 8
    assert session.left["calls"] == 0
    assert session.call("stop", {})["ok"]


@pytest.mark.parametrize(
    "answer", [(503, {}), (200, {"choices": []}), (200, []), (200, {"choices": [{"message": "x"}]}), (200, b"x")]
)
def test_a_server_that_cannot_be_used_leaves_the_session_open(session: Session, chat: Chat, answer: Any) -> None:
    chat.script = lambda request: answer
    with pytest.raises(EmbedderError):
        drive(session, chat)
    assert not session.state.stopped


@pytest.mark.parametrize("host", ["10.0.0.7", "192.168.1.20", "[fd00::1]"])
def test_only_this_machine_is_asked(host: str) -> None:
    with pytest.raises(UsageError, match="is not this machine"):
        open_model(f"openai:lantern@http://{host}:8080")
    with pytest.raises(EmbedderError):
        open_model("openai:lantern@http://93.184.216.34:80")


def test_each_address_of_a_name_on_this_machine_is_tried_and_no_other(chat: Chat) -> None:
    spec = chat.spec.replace("127.0.0.1", "lamp.example")
    reply = open_model(spec, look_up=looks_up("::1", "10.0.0.7", "127.0.0.1")).ask("/v1/chat/completions", {}, PATIENCE)
    assert reply.status == 200
    with pytest.raises(UsageError, match="is not this machine"):
        open_model(spec, look_up=looks_up("10.0.0.7"))


def test_the_command_prints_what_a_model_selected(
    workshop: Workshop, at: Layout, chat: Chat, run_cli: Callable[..., tuple[int, str, str]]
) -> None:
    chat.script = lambda request: (
        tool("stop", {}) if len(request["messages"]) > 2 else tool("search", {"query": "lamp"})
    )
    task = workshop.root / "task.json"
    task.write_text(json.dumps({"task": "Write.", "required": []}))
    code, out, err = run_cli("context", "select", "--task", task, "--model", chat.spec, "--data", workshop.data)
    assert (code, out, "0 hot and 0 working" in err) == (0, "", True)
    chat.script = lambda request: (503, {})
    code, _, err = run_cli("context", "select", "--task", task, "--model", chat.spec, "--data", workshop.data)
    assert (code, "is open" in err) == (1, True)
    assert run_cli("context", "select", "--task", task, "--model", "rumour", "--data", workshop.data)[0] == 2
