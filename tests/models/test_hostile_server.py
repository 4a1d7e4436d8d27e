"""Servers that send too much, too often, too slowly or too early: an error of that request, never another's answer."""

import asyncio
import base64
import gzip
import json
import pickle
import random
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from facevalue.errors import ModelError
from facevalue.models.base import ModelOptions
from facevalue.models.openai import OpenAIModel
from facevalue.models.registry import load
from facevalue.servers.connections import MAX_BODY
from facevalue.servers.server import Failure, Server, Waits
from facevalue.types import Image, Question, Request, Response, Sampling, Status, Stimulus
from tests.models.raw_server import Behaviour, Line, RawServer, answer

ROOT = Path(__file__).parents[2]
KEY = "sk-Very/Secret+Key_0123456789"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FACEVALUE_API_KEY", "NO_PROXY", "ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def at_once(seconds: float) -> None:
    """Wait for nothing."""


def asked(url: str, count: int, *, retries: int = 0, at_a_time: int = 4) -> list[Response]:
    """What is stored of so many questions; each reply repeats the number of its question."""
    shown = Stimulus("picture", "digest", {}, lambda: (Image(bytes(1000), "image/png"),))
    options = ModelOptions(concurrency=at_a_time, retries=retries, timeout=20)
    model = OpenAIModel(f"{url}#m", options, waits=Waits(sleep=at_once))
    requests = (Request(n, 0, n, shown, Question(f"Question {n}?"), Sampling(), False) for n in range(count))
    return list(model.respond(requests))


def call(url: str, timeout: float = 60) -> object:
    """What one bare request brings."""
    server = Server(url, "FACEVALUE_API_KEY", timeout)

    async def once() -> object:
        async with server.connections() as connections:
            return await server.call(connections, "/chat/completions", b"{}")

    return asyncio.run(once())


def at_random(seed: int) -> Callable[[], float]:
    """A stream of numbers for all connections."""
    rng, lock = random.Random(seed), threading.Lock()

    def draw() -> float:
        with lock:
            return rng.random()

    return draw


