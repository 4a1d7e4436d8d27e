"""Connections to servers: as few as are used at once, kept, and replaced when they break; pictures are encoded once."""

import asyncio
import base64
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from facevalue.models import _chat
from facevalue.models._http import Connections, Server, Waits
from facevalue.models.base import ModelOptions
from facevalue.models.openai import OpenAIModel
from facevalue.types import Image, Question, Request, Sampling, Status, Stimulus
from tests.models.misbehaving import Exchange, Misbehaving, fine

slept: list[float] = []


async def note(seconds: float) -> None:
    """Wait for nothing, but remember it."""
    slept.append(seconds)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    slept.clear()
    for name in ("FACEVALUE_API_KEY", "NO_PROXY", "ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"):
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


def statuses(model: OpenAIModel, requests: Iterator[Request]) -> list[Status]:
    return [response.status for response in model.respond(requests)]


@pytest.mark.parametrize("width", [1, 5])
def test_as_many_connections_as_requests_at_once_and_each_is_kept(server: Misbehaving, width: int) -> None:
    server.otherwise = server.hold(width)
    assert statuses(make(server.spec, width), map(ask, range(60))) == [Status.OK] * 60
    assert server.most_at_once == width
    assert server.opened == width


def test_no_connection_is_opened_that_is_not_needed(server: Misbehaving) -> None:
    assert statuses(make(server.spec, 64), map(ask, range(3))) == [Status.OK] * 3
    assert server.opened <= 3


def test_connections_are_closed_with_the_iterator(server: Misbehaving) -> None:
    server.otherwise = server.hold(4)
    model = make(server.spec, 4)
    with closing(model.respond(map(ask, range(100)))) as responses:
        assert next(responses).status is Status.OK
    assert server.all_closed()


@pytest.mark.parametrize("width", [1, 4])
def test_a_broken_connection_is_replaced_and_the_others_are_kept(server: Misbehaving, width: int) -> None:
    broken = threading.Event()

    def behave(exchange: Exchange) -> None:
        if exchange.body["seed"] == 30 and not broken.is_set():
            broken.set()
            exchange.reset()
        else:
            server.hold(width)(exchange)

    server.otherwise = behave
    assert statuses(make(server.spec, width), map(ask, range(60))) == [Status.OK] * 60
    assert broken.is_set()
    assert server.opened == width + 1
    assert len(slept) == 1


def test_a_connection_on_which_a_request_hung_is_not_used_again(server: Misbehaving) -> None:
    server.script = [fine, lambda exchange: exchange.hang()]
    assert statuses(make(server.spec, timeout=0.5, retries=20), map(ask, range(5))) == [Status.OK] * 5
    assert server.opened == 1 + len(slept)


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


def test_one_client_is_lent_to_one_request_at_a_time() -> None:
    async def borrow() -> None:
        async with Connections(httpx.AsyncClient) as connections:
            with connections.one() as first, connections.one() as second:
                assert first is not second
            with pytest.raises(ValueError, match="broken"), connections.one() as third:
                raise ValueError("broken")
            with connections.one() as fourth:
                assert fourth is third is first
        assert first.is_closed
        assert second.is_closed

    asyncio.run(borrow())


def test_a_cookie_of_one_connection_is_sent_on_all(server: Misbehaving) -> None:
    server.script = [lambda exchange: exchange.raw(200, b"{}", {"Set-Cookie": "node=7"})]
    server.otherwise = server.hold(3)

    async def call() -> None:
        asked = Server(server.url, "", 20)
        async with asked.connections() as connections:
            await asked.call(connections, "/chat/completions", b"{}")
            await asyncio.gather(*(asked.call(connections, "/chat/completions", b"{}") for _ in range(3)))

    asyncio.run(call())
    assert server.opened == 3
    assert [exchange.headers.get("cookie") for exchange in server.asked] == [None] + ["node=7"] * 3


def test_a_server_elsewhere_is_reached_through_the_proxy_of_the_environment(
    server: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.port}")
    server.otherwise = server.hold(3)
    assert statuses(make("http://models.invalid/v1#tiny-llava", 3), map(ask, range(20))) == [Status.OK] * 20
    assert {exchange.headers["host"] for exchange in server.asked} == {"models.invalid"}
    assert server.opened == 3


def test_certificates_are_verified_on_every_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    contexts: list[ssl.SSLContext] = []

    class Recorded(httpx.AsyncClient):
        def __init__(self, *, verify: ssl.SSLContext, **options: Any) -> None:
            contexts.append(verify)
            super().__init__(verify=verify, **options)

    monkeypatch.setattr(httpx, "AsyncClient", Recorded)
    connections = Server("https://models.invalid/v1", "", 5).connections()
    with connections.one(), connections.one():
        assert [(each.check_hostname, each.verify_mode) for each in contexts] == [(True, ssl.CERT_REQUIRED)] * 2


def test_a_picture_is_encoded_once_for_all_its_questions(server: Misbehaving, monkeypatch: pytest.MonkeyPatch) -> None:
    large: list[int] = []

    def dumps(value: object, **how: Any) -> str:
        text = json.dumps(value, **how)
        if len(text) > 10_000:
            large.append(len(text))
        return text

    monkeypatch.setattr(_chat, "json", SimpleNamespace(dumps=dumps))
    server.script = [lambda exchange: exchange.error(503, "busy")] * 3
    pictures = [bytes(20_000), bytes(20_001)]
    requests = (ask(trial, pictures[trial // 15]) for trial in range(30))
    assert statuses(make(server.spec, 4), requests) == [Status.OK] * 30
    assert len(large) == 2
    sent = [body["messages"][-1]["content"][0]["image_url"]["url"] for body in server.bodies]
    assert len(sent) == 33
    assert set(sent) == {f"data:image/png;base64,{base64.b64encode(picture).decode()}" for picture in pictures}
