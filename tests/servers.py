"""A stand-in for servers of models, on loopback, in this process: Ollama's interface and that of OpenAI, and their faults.

Vectors are hashed bags of words, so texts that share words are near and the same text always has the same vector. A
token is four characters of a word, or one other visible character. `Standin.log` has every request for vectors, and
`Standin.chats` every one for chat, which `Standin.write` answers.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from canonry.servers.address import LookUp

MODEL = "lantern-embed"
Fault = Callable[["Standin", BaseHTTPRequestHandler, list[str]], bool]  # True: the request is answered


def tokens_of(text: str) -> list[str]:
    return [word[at : at + 4] for word in re.findall(r"\w+|[^\w\s]", text, re.UNICODE) for at in range(0, len(word), 4)]


class Standin:
    """One server. Its attributes may be changed while it runs."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.dimensions = 64
        self.context = 400  # tokens
        self.says_context = True
        self.digest = "sha256:one"
        self.space = "a"  # another one is another model
        self.truncates = False  # an Ollama that ignores `truncate: false`, and cuts a second time, to `num_batch`
        self.num_batch = 120
        self.fault: Fault | None = None
        self.log: list[dict[str, Any]] = []
        self.chats: list[dict[str, Any]] = []
        self.write: Callable[[list[str]], object] = lambda passages: "I would rather not say."
        self.answered: list[str] = []  # texts that got a vector
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.lock = threading.Lock()
        self._server = ThreadingHTTPServer((host, port), _handler(self))
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def spec(self, kind: str = "ollama", model: str = MODEL) -> str:
        return f"{kind}:{model}@{self.url}"

    def asked(self) -> list[str]:
        """Every text that was sent, in the order of the requests."""
        return [text for request in self.log for text in request["input"]]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def vector(self, text: str, dimensions: int | None = None) -> list[float]:
        values = np.zeros(self.dimensions)
        for word in re.findall(r"\w+", text.lower()):
            digest = hashlib.sha256(f"{self.space} {word}".encode()).digest()
            values[int.from_bytes(digest[:4], "big") % self.dimensions] += 1.0 if digest[4] & 1 else -1.0
        values = values[: dimensions or self.dimensions]
        length = float(np.linalg.norm(values)) or 1.0
        return [float(value) / length for value in values]


@contextmanager
def standin(host: str = "127.0.0.1", port: int = 0) -> Iterator[Standin]:
    server = Standin(host, port)
    try:
        yield server
    finally:
        server.close()


