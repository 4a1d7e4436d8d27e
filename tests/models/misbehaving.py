"""A chat-completions server that misbehaves on purpose."""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


class Exchange:
    """One request to the server, and the ways in which it may be answered."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: Json, released: threading.Event) -> None:
        self.handler = handler
        self.body = body
        self.headers = {k.lower(): v for k, v in handler.headers.items()}
        self._released = released

    def raw(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        """Send these bytes."""
        self.handler.send_response(status)
        for name, value in {"Content-Length": str(len(data)), "Content-Type": "application/json"}.items():
            self.handler.send_header(name, value)
        for name, value in (headers or {}).items():
            self.handler.send_header(name, value)
        self.handler.end_headers()
        self.handler.wfile.write(data)

    def json(self, status: int, value: object, headers: dict[str, str] | None = None) -> None:
        """Send this as JSON."""
        self.raw(status, json.dumps(value).encode(), headers)

    def error(self, status: int, message: str, headers: dict[str, str] | None = None, code: str | None = None) -> None:
        """Send an error in OpenAI's shape."""
        self.json(status, {"error": {"message": message, "code": code}}, headers)

    def say(
        self,
        text: str | None,
        finish: object = "stop",
        logprobs: object = None,
        usage: Mapping[str, object] | None = None,
        **message: object,
    ) -> None:
        """Send a chat completion."""
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text, **message},
            "finish_reason": finish,
            "logprobs": logprobs,
        }
        counts = {"prompt_tokens": 7, "completion_tokens": 2, **(usage or {})}
        self.json(200, {"object": "chat.completion", "choices": [choice], "usage": counts})

    def hang(self) -> None:
        """Say nothing until the test is over."""
        self._released.wait(30)

    def reset(self) -> None:
        """Break the connection."""
        connection = self.handler.connection
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.handler.close_connection = True
        self.handler.rfile.close()  # holds the socket open
        connection.close()

    def flood(self) -> None:
        """Send a body without an end."""
        self.handler.send_response(200)
        self.handler.end_headers()
        for _ in range(1000):
            self.handler.wfile.write(b" " * 2**17)


Behaviour = Callable[[Exchange], None]


def fine(exchange: Exchange) -> None:
    """Answer "(a)"."""
    exchange.say("(a)")


class Misbehaving:
    """Where the server is, what it was asked, and what it does next.

    Attributes
    ----------
    script:
        What to do with the next requests, in order; `otherwise` with those after.
    models:
        What it says at /v1/models.
    opened:
        How many connections it has accepted.
    """

    def __init__(self) -> None:
        self.script: list[Behaviour] = []
        self.otherwise: Behaviour = fine
        self.models: object = {"data": [{"id": "tiny-llava"}, {"id": "other"}]}
        self.asked: list[Exchange] = []
        self.most_at_once = 0
        self.opened = 0
        self.url = ""
        self._at_once = 0
        self._connections: set[socket.socket] = set()
        self._dead = False
        self._server: ThreadingHTTPServer | None = None
        self._lock = threading.Lock()
        self._released = threading.Event()

    @property
    def spec(self) -> str:
        """The spec of a model there."""
        return f"{self.url}#tiny-llava"

    @property
    def bodies(self) -> list[Json]:
        """What it was sent."""
        return [exchange.body for exchange in self.asked]

    def parsed(self, headers: Mapping[str, str], body: bytes) -> Json:
        """Read the body of a request."""
        value: Json = json.loads(body)
        return value

    def get(self, exchange: Exchange) -> None:
        """Answer a request without a body: with the models."""
        exchange.json(200, self.models)

    def handle(self, handler: BaseHTTPRequestHandler, body: Json) -> None:
        """Do the next thing."""
        exchange = Exchange(handler, body, self._released)
        with self._lock:
            self.asked.append(exchange)
            behave = self.script.pop(0) if self.script else self.otherwise
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            behave(exchange)
        finally:
            with self._lock:
                self._at_once -= 1

    def hold(self, count: int) -> Behaviour:
        """Return a behaviour that answers as soon as so many requests are there at once."""

        def wait(exchange: Exchange) -> None:
            until = time.monotonic() + 10
            while self.most_at_once < count and time.monotonic() < until:
                time.sleep(0.005)
            fine(exchange)

        return wait

    def all_closed(self) -> bool:
        """Wait until no connection is open; whether that came to be."""
        until = time.monotonic() + 10
        while self._connections and time.monotonic() < until:
            time.sleep(0.005)
        return not self._connections

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2].split("/")[0])

    def die(self) -> None:
        """End at once, as a process does that is killed: nobody listens, and open connections break."""
        assert self._server is not None
        self._server.socket.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._dead = True
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def served(self, port: int = 0) -> Iterator["Misbehaving"]:
        """Serve on this port of the loopback interface, a free one by default."""
        state = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                with state._lock:
                    state.opened += 1
                    state._connections.add(self.connection)
                    if state._dead:
                        self.connection.shutdown(socket.SHUT_RDWR)

            def finish(self) -> None:
                with state._lock:
                    state._connections.discard(self.connection)
                super().finish()

            def do_GET(self) -> None:
                state.get(Exchange(self, {}, state._released))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                try:
                    state.handle(self, state.parsed({k.lower(): v for k, v in self.headers.items()}, body))
                except OSError:
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:
                """Keep quiet."""

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 64

            def handle_error(self, request: object, client_address: object) -> None:
                """Keep quiet about connections that were meant to break."""

        server = self._server = Quiet(("127.0.0.1", port), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        try:
            yield self
        finally:
            self._released.set()
            server.shutdown()
            server.server_close()
            thread.join()
