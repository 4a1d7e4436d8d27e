"""The viewer's page in a real browser: every page, way, key and hostile reply, of a server and of exported folders."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.browser import CHROMIUM, Browser, chromium
from tests.view.made_documents import documents
from tests.view.made_server import exported, folder_served, viewer_served

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: the viewer was not looked at")
PAGES = (
    "",
    "estimates?run=0",
    "cell?run=0&key=k1&open=0",
    "answers?run=0",
    "trial?run=0&trial=4",
    "missing?run=0",
    "compare",
)
THERE = {
    "": ".sentence", "estimates": ".pages", "cell": ".clusters", "answers": ".pages", "trial": ".reply",
    "missing": ".reason", "compare": ".compared > li",
}  # fmt: skip
"""What stands on a page once it is there."""
ROWS = "document.querySelectorAll('{} tbody tr:not(.measurehead)').length"
SETTLED = "document.querySelector('.waiting, [aria-busy=true], .stale') === null"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("browser") / "profile") as running:
        for domain in ("Runtime", "Log", "Network"):
            running.call(f"{domain}.enable")
        yield running


@pytest.fixture(scope="module")
def live() -> Iterator[str]:
    """Address of a viewer of two runs."""
    with viewer_served(lambda: documents(2), []) as address:
        yield address


def show(browser: Browser, address: str, page: str, *, width: int = 1280, dark: bool = False) -> None:
    """Open a page as if for the first time, past the content note."""
    browser.visit("about:blank")
    browser.visit(f"{address}#/{page}", width=width, dark=dark)
    browser.until("document.querySelector('main.note, .topline') !== null")
    if browser.run("document.querySelector('main.note') !== null"):
        browser.run("document.querySelector('main.note button').click()")
    there = THERE[page.partition("?")[0]]
    browser.until(f"document.querySelector('{there}, main [role=alert]') !== null && {SETTLED}")


def complaints(browser: Browser) -> list[str]:
    methods = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
    return [str(event["params"])[:400] for event in browser.events if event.get("method") in methods]


def text(browser: Browser, selector: str) -> str:
    return str(browser.run(f"document.querySelector({selector!r})?.innerText ?? ''"))


def address_of(browser: Browser) -> str:
    return str(browser.run("location.hash"))


@pytest.mark.skipif(find_spec("axe_core_python") is None, reason="no axe on this machine")
@pytest.mark.parametrize(
    ("width", "dark"), [(1280, False), (1280, True), (500, False), pytest.param(500, True, marks=pytest.mark.slow)]
)
def test_every_page_fits_and_axe_finds_nothing(browser: Browser, live: str, width: int, dark: bool) -> None:
    for page in PAGES:
        show(browser, live, page, width=width, dark=dark)
        browser.run("for (const part of document.querySelectorAll('details')) part.open = true")
        assert browser.axe() == [], page
        assert browser.run("document.documentElement.scrollWidth <= innerWidth"), f"{page} scrolls sideways"
        assert complaints(browser) == [], page


@pytest.mark.skipif(find_spec("axe_core_python") is None, reason="no axe on this machine")
def test_the_content_note_stands_alone_until_it_is_read(browser: Browser, tmp_path: Path) -> None:
    with viewer_served(documents, asked := list[str]()) as address:
        browser.visit(f"{address}#/trial?run=0&trial=3")
        browser.until("document.querySelector('main.note') !== null")
        assert browser.axe() == []
        assert not [name for name in asked if "trial" in name or "picture" in name]
        browser.press("Enter")
        browser.until("document.querySelector('.reply') !== null")
        browser.visit("about:blank")
        browser.visit(address)
        browser.until("document.querySelector('.sentence') !== null")


def test_hostile_replies_are_text(browser: Browser, live: str) -> None:
    for trial in range(0, 24, 3):
        show(browser, live, f"trial?run=0&trial={trial}")
        browser.until("document.querySelector('.reply') !== null")
        assert browser.run("document.querySelectorAll('main script, main img[onerror]').length") == 0
        assert "owned" not in browser.run("document.title")
        assert not browser.run("/[\\u202a-\\u202e\\u2066-\\u2069\\u001b\\u0007]/.test(document.body.textContent)")
        assert browser.run("document.documentElement.scrollWidth <= innerWidth"), trial
        assert complaints(browser) == []
    show(browser, live, "trial?run=0&trial=12")
    assert browser.run("getComputedStyle(document.querySelector('.reply blockquote')).direction") == "rtl"
    assert browser.run("getComputedStyle(document.querySelector('main')).direction") == "ltr"


def test_all_goes_by_keyboard(browser: Browser, live: str) -> None:
    show(browser, live, "answers?run=0")
    browser.press("j")
    browser.press("j")
    browser.press("k")
    browser.press("ArrowDown")
    assert browser.run("document.activeElement.textContent") == "1"
    browser.press("Enter")
    browser.until("document.querySelector('.reply') !== null")
    assert address_of(browser) == "#/trial?run=0&trial=1"
    browser.press("ArrowRight")
    browser.until("document.querySelector('h1').textContent === 'Trial 2'")
    browser.press("Escape")
    browser.press("Escape")
    browser.until("document.querySelector('.roomlist') !== null")
    browser.until("document.activeElement.textContent === '1'")
    browser.press("/")
    assert browser.run("document.activeElement.type") == "search"
    browser.press("?")
    assert browser.run("document.querySelector('dialog[open]')") is None, "in the search it is a letter"
    browser.press("Escape")
    browser.press("?")
    browser.until("document.querySelector('dialog[open]') !== null")
    browser.press("Escape")
    browser.until("document.querySelector('dialog[open]') === null")


def test_a_key_pressed_as_a_page_comes_back_keeps_its_focus(browser: Browser, live: str) -> None:
    show(browser, live, "answers?run=0")
    browser.press("j")
    browser.press("Enter")
    browser.until("document.querySelector('.reply') !== null")
    browser.run("window.requestAnimationFrame = (call) => setTimeout(call, 200); 0")  # a machine with much else to do
    browser.press("Escape")
    browser.until("document.querySelector('.roomlist') !== null")
    assert browser.run("document.activeElement.textContent") == "0", "the row that was opened"
    browser.press("/")
    browser.run("new Promise((done) => setTimeout(done, 700))")
    assert browser.run("document.activeElement.type") == "search"


def test_trials_of_a_filtered_list_follow_each_other(browser: Browser, tmp_path: Path) -> None:
    page = exported(tmp_path / "folder")
    with folder_served(page.parent, []) as address:
        show(browser, address, "answers?run=0&answer=refused&F.gender=male")
        browser.until(f"{ROWS.format('.roomlist')} === 5")
        browser.press("j")
        browser.press("Enter")
        browser.until("document.querySelector('.trialhead')?.innerText.includes('1 of 5 in the list')")
        browser.press("ArrowRight")
        browser.until(
            "document.querySelector('h1').textContent === 'Trial 40' && document.querySelector('.reply') !== null"
        )


def test_a_level_of_a_trial_leads_to_all_answers_that_have_it(browser: Browser, live: str, tmp_path: Path) -> None:
    show(browser, live, "trial?run=0&trial=4")
    link = str(browser.run("document.querySelector('.labels dd a').getAttribute('href')"))
    page = exported(tmp_path / "folder")
    with folder_served(page.parent, []) as address:
        show(browser, address, link.removeprefix("#/"))
        level = text(browser, ".chosen select option:checked").partition(" (")[0]
        assert level
        factors = "[...document.querySelectorAll('.factors')].map((cell) => cell.innerText)"
        assert all(level in row for row in browser.run(factors))


def test_sides_of_a_comparison_say_which_repeat_they_are(browser: Browser, live: str) -> None:
    show(browser, live, "compare")
    heads = "[...document.querySelectorAll('.compared > li:first-child h3')].map((head) => head.innerText)"
    assert [head.endswith("repeat 1") for head in browser.run(heads)] == [False, True]


def test_back_and_forward_keep_state_and_place(browser: Browser, live: str) -> None:
    show(browser, live, "answers?run=0")
    browser.run("scrollTo(0, 900)")
    browser.until("history.state?.top === 900")
    browser.run("document.querySelectorAll('.roomlist th a')[20].click()")
    browser.until("document.querySelector('.reply') !== null && scrollY === 0")
    browser.run("history.back()")
    browser.until("document.querySelector('.roomlist') !== null && scrollY === 900")
    browser.run("history.forward()")
    browser.until("document.querySelector('.reply') !== null")


def test_what_the_server_refuses_is_one_sentence(browser: Browser, live: str) -> None:
    show(browser, live, "trial?run=0&trial=999")
    assert text(browser, "[role=alert]") == "There is no such trial."


def test_a_run_that_grows_says_so_and_shows_more_when_asked(browser: Browser) -> None:
    answers: int | None = 60
    asked = list[str]()
    with viewer_served(lambda: documents(1, answers), asked) as address:
        show(browser, address, "answers?run=0")
        assert "60 of 240 answers" in text(browser, ".progress")
        assert "provisional" in text(browser, ".progress")
        answers = 90
        browser.until("document.querySelector('.progress button')?.textContent === 'Show 30 more'")
        browser.run("document.querySelector('.progress button').click()")
        browser.until("document.querySelector('.progress button') === null")
        browser.until(SETTLED)
        answers, before = None, asked.count("api/answers")
        browser.until("document.querySelector('.progress') === null")
        browser.until(SETTLED)
        assert asked.count("api/answers") == before + 1, "what came last is shown, too"
        assert complaints(browser) == []


@pytest.mark.parametrize("kind", ["served", "from disk"])
def test_an_exported_folder_filters_sorts_and_pages_by_itself(browser: Browser, tmp_path: Path, kind: str) -> None:
    page, asked = exported(tmp_path / "folder", embedded=kind == "from disk"), list[str]()
    with folder_served(page.parent, asked) as served:
        address = served if kind == "served" else page.as_uri()
        show(browser, address, "estimates?run=0")
        assert browser.run(ROWS.format(".estimates")) == 50
        browser.run("document.querySelector('[rel=next]').click()")
        browser.until(f"{ROWS.format('.estimates')} === 10")
        browser.run("document.querySelector('.sort').click()")
        browser.until(f"{ROWS.format('.estimates')} === 50 && location.hash.includes('sort=-value')")
        assert text(browser, ".estimates tbody tr:not(.measurehead) td.num").startswith("+27.5 points")
        browser.press("/")
        browser.call("Input.insertText", text="female light")
        browser.until("location.hash.includes('q=female')")
        browser.until(f"{ROWS.format('.estimates')} === 10")
        show(browser, address, "answers?run=0&answer=refused&F.gender=male")
        assert "answers" in text(browser, ".pages")
        refused = "[...document.querySelectorAll('.parsed')].every((cell) => cell.innerText === 'Refused')"
        browser.until(f"{refused} && {ROWS.format('.roomlist')} > 1")
        for each in ("trial?run=0&trial=4", "cell?run=0&key=k1&open=0", "missing?run=0", ""):
            show(browser, address, each)
            assert browser.run("document.querySelector('[role=alert]')") is None, each
        browser.until("[...document.images].every((image) => image.naturalWidth > 0)")
        assert complaints(browser) == []
    assert ("parquet.js" in asked) == (kind == "served")
    assert not [name for name in asked if name.startswith("api/")]


def test_nothing_is_fetched_that_a_server_does_not_need(browser: Browser, live: str) -> None:
    with viewer_served(lambda: documents(2), asked := list[str]()) as address:
        for page in PAGES:
            show(browser, address, page)
        sent = [
            event["params"]["request"]["url"]
            for event in browser.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        assert all(url.startswith(address) or url.startswith("data:") for url in sent)
    assert "parquet.js" not in asked
