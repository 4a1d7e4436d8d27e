"""The report in a real browser: it must fetch nothing, complain of nothing, and its buttons must work."""

import fcntl
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from facevalue import report
from tests.report import made, vignette_made

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe",
)  # fmt: skip


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
        until = time.monotonic() + 20
        while (reply := self._next(until)) is not None:
            if reply.get("id") == self._number:
                assert "error" not in reply, reply
                return dict(reply["result"])
            self.events.append(reply)
        raise TimeoutError(method)

    def wait(self, event: str) -> None:
        until = time.monotonic() + 20
        while not any(e.get("method") == event for e in self.events):
            found = self._next(until)
            if found is None:
                raise TimeoutError(event)
            self.events.append(found)

    def run(self, script: str) -> Any:
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def close(self) -> None:
        os.kill(self._pid, signal.SIGTERM)
        os.waitpid(self._pid, 0)
        os.close(self._read)
        os.close(self._write)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: the report was not looked at in a browser")
    running = Browser(tmp_path / "profile")
    yield running
    running.close()


def test_report_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    report.write(target, made.data(("model-a", "model-b")))
    for domain in ("Page", "Runtime", "Log", "Network"):
        browser.call(f"{domain}.enable")
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    browser.call("Page.navigate", url=target.as_uri())
    browser.wait("Page.loadEventFired")

    assert browser.run("document.documentElement.classList.contains('js')") is True
    assert browser.run("[...document.images].every(i => i.complete && i.naturalWidth > 0)") is True
    assert browser.run("getComputedStyle(document.querySelector('.card')).display") == "grid"
    assert browser.run("document.documentElement.scrollWidth") == 390, "the page must not scroll sideways on a phone"

    first = "document.querySelector('#cues .strips tbody th').textContent"
    before = browser.run(first)
    browser.run("document.querySelector('#cues .strips th.num .sort').click()")
    browser.run("document.querySelector('#cues .strips th.num .sort').click()")
    assert browser.run(first) != before
    browser.run("document.getElementById('theme').click()")
    assert browser.run("document.documentElement.dataset.theme") in ("dark", "light")
    browser.run("document.querySelector('#groups .byeffect').click()")
    assert "Worn" in browser.run("document.querySelector('#groups .heat tbody th').textContent")
    filtered = "const f = document.querySelector('.filter'); f.value = 'messy'; f.dispatchEvent(new Event('input'));"
    browser.run(filtered)
    assert (
        browser.run("[...document.querySelector('#groups .heat').tBodies[0].rows].filter(r => !r.hidden).length") == 1
    )
    browser.run("document.querySelector('#groups .heat tr:not([hidden]) td').click()")
    browser.run("document.querySelector('#groups .heat tbody tr:not([hidden]) td').click()")
    assert "n = 1,200" in browser.run("document.querySelector('#groups .picked').textContent")

    complaints = [e for e in browser.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
    complaints += [e for e in browser.events if e.get("method") == "Runtime.consoleAPICalled"]
    assert complaints == []
    asked = [e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"]
    assert {url for url in asked if not url.startswith("data:")} == {target.as_uri()}


def test_tables_of_vignette_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    report.write(target, vignette_made.data(("model-a", "model-b")))
    for domain in ("Page", "Runtime", "Log", "Network"):
        browser.call(f"{domain}.enable")
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    browser.call("Page.navigate", url=target.as_uri())
    browser.wait("Page.loadEventFired")
    assert browser.run("document.documentElement.scrollWidth") == 390, "the page must not scroll sideways on a phone"

    browser.run("const t = document.querySelector('table.cells'); const box = t.parentElement;")
    names = "[...t.tBodies[0].rows].map(r => r.cells[0].textContent).join('|')"
    column = "[...t.tBodies[0].rows].map(r => parseFloat(r.cells[3].textContent)).join()"
    first = browser.run(names)
    browser.run("t.tHead.rows[0].cells[3].click()")
    sorted_cells = [float(v) for v in browser.run(column).split(",")]
    assert sorted_cells == sorted(sorted_cells, reverse=True)
    browser.run(
        "const pick = (i, v) => { const s = box.previousElementSibling.querySelectorAll('select')[i]; s.value = v; "
        "s.dispatchEvent(new Event('change')); };"
    )
    browser.run("pick(0, 'name')")
    assert browser.run(names).split("|") == sorted(browser.run(names).split("|"))
    browser.run("pick(0, 'first')")
    assert browser.run(names) == first
    heads = "[...t.tHead.rows[0].cells].map(c => c.textContent).join('|')"
    before = browser.run(heads)
    third = "[...t.tHead.rows[0].cells].findIndex(c => c.textContent.endsWith('number 3'))"
    cell = f"[...t.tBodies[0].rows].map(r => r.cells[{third}].textContent).join()"
    kept = browser.run(cell)
    browser.run("pick(1, 'effect')")
    assert browser.run(heads) != before
    assert browser.run(cell) == kept, "cells go with their column"
    assert browser.run(heads).split("|")[:2] == before.split("|")[:2]
    browser.run("t.tBodies[0].rows[0].cells[2].click()")
    assert "log odds" in browser.run("box.nextElementSibling.textContent")
    left = "t.tBodies[0].rows[0].cells[0].getBoundingClientRect().left - box.getBoundingClientRect().left"
    assert browser.run(f"box.scrollLeft = 500; Math.round({left})") <= 2, "names of rows stay in sight"

    browser.run("for (const d of document.querySelectorAll('details')) d.open = true")
    assert browser.run("document.documentElement.scrollWidth") == 390
    complaints = [e for e in browser.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
    assert complaints == []
    asked = [e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"]
    assert {url for url in asked if not url.startswith("data:")} == {target.as_uri()}
