"""A stored run in the real viewer and a real browser: from the overview to the trial behind an estimate."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from facevalue.runs.stored_run import StoredRun
from facevalue.view.app import Viewer
from facevalue.view.open_runs import OpenedRuns
from tests.browser import CHROMIUM, Browser, chromium
from tests.view.test_pages import SETTLED, complaints

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: the viewer was not looked at")


@pytest.fixture
def address(small_run: Path) -> str:
    """Where a viewer of a run answers, with its token; it has no patience, so that pages ask again for what is made."""
    viewer = Viewer(OpenedRuns([StoredRun.open(small_run)], patience=0.0))
    Thread(target=viewer.serve, kwargs={"browser": False}, daemon=True).start()
    return viewer.address


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with chromium(tmp_path / "profile") as running:
        for domain in ("Runtime", "Log"):
            running.call(f"{domain}.enable")
        yield running


def follow(browser: Browser, link: str, there: str) -> None:
    """Click a link and wait for what it leads to."""
    browser.run(f"document.querySelector({link!r}).click()")
    browser.until(f"document.querySelector({there!r}) !== null && {SETTLED}")


def test_from_the_overview_to_the_trial_behind_an_estimate(browser: Browser, address: str) -> None:
    browser.visit(address)
    browser.until("document.querySelector('main.note') !== null")
    assert "token" not in browser.run("location.href")
    follow(browser, "main.note button", ".sentence")
    browser.until("document.querySelector('.estimates tbody a') !== null", seconds=120)
    follow(browser, ".ways a", ".pages")
    follow(browser, ".estimates tbody a", ".cellhead")
    title = browser.run("document.querySelector('h1').textContent")
    follow(browser, ".lead a", ".roomlist")
    follow(browser, ".roomlist tbody a", ".reply")
    assert "facevalue show" in browser.run("document.querySelector('.command code').textContent")
    browser.until("[...document.querySelectorAll('main img')].every((image) => image.naturalWidth > 0)")
    follow(browser, "nav a[href*=missing]", "main h1")
    for _ in range(3):
        browser.run("history.back()")
    browser.until(f"document.querySelector('h1').textContent === {title!r}")
    assert complaints(browser) == []
