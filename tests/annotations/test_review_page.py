"""Pages of packets: what a strange text cannot do, and a review in a real browser, paused, resumed and read back."""

import base64
import hashlib
import io
import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import PIL.Image
import pytest

from facevalue.annotations.review_answers import read_answers
from facevalue.annotations.review_cards import CardQuestion, Packet, ReviewCard, is_check, order_cards, view, write_page
from facevalue.runs.reviews.outcomes import ReviewKey
from tests.browser import CHROMIUM, Browser, chromium

NASTY = '<script>document.title="hacked"</script>&\'"\u202e\x1b[2J</blockquote><img src=x onerror=alert(1)>'


def _png() -> bytes:
    out = io.BytesIO()
    PIL.Image.new("RGB", (16, 12), (200, 90, 0)).save(out, "PNG")
    return out.getvalue()


def packet_of(cards: int = 5) -> Packet:
    """Replies, one of them hostile, and a picture with things to be ticked."""
    texts = [NASTY, "x" * 9_000, *(f"Reply {n}." for n in range(cards - 2))]
    replies = tuple(
        ReviewCard(
            (CardQuestion("Which?", f"r-{n:010x}", choices=("Kind", "Cruel", "Neither")),), (("The reply", text),)
        )
        for n, text in enumerate(texts)
    )
    ticks = CardQuestion("By what?", several=(("p-000000000a", "clothing"), ("p-000000000b", "hair")))
    shown = CardQuestion("Is it shown?", "p-000000000c")
    picture = ReviewCard(
        (shown, ticks), (("Asked for", "An old man"),), (("a.png", "Before"), ("a.png", "After")), phase=1
    )
    views = {"a.png": view(_png(), "a.png")}
    return Packet("parse", "What is said?", ("Read each.",), (*replies, picture), "Some are <unkind>.", views)


