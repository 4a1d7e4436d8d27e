"""A server of bare connections, which may send whatever it likes whenever it likes."""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Behaviour = Callable[["Line"], None]


def answer(number: int, *headers: str, status: str = "200 OK") -> bytes:
    """A whole reply that repeats the number of the question it belongs to."""
    body = json.dumps({"id": number, "choices": [{"message": {"content": str(number)}, "finish_reason": "stop"}]})
    head = (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Content-Type: application/json", *headers)
    return ("\r\n".join(head) + "\r\n\r\n" + body).encode()


class Line:
    """One connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.file = connection.makefile("rb")

    def request(self) -> tuple[dict[str, str], int] | None:
        """Wait for the next request: its headers and the number of its question; None at the end."""
        if not self.file.readline():
            return None
        headers = {}
        while line := self.file.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        body = self.file.read(int(headers.get("content-length", 0)))
        match = re.search(rb"Question (\d+)\?", body)
        return headers, int(match[1]) if match else -1

    def questions(self, *, closing: bool = True) -> Iterator[int]:
        """The numbers of the questions, one after another, until a request asks to close."""
        while (asked := self.request()) is not None:
            yield asked[1]
            if closing and asked[0].get("connection") == "close":
                return

    def send(self, *parts: bytes) -> None:
        """Send these bytes."""
        for part in parts:
            self._connection.sendall(part)

    def join(self, port: int) -> None:
        """Lead to another port from here on."""
        with socket.create_connection(("127.0.0.1", port)) as other:
            back = threading.Thread(target=_copy, args=(other, self._connection), daemon=True)
            back.start()
            _copy(self._connection, other)
            back.join()

    def endless(self, first: bytes, again: bytes) -> None:
        """Send something, and something else for ever."""
        self.request()
        self.send(first)
        while True:
            self.send(again)


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


class RawServer:
    """Where it is, and how many connections there were."""

    def __init__(self, behave: Behaviour) -> None:
        self._behave = behave
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.opened = 0

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.opened += 1
                threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(OSError), connection:
            line = Line(connection)
            with line.file:
                self._behave(line)

    @classmethod
    @contextmanager
    def serving(cls, behave: Behaviour) -> Iterator["RawServer"]:
        """Serve on a free port of the loopback interface."""
        server = cls(behave)
        thread = threading.Thread(target=server._serve, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server._listener.shutdown(socket.SHUT_RDWR)
            server._listener.close()
            thread.join()
