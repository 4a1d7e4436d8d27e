"""A server that speaks S3, on loopback, for tests: `moto`, with faults on demand. It ends when its input does.

Lines of its input: `fail SHARE` (of writes, half of them after they were done), `slow SECONDS` (each write), `say CODE`
(every request is refused with this error), `down SECONDS` (it is not there for so long), `well` (nothing of it).
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SECRET = "a-secret-that-no-one-may-see"


class Server:
    """The server from outside."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self._process = process
        self.url = url
        self.environment = {
            "AWS_ACCESS_KEY_ID": "AKIATEST",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": url,
            "AWS_ALLOW_HTTP": "true",
        }

    def tell(self, line: str) -> None:
        """Have it do something from now on."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"


@contextmanager
def serving(bucket: str = "audit") -> Iterator[Server]:
    """A server with one bucket."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.s3_server", bucket],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield Server(process, json.loads(process.stdout.readline()))
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(30)


class _App:
    """moto's application with what goes wrong around it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.share = self.seconds = 0.0
        self.code = ""
        self._rng = random.Random(1)

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        if self.code:
            return self._refuse(start, "403 Forbidden", self.code)
        if environ["REQUEST_METHOD"] != "PUT":
            return self._pass(environ, start)
        time.sleep(self.seconds)
        fails, after = self._rng.random() < self.share, self._rng.random() < 0.5
        if fails and after:
            list(self._pass(environ, lambda status, headers, exc_info=None: None))
        if fails:
            return self._refuse(start, "503 Service Unavailable", "SlowDown")
        return self._pass(environ, start)

    def _pass(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        found: Iterable[bytes] = self._inner(environ, start)
        return found

    def _refuse(self, start: Any, status: str, code: str) -> Iterable[bytes]:
        start(status, [("Content-Type", "application/xml")])
        return [f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>".encode()]


def main(bucket: str) -> None:
    """Serve until the input ends."""
    os.environ.setdefault("MOTO_S3_CUSTOM_ENDPOINTS", "")
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    app = _App(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True)
    port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    bare = urllib.request.Request(f"http://127.0.0.1:{port}/{bucket}", method="PUT")
    urllib.request.urlopen(bare).close()
    print(json.dumps(f"http://127.0.0.1:{port}"), flush=True)
    for line in sys.stdin:
        what, _, value = line.strip().partition(" ")
        if what == "fail":
            app.share = float(value)
        elif what == "slow":
            app.seconds = float(value)
        elif what == "say":
            app.code = value
        elif what == "well":
            app.share, app.seconds, app.code = 0.0, 0.0, ""
        elif what == "down":
            server.shutdown()
            server.server_close()

            def again(seconds: float = float(value)) -> None:
                time.sleep(seconds)
                make_server("127.0.0.1", port, app, threaded=True).serve_forever()

            threading.Thread(target=again, daemon=True).start()
        print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
