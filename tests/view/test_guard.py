"""Who may ask the viewer: this machine by its own name, with the token, and nobody else."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from facevalue.runs.stored_run import StoredRun
from facevalue.view.app import POLICY, Viewer, application
from facevalue.view.open_runs import OpenedRuns
from tests.view.conftest import BASE, PORT, TOKEN

ADDRESSES = ("/", "/viewer.js", "/api/head", "/api/nothing", "/picture/0/0-0", "/nowhere", "/api/answers?n=200")


@pytest.fixture(scope="module")
def stranger(small_run: Path) -> TestClient:
    """Somebody without the token."""
    app = application(OpenedRuns([StoredRun.open(small_run)]), TOKEN, PORT)
    return TestClient(app, base_url=BASE, follow_redirects=False)


@pytest.mark.parametrize("address", ADDRESSES)
def test_nothing_is_said_without_the_token(stranger: TestClient, address: str) -> None:
    for answer in (
        stranger.get(address),
        stranger.get(address, headers={"cookie": f"facevalue-{PORT}=wrong"}),
        stranger.get(address, headers={"cookie": f"facevalue-{PORT}="}),
        stranger.get(address, headers={"authorization": f"Bearer {TOKEN}"}),
    ):
        assert answer.status_code == 403
        assert "facevalue view" in answer.text
        assert TOKEN not in answer.text


@pytest.mark.parametrize("token", ["", "wrong", f"{TOKEN} ", TOKEN[:-1], "é", TOKEN.upper()])
def test_a_wrong_token_opens_nothing(stranger: TestClient, token: str) -> None:
    answer = stranger.get("/", params={"token": token})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_the_token_becomes_a_cookie_that_no_script_and_no_other_site_has(stranger: TestClient) -> None:
    answer = stranger.get(f"/?token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    stranger.cookies.clear()
    assert stranger.get(f"/api/head?token={TOKEN}").status_code == 403


def test_a_code_opens_the_viewer_once_and_for_a_minute(small_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = application(OpenedRuns([StoredRun.open(small_run)]), TOKEN, PORT)
    browser = TestClient(app, base_url=BASE, follow_redirects=False)
    code = app.code()
    assert TOKEN not in code
    assert browser.get(f"/api/head?once={code}").status_code == 403
    assert (browser.get(f"/?once={code}").status_code, browser.get("/api/head").status_code) == (303, 200)
    browser.cookies.clear()
    assert browser.get(f"/?once={code}").status_code == 403, "it was used"
    monkeypatch.setattr("facevalue.view.app._CODE_LASTS", -1.0)
    assert browser.get(f"/?once={app.code()}").status_code == 403, "it is too late"
    assert browser.get("/?once=").status_code == 403


def test_the_browser_is_not_started_with_the_token(small_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = list[str]()
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    viewer = Viewer(OpenedRuns([StoredRun.open(small_run)]))
    viewer.serve(browser=True)
    token = viewer.address.partition("token=")[2]
    assert len(opened) == 1
    assert token not in opened[0]


@pytest.mark.parametrize(
    "host",
    ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", f"127.0.0.1.evil.example:{PORT}",
     f"localhost.:{PORT}", f"[::1]:{PORT}", "", f"0.0.0.0:{PORT}"],
)  # fmt: skip
def test_another_name_of_this_machine_is_refused(client: TestClient, host: str) -> None:
    answer = client.get("/api/head", headers={"host": host})
    assert answer.status_code == 421


def test_localhost_is_this_machine(client: TestClient) -> None:
    cookie = {"cookie": f"facevalue-{PORT}={TOKEN}", "host": f"localhost:{PORT}"}
    assert client.get("/api/head", headers=cookie).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1", f"http://localhost:{PORT}"],
)
def test_other_pages_may_not_ask(client: TestClient, origin: str) -> None:
    assert client.get("/api/head", headers={"origin": origin}).status_code == 403
    assert client.get("/api/head", headers={"origin": BASE}).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_documents_are_only_read(client: TestClient, method: str) -> None:
    assert client.request(method, "/api/head").status_code == 405


def test_every_answer_has_the_policy(client: TestClient, stranger: TestClient) -> None:
    stranger.cookies.clear()
    for answer in (*map(client.get, ADDRESSES), *map(stranger.get, ADDRESSES)):
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers
    assert client.get("/api/head").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    ["/../pyproject.toml", "/picture/0/../../run.toml", "/picture/0/..%2f..%2frun.toml", "/picture/..%2f0/0-0",
     "/viewer.js/../app.py", "/static/app.py", "/app.py", "/picture/0/%2fetc%2fpasswd", "/picture/0/0-0%00.png",
     "/api/..%2fapp", "/picture/99/0-0", "/picture/-1/0-0", "/picture/0/0-99", "/picture/0/99999999999-0",
     "/picture/0/0", "/picture/0/-0", "/picture/0/0-0-0", "/picture/0/" + "9" * 400 + "-0"],
)  # fmt: skip
def test_no_path_leads_elsewhere(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code in (400, 404)
    assert "error" in answer.json() or "no such file" in answer.text
    assert len(answer.text) < 600


def test_a_picture_is_a_picture_and_small_on_request(client: TestClient) -> None:
    large, small = client.get("/picture/0/0-0"), client.get("/picture/0/0-0?small=1")
    for answer in (large, small):
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "image/webp"
        assert answer.content[8:12] == b"WEBP"
    assert len(small.content) < len(large.content)


def test_a_long_query_is_refused(client: TestClient) -> None:
    assert client.get("/api/head", params={"run": "0" * 9000}).status_code == 414


def test_the_page_is_there_or_says_that_it_is_missing(client: TestClient) -> None:
    answer = client.get("/")
    assert answer.headers["content-type"].startswith("text/html")
    assert "<script src=" in answer.text or "make viewer" in answer.text
