"""JSON endpoint over HTTP: a request is retried until it succeeds or has failed for good."""

import asyncio
import json
import os
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache

import certifi

from facevalue.errors import ModelError
from facevalue.printable import printable, without_key
from facevalue.servers.connections import JSON, MAX_BODY, BrokenReplyError, Connections, RawReply, UnreachableError
from facevalue.servers.replies import is_refusal

MAX_ERROR = 300
"""Characters of a server's error text that are kept."""

_MOST_WORDS = 1000
"""Words of a server's error text that are looked at."""

_MAX_VALUES = 2**19
"""Values in a reply: one of 8 MiB has half as many where it lists 20 alternatives of every token with their bytes."""

_TRANSIENT = frozenset({408, 409, 425, 429})


@dataclass(frozen=True, slots=True)
class Waits:
    """Waiting times before a request is sent again, and the clock that they are measured by."""

    first: float = 1.0
    longest: float = 60.0
    """Seconds of the first backoff, doubled each time, and of the longest wait of any kind."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[float, float], float] = random.uniform
    """Waits so many seconds; the seconds now; a uniform draw between two bounds."""

    def before(self, retry: int, retry_after: float | None) -> float:
        """Return the seconds to wait before a retry.

        Exponential backoff with full jitter; a time that the server asked for is kept and a little jitter added.

        `retry`: which retry, from 0. `asked`: what the server asked for (Retry-After), if it did.
        """
        if retry_after is not None:
            return min(retry_after, self.longest) + self.jitter(0, self.first)
        return self.jitter(0, min(self.longest, self.first * 2 ** min(retry, 30)))


class Failure(Exception):  # noqa: N818 - not every failure of a request is an error of the run
    """Error of one request that got no usable reply.

    `text`: what happened, for people; holds no secret. `status`: HTTP status, if the server answered. `code`: the
    server's own error code, if it gave one. `transient`: whether the same request may succeed later. `retry_after`:
    seconds that the server asked to wait. `connected`: whether anything answered. `payload`: all that the server
    said, as JSON has it; its text where that is all there is. `retries`: how often the request was sent again before,
    where whoever sends it says so.
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
        payload: object = None,
    ) -> None:
        super().__init__(text)
        self.text = text
        self.status = status
        self.code = code
        self.transient = transient
        self.retry_after = retry_after
        self.connected = connected
        self.payload = payload
        self.retries = 0

    @property
    def is_refusal(self) -> bool:
        """True if the server declined to answer rather than failed at it: it would decline again."""
        return self.connected and is_refusal(self.text if self.payload is None else self.payload, self.status)


