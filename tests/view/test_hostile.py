"""Replies of whoever: markup, marks that turn the direction, terminal controls and ten megabytes stay short text."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import facevalue as fv
from facevalue.runs.stored_run import StoredRun
from facevalue.view.export import export_folder
from facevalue.view.open_runs import OpenedRuns
from tests.view.conftest import client_of

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "\u202e(a) polite\u2066 \u200f",
    "\x1b]0;owned\x07\x1b[2J(b)\r\n\x00",
    "x" * 10_000_000,
    "y" * 90_000,
    "</script><!--",
    '{"error": "not an answer"}',
)


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "run"
    replies: Iterator[str] = iter(HOSTILE * 3)
    study = fv.study("stylisticbias", faces="1M,1F", attributes="eyewear", scenario="polite", seeds="1")

    def model(question: fv.Question) -> str:
        return next(replies, question.options[0].label)

    fv.run(study, model, folder, progress=False, max_invalid=1)
    return folder


@pytest.fixture(scope="module")
def visitor(hostile_run: Path) -> Iterator[TestClient]:
    with client_of(OpenedRuns([StoredRun.open(hostile_run)])) as opened:
        yield opened


def test_no_document_holds_what_steers_or_hides(visitor: TestClient) -> None:
    replies = []
    for address in ("/api/answers?n=200", *(f"/api/trial?trial={trial}" for trial in range(24)), "/api/missing"):
        answer = visitor.get(address)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert len(answer.content) < 300_000
        assert not set(answer.text) & {"\x1b", "\x00", "\x07", "\r", "\u202e", "\u2066", "\u200f"}
        replies.append(answer.text)
    assert any("\\\\x1b[2J" in text for text in replies)
    assert any("<script>alert(1)" in text for text in replies)  # as text of JSON, which nothing renders


def test_ten_megabytes_are_an_error_that_is_said(visitor: TestClient) -> None:
    trials = [visitor.get(f"/api/trial?trial={trial}").json() for trial in range(24)]
    errors = [reply for trial in trials for reply in trial["replies"] if reply["error"]]
    assert errors
    assert all(len(reply["reply"]) + len(reply["error"]) < 1_000 for reply in errors)


def test_long_replies_are_cut_and_the_rest_is_counted(visitor: TestClient) -> None:
    trials = [visitor.get(f"/api/trial?trial={trial}").json() for trial in range(24)]
    (long, *_) = [r for t in trials for r in t["replies"] if r["cut"]]
    assert len(long["reply"]) == 20_000
    assert long["cut"] == 70_000
    listed = visitor.get("/api/answers?n=200").json()["rows"]
    assert max(len(row["reply"]) for row in listed) <= 2_500


def test_a_page_with_hostile_replies_has_no_other_script(hostile_run: Path, tmp_path: Path) -> None:
    written = export_folder(OpenedRuns([StoredRun.open(hostile_run)]), tmp_path / "out")
    html = written.page.read_text(encoding="utf-8")
    assert html.count("<script") == 2
    assert html.count("</script>") == 2
    assert "<img" not in html


def test_search_is_for_the_very_words(visitor: TestClient) -> None:
    for words in ("<script>", "(a", "[", "\\", ".*", "%", "'; DROP"):
        answer = visitor.get("/api/answers", params={"q": words})
        assert answer.status_code == 200
        assert all(words in row["reply"] for row in answer.json()["rows"])
