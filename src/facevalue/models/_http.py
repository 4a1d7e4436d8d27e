"""JSON endpoint over HTTP: a request is retried until it succeeds or has failed for good."""

import asyncio
import json
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from http.cookiejar import CookieJar
from ipaddress import ip_address
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlsplit

import httpx

from facevalue.errors import ModelError
from facevalue.printable import printable

MAX_BODY = 8 * 2**20
"""Bytes of a reply beyond which it is refused while it arrives."""

MAX_ERROR = 300
"""Characters of a server's error text that are kept."""

_TRANSIENT = frozenset({408, 409, 425, 429})


@dataclass(frozen=True, slots=True)
class Waits:
    """How long to wait before a request is sent again, and by which clock."""

    first: float = 1.0
    longest: float = 60.0
    """Seconds of the first backoff, doubled each time, and of the longest wait of any kind."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[float, float], float] = random.uniform
    """Waits so many seconds; the seconds now; a uniform draw between two bounds."""

    def before(self, retry: int, asked: float | None) -> float:
        """Return the seconds to wait before a retry.

        Exponential backoff with full jitter; a time that the server asked for is kept and a little jitter added.

        `retry`: which retry, from 0. `asked`: what the server asked for (Retry-After), if it did.
        """
        if asked is not None:
            return min(asked, self.longest) + self.jitter(0, self.first)
        return self.jitter(0, min(self.longest, self.first * 2 ** min(retry, 30)))


class Failure(Exception):  # noqa: N818 - not every failure of a request is an error of the run
    """One request got no usable reply.

    `text`: what happened, for people; holds no secret. `status`: HTTP status, if the server answered. `code`: the
    server's own error code, if it gave one. `transient`: whether the same request may succeed later. `retry_after`:
    seconds that the server asked to wait. `connected`: whether anything answered.
    """

    def __init__(
        self,
        text: str,
        *,
        status: int | None = None,
        code: str | None = None,
        transient: bool = False,
        retry_after: float | None = None,
        connected: bool = True,
    ) -> None:
        super().__init__(text)
        self.text = text
        self.status = status
        self.code = code
        self.transient = transient
        self.retry_after = retry_after
        self.connected = connected


class Connections:
    """HTTP clients of one connection each, no more of them than there ever were requests at once.

    One client with many connections looks at all of them at every request.

    `new`: makes a client. The first one is made at once.
    """

    def __init__(self, new: Callable[[], httpx.AsyncClient]) -> None:
        self._new = new
        self._idle = [new()]

    @contextmanager
    def one(self) -> Iterator[httpx.AsyncClient]:
        """Lend a client for one request; the one used last comes first, as its connection is the likeliest to live."""
        client = self._idle.pop() if self._idle else self._new()
        try:
            yield client
        finally:
            self._idle.append(client)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._idle:
            await client.aclose()


class Server:
    """A base address and the key for it.

    `url`: base address without a slash at its end, without user, password or query. `key`: sent as a bearer token if
    not empty. Appears in no text that leaves this class. `timeout`: seconds until a request counts as hung, from
    sending to the last byte.
    """

    def __init__(self, url: str, key: str, timeout: float) -> None:
        self.url = url
        self._key = key
        self._timeout = timeout

    def __repr__(self) -> str:
        return f"Server({self.url!r})"

    def connections(self) -> Connections:
        """Return new connections; TLS is verified, proxies are taken from the environment.

        A server on this machine is reached directly: no proxy has anything to do with it, nor with the key for it.
        """
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        direct = _is_local(self.url)
        cookies = CookieJar()  # one for all: by a cookie some balancers keep a client at one server and its cache

        def client() -> httpx.AsyncClient:
            return httpx.AsyncClient(
                headers=headers,
                cookies=cookies,
                verify=_tls(),
                timeout=None,  # noqa: S113 - see `call`
                trust_env=not direct,
            )

        try:
            return Connections(client)
        except ImportError:
            raise ModelError(
                "The environment names a SOCKS proxy (ALL_PROXY, HTTPS_PROXY or HTTP_PROXY), which needs the package "
                "socksio: pip install 'httpx[socks]'. Or unset the variable."
            ) from None
        except (OSError, ValueError) as error:
            raise ModelError(
                "The certificates or the proxy named in the environment (SSL_CERT_FILE, SSL_CERT_DIR, ALL_PROXY, "
                f"HTTPS_PROXY, HTTP_PROXY) cannot be used: {self.clean(str(error) or type(error).__name__)}"
            ) from None

    async def call(self, connections: Connections, path: str, body: bytes | None = None) -> Mapping[str, object]:
        """Send one request, POST if it has a body (JSON), and return the decoded JSON object."""
        method, headers = ("GET", None) if body is None else ("POST", {"Content-Type": "application/json"})
        try:
            with connections.one() as client:
                async with asyncio.timeout(self._timeout):
                    async with client.stream(method, self.url + path, content=body, headers=headers) as response:
                        raw = await self._read(response)
        except TimeoutError:
            raise Failure(f"No reply within {self._timeout:g} s.", transient=True) from None
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            text = self.clean(f"Nothing answers at {self.url} ({error or type(error).__name__}).")
            raise Failure(text, transient=True, connected=False) from None
        except httpx.HTTPError as error:
            raise Failure(
                self.clean(f"The connection broke: {error or type(error).__name__}"), transient=True
            ) from None
        if response.is_success:
            return self._decode(raw)
        raise self._failure(response, raw)

    def clean(self, text: str) -> str:
        """Take the key out of a text, then control characters, and clip it to `MAX_ERROR` characters.

        In this order: a text that was cut before could end within the key, and show most of it.
        """
        key = self._key
        for secret in {key, quote(key, safe=""), json.dumps(key)[1:-1], key.replace("/", "\\/")} - {""}:
            text = text.replace(secret, "[key]")
        text = " ".join(printable(text).split())
        return text if len(text) <= MAX_ERROR else text[: MAX_ERROR - 1] + "…"

    async def _read(self, response: httpx.Response) -> bytes:
        raw = bytearray()
        async for chunk in response.aiter_bytes(2**16):
            raw += chunk
            if len(raw) > MAX_BODY:
                raise Failure(f"The reply is larger than {MAX_BODY // 2**20} MiB.", transient=True)
        return bytes(raw)

    def _decode(self, raw: bytes) -> Mapping[str, object]:
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            shown = self.clean(raw.decode("utf-8", "replace"))[:80]
            raise Failure(f"The reply is no JSON: {shown!r}", transient=True) from None
        if not isinstance(value, dict):
            raise Failure("The reply is no JSON object.", transient=True)
        return value

    def _failure(self, response: httpx.Response, raw: bytes) -> Failure:
        status = response.status_code
        message, code = _error_of(raw)
        said = f": {message}" if message else "."
        return Failure(
            self.clean(f"HTTP {status}{said}"),
            status=status,
            code=code,
            transient=status in _TRANSIENT or status >= 500,
            retry_after=retry_after(response.headers, time.time()),
        )


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@cache
def _tls() -> ssl.SSLContext:
    """Return the context that verifies servers; reading all certificate authorities takes a while."""
    return httpx.create_ssl_context()


def _error_of(raw: bytes) -> tuple[str, str | None]:
    """Return a server's error message and code from the several shapes in use."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return raw.decode("utf-8", "replace").strip(), None
    error = value.get("error", value) if isinstance(value, dict) else value
    code = None
    if isinstance(error, dict):
        code = error.get("code")
        error = next((error[k] for k in ("message", "detail", "error") if error.get(k)), error)
    text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    return text, code if isinstance(code, str) else None


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that a server asks to wait.

    `headers`: its reply's headers: "retry-after-ms" in milliseconds, or "retry-after" in seconds or as an HTTP date.
    `now`: the time, in seconds since 1970.

    Returns None if it doesn't say, or says something else.
    """
    if (ms := _number(headers.get("retry-after-ms"))) is not None:
        return ms / 1000
    value = headers.get("retry-after")
    if value is None or (seconds := _number(value)) is not None:
        return seconds if value is not None else None
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else -1.0
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
