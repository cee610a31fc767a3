"""Which model a SPEC names behind which address, and whether that address may be called.

`ollama:MODEL` and `openai:MODEL` are asked on this machine; `…@http://HOST:PORT` names another server. Addresses of
this machine are always called, private ones because the user wrote them, others only with `embed.allow_remote`.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from canonry.errors import EmbedderError, UsageError

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


@dataclass(frozen=True, slots=True)
class Address:
    """A model behind an address. `path` is what comes before the paths of the interface, mostly nothing."""

    spec: str
    kind: str
    model: str
    scheme: str
    host: str
    port: int
    path: str = ""

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
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise UsageError(f"embedder {spec!r}: the port of {url} is no number up to 65535") from None
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "the address of an embedder holds a user name or a password, which the settings would show: "
            "put the key into the environment as CANONRY_API_KEY"
        )
    if not parts.hostname or parts.query or parts.fragment or re.search(r"\s", url):
        raise UsageError(f"embedder {spec!r}: {url} is not an address such as http://127.0.0.1:8080")
    path = _PATHS[matched["kind"]].sub("", parts.path.rstrip("/"))
    return Address(spec, matched["kind"], model, parts.scheme, parts.hostname, port, path)


def standing_of(ip: IP) -> str:
    """loopback, private, remote or unusable: what kind of address it is."""
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped:
        ip = ip.ipv4_mapped
    if ip.is_loopback:
        return "loopback"
    if ip.is_unspecified or ip.is_multicast or ip == ipaddress.IPv4Address("255.255.255.255"):
        return "unusable"
    return "private" if any(ip in network for network in _PRIVATE if network.version == ip.version) else "remote"


def resolve(address: Address, *, allow_remote: bool, look_up: LookUp = socket.getaddrinfo) -> IP:
    """The one IP address that is called from now on, or an EmbedderError: unknown name, or not allowed."""
    try:
        found = [ipaddress.ip_address(address.host)]
    except ValueError:
        try:
            answers = look_up(address.host, address.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise EmbedderError(
                f"{address.url}: the name {address.host} is not known here ({error}); correct the address of "
                f"the embedder {address.spec}"
            ) from error
        found = [ipaddress.ip_address(str(answer[4][0]).partition("%")[0]) for answer in answers]
    allowed = {"loopback", "private", *(("remote",) if allow_remote else ())}
    usable = [ip for ip in found if standing_of(ip) in allowed]
    if usable:
        return usable[0]
    if all(standing_of(ip) == "unusable" for ip in found):
        raise EmbedderError(f"{address.url}: {found[0]} is no address that can be called; write 127.0.0.1 instead")
    raise EmbedderError(
        f"{address.url}: {found[0]} is neither this machine nor a private network, and the campaign's texts would be "
        "sent there; `canonry campaign settings ID --set embed.allow_remote=true` allows it"
    )
