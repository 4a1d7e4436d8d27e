"""HTTP exchanges: each on a connection of its own, with everything bounded that a server may send.

A connection that is kept can bring a late second reply to one question as the reply to the next, and nothing in HTTP
tells the two apart. So none is kept, and a reply counts only if it is the only one.
"""

import asyncio
import base64
import os
import re
import ssl
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

import h11

from facevalue.addresses import proxy_before, split_address
from facevalue.errors import ModelSpecError

# Addresses of models behind servers, and the keys for them.


class Target(NamedTuple):
    """Address of a model, and the environment variable that holds its key."""

    url: str
    model: str
    variable: str


def target_of(spec: str) -> Target:
    """Read what the user typed."""
    if spec.startswith("openai/"):
        model, variable = spec.removeprefix("openai/"), "OPENAI_API_KEY"
        url = os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        example = "openai/MODEL"
        name_shown = "OPENAI_BASE_URL"
    else:
        url, _, model = spec.partition("#")
        variable, example, name_shown = "FACEVALUE_API_KEY", "http://HOST/v1#MODEL", "The model's address"
    try:
        address = split_address(url)
    except ValueError as error:
        hint = (
            f"Put the key into {variable} instead."
            if "password" in str(error)
            else "Write one such as http://localhost:8000/v1."
        )
        raise ModelSpecError(f"{name_shown} {error}. {hint}") from None
    if address.query or address.fragment:
        raise ModelSpecError(
            f"{name_shown} holds a query ('?...'), which could be a secret. Put the key into {variable} instead."
        )
    if not model:
        raise ModelSpecError(f"No model is named: write {example}.")
    if not model.isprintable():
        raise ModelSpecError(f"The model's name holds control characters: write {example}.")
    key = os.environ.get(variable, "").strip()
    if variable == "OPENAI_API_KEY" and not key:
        raise ModelSpecError(f"{spec!r} needs a key: set the environment variable {variable}.")
    if not (key.isascii() and all(33 <= ord(c) <= 126 for c in key)):
        raise ModelSpecError(f"{variable} holds characters that no key has, such as blanks.")
    return Target(url.rstrip("/"), model, variable)


MAX_BODY = 8 * 2**20
"""Bytes of a reply, unpacked, beyond which it is refused while it arrives, where no other bound is named."""
_WIRE = 2
"""So many times as much may be sent in all: with heads, sizes of chunks and all else."""
_MAX_HEAD = 2**16
_MAX_HEADERS = 200
_MAX_INTERIM = 16
_MAX_COOKIES = 4096
"""Characters of all cookies together."""
_PIECE = 2**16
_LINGER = 0.25
"""Seconds that a server has to close a connection, as it is asked to, or to show that it has more to say."""
_COOKIE = re.compile(r"[\w!#$%&'*+.^`|~-]{1,200}=[!#-+\--:<-\[\]-~]+", re.ASCII)
_PORTS = {"http": 80, "https": 443}

JSON = "application/json"

Headers = Sequence[tuple[str, str]]


class UnreachableError(Exception):
    """Error for an address at which nothing answers."""


class BrokenReplyError(Exception):
    """Error for a server's message that is no usable reply."""


class RawReply(NamedTuple):
    """A reply: its status, its headers by lower-case name (several of one name in lines), and its body, unpacked."""

    status: int
    headers: dict[str, str]
    body: bytearray


