"""Which address a SPEC names, and which addresses may be called."""

from __future__ import annotations

import ipaddress

import pytest

from canonry.errors import EmbedderError, UsageError
from canonry.servers.address import parse_address, resolve, standing_of
from tests.servers import looks_up


@pytest.mark.parametrize(
    ("spec", "model", "url"),
    [
        ("ollama:nomic-embed-text", "nomic-embed-text", "http://127.0.0.1:11434"),
        ("ollama:nomic-embed-text:v1.5", "nomic-embed-text:v1.5", "http://127.0.0.1:11434"),
        ("ollama:m@http://10.0.0.7:11434/api/", "m", "http://10.0.0.7:11434"),
        ("openai:m", "m", "http://127.0.0.1:1234"),
        ("openai:m@q8_0", "m@q8_0", "http://127.0.0.1:1234"),
        ("openai:m@q8_0@http://localhost:8080/v1", "m@q8_0", "http://localhost:8080"),
        ("openai:org/m@https://host.example/base/v1/", "org/m", "https://host.example:443/base"),
        ("openai:m@http://[::1]:9", "m", "http://[::1]:9"),
    ],
)
def test_a_spec_names_a_model_and_an_address(spec: str, model: str, url: str) -> None:
    address = parse_address(spec)
    assert (address.model, address.url) == (model, url)


@pytest.mark.parametrize(
    "spec",
    ["ollama:", "openai: ", "openai:m@http://", "openai:m@http://host:99999", "openai:m@http://host/?key=1", "openai:m@ftp://host",
     "ollama:m@localhost:11434", "openai:m@http://ho st", "ollama:a\nb"],
)  # fmt: skip
def test_a_spec_without_a_usable_address_is_refused(spec: str) -> None:
    with pytest.raises(UsageError):
        parse_address(spec)


def test_a_key_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as refused:
        parse_address("openai:m@http://user:hunter2@127.0.0.1:1")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("ip", "standing"),
    [
        ("127.0.0.1", "loopback"), ("127.9.9.9", "loopback"), ("::1", "loopback"), ("::ffff:127.0.0.1", "loopback"),
        ("10.1.2.3", "private"), ("172.31.0.1", "private"), ("192.168.1.1", "private"), ("100.64.0.1", "private"), ("fd00::1", "private"),
        ("8.8.8.8", "remote"), ("172.32.0.1", "remote"), ("169.254.169.254", "remote"), ("2001:4860::8888", "remote"),
        ("::ffff:8.8.8.8", "remote"), ("0.0.0.0", "unusable"), ("::", "unusable"), ("224.0.0.1", "unusable"),
    ],
)  # fmt: skip
def test_addresses_stand_near_or_far(ip: str, standing: str) -> None:
    assert standing_of(ipaddress.ip_address(ip)) == standing


@pytest.mark.parametrize("host", ["8.8.8.8", "169.254.169.254", "[2001:4860::8888]"])
def test_an_address_beyond_private_networks_needs_the_setting(host: str) -> None:
    address = parse_address(f"openai:m@http://{host}:1")
    with pytest.raises(EmbedderError, match="allow_remote"):
        resolve(address, allow_remote=False)
    assert [str(ip) for ip in resolve(address, allow_remote=True)] == [host.strip("[]")]


def test_an_address_that_means_any_is_refused_with_the_one_to_write() -> None:
    with pytest.raises(EmbedderError, match=r"127\.0\.0\.1"):
        resolve(parse_address("ollama:m@http://0.0.0.0:11434"), allow_remote=True)


def test_a_name_is_looked_up_and_judged_by_what_it_means() -> None:
    near, far = parse_address("openai:m@http://near.example"), parse_address("openai:m@http://far.example")
    mixed = looks_up("8.8.4.4", "192.168.7.7", "0.0.0.0", "::1", "192.168.7.7")
    assert [str(ip) for ip in resolve(near, allow_remote=False, look_up=mixed)] == ["192.168.7.7", "::1"]
    assert [str(ip) for ip in resolve(near, allow_remote=True, look_up=mixed)] == ["8.8.4.4", "192.168.7.7", "::1"]
    with pytest.raises(EmbedderError, match="allow_remote"):
        resolve(far, allow_remote=False, look_up=looks_up("8.8.4.4"))