def surplus(kind: str) -> Behaviour:
    """A third of the replies come with more than themselves."""
    draw, before = at_random(7), [0]

    def behave(line: Line) -> None:
        if kind == "before the request" and draw() < 0.3:
            line.send(answer(before[0]))
        for number in line.questions(closing=kind != "late"):
            own = answer(number)
            if draw() < 0.3:
                if kind == "late":
                    line.send(own)
                    time.sleep(0.02)
                    line.send(own)
                elif kind == "in two packets":
                    line.send(own, own)
                else:
                    more = {
                        "doubled": own,
                        "of another": answer(before[0]),
                        "an error": answer(0, status="500 Oops"),
                        "half": own[: len(own) // 2],
                        "garbage": b"\x00" * 100_000,
                        "before the request": b"",
                    }
                    line.send(own + more[kind])
            else:
                line.send(own)
            before[0] = number

    return behave


@pytest.mark.parametrize(
    "kind", ["doubled", "in two packets", "late", "of another", "an error", "half", "garbage", "before the request"]
)
def test_no_answer_belongs_to_another_question_whatever_else_a_server_sends(kind: str) -> None:
    with RawServer.serving(surplus(kind)) as server:
        stored = asked(server.url, 60, retries=8, at_a_time=20 if kind == "late" else 4)
    assert sorted((one.trial, one.text) for one in stored) == [(n, str(n)) for n in range(60)]
    assert server.opened > 60


def test_a_server_that_always_answers_twice_is_quoted() -> None:
    def behave(line: Line) -> None:
        for number in line.questions():
            line.send(answer(number) * 2)

    with (
        RawServer.serving(behave) as server,
        pytest.raises(ModelError, match="More than one reply came to one request"),
    ):
        asked(server.url, 30)


def test_ends_of_lines_after_a_reply_are_nothing_and_a_server_that_stays_open_is_left() -> None:
    def behave(line: Line) -> None:
        for number in line.questions(closing=False):
            line.send(answer(number) + b"\r\n")

    with RawServer.serving(behave) as server:
        assert sorted(str(one.text) for one in asked(server.url, 4)) == ["0", "1", "2", "3"]


BODY = answer(1).partition(b"\r\n\r\n")[2]
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def once(data: bytes) -> Behaviour:
    """Send this and close."""

    def behave(line: Line) -> None:
        line.request()
        line.send(data)

    return behave


def packed(encoding: str, data: bytes) -> Behaviour:
    """Send a packed body and close."""
    return once(OK + f"Content-Encoding: {encoding}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)


@cache
def bomb(layers: int = 1) -> bytes:
    """64 MiB of blanks."""
    data = bytes(2**20)
    for _ in range(layers):
        data = gzip.compress(data * 64 if data == bytes(2**20) else data)
    return data


BROKEN: dict[str, tuple[Behaviour, str]] = {
    "a bomb": (packed("gzip", bomb()), "larger than 8 MiB"),
    "a bomb of zlib": (packed("deflate", zlib.compress(bytes(2**26))), "larger than 8 MiB"),
    "a bomb within a bomb": (packed("gzip", bomb(2)), "no JSON"),
    "packed twice": (packed("gzip, gzip", bomb(2)), "not asked for"),
    "packed twice in two headers": (packed("gzip\r\nContent-Encoding: gzip", bomb(2)), "not asked for"),
    "packed by brotli": (packed("br", b"\x00" * 30), "not asked for"),
    "packed by nothing known": (packed("x" * 1000, b""), "not asked for"),
    "packed and cut": (packed("gzip", gzip.compress(BODY)[:-9]), "breaks off"),
    "packed and more": (packed("gzip", gzip.compress(BODY) * 2), "Something follows"),
    "not packed as it says": (packed("gzip", BODY), "broke"),
    "two lengths": (once(OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + BODY), "broke"),
    "a length and chunks": (once(CHUNKED[:-2] + b"Content-Length: 5\r\n\r\n0\r\n\r\n"), "length in two ways"),
    "a length below zero": (once(OK + b"Content-Length: -5\r\n\r\n" + BODY), "broke"),
    "a length beyond all bounds": (once(OK + b"Content-Length: 99999999999999999999\r\n\r\n"), "larger than 8"),
    "a body that is shorter": (once(answer(1)[:-5]), "broke"),
    "a body that is longer": (once(answer(1) + b"}"), "More than one reply"),
    "nothing": (once(b""), "it was closed without a reply"),
    "half a head": (once(OK + b"Content-"), "it was closed without a reply"),
    "another protocol": (once(b"SSH-2.0-OpenSSH_9.6\r\n"), "broke"),
    "a switch": (once(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"), "broke"),
    "a thousand headers": (once(OK + b"A: b\r\n" * 1000 + b"Content-Length: 2\r\n\r\n{}"), "more than 200 headers"),
    "endless headers": (lambda line: line.endless(OK, b"A: " + b"b" * 1000 + b"\r\n"), "broke"),
    "one endless header": (lambda line: line.endless(OK + b"A: ", b"b" * 65536), "broke"),
    "endless heads": (lambda line: line.endless(b"", b"HTTP/1.1 102 Processing\r\n\r\n"), "More than 16 heads"),
    "an endless chunk's head": (lambda line: line.endless(CHUNKED + b"1;", b"a" * 65536), "broke"),
    "extensions of chunks": (lambda line: line.endless(CHUNKED, b"1;" + b"a" * 4000 + b"\r\n \r\n"), "larger than 8"),
    "endless trailers": (lambda line: line.endless(CHUNKED + b"0\r\n", b"A: bcd\r\n" * 1000), "broke"),
    "an endless body": (lambda line: line.endless(CHUNKED, b"ffff\r\n" + b" " * 0xFFFF + b"\r\n"), "larger than 8 MiB"),
    "JSON of many values": (once(OK + b"Connection: close\r\n\r\n[" + b"{}," * 10**6 + b"1]"), "no JSON"),
    "an error of many values": (once(b"HTTP/1.1 500 Oops\r\n\r\n[" + b"{}," * 10**6 + b"1]"), "HTTP 500"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_broken_or_without_bounds_is_an_error_of_that_request(kind: str) -> None:
    behave, expected = BROKEN[kind]
    with RawServer.serving(behave) as server, pytest.raises(Failure, match=expected) as caught:
        call(server.url)
    assert caught.value.connected


def drip(line: Line) -> None:
    """Send a head and then a letter now and then."""
    line.request()
    line.send(CHUNKED)
    while True:
        line.send(b"1\r\n \r\n")
        time.sleep(0.02)


def silent(line: Line) -> None:
    """Say nothing."""
    line.request()
    time.sleep(5)


@pytest.mark.parametrize("behave", [drip, silent, lambda line: time.sleep(5)])
def test_a_slow_reply_ends_with_the_time_of_the_whole_request(behave: Behaviour) -> None:
    with RawServer.serving(behave) as server, pytest.raises(Failure, match=r"No reply within 0\.3 s"):
        call(server.url, timeout=0.3)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "identity", "identity, GZIP"])
def test_a_reply_that_was_packed_once_is_read(encoding: str) -> None:
    data = {"deflate": zlib.compress(BODY), "identity": BODY}.get(encoding, gzip.compress(BODY))
    with RawServer.serving(packed(encoding, data)) as server:
        assert call(server.url) == json.loads(BODY)


MEMORY = """
import asyncio, re, sys
from pathlib import Path
from facevalue.servers.server import Failure, Server
def mib(name): return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
async def run(url):
    server = Server(url, "NO_KEY", 10)
    async with server.connections() as connections:
        try: await server.call(connections, "/chat/completions", b"{}")
        except Failure as failure: return failure.text
for url in sys.argv[1:]:
    asyncio.run(run(sys.argv[1]))  # whatever a request loads counts for nothing
    before = mib("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew; ru_maxrss would be that of who started this
    text = asyncio.run(run(url))
    print(round(mib("VmHWM") - before), text)
"""


def page(status: str, body: bytes) -> Behaviour:
    """Send this body and close."""
    return once(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux to measure memory")
@pytest.mark.parametrize(
    "some", [slice(2), pytest.param(slice(2, None), marks=pytest.mark.slow)], ids=["bombs", "8MiB"]
)
def test_neither_bombs_nor_the_worst_replies_of_8_mib_take_much_memory(some: slice) -> None:
    """Measured in a process of its own: 9 MiB for a packed gigabyte, 53 MiB for half a million lists by name."""
    data = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = data.compress(b"") + data.flush(zlib.Z_FULL_FLUSH)
    flat = head + (data.compress(bytes(2**20)) + data.flush(zlib.Z_FULL_FLUSH)) * 1024  # blocks know nothing of another
    half = 2**18 - 10
    worst = {
        packed("gzip", flat): ("larger than 8 MiB", 20),
        packed("gzip", gzip.compress(flat)): ("no JSON", 20),
        page("200 OK", b"{" + b",".join(b'"%x":[]' % n for n in range(half)) + b"}"): ("None", 100),
        page("200 OK", b"[" + b"{}," * half + b"1]"): ("no JSON object", 100),
        page("200 OK", b"[" + b"{}," * 2**21 + b"1]"): ("no JSON", 100),
        page("500 Oops", b"ab " * (MAX_BODY // 3)): ("HTTP 500", 100),
        page("500 Oops", "\U0001f600".encode() * (MAX_BODY // 4)): ("HTTP 500", 100),
    }
    chosen = dict(list(worst.items())[some])
    with ExitStack() as servers:
        urls = [servers.enter_context(RawServer.serving(behave)).url for behave in (once(b""), *chosen)]
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, *urls], cwd=ROOT, capture_output=True, text=True, check=True
        )
    for line, (said, most) in zip(done.stdout.splitlines()[1:], chosen.values(), strict=True):
        mib, _, text = line.partition(" ")
        assert said in text
        assert int(mib) < most, line


PLACES = [
    "javascript:1",
    "file:///etc/passwd",
    "//other/v1",
    "/v2",
    "http://[",
    "http://\x7f/",
    "x" * 60_000,
    "data:,a",
    "",
]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_error_of_its_request_and_takes_the_key_nowhere(
    monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("FACEVALUE_API_KEY", KEY)
    with RawServer.serving(once(answer(0))) as other:

        def behave(line: Line) -> None:
            for number in line.questions():
                place = [*PLACES, other.url][number // 2 % (len(PLACES) + 1)]
                sends = answer(number, f"Location: {place}", status=f"{status} Elsewhere")
                line.send(sends if number % 2 else answer(number))
                return

        with RawServer.serving(behave) as server:
            stored = asked(server.url, 20)
        assert [one.text for one in sorted(stored, key=lambda one: one.trial)[::2]] == [str(n) for n in range(0, 20, 2)]
        failed = [one for one in stored if one.trial % 2]
        assert {one.status for one in failed} == {Status.ERROR}
        assert all(str(one.error).startswith(f"HTTP {status}") or "broke" in str(one.error) for one in failed)
        assert server.opened == 20
        assert other.opened == 0


def test_cookies_do_not_grow() -> None:
    sizes: list[int] = []

    def behave(line: Line) -> None:
        if (asked := line.request()) is not None:
            sizes.append(len(asked[0].get("cookie", "")))
            many = [f"Set-Cookie: c{len(sizes)}-{n}={'x' * 900}; Path=/" for n in range(20)]
            line.send(answer(asked[1], "Set-Cookie: bad cookie=\x01", f"Set-Cookie: {'y' * 9000}=1", *many))

    with RawServer.serving(behave) as server:
        assert [one.status for one in asked(server.url, 30, at_a_time=1)] == [Status.OK] * 30
    assert 0 < max(sizes) <= 4096


WAYS = {
    "as it is": KEY,
    "small letters in percents": KEY.replace("/", "%2f").replace("+", "%2b"),
    "large letters in percents": KEY.replace("/", "%2F").replace("+", "%2B"),
    "all in percents": "".join(f"%{ord(c):02x}" for c in KEY),
    "percents twice": "".join(f"%25{ord(c):02X}" for c in KEY),
    "JSON": KEY.replace("/", "\\/"),
    "JSON by numbers": "".join(f"\\u00{ord(c):02X}" for c in KEY),
    "JSON in JSON": KEY.replace("/", "\\\\\\/").replace("+", "\\\\u002b"),
    "HTML": KEY.replace("/", "&#x2F;").replace("+", "&#43;"),
    "in small letters": KEY.lower(),
    "hexadecimal": KEY.encode().hex(),
}


@pytest.mark.parametrize("way", [*WAYS, *(f"base64 after {n}" for n in range(5)), "base64 for addresses"])
def test_the_key_is_taken_out_however_it_is_written(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setenv("FACEVALUE_API_KEY", KEY)
    if way in WAYS:
        written = WAYS[way]
    elif way == "base64 for addresses":
        written = base64.urlsafe_b64encode(KEY.encode()).decode()
    else:
        written = base64.b64encode(b"user:"[: int(way[-1])] + KEY.encode() + b"\n").decode()
    for page in (f"You sent {written}", f"{' ' * 5000}{written}{' ' * 100}", f"{'x' * 280}{written}", written * 3000):
        body = json.dumps({"error": {"message": page}}).encode()
        reply = b"HTTP/1.1 400 No\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        with RawServer.serving(once(reply)) as server, pytest.raises(Failure) as caught:
            call(server.url)
        text = caught.value.text
        assert not any(written[at : at + 8] in text for at in range(3, len(written) - 12)), text
        assert len(text) <= 300


def test_a_pickled_model_holds_no_key_and_reads_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACEVALUE_API_KEY", KEY)
    headers: list[dict[str, str]] = []

    def behave(line: Line) -> None:
        if (asked := line.request()) is not None:
            headers.append(asked[0])
            line.send(answer(asked[1]))

    with RawServer.serving(behave) as server:
        data = pickle.dumps(load(f"{server.url}#m"))
        assert b"Secret" not in data
        monkeypatch.setenv("FACEVALUE_API_KEY", "another-key")
        shown = Stimulus("none", "", {}, tuple)
        request = Request(0, 0, 0, shown, Question("Question 0?"), Sampling(), False)
        assert [one.text for one in pickle.loads(data).respond([request])] == ["0"]
    assert headers[0]["authorization"] == "Bearer another-key"


@pytest.mark.parametrize(
    "spec",
    ["http://ho\rst/v1#m", "http://host/v1\t#m", "http://xn--/v1#m", f"http://{'a' * 300}/v1#m", "http://h:70000/v1#m"],
)
def test_an_address_that_cannot_be_is_one_sentence(spec: str) -> None:
    with pytest.raises(ModelError) as caught:
        OpenAIModel(spec, ModelOptions())
    assert str(caught.value).isprintable()
