"""The report in a real browser: it must fetch nothing, complain of nothing, and its buttons must work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from facevalue import report
from facevalue.report.profile.page import write
from tests.browser import CHROMIUM, Browser, chromium
from tests.report import made, vignette_made
from tests.report.test_profile import cell, of


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: the report was not looked at in a browser")
    with chromium(tmp_path / "profile") as running:
        yield running


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


def test_profile_in_a_browser_opens_what_a_square_leads_to(browser: Browser, tmp_path: Path) -> None:
    target = tmp_path / "profile.html"
    write(target, of([cell(), cell(group="men", value=-0.1)]))
    for domain in ("Page", "Runtime", "Log"):
        browser.call(f"{domain}.enable")
    browser.call("Page.navigate", url=f"{target.as_uri()}#g0-1-0")
    browser.wait("Page.loadEventFired")
    assert browser.run("[...document.querySelectorAll('details.group')].map(d => d.open).join()") == "false,true"
    browser.run("document.getElementById('theme').click()")
    assert browser.run("document.documentElement.dataset.theme") in ("dark", "light")
    complaints = [e for e in browser.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
    assert complaints == []


def test_tables_of_vignette_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    report.write(target, vignette_made.data(("model-a", "model-b")))
    for domain in ("Page", "Runtime", "Log", "Network"):
        browser.call(f"{domain}.enable")
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    browser.call("Page.navigate", url=target.as_uri())
    browser.wait("Page.loadEventFired")
    assert browser.run("document.documentElement.scrollWidth") == 390, "the page must not scroll sideways on a phone"

    browser.run("document.getElementById('folds').click()")
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


SOON = "new Promise(done => setTimeout(() => done({}), 50))"
CLOSED = "[...document.querySelectorAll('details.fold')].filter(d => !d.open).length"


def test_sections_unfold_by_links_keys_and_all_at_once_and_print_as_they_are(browser: Browser, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    report.write(target, made.data())
    browser.open(target)
    folded = browser.run(CLOSED)
    assert folded > 3
    short = len(browser.printed())
    browser.run("document.querySelector('nav a[href=\"#groups\"]').click()")
    assert browser.run(SOON.format("document.querySelector('#groups > details').open"))
    browser.run("document.querySelector('#faces summary').focus()")
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="Enter", windowsVirtualKeyCode=13, text="\r")
    assert browser.run(CLOSED) == folded - 2
    browser.run("document.querySelector('#definitions h3').id = 'within'; location.hash = 'within'")
    assert browser.run(SOON.format("document.querySelector('#definitions > details').open")), (
        "an anchor opens its section"
    )
    browser.run("document.getElementById('folds').click()")
    assert browser.run(CLOSED) == 0
    assert len(browser.printed()) > 1.3 * short, "what is folded is not printed"
    browser.run(SOON.format("document.getElementById('folds').click()"))
    assert browser.run(CLOSED) > folded


def test_terms_are_explained_on_hover_focus_and_tap(browser: Browser, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    report.write(target, made.data())
    for width in (1280, 500):
        browser.open(target, width=width)
        shown = "document.querySelector('.definition:popover-open')?.textContent ?? ''"
        browser.run("document.documentElement.style.scrollBehavior = 'auto'")
        browser.run("const term = document.querySelector('#cues .term'); term.scrollIntoView({block: 'center'})")
        assert browser.run(shown) == ""
        browser.run("term.dispatchEvent(new Event('mouseenter'))")
        assert browser.run(shown).startswith("95% interval. Range")
        browser.run("term.click()")
        assert browser.run(shown).startswith("95% interval. Range"), "a tap keeps it"
        box = browser.run(
            "(b => [b.left >= 0, b.right <= innerWidth, b.bottom <= innerHeight])"
            "(document.querySelector('.definition:popover-open').getBoundingClientRect())"
        )
        assert box == [True, True, True]
        browser.run("term.click()")
        assert browser.run(shown) == ""


def test_without_scripts_everything_is_in_reach(browser: Browser, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    report.write(target, made.data())
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(target)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.run("document.documentElement.classList.contains('js')") is False
    assert browser.run("getComputedStyle(document.getElementById('folds')).display") == "none"
    browser.run("document.querySelector('#faces summary').click()")
    assert browser.run("document.querySelector('#faces .strips').getBoundingClientRect().height") > 50
    browser.run("document.querySelector('#cues .term').click()")
    assert browser.run("document.querySelector('.definition:popover-open').textContent").startswith("95% interval")
