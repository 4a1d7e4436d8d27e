"""Servers of pictures that send too much, too little, too slowly or somewhere else: bounded, and an error in words."""

import base64
import io
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress

import PIL.Image
import pytest

from facevalue.generators.base import GeneratedPicture, GeneratorOptions, PictureRequest
from facevalue.generators.images_api import ImagesServer
from facevalue.servers.server import Waits
from facevalue.types import Image, Status
from tests.generators.images_server import PicturesServer, base64_of, environment, no_wait, picture, reply
from tests.models.misbehaving import Behaviour, Exchange

__all__ = ["environment"]

START = b'{"created": 1, "data": [{"b64_json": "'


@pytest.fixture
def server() -> Iterator[PicturesServer]:
    with PicturesServer("sglang").served() as served:
        yield served  # type: ignore[misc]


def one(
    server: PicturesServer, source: Image | None = None, *, timeout: float = 20, retries: int = 0
) -> GeneratedPicture:
    options = GeneratorOptions(timeout=timeout, retries=retries)
    (made,) = ImagesServer(server.spec, options, waits=Waits(sleep=no_wait)).generate(
        [PictureRequest(3, "An old man", 1, source)]
    )
    return made


def endless(sent: list[int], piece: bytes, length: int | None) -> Behaviour:
    """Send the start of a picture and then a piece for ever, up to a gigabyte; note how many bytes that were."""

    def behave(exchange: Exchange) -> None:
        handler = exchange.handler
        handler.close_connection = True
        handler.send_response(200)
        if length is not None:
            handler.send_header("Content-Length", str(length))
        handler.end_headers()
        handler.wfile.write(START)
        sent.append(0)
        while sent[-1] < 10**9:
            sent[-1] += handler.connection.send(piece)

    return behave


@pytest.mark.parametrize("length", [None, 10**9])
@pytest.mark.parametrize("piece", [b"A" * 2**18, b"\0" * 2**18])
def test_a_body_of_a_gigabyte_is_read_to_the_bound_and_no_further(
    server: PicturesServer, length: int | None, piece: bytes
) -> None:
    sent: list[int] = []
    server.otherwise = endless(sent, piece, length)
    tracemalloc.start()
    made = one(server)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (made.status, made.error) == (Status.ERROR, "The reply is larger than 32 MiB.")
    assert peak < 200 * 2**20
    assert server.all_closed()
    assert sent[0] < 64 * 2**20


def test_a_picture_as_large_as_any_may_be_is_taken(server: PicturesServer) -> None:
    data = bytes(25 * 10**6)
    server.otherwise = reply({"b64_json": base64_of(data)})
    made = one(server)
    assert made.error is None
    assert made.image is not None
    assert len(made.image.data) == len(data)


def test_half_a_body_is_asked_for_again_and_else_an_error(server: PicturesServer) -> None:
    def half(exchange: Exchange) -> None:
        body = START + base64.b64encode(picture("any"))
        exchange.handler.send_response(200)
        exchange.handler.send_header("Content-Length", str(2 * len(body)))
        exchange.handler.end_headers()
        exchange.handler.wfile.write(body)
        exchange.handler.close_connection = True

    server.script = [half]
    assert one(server, retries=1).status is Status.OK
    server.script = [half]
    made = one(server)
    assert (made.status, made.image) == (Status.ERROR, None)
    assert "The connection broke" in str(made.error)


def test_a_slow_drip_ends_with_the_time(server: PicturesServer) -> None:
    def drip(exchange: Exchange) -> None:
        exchange.handler.send_response(200)
        exchange.handler.end_headers()
        with suppress(OSError):
            for _ in range(200):
                exchange.handler.wfile.write(b" ")
                time.sleep(0.05)

    server.otherwise = drip
    started = time.monotonic()
    made = one(server, timeout=0.6)
    assert (made.status, made.error) == (Status.ERROR, "No reply within 0.6 s.")
    assert time.monotonic() - started < 5


def test_a_redirect_is_not_followed_with_what_was_sent(server: PicturesServer) -> None:
    server.script = [server.draw]
    server.otherwise = lambda exchange: exchange.raw(307, b"", {"Location": f"{server.url}/images/edits"})
    generator = ImagesServer(server.spec, GeneratorOptions(retries=0, concurrency=1))
    first, second = generator.generate(PictureRequest(number, "An old man", 1) for number in range(2))
    assert (first.status, second.status) == (Status.OK, Status.ERROR)
    assert "no other address than the one that was named gets the key" in str(second.error)
    assert len(server.asked) == 2


def bomb() -> bytes:
    """A picture of a billion black pixels."""
    file = io.BytesIO()
    PIL.Image.new("1", (31_623, 31_623)).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize(
    "made_up",
    [bomb, lambda: b"GIF89a", lambda: b"<html>", lambda: picture("any")[:40], lambda: picture("any") + b"<?php ?>"],
    ids=["bomb", "head", "page", "half", "code"],
)
def test_what_is_no_picture_or_too_large_a_one_is_passed_on_undecoded(
    server: PicturesServer, made_up: Callable[[], bytes]
) -> None:
    data = made_up()
    server.otherwise = reply({"b64_json": base64_of(data)})
    made = one(server, Image(data, "image/png"))
    assert made.image is not None
    assert made.image.data == data
    assert server.asked[-1].body["image"] == data


@pytest.mark.parametrize("name", ["a" * 10**6, "\x1b[2J", "<script>", "\ud800"])
def test_what_a_server_says_of_a_picture_is_bounded_and_printable(server: PicturesServer, name: str) -> None:
    entry = {"b64_json": base64_of(picture("any")), "revised_prompt": name}
    server.otherwise = reply(entry, size=name, quality=[name], background=7)
    made = one(server)
    assert made.status is Status.OK
    assert len(str(made.facts.get("size", ""))) <= 100
    assert "\x1b" not in str(made.facts)
    assert set(made.facts) <= {"size"}
    assert len(made.revised_prompt or "") <= 32_000
    (made.revised_prompt or "").encode()


def test_a_count_that_no_picture_has_is_not_believed(server: PicturesServer) -> None:
    server.otherwise = reply({"b64_json": base64_of(picture("any"))}, usage={"output_tokens": 10**30})
    assert "a count of tokens that no reply can have" in str(one(server).error)
