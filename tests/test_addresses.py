"""Addresses: what is none is said without repeating it, and this machine is known by all its names."""

import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facevalue import addresses
from facevalue.addresses import is_this_machine, proxy_before, split_address

HERE = [
    "localhost", "LOCALHOST", "localhost.", "a.localhost", "ip6-localhost", "localhost.localdomain",
    "127.0.0.1", "127.0.0.1.", "127.0.0.2", "127.1", "127.255.255.254", "0", "0.0.0.0", "0x7f000001", "0x7f.1",
    "2130706433", "017700000001", "0177.0.0.1", "[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]", "[::ffff:0.0.0.0]",
]  # fmt: skip
ELSEWHERE = [
    "models.invalid",
    "localhost.example.org",
    "127.0.0.1.example.org",
    "192.0.2.7",
    "[2001:db8::7]",
    "mylocalhost",
]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
def test_this_machine_is_reached_past_any_proxy_whatever_it_is_called(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "http://proxy.invalid:3128")
    schemes = ("http", "https") if name.lower().startswith("all") else (name.lower().partition("_")[0],)
    for scheme in schemes:
        for host in [*HERE, socket.gethostname(), f"{socket.gethostname()}."]:
            assert proxy_before(urlsplit(f"{scheme}://{host}:8000/v1")) is None, host
        for host in ELSEWHERE:
            assert proxy_before(urlsplit(f"{scheme}://{host}:8000/v1")) == "http://proxy.invalid:3128", host


def test_the_addresses_of_this_machine_and_their_names_are_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.1.1\tbox.example.org Box # its own\n192.0.2.7 other.example.org\n\nnonsense\n::1\n")
    monkeypatch.setattr(addresses, "_HOSTS", hosts)
    monkeypatch.setattr(addresses, "_own_name", lambda: "node7.cluster")
    addresses._own_names.cache_clear()
    names = ["box", "BOX.example.org.", "node7", "node7.cluster", "node7.local"]
    assert [is_this_machine(name) for name in names] == [True] * 5
    assert not any(is_this_machine(name) for name in ("other.example.org", "nonsense", "node8.cluster"))
    addresses._own_names.cache_clear()


def test_exceptions_from_the_proxy_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "proxy.invalid:3128")
    monkeypatch.setenv("NO_PROXY", "models.example.org,.inside.example.org")
    assert proxy_before(urlsplit("http://models.example.org/v1")) is None
    assert proxy_before(urlsplit("http://a.inside.example.org/v1")) is None
    assert proxy_before(urlsplit("http://outside.example.org/v1")) == "http://proxy.invalid:3128"


@pytest.mark.parametrize(
    "url",
    [
        "http://host\r\nX: y/v1", "http://ho\tst/v1", "http://host/v1\n", "http://ho st/v1", "http://h\x00st/v1",
        "http://xn--/v1", "http://xn--a-\xfc/v1", "http://xn--99999999999/v1", "http://h\xf6st/v1", "http://１２７.0.0.1/v1",
        f"http://{'a' * 64}.example.org/v1", f"http://{'.'.join(['a' * 60] * 5)}/v1", "http://a..b/v1", "http://-a.b/v1",
        "http://host:0/v1", "http://host:65536/v1", "http://host:-1/v1", "http://host:80x/v1", "http://[::1/v1",
        "http://[v1.a]/v1", "http://[]/v1", "http://user:hunter2@host/v1", "http://hunter2@host/v1", "http:host", "http://",
        "file:///v1", "javascript:1", "//host/v1", "host/v1", "http://host\\@other/v1", "http://a%2fb/v1", "http://a,b/v1",
    ],
)  # fmt: skip
def test_what_is_no_address_is_said_in_one_line_that_repeats_nothing(url: str) -> None:
    with pytest.raises(ValueError, match=r"^(is|holds) .*[^.]$") as caught:
        split_address(url)
    assert "hunter2" not in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "url", ["http://xn--mnchen-3ya.de/v1", "https://a_b.c-d.example.org.:65535", "http://[::1]:1/v1", "http://127.1/v1"]
)
def test_what_is_an_address_is_taken(url: str) -> None:
    assert split_address(url).hostname


@settings(max_examples=40)
@given(st.text(max_size=60))
def test_any_text_is_an_address_or_a_sentence(text: str) -> None:
    for url in (text, f"http://{text}", f"http://host:{text}/", f"http://[{text}]/"):
        try:
            parts = split_address(url)
        except ValueError:
            continue
        assert parts.geturl().isascii()
        assert parts.hostname
        is_this_machine(parts.hostname)
