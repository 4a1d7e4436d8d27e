"""Chat-completions server that answers at once, to measure what asking costs: `python -m benchmarks.instant_server`.

It listens on a free port of the loopback interface, prints it, and ends when its standard input is closed, which is
when whoever started it ends, however that ends.
"""

import asyncio
import json
import re
import sys

_SAID = json.dumps(
    {
        "object": "chat.completion",
        "model": "instant",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "(a)"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 2},
    }
).encode()
_REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(_SAID), _SAID)
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


class Instant(asyncio.Protocol):
    """One connection: counts the bytes of a request and replies; what they say is not looked at."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._missing = 0
        self._closes = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep it."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Reply as soon as a request is there; a client sends the next one only after that."""
        if self._missing == 0:
            self._head += data
            head, end, data = bytes(self._head).partition(b"\r\n\r\n")
            if not end:
                return
            self._head.clear()
            length = _LENGTH.search(head)
            assert length is not None
            self._missing = int(length[1])
            self._closes = b"connection: close" in head.lower()
        self._missing -= len(data)
        if self._missing == 0:
            self._transport.write(_REPLY)
            if self._closes:
                self._transport.close()


async def serve() -> None:
    """Serve until standard input is closed."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Instant, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve())
