"""One HTTP server that is asked for JSON: pinned to the address that answered, patient within bounds, and never trusted.

No redirect is followed, no proxy, key or password is taken from files or the environment but the one of its use, and no
reply may be larger, slower or of another kind than what was asked for.
"""

from __future__ import annotations

import json
import os
import queue
import random
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from canonry.errors import CanonryError
from canonry.servers.address import IP, Address, standing_of

CONNECTIONS = 4  # at once
MOST_REPLY_BYTES = 64 * 1024 * 1024
MOST_WAIT_S = 30.0  # of one Retry-After
REST_S = 5.0  # after all tries failed, further requests fail at once for so long
_FIRST_WAIT_S = 0.3
_MOST_BACKOFF_S = 8.0
_FOR_THE_MOMENT = {408, 425, 429, 500, 502, 503, 504}


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one request may take: seconds to connect, seconds for all of it, and how often it is sent again."""

    connect_s: float
    whole_s: float
    retries: int


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered. `text` is the start of a reply that is not 200, for a message."""

    status: int
    content: Any = None
    text: str = ""
    wait_s: float | None = None  # what Retry-After asks for


class _Line:
    """One connection, kept between requests, which can be cut off from another thread."""

    def __init__(self, address: Address) -> None:
        self._stream: Any = None
        self.client = httpx.Client(
            trust_env=False,
            follow_redirects=False,
            verify=address.scheme == "https",
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30.0),
        )

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Remember the connection that is in use, as httpcore opens it."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._stream = info["return_value"]

    def cut_off(self) -> None:
        """End the request that runs, however slowly its reply drips."""
        open_socket = self._stream.get_extra_info("socket") if self._stream else None
        if open_socket is not None:
            try:
                open_socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it was closed meanwhile