class Server:
    """A base address and the key for it.

    `url`: base address without a slash at its end, without user, password or query. `variable`: the environment
    variable that holds the key, sent as a bearer token if not empty; it appears in no text that leaves this class.
    `timeout`: seconds until a request counts as hung, from connecting to the last byte. `largest`: bytes of a reply,
    unpacked, beyond which it is refused while it arrives.
    """

    def __init__(self, url: str, variable: str, timeout: float, largest: int = MAX_BODY) -> None:
        self.url = url
        self._variable = variable
        self._key = os.environ.get(variable, "").strip()
        self._timeout, self._largest = timeout, largest

    def __repr__(self) -> str:
        return f"Server({self.url!r})"

    def __reduce__(self) -> tuple[Callable[..., "Server"], tuple[str, str, float, int]]:
        """Keep the key out of what is pickled: it is read again from the environment."""
        return Server, (self.url, self._variable, self._timeout, self._largest)

    def connections(self) -> AbstractAsyncContextManager[Connections]:
        """Return how to connect; TLS is verified, proxies are taken from the environment.

        A server on this machine is reached directly: no proxy has anything to do with it, nor with the key for it.
        """
        headers = [("Accept", "application/json"), ("Accept-Encoding", "identity")]
        if self._key:
            headers.append(("Authorization", f"Bearer {self._key}"))
        try:
            return nullcontext(Connections(self.url, headers, _tls(), self._largest))
        except (OSError, ValueError) as error:
            raise ModelError(
                "The certificates or the proxy named in the environment (SSL_CERT_FILE, SSL_CERT_DIR, ALL_PROXY, "
                f"HTTPS_PROXY, HTTP_PROXY) cannot be used: {self.clean(str(error) or type(error).__name__)}"
            ) from None

    async def call(
        self, connections: Connections, path: str, body: bytes | None = None, media_type: str = JSON
    ) -> Mapping[str, object]:
        """Send one request and return the decoded JSON object (`fetch`, `decode_reply`)."""
        return self.decode_reply(await self.fetch(connections, path, body, media_type))

    async def fetch(
        self, connections: Connections, path: str, body: bytes | None = None, media_type: str = JSON
    ) -> bytearray:
        """Send one request, POST if it has a body (JSON, or what `media_type` says); return the body of its reply.

        Raises
        ------
        Failure
            There is none, or one with another status than success.
        """
        try:
            reply = await connections.ask("GET" if body is None else "POST", path, body, self._timeout, media_type)
        except TimeoutError:
            raise Failure(f"No reply within {self._timeout:g} s.", transient=True) from None
        except UnreachableError as error:
            hint = "" if "proxy" in str(error) else ": is the server running?"
            text = self.clean(f"Nothing answers at {self.url}{hint} ({error}).")
            if "WRONG_VERSION_NUMBER" in str(error):
                text = self.clean(f"{self.url} answers without encryption: write http:// in place of https://.")
            raise Failure(text, transient=True, connected=False) from None
        except BrokenReplyError as error:
            raise Failure(self.clean(str(error)), transient=True) from None
        if 200 <= reply.status < 300:
            return reply.body
        raise self._failure(reply)

    async def models(self, connections: Connections, prefix: str = "") -> list[str]:
        """Return the names of the models that the server lists; none if it lists none.

        `prefix`: of the path, where the base address is not that of the API.
        """
        try:
            entries = (await self.call(connections, f"{prefix}/models")).get("data")
        except Failure:
            return []
        ids = [entry.get("id") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
        return [self.clean(name)[:80] for name in ids if isinstance(name, str)]

    def check_key(self, failure: Failure) -> None:
        """Raise `ModelError` if a request failed for want of a key that the server takes."""
        if failure.status in (401, 403):
            raise ModelError(f"{self.url} refuses the key in {self._variable}, or the lack of one. {failure.text}")

    def clean(self, text: str) -> str:
        """Take the key out of a text, then control characters, and clip it to `MAX_ERROR` characters.

        In this order: a text that was cut before could end within the key, and show most of it.
        """
        words = text.split(None, _MOST_WORDS)[:_MOST_WORDS]
        text = printable(without_key(" ".join(words), self._key))
        return text if len(text) <= MAX_ERROR else text[: MAX_ERROR - 1] + "…"

    def decode_reply(self, raw: bytearray) -> Mapping[str, object]:
        """Return the JSON object that a reply is; a `Failure` if it is none."""
        try:
            value = _parse_json(raw)
        except (ValueError, RecursionError):
            excerpt = self.clean(raw.decode("utf-8", "replace"))[:80]
            raise Failure(f"The reply is no JSON: {excerpt!r}", transient=True) from None
        if not isinstance(value, dict):
            raise Failure("The reply is no JSON object.", transient=True)
        return value

    def _failure(self, reply: RawReply) -> Failure:
        status = reply.status
        payload = _payload_of(reply.body)
        message, code = _error_of(payload)
        if 300 <= status < 400 and (place := reply.headers.get("location")):
            message = f"it sends to {place}, and no other address than the one that was named gets the key"
        detail = f": {message}" if message else "."
        return Failure(
            self.clean(f"HTTP {status}{detail}"),
            status=status,
            code=code,
            transient=status in _TRANSIENT or status >= 500,
            retry_after=retry_after(reply.headers, time.time()),
            payload=payload,
        )


def _parse_json(raw: bytearray) -> object:
    """Read JSON, unless it would take many times its own size in memory."""
    if sum(map(raw.count, (b"[", b"{", b","))) > _MAX_VALUES:
        raise ValueError("too many values")
    return json.loads(raw)


@cache
def _tls() -> ssl.SSLContext:
    """Return the context that verifies servers; reading all certificate authorities takes a while."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    return ssl.create_default_context(cafile=file or (None if folder else certifi.where()), capath=folder)


def _payload_of(raw: bytearray) -> object:
    """Return what a server says with an error: JSON, or else a text."""
    try:
        return _parse_json(raw)
    except (ValueError, RecursionError):
        return raw.decode("utf-8", "replace").strip()


def _error_of(value: object) -> tuple[str, str | None]:
    """Return a server's error message and code from the several shapes in use."""
    if isinstance(value, str):
        return value, None
    error = value.get("error", value) if isinstance(value, dict) else value
    code = None
    if isinstance(error, dict):
        code, parameter = error.get("code"), error.get("param")
        error = next((error[k] for k in ("message", "detail", "error") if error.get(k)), error)
        if isinstance(error, str) and isinstance(parameter, str) and parameter and parameter not in error:
            error = f"{error} ({parameter})"
    if isinstance(error, list) and (complaints := [text for entry in error if (text := _complaint(entry))]):
        return "; ".join(complaints), code if isinstance(code, str) else None
    text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
    return text, code if isinstance(code, str) else None


def _complaint(entry: object) -> str:
    """Message of a server that checks each field (FastAPI): "num_inference_steps: Input should be ..."."""
    if not isinstance(entry, dict) or not isinstance(text := entry.get("msg"), str):
        return ""
    place = entry.get("loc")
    names = [str(name) for name in place if name != "body"] if isinstance(place, list) else []
    return f"{'.'.join(names)}: {text}" if names else text


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