def send(
    handler: BaseHTTPRequestHandler, status: int, content: object, kind: str = "application/json", **headers: str
) -> bool:
    """Answer with JSON, or with bytes as they are."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(raw)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(raw)
    return True


def _handler(server: Standin) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            """Quiet."""

        def handle(self) -> None:
            try:
                super().handle()
            except (BrokenPipeError, ConnectionError):
                return  # the client has had enough

        def do_GET(self) -> None:
            server.paths.append(self.path)
            server.headers.append(dict(self.headers.items()))
            if self.path == "/api/tags":
                send(self, 200, {"models": [{"name": f"{MODEL}:latest", "digest": server.digest}]})
            elif self.path == "/v1/models":
                send(self, 200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})
            else:
                send(self, 404, {"error": "not found"})

        def do_POST(self) -> None:
            server.paths.append(self.path)
            server.headers.append(dict(self.headers.items()))
            request = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
            if self.path == "/v1/chat/completions":
                _chat(server, self, request)
            elif request.get("model") not in (MODEL, f"{MODEL}:latest"):
                send(self, 404, {"error": f'model "{request.get("model")}" not found, try pulling it first'})
            elif self.path == "/api/show":
                info = {"lantern.context_length": server.context} if server.says_context else {}
                send(self, 200, {"model_info": info})
            else:
                given = request["input"]
                texts = [given] if isinstance(given, str) else given
                with server.lock:
                    server.log.append({"path": self.path, **request, "input": texts})
                if not (server.fault and server.fault(server, self, texts)):
                    (_ollama if self.path == "/api/embed" else _openai)(server, self, request, texts)

    return Handler


def _chat(server: Standin, handler: BaseHTTPRequestHandler, request: dict[str, Any]) -> None:
    with server.lock:
        server.chats.append(request)
    passages = passages_of(request)
    if not (server.fault and server.fault(server, handler, passages)):
        message = {"role": "assistant", "content": server.write(passages)}
        send(handler, 200, {"object": "chat.completion", "choices": [{"index": 0, "message": message}]})


def passages_of(request: dict[str, Any]) -> list[str]:
    """The passages that a judge is asked about, each as it stands in its frame."""
    return re.split(r"^p\d+:\n", request["messages"][-1]["content"], flags=re.MULTILINE)[1:]


def grades(grade: Callable[[str], object]) -> Callable[[list[str]], str]:
    """A judge that gives each passage its grade."""
    return lambda passages: json.dumps({f"p{number}": grade(one) for number, one in enumerate(passages, 1)})


def _ollama(server: Standin, handler: BaseHTTPRequestHandler, request: dict[str, Any], texts: list[str]) -> None:
    counts = [len(tokens_of(text)) for text in texts]
    if max(counts, default=0) > server.context:
        if not server.truncates:
            send(handler, 400, {"error": "the input length exceeds the context length"})
            return
        texts = [
            " ".join(tokens_of(text)[: server.num_batch]) if len(tokens_of(text)) > server.context else text
            for text in texts
        ]
        counts = [min(count, server.num_batch) if count > server.context else count for count in counts]
    server.answered += request["input"]
    vectors = [server.vector(text, request.get("dimensions")) for text in texts]
    send(handler, 200, {"model": request["model"], "embeddings": vectors, "prompt_eval_count": sum(counts)})


def _openai(server: Standin, handler: BaseHTTPRequestHandler, request: dict[str, Any], texts: list[str]) -> None:
    if max(len(tokens_of(text)) for text in texts) > server.context:
        send(handler, 400, {"error": {"message": f"maximum context length is {server.context} tokens"}})
        return
    server.answered += texts
    data = []
    for index, text in enumerate(texts):
        vector: Any = server.vector(text)  # `dimensions` is ignored, as many servers do
        if request.get("encoding_format") == "base64":
            vector = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
        data.append({"object": "embedding", "index": index, "embedding": vector})
    send(handler, 200, {"object": "list", "model": MODEL, "data": data[::-1]})  # an order of its own


def looks_up(*ips: str) -> LookUp:
    """A look-up that answers with those addresses, whatever the name."""
    return lambda host, port, **named: [(0, 0, 0, "", (ip, port)) for ip in ips]


def fails(status: int, times: int = 1_000_000, after: int = 0, **headers: str) -> Fault:
    """Answer `times` requests with that status, after `after` texts were embedded."""
    state = {"texts": 0, "failed": 0}

    def fault(server: Standin, handler: BaseHTTPRequestHandler, texts: list[str]) -> bool:
        with server.lock:
            if state["failed"] < times and state["texts"] + len(texts) > after:
                state["failed"] += 1
                fail = True
            else:
                state["texts"] += len(texts)
                fail = False
        return fail and send(handler, status, {"error": "out of sorts"}, **headers)

    return fault


class Crowd:
    """Counts the requests that are answered at once: `most` of them. Each takes a while, and waits for a second one to come."""

    def __init__(self) -> None:
        self.most = self._now = 0
        self._changed = threading.Condition()

    def __call__(self, server: Standin, handler: BaseHTTPRequestHandler, texts: list[str]) -> bool:
        with self._changed:
            self._now += 1
            self.most = max(self.most, self._now)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.most > 1, timeout=10)
        time.sleep(0.05)
        with self._changed:
            self._now -= 1
        return False


def answers(content: object, kind: str = "application/json", status: int = 200, **headers: str) -> Fault:
    """Answer every request with that content."""
    return lambda server, handler, texts: send(handler, status, content, kind, **headers)


def drips(server: Standin, handler: BaseHTTPRequestHandler, texts: list[str]) -> bool:
    """A reply that never ends, a byte at a time."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    for _ in range(600):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)
    return True


def drips_headers(server: Standin, handler: BaseHTTPRequestHandler, texts: list[str]) -> bool:
    """Headers that never end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for number in range(600):
        handler.wfile.write(f"X-{number}: x\r\n".encode())
        handler.wfile.flush()
        time.sleep(0.05)
    return True


def floods(server: Standin, handler: BaseHTTPRequestHandler, texts: list[str]) -> bool:
    """A gigabyte, of which nothing says so beforehand."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Connection", "close")
    handler.end_headers()
    for _ in range(1_024):
        handler.wfile.write(b" " * 1_048_576)
    return True


def hangs_up(server: Standin, handler: BaseHTTPRequestHandler, texts: list[str]) -> bool:
    """Half a reply, then the end of the connection."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"model": "lantern-em')
    handler.close_connection = True
    return True