class Endpoint:
    """The server behind an address. For several threads; at most `CONNECTIONS` of them ask at once."""

    def __init__(self, address: Address, ips: Sequence[IP], *, sleep: Callable[[float], None] = time.sleep) -> None:
        """`ips` are what `resolve` found. The first that answers is the one that is called from then on."""
        self.address = address
        self._ips = tuple(ips)
        self._pinning = threading.Lock()
        self._sleep = sleep
        self._lines: queue.LifoQueue[_Line | None] = queue.LifoQueue()
        for _ in range(CONNECTIONS):
            self._lines.put(None)
        self._resting: tuple[float, str] | None = None
        self._headers = {
            "Host": address.url.partition("://")[2].partition("/")[0],
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "canonry",
            **self._authorisation(),
        }

    def _authorisation(self) -> dict[str, str]:
        key = os.environ.get(self.address.use.key, "").strip()
        if not key:
            return {}
        if self.address.scheme == "http" and any(standing_of(ip) == "remote" for ip in self._ips):
            use = self.address.use
            raise use.error(
                f"{self.address.url}: {use.key} would travel unencrypted; write https:// in the {use.noun}'s address"
            )
        return {"Authorization": f"Bearer {key}"}

    def ask(self, path: str, body: dict[str, object] | None, patience: Patience) -> Reply:
        """The reply to a POST of `body`, or to a GET: status 200 with its JSON, or any other that is not for the moment.

        The error of its use where every try failed, and for a reply that cannot be used.
        """
        if self._resting and time.monotonic() < self._resting[0]:
            raise self.address.use.error(self._resting[1])
        waited, reason = 0.0, ""
        for tries in range(patience.retries + 1):
            asked_wait: float | None = None
            try:
                reply = self._once(path, body, patience)
                if reply.status not in _FOR_THE_MOMENT or _is_final(reply):
                    self._resting = None
                    return reply
                reason, asked_wait = f"it answered {reply.status} {reply.text}".strip(), reply.wait_s
            except httpx.TransportError as error:
                reason = self._reason(error, patience)
                if isinstance(error, httpx.ConnectError) and tries >= patience.retries // 2:
                    break  # nothing listens there
                if isinstance(error, httpx.ReadTimeout) and tries >= min(1, patience.retries // 2):
                    break  # it would take as long again
            backoff = min(_FIRST_WAIT_S * 2**tries, _MOST_BACKOFF_S) * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load
            wait_s = backoff if asked_wait is None else asked_wait
            if tries == patience.retries or wait_s > MOST_WAIT_S or waited + wait_s > 2 * MOST_WAIT_S:
                break
            waited += wait_s
            self._sleep(wait_s)
        message = f"{self.address.url} cannot be used now: {reason}; see that {self.address.model or 'the model'} is served there"
        self._resting = (time.monotonic() + REST_S, message)
        raise self.address.use.error(message)

    def _once(self, path: str, body: dict[str, object] | None, patience: Patience) -> Reply:
        with self._line() as line:
            deadline = time.monotonic() + patience.whole_s
            watch = threading.Timer(patience.whole_s, line.cut_off)
            watch.daemon = True
            watch.start()
            try:
                return self._exchange(line, path, body, patience, deadline)
            except httpx.TransportError as error:
                if time.monotonic() >= deadline:
                    raise httpx.ReadTimeout(f"no whole reply within {patience.whole_s:g} s") from error
                raise
            finally:
                watch.cancel()

    def _exchange(
        self, line: _Line, path: str, body: dict[str, object] | None, patience: Patience, deadline: float
    ) -> Reply:
        response = self._answered(line, path, body, patience, deadline)
        try:
            if response.is_redirect or 300 <= response.status_code < 400:
                raise self._unusable("a redirect, which is not followed; name the address it leads to")
            raw = self._read(response, deadline)
        finally:
            response.close()
        if response.status_code != 200:
            return Reply(response.status_code, text=_excerpt(raw), wait_s=_retry_after(response))
        return Reply(200, self._json(response, raw))

    def _answered(
        self, line: _Line, path: str, body: dict[str, object] | None, patience: Patience, deadline: float
    ) -> httpx.Response:
        """The begun response of the first address that takes a connection; the others are never called afterwards."""
        ips = self._ips
        for ip in ips:
            host = f"[{ip}]" if ip.version == 6 else str(ip)
            left_s = max(deadline - time.monotonic(), 0.001)
            request = line.client.build_request(
                "GET" if body is None else "POST",
                f"{self.address.scheme}://{host}:{self.address.port}{self.address.path}{path}",
                json=body,
                headers=self._headers,
                timeout=httpx.Timeout(patience.whole_s, connect=min(patience.connect_s, left_s)),
                extensions={"sni_hostname": self.address.host, "trace": line.trace},
            )
            try:
                response = line.client.send(request, stream=True)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if ip == ips[-1] or time.monotonic() >= deadline:
                    raise
                continue
            with self._pinning:
                if ip in self._ips:  # else another thread was answered by another one
                    self._ips = (ip,)
            return response
        raise AssertionError("an endpoint has an address")

    def _read(self, response: httpx.Response, deadline: float) -> bytes:
        """The whole body, while it is neither too large nor too slow."""
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise self._unusable("a compressed reply, which was not asked for")
        pieces, size = [], 0
        announced = response.headers.get("Content-Length", "")
        if announced.isdigit() and int(announced) > MOST_REPLY_BYTES:
            raise self._unusable(f"{int(announced):,} bytes, more than any reply needs")
        for piece in response.iter_raw(65_536):
            size += len(piece)
            if size > MOST_REPLY_BYTES:
                raise self._unusable(f"more than {MOST_REPLY_BYTES:,} bytes, more than any reply needs")
            if time.monotonic() > deadline:
                raise httpx.ReadTimeout("the reply did not end in time")
            pieces.append(piece)
        return b"".join(pieces)

    def _json(self, response: httpx.Response, raw: bytes) -> Any:
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "application/json" and not kind.endswith("+json"):
            raise self._unusable(f"{kind or 'a reply of no kind'} instead of JSON")
        try:
            return json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise self._unusable(f"JSON that cannot be read ({error})") from error

    def _reason(self, error: httpx.TransportError, patience: Patience) -> str:
        if isinstance(error, httpx.ConnectTimeout):
            return f"no connection within {patience.connect_s:g} s"
        if isinstance(error, httpx.TimeoutException):
            return f"no whole reply within {patience.whole_s:g} s ({self.address.use.settings}.timeout)"
        return re.sub(r"\[errno -?\d+\] ", "", str(error).lower()) or type(error).__name__

    def _unusable(self, what: str) -> CanonryError:
        return self.address.use.error(f"{self.address.url} answered with {what}; nothing of it was used")

    @contextmanager
    def _line(self) -> Iterator[_Line]:
        """A connection of its own for the block, waited for where all are in use."""
        line = self._lines.get() or _Line(self.address)
        try:
            yield line
        except BaseException:
            line.client.close()
            line = None  # type: ignore[assignment]
            raise
        finally:
            self._lines.put(line)

    def close(self) -> None:
        """Let every connection that is not in use go."""
        for _ in range(self._lines.qsize()):
            line = self._lines.get()
            if line:
                line.client.close()
            self._lines.put(None)


def _is_final(reply: Reply) -> bool:
    """Whether a 500 says something that will be the same next time: the length of a text, an unknown model."""
    return reply.status == 500 and says_too_long(reply)


def says_too_long(reply: Reply) -> bool:
    """Whether a reply refuses a text for its length, in the words of the servers that are known."""
    text = reply.text.lower()
    return reply.status in (400, 413, 422, 500) and any(
        words in text
        for words in (
            "context length", "context size", "context window", "length exceeds", "too long", "too large", "maximum context",
            "larger than the max", "must have less than", "physical batch size", "exceeds the maximum",
        )
    )  # fmt: skip


def _refuse_constant(name: str) -> float:
    raise ValueError(f"it holds {name}")


def _excerpt(raw: bytes) -> str:
    """The start of an error's text, on one line, for a message."""
    text = raw[:2_000].decode("utf-8", "replace")
    try:
        content = json.loads(text)
        inner = content.get("error", content.get("message", content)) if isinstance(content, dict) else content
        text = str(inner.get("message", inner) if isinstance(inner, dict) else inner)
    except (ValueError, RecursionError):
        pass
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return f"({line[:200]})" if line else ""


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds that Retry-After asks for, as a number or a date."""
    stated = response.headers.get("Retry-After", "").strip()
    try:
        return max(0.0, float(stated))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(stated).timestamp() - time.time())
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
