"""People's review in the viewer: packets, answers that are saved one by one, and what may not be sent."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from starlette.testclient import TestClient

from facevalue.annotations.review_cards import is_check, order_cards
from facevalue.cli.actions.readings import review as review_command
from facevalue.runs.reviews.packets import (
    ReviewSettings,
    collect,
    keep_review,
    kept_key,
    kept_packet,
    packet_for,
    raters_of,
    write_review,
)
from facevalue.runs.stored_run import StoredRun
from facevalue.view.app import Viewer
from facevalue.view.documents import plain
from facevalue.view.open_runs import OpenedRuns
from tests.browser import CHROMIUM, chromium
from tests.view.conftest import BASE, client_of

JSON = {"origin": BASE}


@pytest.fixture
def run(small_run: Path, tmp_path: Path) -> StoredRun:
    return StoredRun.open(Path(shutil.copytree(small_run, tmp_path / "run")))


@pytest.fixture
def desk(run: StoredRun) -> TestClient:
    """A browser that opened a viewer of the run."""
    return client_of(OpenedRuns([run]))


def sent(client: TestClient, address: str, body: object, expected: int = 200) -> Any:
    answer = client.post(f"/{address}", json=body, headers=JSON)
    assert answer.status_code == expected, answer.text
    return answer.json()


def test_a_packet_is_rated_saved_at_each_answer_and_collected(desk: TestClient, run: StoredRun) -> None:
    assert desk.get("/api/reviews").json()["packets"] == []
    packet = sent(desk, "review/0", {"task": "parse", "sample": 12})
    page = desk.get(f"/{packet['address']}ann")
    assert page.status_code == 200
    assert "connect-src 'self'" in page.headers["content-security-policy"]
    assert "script-src 'sha256-" in page.headers["content-security-policy"]
    for hidden in ("sim/default", "sunglasses"):
        assert hidden not in page.text, "raters are not told"
    first, second, *_ = items = [
        item for card in kept_packet(run.folder, packet["packet"]).cards for item in card.items
    ]
    assert sent(desk, f"{packet['address']}ann", {"answers": {first: 1}, "spent": 4.2})["answers"] == {first: 1}
    state = sent(desk, f"{packet['address']}ann", {"answers": {second: 2}, "spent": 1e9})
    assert state == {"answers": {first: 1, second: 2}, "seconds": 304}, "another tab's answer stays; a pause is no work"
    assert sent(desk, f"{packet['address']}ann", {"answers": {first: None, second: 1}})["answers"] == {second: 1}
    sent(desk, f"{packet['address']}ben", {"answers": dict.fromkeys(items, 1), "spent": 60})
    again = client_of(OpenedRuns([run]))  # the viewer was closed
    (listed,) = again.get("/api/reviews").json()["packets"]
    assert {row["rater"]: row["answered"] for row in listed["raters"]} == {"ann": 1, "ben": len(items)}
    assert listed["questions"] == len(items)
    assert sent(again, f"{packet['address']}ann", {"answers": {}})["answers"] == {second: 1}
    outcome = collect(run, list(raters_of(run.folder, packet["packet"]).values()))
    assert outcome.counts.raters["rater"].to_list() == [f"{packet['packet']}-{rater}" for rater in ("ann", "ben")]


def test_what_people_said_is_collected_as_the_command_does_and_sways_nobody_who_still_answers(
    desk: TestClient, run: StoredRun
) -> None:
    packet = sent(desk, "review/0", {"task": "parse", "sample": 12})
    address, items = packet["address"].rstrip("/"), list(kept_key(run.folder, packet["packet"]).choices())
    assert "Name the files" in sent(desk, address, {}, 400)["error"]
    sent(desk, f"{address}/ann", {"answers": dict.fromkeys(items, 1), "spent": 60})
    sent(desk, f"{address}/ben", {"answers": dict.fromkeys(items[:-3], 1), "spent": 60})
    (listed,) = desk.get("/api/reviews").json()["packets"]
    assert [rater["done"] for rater in listed["raters"]] == [True, False]
    bodies: tuple[dict[str, list[str]], ...] = ({}, {"close": []}, {"close": ["ann"]})
    for body in bodies:
        assert "ben did not answer all" in sent(desk, address, body, 400)["error"]
    for wrong in ({"close": "ben"}, {"close": ["ben"], "all": 1}):
        assert "takes a list" in sent(desk, address, wrong, 400)["error"]
    assert not (run.folder / "annotations/ratings").exists(), "nothing is kept, and nobody closed, until then"
    sent(desk, f"{address}/ben", {"answers": {}})

    document = sent(desk, address, {"close": ["ben"]})
    files = tuple(raters_of(run.folder, packet["packet"]).values())
    output = review_command(run.folder, "parse", None, files, None, 3, None, None, None, "", None, 0.5, 0, None)
    printed = plain(output.document)
    assert document["result"] == {**printed, "replaced": 0}
    assert printed["replaced"] > 0
    names = [row["coefficient"] for row in document["result"]["agreement"]]
    assert names[0] == "Krippendorff's alpha"
    tables = {table["title"]: table for table in document["texts"] if isinstance(table, dict)}
    assert [row[0] for row in tables["How far people agree"]["rows"]] == names
    assert tables["Against what most people say"]["rows"][0][:2] == ["all", "accuracy"]
    for refused in (desk.get(f"/{address}/ben"), desk.post(f"/{address}/ben", json={"answers": {}}, headers=JSON)):
        assert "is closed to ben" in refused.json()["error"]
    with ThreadPoolExecutor(4) as pool:  # as from several tabs
        again = list(pool.map(lambda _: sent(desk, address, {}), range(4)))
    assert all(document["texts"] == again[0]["texts"] for document in again)
    raters = desk.get("/api/reviews").json()["packets"][0]["raters"]
    assert [(rater["done"], rater["address"] == "") for rater in raters] == [(True, False), (True, True)]
    assert len(json.loads(files[1].read_text())["answers"]) == len(items) - 3, "what was answered stays"
    sent(desk, f"{address}/cat", {"answers": {items[0]: 1}})
    assert "cat did not answer all" in sent(desk, address, {}, 400)["error"], "who begins later is not swayed, either"


def test_a_packet_for_files_is_the_same_in_the_viewer(desk: TestClient, run: StoredRun, tmp_path: Path) -> None:
    packet, key, _ = packet_for(run, ReviewSettings(sample=12), lambda: pytest.fail("no findings are asked about"))
    write_review(run, packet, key, tmp_path / "packets", 1)
    assert kept_packet(run.folder, packet.name) == packet
    assert sent(desk, "review/0", {"task": "parse", "sample": 12})["packet"] == packet.name
    page = desk.get(f"/review/0/{packet.name}/r1").text
    offline = (tmp_path / "packets" / "rater-1.html").read_text(encoding="utf-8")
    cards = [text.partition("<form")[2].partition('id="end"')[0] for text in (page, offline)]
    assert cards[0] == cards[1] != ""


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"answers": {"r-0000000000": 1}}, "not an item"),
        ({"answers": {"ITEM": 0}}, "a number from 1"),
        ({"answers": {"ITEM": 99}}, "a number from 1"),
        ({"answers": {"ITEM": True}}, "a number from 1"),
        ({"answers": {"ITEM": "1"}}, "a number from 1"),
        ({"answers": {"ITEM": 1.5}}, "a number from 1"),
        ({"answers": [1]}, "an object"),
        ({}, "an object"),
        ({"answers": {}, "spent": "long"}, "seconds"),
        ([], "no object"),
    ],
)
def test_mistakes_save_nothing_and_are_said(desk: TestClient, run: StoredRun, body: Any, says: str) -> None:
    packet = sent(desk, "review/0", {"task": "parse", "sample": 4})
    item = kept_packet(run.folder, packet["packet"]).cards[0].items[0]
    text = json.dumps(body).replace("ITEM", item)
    answer = desk.post(f"/{packet['address']}ann", content=text, headers={**JSON, "content-type": "application/json"})
    assert answer.status_code == 400
    assert says in answer.json()["error"]
    assert not raters_of(run.folder, packet["packet"])


def test_what_is_no_review_is_said(desk: TestClient) -> None:
    for body, says in (
        ({"task": "nothing"}, "task"), ({"task": 3}, "task"), ({"task": "parse", "sample": 0}, "sample"),
        ({"task": "parse", "sample": 10**9}, "sample"), ({"task": "parse", "seed": -1}, "seed"),
        ({"task": "parse", "of": 1}, "not 'of'"), ({"task": "finding"}, "No difference was found"),
    ):  # fmt: skip
        answer = desk.post("/review/0", json=body, headers=JSON)
        assert answer.status_code in (400, 404)
        assert says in answer.json()["error"]
    for address in ("review/0/0000000000/ann", "review/0/..%2f..%2frun/ann", "review/0/nothing/ann", "review/9/x/ann"):
        assert desk.get(f"/{address}").status_code in (400, 404)
        assert desk.post(f"/{address}", json={"answers": {}}, headers=JSON).status_code in (400, 404)
    packet = sent(desk, "review/0", {"task": "parse", "sample": 4})
    assert "rater's name" in sent(desk, f"{packet['address']}a%20b", {"answers": {}}, 400)["error"]


def test_answers_come_from_the_page_itself_alone(desk: TestClient, run: StoredRun) -> None:
    packet = sent(desk, "review/0", {"task": "parse", "sample": 4})
    address = f"/{packet['address']}ann"
    body: dict[str, Any] = {"answers": {}}
    assert desk.post(address, json=body).status_code == 403, "without an origin"
    assert desk.post(address, json=body, headers={"origin": "http://evil.example"}).status_code == 403
    assert (
        desk.post(address, content=json.dumps(body), headers={**JSON, "content-type": "text/plain"}).status_code == 403
    )
    assert desk.put(address, json=body, headers=JSON).status_code == 405
    assert (
        desk.post(address, content=b" " * 600_000, headers={**JSON, "content-type": "application/json"}).status_code
        == 413
    )
    assert desk.post("/api/reviews", json=body, headers=JSON).status_code == 405
    desk.cookies.clear()
    assert desk.post(address, json=body, headers=JSON).status_code == 403, "without the token"


def test_a_packet_that_was_changed_is_refused(desk: TestClient, run: StoredRun) -> None:
    packet = sent(desk, "review/0", {"task": "parse", "sample": 4})
    path = run.folder / "annotations/reviews" / f"{packet['packet']}.json"
    text = path.read_text(encoding="utf-8")
    for changed in (
        text.replace("Which of these", "Which of those"),
        "{}",
        "[",
        text.replace('"version": 1', '"version": 9'),
    ):
        path.write_text(changed, encoding="utf-8")
        assert "ake a new one" in desk.get(f"/{packet['address']}ann").json()["error"] or changed == "["
    path.write_text(text, encoding="utf-8")
    item = kept_packet(run.folder, packet["packet"]).cards[0].items[0]
    sent(desk, f"{packet['address']}ann", {"answers": {item: 1}})
    saved = raters_of(run.folder, packet["packet"])["ann"]
    saved.write_text(saved.read_text().replace(f'"{item}": 1', f'"{item}": 2'))
    assert "was changed" in desk.get(f"/{packet['address']}ann").json()["error"]
    assert desk.get("/api/reviews").json()["packets"][0]["raters"][0]["answered"] == 0


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: no packet was rated in a browser")
def test_in_a_browser_nothing_is_lost_in_two_tabs_and_when_it_closes(run: StoredRun, tmp_path: Path) -> None:
    viewer = Viewer(OpenedRuns([run]))
    Thread(target=viewer.serve, kwargs={"browser": False}, daemon=True).start()
    with chromium(tmp_path / "profile") as browser:
        for domain in ("Runtime", "Log"):
            browser.call(f"{domain}.enable")
        browser.visit(viewer.address)
        browser.until("document.querySelector('main.note button') !== null")
        browser.run("document.querySelector('main.note button').click()")
        browser.until("document.querySelector('nav a[href*=review]') !== null")
        browser.run("document.querySelector('nav a[href*=review]').click()")
        browser.until("document.querySelector('.draw input[type=number]') !== null")
        browser.run("document.querySelector('.draw button').click()")
        browser.until("document.querySelector('.packets button') !== null")
        assert browser.axe() == []
        browser.run("document.querySelector('.packets button').click()")
        browser.until("document.getElementById('begin') !== null")
        browser.until("document.getElementById('progress').textContent.endsWith('saved')")
        drawn = kept_packet(run.folder, str(browser.run("location.pathname.split('/')[3]")))
        browser.run("document.getElementById('begin').click()")
        cards = order_cards(drawn, "r1")
        items = [card.items[0] for card in cards]
        browser.press("1")
        browser.until("document.getElementById('progress').textContent.startsWith('1 of') && "
                      "document.getElementById('progress').textContent.endsWith('saved')")  # fmt: skip
        other_tab = f"""fetch(location.href, {{method: 'POST', headers: {{'Content-Type': 'application/json'}},
            body: JSON.stringify({{answers: {{'{items[2]}': 1}}, spent: 1}})}}).then((answer) => {{
              window.done = answer.ok; }})"""
        browser.run(other_tab)
        browser.until("window.done === true")
        browser.press("n")
        browser.press("2")
        browser.until("document.getElementById('progress').textContent.startsWith('3 of') && "
                      "document.getElementById('progress').textContent.endsWith('saved')")  # fmt: skip
        browser.visit("about:blank")
        browser.visit(f"{viewer.address.partition('?')[0]}review/0/{drawn.name}/r1")
        browser.until("document.getElementById('begin').textContent === 'Go on where you were'")
        browser.run("document.getElementById('begin').click()")
        assert browser.run("document.querySelector('.now h1').textContent") == f"4 of {len(cards)}"
        assert browser.axe() == []
        browser.visit("about:blank")
        browser.visit(f"{viewer.address.partition('?')[0]}#/review?run=0")
        browser.until("document.querySelector('.count button')?.innerText === 'Count, and close it to r1'")
        browser.run("document.querySelector('.count button').click()")
        browser.until("document.querySelector('.results table, .packets [role=alert]') !== null")
        assert browser.run("document.querySelector('.packets [role=alert]')?.innerText") is None
        browser.until("document.querySelector('.raters li').innerText.endsWith('closed')")
        assert browser.axe() == []
        complaints = [e for e in browser.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
        assert complaints == []
    saved = json.loads(raters_of(run.folder, drawn.name)["r1"].read_text())["answers"]
    assert saved == {items[0]: 1, items[1]: 2, items[2]: 1}
    assert any(map(is_check, items))


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: no packet was rated in a browser")
def test_who_begins_before_the_viewer_answers_skips_no_page(run: StoredRun, tmp_path: Path) -> None:
    packet, key, _ = packet_for(run, ReviewSettings(sample=6), lambda: pytest.fail("no findings are asked about"))
    keep_review(run, packet, key)
    viewer = Viewer(OpenedRuns([run]))
    Thread(target=viewer.serve, kwargs={"browser": False}, daemon=True).start()
    slow = "const f = fetch; window.fetch = (...a) => new Promise((r) => setTimeout(r, 400)).then(() => f(...a))"
    with chromium(tmp_path / "profile") as browser:
        browser.visit(viewer.address)
        browser.until("document.querySelector('main') !== null")
        browser.call("Page.addScriptToEvaluateOnNewDocument", source=slow)
        browser.visit(f"{viewer.address.partition('?')[0]}review/0/{packet.name}/r1")
        browser.run("document.getElementById('begin').click()")
        browser.press("1")
        saved = "document.getElementById('progress').textContent === '1 of {} answered, saved'"
        browser.until(saved.format(len(order_cards(packet, "r1"))))
        browser.run("new Promise((done) => setTimeout(done, 900))")
        browser.press("n")
        assert str(browser.run("document.querySelector('.now h1').textContent")).startswith("2 of")
