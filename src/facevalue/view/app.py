"""Web application of the viewer: addresses to documents, for whoever has its token, on this machine alone."""

import hmac
import os
import secrets
import socket
import time
import webbrowser
from collections.abc import Awaitable, Callable
from functools import partial
from urllib.parse import parse_qsl

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from facevalue.errors import FaceValueError, SettingError, UnknownNameError
from facevalue.runs.progress import Interrupts
from facevalue.view.documents import MISSING, STATIC, built_file, document, page, to_json
from facevalue.view.documents import POLICY as PAGE_POLICY
from facevalue.view.open_runs import NotYetError, OpenedRuns
from facevalue.view.pictures import picture_bytes

COOKIE = "facevalue"
POLICY = f"{PAGE_POLICY}; frame-ancestors 'none'"
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
_LONGEST = 8_000  # bytes of a query
_CODE_LASTS = 60.0  # seconds


class Guard:
    """Lets requests through that come to this machine by its own name and bring the token.

    The address with the token is opened once: it sets a cookie and leads on without it.

    Parameters
    ----------
    app:
        What is guarded.
    token:
        The token.
    port:
        Port of the server: any other in the header `Host` is refused, and any other name than this machine's own.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self._codes: dict[str, float] = {}

    def code(self) -> str:
        """A code that opens the viewer once in place of the token, within a minute.

        A browser is started with its address as an argument, which all users of a machine can read.
        """
        code = secrets.token_urlsafe(32)
        self._codes[code] = time.monotonic() + _CODE_LASTS
        return code

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        response = self._refusal(Request(scope))
        await (response or self._app)(scope, receive, partial(_send_with_headers, send))

    def _refusal(self, request: Request) -> Response | None:
        """The answer to a request that goes no further."""
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return _text("This address is not the viewer's.", 421)
        origins = request.headers.getlist("origin")
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            return _text("Another page may not ask for this.", 403)
        if request.method not in ("GET", "HEAD"):
            return _text("Documents are only read.", 405)
        if len(request.scope["query_string"]) > _LONGEST:
            return _text("The query is too long.", 414)
        query = request.query_params
        if request.url.path == "/" and (
            self._is_token(query.get("token", "")) or self._spend_code(query.get("once", ""))
        ):
            response = RedirectResponse("/", 303)
            response.set_cookie(_cookie(hosts[0]), self._token, httponly=True, samesite="strict", path="/")
            return response
        if not self._is_token(request.cookies.get(_cookie(hosts[0]), "")):
            return _text("Open the address that `facevalue view` printed: it holds the token.", 403)
        return None

    def _spend_code(self, code: str) -> bool:
        """Use up a code: returns whether it was not used before."""
        return self._codes.pop(code, 0.0) > time.monotonic()

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())


def _cookie(host: str) -> str:
    """Name of the cookie: browsers keep those of all ports of a machine together."""
    return f"{COOKIE}-{host.rpartition(':')[2]}"


async def _send_with_headers(send: Send, message: Message) -> None:
    """Send a message with the headers that all answers have; a picture may say otherwise of how long it is kept."""
    if message["type"] == "http.response.start":
        names = {name.lower() for name, _ in message["headers"]}
        extra = [(n.encode(), v.encode()) for n, v in _HEADERS.items() if n.encode() not in names]
        message = {**message, "headers": [*message["headers"], *extra]}
    await send(message)


def application(runs: OpenedRuns, token: str, port: int) -> Guard:
    """The application of some runs.

    Parameters
    ----------
    runs:
        What is looked at.
    token:
        Whoever has it may look.
    port:
        Port of the server.
    """
    routes = [
        Route("/", _page),
        *(Route(f"/{name}", _static) for name in STATIC),
        Route("/api/{kind}", _answering(partial(_document, runs))),
        Route("/picture/{run}/{name}", _answering(partial(_picture, runs))),
    ]
    return Guard(Starlette(routes=routes, exception_handlers={404: _nowhere, 500: _report_failure}), token, port)


async def _page(_request: Request) -> Response:
    return Response(page() if built_file("viewer.js") else MISSING, media_type="text/html")


async def _static(request: Request) -> Response:
    name = request.url.path.removeprefix("/")
    data = built_file(name)
    return _text("There is no such file.", 404) if data is None else Response(data, media_type=STATIC[name])


def _answering(make: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Wrap a function to answer requests in a thread, with an error as one sentence."""

    def answer(request: Request) -> Response:
        try:
            return make(request)
        except NotYetError as error:
            return _json({"waiting": str(error)}, 202)
        except FaceValueError as error:
            return _json({"error": str(error)}, 404 if isinstance(error, UnknownNameError) else 400)

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(answer, request)

    return endpoint


def _document(runs: OpenedRuns, request: Request) -> Response:
    pairs = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True, errors="replace")
    return _json(document(runs, request.path_params["kind"], pairs))


def _picture(runs: OpenedRuns, request: Request) -> Response:
    small = request.query_params.get("small") == "1"
    data = picture_bytes(runs.state_of_run(request.path_params["run"]), request.path_params["name"], small=small)
    return Response(data, media_type="image/webp", headers={"cache-control": "private, max-age=3600"})


def _json(value: object, status: int = 200) -> Response:
    return Response(to_json(value), status, media_type="application/json")


def _text(text: str, status: int) -> Response:
    return Response(text, status, media_type="text/plain")


async def _nowhere(_request: Request, _error: Exception) -> Response:
    return _json({"error": "There is nothing at this address."}, 404)


async def _report_failure(_request: Request, _error: Exception) -> Response:
    return _json({"error": "The viewer failed at this: its terminal says why."}, 500)


# Server of the viewer: loopback only, a port and a token of its own, until it is interrupted.


HOST = "127.0.0.1"
PATIENCE = 0.15
"""Seconds that a document waits for what is made in the background; then the page asks again after a moment."""


class Viewer:
    """A viewer of runs: it has its port and token at once, and answers while it is served.

    Parameters
    ----------
    runs:
        What is looked at.
    port:
        Port on this machine; 0 for any that is free.

    Raises
    ------
    SettingError
        The port is taken, or may not be used.
    """

    def __init__(self, runs: OpenedRuns, port: int = 0) -> None:
        self._socket = _socket(port)
        number, token = self._socket.getsockname()[1], secrets.token_urlsafe(32)
        self._root = f"http://{HOST}:{number}/"
        self.address = f"{self._root}?token={token}"
        """What to open, with the token."""
        self._app = application(runs, token, number)

    def serve(self, *, browser: bool) -> None:
        """Answer until interrupted, which raises KeyboardInterrupt.

        `browser`: whether to open the address in the browser.
        """
        config = uvicorn.Config(
            self._app, log_level="error", access_log=False, lifespan="off", server_header=False, date_header=False,
            http="h11", ws="none", loop="asyncio", h11_max_incomplete_event_size=32_768, timeout_graceful_shutdown=1,
        )  # fmt: skip
        if browser:
            webbrowser.open(f"{self._root}?once={self._app.code()}")
        with self._socket, Interrupts(0):  # of its own: in a background job SIGINT is ignored
            uvicorn.Server(config).run(sockets=[self._socket])


def _socket(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":  # so that a port can be had again at once; elsewhere another process could share it
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise SettingError(f"Port {port} of this machine cannot be used ({error.strerror}): name another.") from error
    listening.listen()
    return listening
