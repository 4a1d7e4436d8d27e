"""Connections to servers: one for each request, direct or over proxies, verified; pictures are encoded once."""

import asyncio
import base64
import datetime
import json
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from facevalue.errors import ModelError
from facevalue.models.base import ModelOptions
from facevalue.models.openai import OpenAIModel
from facevalue.servers import replies
from facevalue.servers import server as http_server
from facevalue.servers.server import Server, Waits
from facevalue.types import Image, Question, Request, Sampling, Status, Stimulus
from tests.models.misbehaving import Exchange, Misbehaving, fine
from tests.models.raw_server import Line, RawServer

slept: list[float] = []


async def note(seconds: float) -> None:
    """Wait for nothing, but remember it."""
    slept.append(seconds)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    slept.clear()
    for name in ("FACEVALUE_API_KEY", "SSL_CERT_FILE", "NO_PROXY", "ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def server() -> Iterator[Misbehaving]:
    with Misbehaving().served() as served:
        yield served


def make(spec: str, concurrency: int = 1, **options: Any) -> OpenAIModel:
    options = {"timeout": 20.0, "retries": 3} | options
    return OpenAIModel(spec, ModelOptions(concurrency=concurrency, **options), waits=Waits(sleep=note))


def ask(trial: int, picture: bytes = b"png") -> Request:
    shown = Stimulus(str(len(picture)), "digest", {}, lambda: (Image(picture, "image/png"),))
    return Request(trial, 0, trial, shown, Question(f"Question {trial}?"), Sampling(), False)


def statuses(model: OpenAIModel, requests: Iterable[Request]) -> list[Status]:
    return [response.status for response in model.respond(requests)]


@pytest.mark.parametrize("width", [1, 5])
def test_each_request_has_a_connection_of_its_own_and_no_more_are_open_than_requests(
    server: Misbehaving, width: int
) -> None:
    server.otherwise = server.hold(width)
    assert statuses(make(server.spec, width), map(ask, range(60))) == [Status.OK] * 60
    assert server.most_at_once == width
    assert server.opened == 60
    assert server.all_closed()
    assert {exchange.headers["connection"] for exchange in server.asked} == {"close"}


def test_connections_are_closed_with_the_iterator(server: Misbehaving) -> None:
    server.otherwise = server.hold(4)
    model = make(server.spec, 4)
    with closing(model.respond(map(ask, range(100)))) as responses:
        assert next(responses).status is Status.OK
    assert server.all_closed()


def test_a_request_whose_connection_breaks_is_sent_again(server: Misbehaving) -> None:
    server.script = [fine, lambda exchange: exchange.reset()]
    assert statuses(make(server.spec, 4), map(ask, range(20))) == [Status.OK] * 20
    assert server.opened == 21
    assert len(slept) == 1


def test_a_connection_on_which_a_request_hung_is_not_used_again(server: Misbehaving) -> None:
    server.script = [fine, lambda exchange: exchange.hang()]
    assert statuses(make(server.spec, timeout=0.5, retries=20), map(ask, range(5))) == [Status.OK] * 5
    assert server.opened == 5 + len(slept)


def test_a_connection_that_the_server_closed_meanwhile_is_no_failure(server: Misbehaving) -> None:
    closed = threading.Event()

    def behave(exchange: Exchange) -> None:
        fine(exchange)
        exchange.handler.connection.shutdown(socket.SHUT_RDWR)
        closed.set()

    def requests() -> Iterator[Request]:
        for trial in range(5):
            assert trial == 0 or closed.wait(10)
            closed.clear()
            yield ask(trial)

    server.otherwise = behave
    assert statuses(make(server.spec), requests()) == [Status.OK] * 5
    assert server.opened == 5
    assert slept == []


def test_a_server_that_keeps_no_connections_gets_a_new_one_each_time(server: Misbehaving) -> None:
    said = json.dumps({"choices": [{"message": {"content": "(a)"}}]}).encode()
    server.otherwise = lambda exchange: exchange.raw(200, said, {"Connection": "close"})
    assert statuses(make(server.spec, 3), map(ask, range(12))) == [Status.OK] * 12
    assert server.opened == 12
    assert slept == []


def test_a_cookie_of_one_connection_is_sent_on_all(server: Misbehaving) -> None:
    server.script = [lambda exchange: exchange.raw(200, b"{}", {"Set-Cookie": "node=7"})]
    server.otherwise = server.hold(3)

    async def call() -> None:
        asked = Server(server.url, "", 20)
        async with asked.connections() as connections:
            await asked.call(connections, "/chat/completions", b"{}")
            await asyncio.gather(*(asked.call(connections, "/chat/completions", b"{}") for _ in range(3)))

    asyncio.run(call())
    assert server.opened == 4
    assert [exchange.headers.get("cookie") for exchange in server.asked] == [None] + ["node=7"] * 3


def test_a_server_elsewhere_is_reached_through_the_proxy_of_the_environment(
    server: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.port}")
    server.otherwise = server.hold(3)
    assert statuses(make("http://models.invalid/v1#tiny-llava", 3), map(ask, range(20))) == [Status.OK] * 20
    assert {exchange.headers["host"] for exchange in server.asked} == {"models.invalid"}
    assert {exchange.handler.path for exchange in server.asked} == {"http://models.invalid/v1/chat/completions"}


@pytest.fixture
def encrypted(server: Misbehaving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Have the server speak TLS as models.invalid, with the certificate that is returned."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "models.invalid")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("models.invalid")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    certificate, private = tmp_path / "certificate.pem", tmp_path / "key.pem"
    certificate.write_bytes(signed.public_bytes(Encoding.PEM))
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, private)
    assert server._server is not None
    server._server.socket = context.wrap_socket(server._server.socket, server_side=True, do_handshake_on_connect=False)
    http_server._tls.cache_clear()
    yield certificate
    http_server._tls.cache_clear()


class Proxy:
    """A proxy that leads to one port whatever it is asked for; `asked` is what it was told."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.asked: list[bytes] = []

    def connect(self, line: Line) -> None:
        """Speak HTTP."""
        method, headers = line.file.readline(), []
        while header := line.file.readline().strip():
            headers.append(header)
        self.asked += [method, *headers]
        line.send(b"HTTP/1.1 200 Here you are\r\n\r\n")
        line.join(self._port)

    def socks(self, line: Line) -> None:
        """Speak SOCKS5."""
        self.asked.append(line.file.read(3))
        line.send(b"\x05\x02")
        line.file.read(1)
        self.asked += [line.file.read(line.file.read(1)[0]) for _ in range(2)]
        line.send(b"\x01\x00")
        self.asked.append(line.file.read(4))
        self.asked.append(line.file.read(line.file.read(1)[0] + 2))
        line.send(b"\x05\x00\x00\x01" + bytes(6))
        line.join(self._port)


def test_a_tunnel_leads_to_a_server_that_is_verified(
    server: Misbehaving, encrypted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(encrypted))
    monkeypatch.setenv("FACEVALUE_API_KEY", "sk-secret")
    proxy = Proxy(server.port)
    with RawServer.serving(proxy.connect) as place:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:p%40ss@127.0.0.1:{place.port}")
        assert statuses(make("https://models.invalid/v1#m"), map(ask, range(2))) == [Status.OK] * 2
    assert slept == []
    assert proxy.asked[0] == b"CONNECT models.invalid:443 HTTP/1.1\r\n"
    assert b"Proxy-Authorization: Basic " + base64.b64encode(b"me:p@ss") in proxy.asked
    assert not any(b"sk-secret" in line for line in proxy.asked)
    assert {exchange.headers["authorization"] for exchange in server.asked} == {"Bearer sk-secret"}
    assert not any("proxy-authorization" in exchange.headers for exchange in server.asked)


def test_a_proxy_of_socks_leads_to_a_server_that_is_verified(
    server: Misbehaving, encrypted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(encrypted))
    proxy = Proxy(server.port)
    with RawServer.serving(proxy.socks) as place:
        monkeypatch.setenv("ALL_PROXY", f"socks5://me:pass@127.0.0.1:{place.port}")
        assert statuses(make("https://models.invalid:8443/v1#m", retries=0), [ask(0)]) == [Status.OK]
    assert proxy.asked == [
        b"\x05\x01\x02", b"me", b"pass", b"\x05\x01\x00\x03", b"models.invalid" + (8443).to_bytes(2, "big")
    ]  # fmt: skip


@pytest.mark.parametrize("answer", [b"HTTP/1.1 407 No\r\n\r\n", b"\x05\xff", b"", b"HTTP/1.1 200 OK\r\n\r\nmore"])
@pytest.mark.parametrize("scheme", ["http", "socks5"])
def test_a_proxy_that_refuses_is_one_sentence(monkeypatch: pytest.MonkeyPatch, answer: bytes, scheme: str) -> None:
    def behave(line: Line) -> None:
        line.send(answer)

    with RawServer.serving(behave) as place:
        monkeypatch.setenv("ALL_PROXY", f"{scheme}://me:hunter2@127.0.0.1:{place.port}")
        with pytest.raises(ModelError, match=r"Nothing answers at https://models.invalid/v1 \(through") as caught:
            statuses(make("https://models.invalid/v1#m", retries=0), [ask(0)])
    assert "hunter2" not in str(caught.value)


def test_large_requests_go_over_tls_and_one_that_breaks_off_is_an_error(
    server: Misbehaving, encrypted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(encrypted))
    proxy = Proxy(server.port)
    with RawServer.serving(proxy.connect) as place:
        monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{place.port}")
        requests = [ask(n, bytes(2**21)) for n in range(4)]
        assert statuses(make("https://models.invalid/v1#m", 2, retries=0), requests) == [Status.OK] * 4
        server.otherwise = lambda exchange: exchange.reset()
        assert statuses(make("https://models.invalid/v1#m", retries=0), requests[:1]) == [Status.ERROR]


def test_a_server_whose_certificate_is_not_trusted_gets_nothing(
    server: Misbehaving, encrypted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for trusted in (None, str(encrypted)):  # known to nobody, and known under another name
        if trusted:
            monkeypatch.setenv("SSL_CERT_FILE", trusted)
        http_server._tls.cache_clear()
        with pytest.raises(ModelError, match="CERTIFICATE_VERIFY_FAILED"):
            statuses(make(f"https://127.0.0.1:{server.port}/v1#m", retries=0), [ask(0)])
    assert server.asked == []


def test_a_picture_is_encoded_once_for_all_its_questions(server: Misbehaving, monkeypatch: pytest.MonkeyPatch) -> None:
    large: list[int] = []

    def dumps(value: object, **how: Any) -> str:
        text = json.dumps(value, **how)
        if len(text) > 10_000:
            large.append(len(text))
        return text

    monkeypatch.setattr(replies, "json", SimpleNamespace(dumps=dumps))
    server.script = [lambda exchange: exchange.error(503, "busy")] * 3
    pictures = [bytes(20_000), bytes(20_001)]
    requests = (ask(trial, pictures[trial // 15]) for trial in range(30))
    assert statuses(make(server.spec, 4), requests) == [Status.OK] * 30
    assert len(large) == 2
    sent = [body["messages"][-1]["content"][0]["image_url"]["url"] for body in server.bodies]
    assert len(sent) == 33
    assert set(sent) == {f"data:image/png;base64,{base64.b64encode(picture).decode()}" for picture in pictures}
