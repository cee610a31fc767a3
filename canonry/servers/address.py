"""Which model is behind which address, and whether that address may be called.

`ollama:MODEL` and `openai:MODEL` are asked on this machine; `…@http://HOST:PORT` names another server. Addresses of
this machine are always called, private ones because the user wrote them, others only where the settings allow it.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from canonry.errors import CanonryError, EmbedderError, JudgeError, UsageError

DEFAULT_URLS = {
    "ollama": "http://127.0.0.1:11434",
    "openai": "http://127.0.0.1:1234",  # LM Studio's
}
_SPEC = re.compile(r"(?P<kind>ollama|openai):(?P<model>.+?)(?:@(?P<url>https?://.+))?\Z", re.DOTALL)
_PATHS = {"ollama": re.compile(r"/api\Z"), "openai": re.compile(r"/v1\Z")}
_PRIVATE = tuple(
    ipaddress.ip_network(network)
    for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
)
IP = ipaddress.IPv4Address | ipaddress.IPv6Address
LookUp = Callable[..., Iterable[tuple[Any, ...]]]  # as socket.getaddrinfo
by_system: LookUp = socket.getaddrinfo


@dataclass(frozen=True, slots=True)
class Use:
    """What a server is asked for: `noun` and `settings` as messages name them, `key` the variable that holds its key."""

    noun: str
    settings: str
    key: str
    error: type[CanonryError]


EMBEDDING = Use("embedder", "embed", "CANONRY_API_KEY", EmbedderError)
JUDGING = Use("judge", "judge", "CANONRY_JUDGE_KEY", JudgeError)  # a key of one server is never shown to another


@dataclass(frozen=True, slots=True)
class Address:
    """A model behind an address. `path` is what comes before the paths of the interface, mostly nothing.

    `spec` is what the user wrote: the SPEC of an embedder, the URL of a judge.
    """

    spec: str
    kind: str
    model: str
    scheme: str
    host: str
    port: int
    path: str = ""
    use: Use = EMBEDDING

    @property
    def url(self) -> str:
        """The address as a person reads it; it never holds a secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


def is_served(spec: str) -> bool:
    """Whether a SPEC names a model behind an address."""
    return spec.partition(":")[0] in DEFAULT_URLS and ":" in spec


def parse_address(spec: str) -> Address:
    """The address that a SPEC names; a UsageError says what is wrong with it. Nothing is looked up."""
    matched = _SPEC.match(spec)
    if not matched or not (model := matched["model"].strip()) or any(ord(char) < 32 for char in spec):
        raise UsageError(
            f"embedder {spec!r} names no model: write ollama:MODEL, openai:MODEL or openai:MODEL@http://127.0.0.1:8080"
        )
    if "://" in model or re.search(r"@[\w.-]+:\d+\Z", model):
        raise UsageError(f"embedder {spec!r}: an address starts with http:// or https://; write MODEL@http://HOST:PORT")
    url = matched["url"] or DEFAULT_URLS[matched["kind"]]
    return _parse_url(url, spec, matched["kind"], model, EMBEDDING)


def judge_address(url: str, model: str) -> Address:
    """The address of a server of /v1/chat/completions; a UsageError says what is wrong with it."""
    if not re.match(r"https?://", url) or any(ord(char) < 32 for char in url):
        raise UsageError(f"judge {url!r}: an address starts with http:// or https://; write http://127.0.0.1:8080")
    return _parse_url(url, url, "openai", model, JUDGING)


def _parse_url(url: str, spec: str, kind: str, model: str, use: Use) -> Address:
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"the address of the {use.noun} holds a user name or a password, which the settings would show: "
            f"put the key into the environment as {use.key}"
        )
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise UsageError(f"{use.noun} {spec!r}: the port of {url} is no number up to 65535") from None
    if not parts.hostname or parts.query or parts.fragment or re.search(r"\s", url):
        raise UsageError(f"{use.noun} {spec!r}: {url} is not an address such as http://127.0.0.1:8080")
    path = _PATHS[kind].sub("", parts.path.rstrip("/"))
    return Address(spec, kind, model, parts.scheme, parts.hostname, port, path, use)


def standing_of(ip: IP) -> str:
    """loopback, private, remote or unusable: what kind of address it is."""
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped:
        ip = ip.ipv4_mapped
    if ip.is_loopback:
        return "loopback"
    if ip.is_unspecified or ip.is_multicast or ip == ipaddress.IPv4Address("255.255.255.255"):
        return "unusable"
    return "private" if any(ip in network for network in _PRIVATE if network.version == ip.version) else "remote"


def resolve(address: Address, *, allow_remote: bool, look_up: LookUp = by_system) -> tuple[IP, ...]:
    """The IP addresses that may be called, each once, as the look-up orders them; never none.

    The error of its use: unknown name, or none of them is allowed.
    """
    try:
        found = [ipaddress.ip_address(address.host)]
    except ValueError:
        try:
            answers = look_up(address.host, address.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise address.use.error(
                f"{address.url}: the name {address.host} is not known here ({error}); correct the address of "
                f"the {address.use.noun} {address.spec}"
            ) from error
        found = [ipaddress.ip_address(str(answer[4][0]).partition("%")[0]) for answer in answers]
    allowed = {"loopback", "private", *(("remote",) if allow_remote else ())}
    usable = [ip for ip in dict.fromkeys(found) if standing_of(ip) in allowed]
    if usable:
        return tuple(usable)
    if all(standing_of(ip) == "unusable" for ip in found):
        raise address.use.error(f"{address.url}: {found[0]} is no address that can be called; write 127.0.0.1 instead")
    raise address.use.error(
        f"{address.url}: {found[0]} is neither this machine nor a private network, and the campaign's texts would be "
        f"sent there; `canonry campaign settings ID --set {address.use.settings}.allow_remote=true` allows it"
    )
