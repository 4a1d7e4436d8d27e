"""Chromium over its debugging pipe, for tests of pages and for the gallery of them."""

import base64
import fcntl
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
PATIENCE = 300
"""Seconds that a page may take; axe looks at each of its elements, of which the longest page of the site has 50,000."""
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe",
)  # fmt: skip


_FOUND = """
axe.run(document, {resultTypes: ["violations"], iframes: FRAMES}).then((found) => found.violations.map(
  (rule) => `${rule.id}, ${rule.nodes.length}: ${rule.help}: ${rule.nodes[0].html.slice(0, 200)}`))
"""


@cache
def _axe() -> str:
    return files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")


class Browser:
    """Chromium over its debugging pipe."""

    def __init__(self, profile: Path) -> None:
        command_read, self._write = os.pipe()
        self._read, event_write = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (command_read, event_write)]
        actions = [(os.POSIX_SPAWN_DUP2, high[0], 3), (os.POSIX_SPAWN_DUP2, high[1], 4)]
        quiet = os.open(os.devnull, os.O_WRONLY)
        actions += [(os.POSIX_SPAWN_DUP2, quiet, 1), (os.POSIX_SPAWN_DUP2, quiet, 2)]
        argv = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._pid = os.posix_spawn(argv[0], argv, dict(os.environ), file_actions=actions)
        for fd in (command_read, event_write, quiet, *high):
            os.close(fd)
        os.set_blocking(self._read, False)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        pages = [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        self._session = self.call("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)["sessionId"]

    def _next(self, until: float) -> dict[str, Any] | None:
        while b"\0" not in self._buffer:
            if time.monotonic() > until:
                return None
            try:
                self._buffer += os.read(self._read, 1 << 20)
            except BlockingIOError:
                time.sleep(0.01)
        message, self._buffer = self._buffer.split(b"\0", 1)
        return dict(json.loads(message))

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while (reply := self._next(until)) is not None:
            if reply.get("id") == self._number:
                assert "error" not in reply, reply
                return dict(reply["result"])
            self.events.append(reply)
        raise TimeoutError(method)

    def wait(self, event: str) -> None:
        until = time.monotonic() + PATIENCE
        while not any(e.get("method") == event for e in self.events):
            found = self._next(until)
            if found is None:
                raise TimeoutError(event)
            self.events.append(found)

    def run(self, script: str) -> Any:
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def close(self) -> None:
        os.kill(self._pid, signal.SIGTERM)
        os.waitpid(self._pid, 0)
        os.close(self._read)
        os.close(self._write)

    def open(self, page: Path, *, width: int = 1280, height: int = 800, dark: bool = False) -> None:
        """Show a page in a window of this size, in this theme of the system."""
        self.visit(page.as_uri(), width=width, height=height, dark=dark)

    def visit(self, address: str, *, width: int = 1280, height: int = 800, dark: bool = False) -> None:
        """Show what is at an address in a window of this size, in this theme of the system."""
        self.events = []
        self.call("Page.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 700
        )
        self.call("Page.navigate", url=address)
        self.wait("Page.loadEventFired")

    def press(self, key: str) -> None:
        """Press a key: a letter, or its name, such as Enter."""
        codes = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9}
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        code = codes.get(key) or ord(key.upper())
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=code)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def until(self, condition: str, seconds: float = 30) -> None:
        """Wait for a condition, in JavaScript, to be met; what it names may not be on the page yet."""
        end = time.monotonic() + seconds
        tried = f"(() => {{ try {{ return {condition} }} catch (error) {{ return `not met: ${{error}}` }} }})()"
        while (outcome := self.run(tried)) in (False, None, 0, "") or str(outcome).startswith("not met: "):
            assert time.monotonic() < end, (condition, outcome, self.run("document.body.innerText.slice(0, 600)"))
            time.sleep(0.03)

    def axe(self, *, frames: bool = True) -> list[str]:
        """What axe finds wrong on the page that is shown: each rule with how often, and the first place.

        It cannot look into `frames` that are sandboxed, and fails there.
        """
        self.run(f"{_axe()}; 0")
        return list(self.run(_FOUND.replace("FRAMES", str(frames).lower())))

    def screenshot(self, target: Path, longest: int = 16_000) -> None:
        """Save a picture of the whole page, down to so many pixels."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], longest), "scale": 1}
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        target.write_bytes(base64.b64decode(picture["data"]))

    def printed(self) -> bytes:
        """The page as a PDF."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A running browser."""
    running = Browser(profile)
    try:
        yield running
    finally:
        running.close()