def test_a_text_cannot_become_code(tmp_path: Path) -> None:
    write_page(packet_of(), "r1", tmp_path / "r1.html")
    page = (tmp_path / "r1.html").read_text(encoding="utf-8")
    assert page.count("<script>") == 1
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert r"\u202e\x1b[2J</blockquote>" in unescape(page)
    assert "(4,000 more cut)" in page
    assert "Some are &lt;unkind&gt;." in page
    for tag in ("script", "style"):
        inner = re.search(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert inner is not None
        digest = base64.b64encode(hashlib.sha256(inner[1].encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in page
    assert "default-src &#39;none&#39;" in page
    assert not re.search(r"<[^>]* (style|on\w+)=", page)
    assert re.findall(r"https?://\S+", page) == []


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: no packet was looked at in a browser")
    with chromium(tmp_path / "profile") as running:
        yield running


def press(browser: Browser, key: str) -> None:
    """Press a key as a person does."""
    codes = {"Enter": 13}
    text = {} if key in codes else {"text": key}
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=codes.get(key, ord(key[0])), **text
        )


def test_a_review_is_paused_resumed_and_read_back(browser: Browser, tmp_path: Path) -> None:
    packet, page, folder = packet_of(), tmp_path / "r1.html", tmp_path / "saved"
    write_page(packet, "r1", page)
    for domain in ("Runtime", "Log", "Network"):
        browser.call(f"{domain}.enable")
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    browser.open(page, width=390, height=844, dark=True)
    assert browser.run("document.documentElement.scrollWidth") == 390
    assert browser.run("document.title") == "What is said? A review"
    assert browser.run("getComputedStyle(document.querySelector('.card')).display") == "none"  # the note comes first
    assert browser.axe() == []
    browser.run("document.getElementById('begin').click()")
    cards = order_cards(packet, "r1")
    expected = {}
    for card in cards[:3]:
        press(browser, "2")
        expected[card.questions[0].item] = 2
        press(browser, "n")
    assert browser.run("document.querySelector('.now h1').textContent") == f"4 of {len(cards)}"
    assert browser.axe() == []

    browser.open(page)  # the page was closed, and is opened again
    assert browser.run("document.getElementById('begin').textContent") == "Go on where you were"
    browser.run("document.getElementById('begin').click()")
    assert browser.run("document.querySelector('.now h1').textContent") == f"4 of {len(cards)}"
    assert browser.run("document.getElementById('progress').textContent").startswith("3 of ")
    for card in cards[3:]:
        press(browser, "1")
        expected[card.questions[0].item] = 1
        if len(card.questions) > 1:  # the focus went on to what can be ticked
            press(browser, "2")
            expected |= {"p-000000000a": 2, "p-000000000b": 1}
        press(browser, "Enter")
    assert browser.run("document.querySelector('.now h1').textContent") == "The end"
    assert browser.run("[...document.images].every((i) => i.naturalWidth === 16)") is True
    browser.run("document.getElementById('save').click()")
    path, until = folder / f"review-{packet.name}-r1.json", time.monotonic() + 20
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.02)
    answers = read_answers([path], packet.name, ReviewKey.of_packet(packet).choices())
    assert dict(answers.select("item", "rating").iter_rows()) == expected
    assert answers["duration"].is_between(0, 60).all()
    assert any(is_check(item) for item in expected)

    complaints = [e for e in browser.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
    assert complaints == []
    asked = [e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"]
    assert {url for url in asked if not url.startswith(("data:", "blob:"))} == {page.as_uri()}
    assert browser.run("document.title") == "What is said? A review"


def test_two_tabs_and_a_strangers_state_lose_nothing(browser: Browser, tmp_path: Path) -> None:
    packet, page = packet_of(), tmp_path / "r1.html"
    write_page(packet, "r1", page)
    place = f"facevalue-review/{packet.name}/r1"
    browser.open(page)
    browser.run(f"localStorage.setItem('{place}', '{{broken')")
    browser.open(page)
    browser.run("document.getElementById('begin').click()")
    press(browser, "1")
    other_tab = f"""
      const kept = JSON.parse(localStorage.getItem('{place}'));
      kept.answers['r-0000000002'] = 3;
      localStorage.setItem('{place}', JSON.stringify(kept));
      dispatchEvent(new StorageEvent('storage', {{ key: '{place}' }}));
      document.getElementById('progress').textContent"""
    assert browser.run(other_tab).startswith("2 of ")


def test_on_paper_every_card_stands_with_its_code(browser: Browser, tmp_path: Path) -> None:
    write_page(packet_of(), "r1", tmp_path / "r1.html")
    browser.open(tmp_path / "r1.html")
    browser.call("Emulation.setEmulatedMedia", media="print")
    shown = "[...document.querySelectorAll('.card')].every((c) => getComputedStyle(c).display === 'block')"
    assert browser.run(shown) is True
    assert browser.run("getComputedStyle(document.getElementById('bar')).display") == "none"
    assert browser.printed().startswith(b"%PDF")


def test_the_reply_of_many_questions_stays_in_sight_and_is_scrolled_by_keyboard(
    browser: Browser, tmp_path: Path
) -> None:
    reply = "\n".join(f'"field {number}": "value {number}"' for number in range(60))
    questions = tuple(CardQuestion(f"Is field {number} read right?", f"r-{number:010x}") for number in range(12))
    packet = Packet("parse", "What is said?", ("Read it.",), (ReviewCard(questions, (("The reply", reply),)),))
    write_page(packet, "r1", tmp_path / "r1.html")
    for width in (1280, 400):
        browser.open(tmp_path / "r1.html", width=width)
        browser.run("document.getElementById('begin').click(); 0")
        if browser.run("document.querySelectorAll('.now fieldset').length") == 1:  # the check of attention came first
            browser.press("n")
        browser.run("scrollTo(0, document.body.scrollHeight); 0")
        browser.until("scrollY > 0")
        box = browser.run(
            "(({top, bottom}) => [top, bottom])(document.querySelector('.now blockquote').getBoundingClientRect())"
        )
        assert 0 <= box[0] < box[1] <= 0.4 * browser.run("innerHeight"), "in sight, and leaves room for questions"
        assert browser.axe() == []
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert (
        browser.run(
            "(({scrollHeight, clientHeight}) => scrollHeight - clientHeight)(document.querySelector('blockquote'))"
        )
        <= 1
    )
