"""One server, asked for JSON: its faults, its delays, and what is never done with it."""

from __future__ import annotations

import gzip
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import httpx
import pytest

from canonry.errors import EmbedderError
from canonry.servers.address import LookUp, by_system, parse_address, resolve
from canonry.servers.endpoint import CONNECTIONS, MOST_WAIT_S, Endpoint, Patience
from tests.servers import (
    MODEL,
    Crowd,
    Fault,
    Standin,
    answers,
    drips,
    drips_headers,
    fails,
    floods,
    hangs_up,
    looks_up,
    standin,
)

BODY: dict[str, object] = {"model": MODEL, "input": ["a lamp"]}
ONCE = Patience(connect_s=2, whole_s=10, retries=0)
BRIEF = Patience(connect_s=2, whole_s=0.5, retries=0)


class Sleeps:
    """Remembers how long it was to sleep, and does not."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def second_server(port: int) -> Iterator[Standin]:
    """Another server, at the same port of another address of this machine."""
    try:
        server = Standin("127.0.0.9", port)
    except OSError:
        pytest.skip("this system has no address 127.0.0.9")
    with closing(server):
        yield server


def reach(spec: str, look_up: LookUp = by_system, **named: Any) -> Endpoint:
    address = parse_address(spec)
    return Endpoint(address, resolve(address, allow_remote=True, look_up=look_up), **named)


def endpoint(server: Standin, sleep: Callable[[float], None] = time.sleep) -> Endpoint:
    return reach(server.spec("openai"), sleep=sleep)


def test_a_reply_is_the_json_that_was_sent(server: Standin) -> None:
    reply = endpoint(server).ask("/v1/embeddings", BODY, ONCE)
    assert reply.status == 200
    assert reply.content["model"] == MODEL


def test_connections_are_used_again(server: Standin) -> None:
    ports: set[object] = set()

    def watch(server: Standin, handler: object, texts: list[str]) -> bool:
        ports.add(handler.client_address)  # type: ignore[attr-defined]
        return False

    server.fault = watch
    asked = endpoint(server)
    for _ in range(3):
        asked.ask("/v1/embeddings", BODY, ONCE)
    assert len(ports) == 1


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (answers(b"<html>Sign in</html>", "text/html"), "text/html instead of JSON"),
        (answers(b"{}", ""), "a reply of no kind instead of JSON"),
        (answers(b'{"data": [{"index": 0, "embed'), "JSON that cannot be read"),
        (answers(b'{"data": [NaN]}'), "it holds NaN"),
        (answers(b'{"data": [-Infinity]}'), "it holds -Infinity"),
        (answers(b"\xff\xfe\x00"), "JSON that cannot be read"),
        (answers(b"[" * 200_000), "JSON that cannot be read"),
        (answers(gzip.compress(b"{}"), Content_Encoding="gzip"), "a compressed reply"),
        (floods, "more than 67,108,864 bytes"),
    ],
)
def test_a_reply_that_cannot_be_used_is_named(server: Standin, fault: Fault, said: str) -> None:
    server.fault = fault
    with pytest.raises(EmbedderError, match=said):
        endpoint(server).ask("/v1/embeddings", BODY, ONCE)
    assert len(server.log) == 1


def test_a_gigabyte_that_is_announced_is_not_read(server: Standin) -> None:
    def announce(server: Standin, handler: object, texts: list[str]) -> bool:
        handler.wfile.write(  # type: ignore[attr-defined]
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n{"
        )
        return True

    server.fault = announce
    with pytest.raises(EmbedderError, match="1,000,000,000 bytes"):
        endpoint(server).ask("/v1/embeddings", BODY, ONCE)


@pytest.mark.parametrize("fault", [drips, drips_headers])
def test_a_reply_that_never_ends_is_ended(server: Standin, fault: Fault) -> None:
    server.fault = fault
    with pytest.raises(EmbedderError, match=r"no whole reply within 0\.5 s"):
        endpoint(server).ask("/v1/embeddings", BODY, BRIEF)


def test_a_reply_that_breaks_off_is_no_reply(server: Standin) -> None:
    server.fault = hangs_up
    with pytest.raises(EmbedderError, match="cannot be used now"):
        endpoint(server).ask("/v1/embeddings", BODY, ONCE)


def test_a_redirect_is_never_followed(server: Standin) -> None:
    with standin() as other:
        server.fault = answers({}, status=307, Location=f"{other.url}/v1/embeddings")
        with pytest.raises(EmbedderError, match="redirect, which is not followed"):
            endpoint(server).ask("/v1/embeddings", BODY, ONCE)
        assert other.paths == []


def test_proxies_and_passwords_of_the_environment_are_not_used(
    server: Standin, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    with standin() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password hunter2\n")  # type: ignore[operator]
        monkeypatch.setenv("NETRC", f"{tmp_path}/.netrc")
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("CANONRY_API_KEY", "")
        assert endpoint(server).ask("/v1/embeddings", BODY, ONCE).status == 200
        assert proxy.paths == []
    assert "Authorization" not in server.headers[0]


def test_the_key_comes_from_the_environment(server: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANONRY_API_KEY", "sesame")
    endpoint(server).ask("/v1/embeddings", BODY, ONCE)
    assert server.headers[0]["Authorization"] == "Bearer sesame"


def test_a_key_never_travels_unencrypted_to_a_remote_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANONRY_API_KEY", "sesame")
    with pytest.raises(EmbedderError, match="unencrypted") as refused:
        reach("openai:m@http://8.8.8.8:1")
    assert "sesame" not in str(refused.value)
    with pytest.raises(EmbedderError, match="unencrypted"):
        reach("openai:m@http://mixed.example:1", looks_up("192.168.7.7", "8.8.8.8"))


def test_a_name_is_asked_for_at_the_address_it_was_resolved_to(server: Standin) -> None:
    asked = reach(f"openai:{MODEL}@http://localhost:{server.port}")
    assert asked.ask("/v1/embeddings", BODY, ONCE).status == 200
    assert server.headers[0]["Host"] == f"localhost:{server.port}"


@pytest.mark.parametrize("ips", [("::1", "127.0.0.1"), ("127.0.0.9", "::1", "127.0.0.1"), ("127.0.0.1", "::1")])
def test_each_address_of_a_name_is_tried_and_the_one_that_answers_is_kept(ips: tuple[str, ...]) -> None:
    looked_up: list[str] = []

    def look_up(host: str, port: int, **named: object) -> Iterable[tuple[Any, ...]]:
        looked_up.append(host)
        return looks_up(*ips)(host, port)

    with standin() as server:
        asked = reach(f"openai:{MODEL}@http://lamp.example:{server.port}", look_up)
        for _ in range(2):
            assert asked.ask("/v1/embeddings", BODY, ONCE).status == 200
        assert server.headers[0]["Host"] == f"lamp.example:{server.port}"
        port = server.port
    assert looked_up == ["lamp.example"]
    asked.close()
    with second_server(port) as other:
        with pytest.raises(EmbedderError, match="connection refused"):
            asked.ask("/v1/embeddings", BODY, ONCE)
        assert other.paths == []


def test_where_no_address_answers_it_is_said_once() -> None:
    asked = reach(f"openai:m@http://lamp.example:{free_port()}", looks_up("127.0.0.9", "127.0.0.1"))
    with pytest.raises(EmbedderError, match="connection refused") as refused:
        asked.ask("/v1/embeddings", BODY, ONCE)
    assert "\n" not in str(refused.value)


def test_an_address_that_took_the_connection_is_the_one_even_where_its_answer_is_of_no_use(server: Standin) -> None:
    server.fault = answers(b"<html>", "text/html")
    asked = reach(f"openai:{MODEL}@http://lamp.example:{server.port}", looks_up("127.0.0.1", "127.0.0.9"))
    with second_server(server.port) as other:
        for _ in range(2):
            with pytest.raises(EmbedderError, match="text/html"):
                asked.ask("/v1/embeddings", BODY, ONCE)
        assert other.paths == []


def test_several_requests_are_under_way_at_once_and_no_more_than_the_bound(server: Standin) -> None:
    server.fault = crowd = Crowd()
    asked = endpoint(server)
    with ThreadPoolExecutor(4 * CONNECTIONS) as pool:
        replies = list(pool.map(lambda _: asked.ask("/v1/embeddings", BODY, ONCE), range(6 * CONNECTIONS)))
    assert {reply.status for reply in replies} == {200}
    assert 1 < crowd.most <= CONNECTIONS


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_what_fails_for_the_moment_is_asked_again(server: Standin, status: int) -> None:
    sleeps = Sleeps()
    server.fault = fails(status, times=2)
    assert endpoint(server, sleeps).ask("/v1/embeddings", BODY, Patience(2, 10, 3)).status == 200
    assert len(server.log) == 3
    first, second = sleeps.seconds
    assert 0 < first <= 0.3
    assert 0.3 <= second <= 0.6


def test_a_wait_that_is_asked_for_is_kept(server: Standin) -> None:
    sleeps = Sleeps()
    server.fault = fails(429, times=2, Retry_After="7")
    assert endpoint(server, sleeps).ask("/v1/embeddings", BODY, Patience(2, 10, 3)).status == 200
    assert sleeps.seconds == [7.0, 7.0]


@pytest.mark.parametrize("wait", ["3600", "Fri, 31 Dec 2100 23:59:59 GMT"])
def test_a_wait_beyond_bounds_ends_it(server: Standin, wait: str) -> None:
    sleeps = Sleeps()
    server.fault = fails(429, Retry_After=wait)
    with pytest.raises(EmbedderError, match="429"):
        endpoint(server, sleeps).ask("/v1/embeddings", BODY, Patience(2, 10, 3))
    assert sleeps.seconds == []


def test_all_waits_together_are_bounded(server: Standin) -> None:
    sleeps = Sleeps()
    server.fault = fails(503, Retry_After="25")
    with pytest.raises(EmbedderError, match="cannot be used now"):
        endpoint(server, sleeps).ask("/v1/embeddings", BODY, Patience(2, 10, 20))
    assert sum(sleeps.seconds) <= 2 * MOST_WAIT_S


@pytest.mark.parametrize("status", [400, 401, 404, 413])
def test_what_will_not_change_is_not_asked_again(server: Standin, status: int) -> None:
    server.fault = answers({"error": {"message": "no\x1b[31m\nway " + "x" * 1_000}}, status=status)
    reply = endpoint(server).ask("/v1/embeddings", BODY, Patience(2, 10, 3))
    assert (reply.status, len(server.log)) == (status, 1)
    assert reply.text.isprintable()
    assert len(reply.text) < 250


def test_a_dead_server_is_said_to_be_so_and_left_alone_for_a_while(server: Standin) -> None:
    sleeps = Sleeps()
    server.fault = fails(503)
    asked = endpoint(server, sleeps)
    for _ in range(2):
        with pytest.raises(EmbedderError, match=r"cannot be used now: it answered 503"):
            asked.ask("/v1/embeddings", BODY, Patience(2, 10, 1))
    assert len(server.log) == 2


def test_nothing_listens_there() -> None:
    sleeps = Sleeps()
    with pytest.raises(EmbedderError, match="connection refused"):
        reach(f"ollama:m@http://127.0.0.1:{free_port()}", sleep=sleeps).ask("/api/tags", None, Patience(2, 10, 5))
    assert len(sleeps.seconds) == 2


def test_the_client_is_the_one_that_this_module_was_written_for() -> None:
    """The watch over a request relies on httpcore telling of the connections that it opens."""
    events: list[str] = []
    with standin() as server, httpx.Client(trust_env=False) as client:
        client.get(f"{server.url}/v1/models", extensions={"trace": lambda event, info: events.append(event)})
    assert "connection.connect_tcp.complete" in events