class Connections:
    """Connections to a server: its proxy, certificates, headers and cookies.

    `url`: base address. `headers`: sent with each request. `tls`: verifies the server, and a proxy. `largest`: bytes of
    a reply, unpacked, beyond which it is refused while it arrives.

    Raises
    ------
    ValueError
        The environment names a proxy that cannot be used: why.
    """

    def __init__(self, url: str, headers: Headers, tls: ssl.SSLContext, largest: int = MAX_BODY) -> None:
        self._url = urlsplit(url)
        self._tls = tls
        self._largest = largest
        self._cookies: dict[str, str] = {}  # by a cookie some balancers keep a client at one server and its cache
        self._proxy: SplitResult | None = None
        self._secret, self._is_socks = "", False
        if proxy := proxy_before(self._url):
            scheme, _, place = proxy.partition("://")
            credentials, _, host = place.rpartition("@")
            self._is_socks = scheme in ("socks5", "socks5h")
            self._proxy = split_address(f"{'http' if self._is_socks else scheme}://{host}")
            self._secret = unquote(credentials)
        self._is_tunnel = self._proxy is not None and not self._is_socks and self._url.scheme == "https"
        self._is_forwarded = self._proxy is not None and not self._is_socks and self._url.scheme == "http"
        self._headers = [("Host", self._url.netloc), ("Connection", "close"), *headers]
        if self._is_forwarded:
            self._headers += self._to_proxy()

    async def ask(self, method: str, path: str, body: bytes | None, timeout: float, media_type: str = JSON) -> RawReply:
        """Send one request and return its reply; both take at most so many seconds, else `TimeoutError`.

        `media_type`: what the body is.

        Raises
        ------
        UnreachableError
            Nothing answers.
        BrokenReplyError
            The reply breaks off, is too large, packed in a strange way, or not the only one.
        """
        exchange = _Exchange(self._largest)
        try:
            async with asyncio.timeout(timeout):
                await self._connect(exchange)
                reply = await exchange.reply(self._request(method, path, body, media_type), body or b"")
            if await exchange.has_surplus():
                raise BrokenReplyError("More than one reply came to one request.")
        finally:
            exchange.close()
        self._keep_cookies(reply.headers.get("set-cookie", ""))
        return reply

    def _request(self, method: str, path: str, body: bytes | None, media_type: str) -> h11.Request:
        headers = list(self._headers)
        if body is not None:
            headers += [("Content-Type", media_type), ("Content-Length", str(len(body)))]
        if self._cookies:
            headers.append(("Cookie", "; ".join(f"{name}={value}" for name, value in self._cookies.items())))
        target = self._url.path + path
        if self._is_forwarded:
            target = f"{self._url.scheme}://{self._url.netloc}{target}"
        return h11.Request(method=method, target=target, headers=headers)

    def _to_proxy(self) -> Headers:
        secret = base64.b64encode(self._secret.encode()).decode()
        return [("Proxy-Authorization", f"Basic {secret}")] if secret else []

    async def _connect(self, exchange: "_Exchange") -> None:
        first = self._proxy or self._url
        try:
            await exchange.connect(first, self._tls)
            port = self._url.port or _PORTS[self._url.scheme]
            if self._is_socks:
                await exchange.ask_socks(self._url.hostname or "", port, self._secret)
            elif self._is_tunnel:
                place = f"{self._url.netloc.removesuffix(f':{port}')}:{port}"
                request = h11.Request(method="CONNECT", target=place, headers=[("Host", place), *self._to_proxy()])
                await exchange.ask_tunnel(request)
            if self._proxy and self._url.scheme == "https":
                await exchange.encrypt(self._tls, self._url.hostname or "")
        except (OSError, EOFError, ValueError, BrokenReplyError) as error:
            through = f"through the proxy {first.hostname}: " if self._proxy else ""
            raise UnreachableError(f"{through}{error or type(error).__name__}") from None

    def _keep_cookies(self, lines: str) -> None:
        """Keep the latest cookies as far as there is room; whatever a server sends, requests do not grow."""
        for line in lines.splitlines():
            cookie = line.partition(";")[0].strip()
            if len(cookie) <= _MAX_COOKIES and _COOKIE.fullmatch(cookie):
                name, _, value = cookie.partition("=")
                self._cookies.pop(name, None)
                self._cookies[name] = value
        while sum(len(name) + len(value) + 3 for name, value in self._cookies.items()) > _MAX_COOKIES:
            del self._cookies[next(iter(self._cookies))]


