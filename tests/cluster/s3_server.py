"""An S3 server that nobody here wrote (moto), behind a door that fails: `python -m tests.cluster.s3_server`.

Of all writes, some are refused, some are done but never confirmed, and some take long; SIGUSR1 closes the door for two
seconds, as a server that starts anew. What happens is written to a file, a word per line. It ends with its standard
input.
"""

import argparse
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

CLOSED = 2.0  # seconds
DELAY = 0.4


class Door:
    """Lets requests through to a WSGI application, most of the time."""

    def __init__(self, inside: Any, log: Path, fail: float, slow: float, seed: int) -> None:
        self._inside = inside
        self._log = log
        self._fail, self._slow = fail, slow
        self._rng = random.Random(seed)
        self._lock = threading.Lock()

    def say(self, what: str) -> None:
        """Write down what happened."""
        with self._lock, self._log.open("a") as file:
            file.write(f"{what}\n")

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        drawn = 1.0
        if environ["REQUEST_METHOD"] == "PUT" and environ["PATH_INFO"].count("/") > 1:
            with self._lock:
                drawn, late = self._rng.random(), self._rng.random()
            if late < self._slow:
                self.say("delayed")
                time.sleep(DELAY)
        if drawn >= self._fail:
            answer: Iterable[bytes] = self._inside(environ, start)
            return answer
        if drawn < self._fail / 2:
            self.say("refused")
        else:
            list(self._inside(environ, lambda *_: None))
            self.say("unconfirmed")
        start("503 Service Unavailable", [("Content-Length", "0")])
        return [b""]


def main() -> None:
    """Serve until standard input ends."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--fail", type=float, default=0.0)
    parser.add_argument("--slow", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()

    class Quiet(WSGIRequestHandler):
        def log(self, *_: Any) -> None:
            """Say nothing."""

    door = Door(DomainDispatcherApplication(create_backend_app), given.log, given.fail, given.slow, given.seed)
    restart = threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: restart.set())
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    while True:
        server: BaseWSGIServer = make_server("127.0.0.1", given.port, door, threaded=True, request_handler=Quiet)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print("open", flush=True)
        while not restart.wait(0.1):
            pass
        restart.clear()
        server.shutdown()
        server.server_close()
        door.say("restarted")
        time.sleep(CLOSED)


if __name__ == "__main__":
    main()