@contextmanager
def _as_broken() -> Iterator[None]:
    """Turn whatever is wrong with what a server sends into one error."""
    try:
        yield
    except (h11.ProtocolError, OSError, zlib.error) as error:
        raise BrokenReplyError(f"The connection broke: {error or type(error).__name__}") from None


class _Exchange:
    """Connection, with what is sent and received over it.

    `largest`: most bytes of a reply, unpacked.
    """

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD)
        self._writer: asyncio.StreamWriter | None = None
        self._wire = 0

    async def connect(self, place: SplitResult, tls: ssl.SSLContext) -> None:
        """Open the connection."""
        encrypted = place.scheme == "https"
        self._reader, self._writer = await asyncio.open_connection(
            place.hostname,
            place.port or _PORTS[place.scheme],
            ssl=tls if encrypted else None,
            limit=_PIECE,
            happy_eyeballs_delay=0.25,
        )

    async def ask_tunnel(self, request: h11.Request) -> None:
        """Have an HTTP proxy connect to a server."""
        with _as_broken():
            self._write(self._parser.send(request))
            self._write(self._parser.send(h11.EndOfMessage()))
            head = await self._head()
        if head.status_code >= 300 or self._parser.trailing_data[0]:
            raise BrokenReplyError(f"it refuses (HTTP {head.status_code})")
        self._parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD)

    async def ask_socks(self, host: str, port: int, secret: str) -> None:
        """Have a SOCKS5 proxy connect to a server (RFC 1928), with user and password if it wants them (RFC 1929)."""
        receive = self._reader.readexactly
        user, password = (text.encode() for text in secret.split(":", 1)) if ":" in secret else (secret.encode(), b"")
        self._write(b"\x05\x01" + (b"\x02" if user else b"\x00"))
        _, way = await receive(2)
        if way == 2:
            self._write(b"\x01" + bytes([len(user)]) + user + bytes([len(password)]) + password)
            _, way = await receive(2)
        if way != 0:
            raise BrokenReplyError("it refuses the user and password, or the lack of them")
        self._write(b"\x05\x01\x00\x03" + bytes([len(host)]) + host.encode() + port.to_bytes(2, "big"))
        _, refusal, _, kind = await receive(4)
        if refusal:
            raise BrokenReplyError(f"it cannot connect (SOCKS {refusal})")
        await receive({1: 4, 4: 16}.get(kind) or (await receive(1))[0])
        await receive(2)

    async def encrypt(self, tls: ssl.SSLContext, host: str) -> None:
        """Continue over TLS."""
        assert self._writer is not None
        await self._writer.start_tls(tls, server_hostname=host)

    async def reply(self, request: h11.Request, body: bytes) -> RawReply:
        """Send a request and receive the reply to it."""
        for _ in range(2):  # so that what came before the request is seen as such
            await asyncio.sleep(0)
        sending = asyncio.ensure_future(self._send(request, body))
        sending.add_done_callback(lambda task: task.cancelled() or task.exception())  # the reply tells what happened
        try:
            with _as_broken():
                head = await self._head()
                if not sending.done() and head.status_code < 400:
                    raise BrokenReplyError("A reply came before the request was sent.")
                return RawReply(head.status_code, _by_name(head), await self._body(head))
        finally:
            sending.cancel()

    async def has_surplus(self) -> bool:
        """Return whether anything but ends of lines follows a reply while the server closes the connection."""
        surplus = bytearray(self._parser.trailing_data[0])
        try:
            async with asyncio.timeout(_LINGER):
                while not surplus.strip() and len(surplus) < _PIECE and (piece := await self._reader.read(_PIECE)):
                    surplus += piece
        except OSError:  # also the end of the time
            pass
        return bool(surplus.strip())

    def close(self) -> None:
        """Close the connection at once."""
        if self._writer is not None:
            self._writer.transport.abort()

    def _write(self, data: bytes | None) -> None:
        assert self._writer is not None
        self._writer.write(data or b"")

    async def _send(self, request: h11.Request, body: bytes) -> None:
        assert self._writer is not None
        self._writer.transport.set_write_buffer_limits(high=1, low=0)  # with 0 layers of TLS wait for ever
        self._write(self._parser.send(request))
        for event in (h11.Data(body), h11.EndOfMessage()):
            self._write(self._parser.send(event))
        await self._writer.drain()

    async def _receive(self) -> bytes:
        data = await self._reader.read(_PIECE)
        self._wire += len(data)
        if self._wire > _WIRE * self._largest:
            raise _too_large(self._largest)
        self._parser.receive_data(data)
        return data

    async def _head(self) -> h11.Response:
        """Receive the head of the reply; what only announces it is passed over."""
        for _ in range(_MAX_INTERIM + 1):
            while (event := self._parser.next_event()) is h11.NEED_DATA:
                if not await self._receive():
                    raise BrokenReplyError("The connection broke: it was closed without a reply.")
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse):
                raise BrokenReplyError("The connection broke: another protocol began.")
        raise BrokenReplyError(f"More than {_MAX_INTERIM} heads came before the reply.")

    async def _body(self, head: h11.Response) -> bytearray:
        headers = _by_name(head)
        if len(head.headers) > _MAX_HEADERS:
            raise BrokenReplyError(f"The reply has more than {_MAX_HEADERS} headers.")
        if "content-length" in headers and "transfer-encoding" in headers:
            raise BrokenReplyError("The reply gives its length in two ways.")
        if int(headers.get("content-length", 0)) > self._largest:
            raise _too_large(self._largest)
        body = _Body(headers.get("content-encoding", ""), self._largest)
        while not isinstance(event := self._parser.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                await self._receive()
            elif isinstance(event, h11.Data):
                body.add(event.data)
            else:
                raise BrokenReplyError("The connection broke: it was closed within the reply.")
        return body.read_all()


def _too_large(largest: int) -> BrokenReplyError:
    return BrokenReplyError(f"The reply is larger than {largest // 2**20} MiB.")


def _by_name(head: h11.Response) -> dict[str, str]:
    out: dict[str, str] = {}
    for key, value in head.headers:
        name, text = key.decode("ascii"), value.decode("latin-1")
        out[name] = f"{out[name]}\n{text}" if name in out else text
    return out


class _Body:
    """A body that is unpacked while it arrives, never beyond a bound.

    `encoding`: its `Content-Encoding`. None is asked for; gzip and deflate are understood as some proxies pack anyway.
    `largest`: the bound, in bytes.
    """

    def __init__(self, encoding: str, largest: int) -> None:
        self._largest = largest
        packed = [coding for coding in re.split(r"[,\s]+", encoding.lower()) if coding not in ("", "identity")]
        if packed and (len(packed) > 1 or packed[0] not in ("gzip", "x-gzip", "deflate")):
            raise BrokenReplyError(f"The reply is packed, which was not asked for: {', '.join(packed)}.")
        self._unpacking = zlib.decompressobj(wbits=47) if packed else None
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        """Add the next bytes."""
        if self._unpacking is None:
            self._put(data)
            return
        while data:
            self._put(self._unpacking.decompress(data, _PIECE))
            data = self._unpacking.unconsumed_tail
            if self._unpacking.unused_data:
                raise BrokenReplyError("Something follows the packed reply.")

    def read_all(self) -> bytearray:
        """Read all of it, once there is no more."""
        if self._unpacking is not None and self._data:
            self._put(self._unpacking.flush())
            if not self._unpacking.eof:
                raise BrokenReplyError("The packed reply breaks off.")
        return self._data

    def _put(self, data: bytes) -> None:
        self._data += data
        if len(self._data) > self._largest:
            raise _too_large(self._largest)
