"""What is made in the background: a page waits for it no longer than a moment, and goes on once it is there."""

import time
from collections.abc import Iterator
from threading import Event

import numpy as np
import pytest

from facevalue.errors import DataError, RunError
from facevalue.runs.stored_run import StoredRun
from facevalue.view import answer_index, open_runs
from facevalue.view.documents import document, plain
from facevalue.view.open_runs import Background, NotYetError, OpenedRuns
from facevalue.view.query import Piece, Search
from tests.view.conftest import client_of


def test_what_is_not_there_yet_is_told_and_then_there() -> None:
    go = Event()
    work = Background(lambda: go.wait(5), "It failed")
    with pytest.raises(NotYetError, match="A moment"):
        work.value(0, "A moment.")
    go.set()
    assert work.value(None, "A moment.") is True


def test_a_failure_is_a_sentence_for_all_who_ask() -> None:
    def fail() -> None:
        raise RunError("a file is gone.")

    work = Background(fail, "It failed")
    for _ in range(2):
        with pytest.raises(DataError, match=r"It failed: a file is gone\."):
            work.value(None, "")


def test_a_page_waits_for_the_index_no_longer_than_a_moment(small_run: object, monkeypatch: pytest.MonkeyPatch) -> None:
    go, real = Event(), answer_index.AnswerIndex

    def slow(run: StoredRun) -> object:
        go.wait(10)
        return real(run)

    monkeypatch.setattr(answer_index, "AnswerIndex", slow)
    runs = OpenedRuns([StoredRun.open(small_run)], patience=0.05)  # type: ignore[arg-type]
    with client_of(runs) as client:
        begun = time.monotonic()
        answer = client.get("/api/answers")
        assert (answer.status_code, answer.json()) == (202, {"waiting": answer_index.WAITING})
        assert time.monotonic() - begun < 5
        while client.get("/api/lead").status_code == 202:
            time.sleep(0.05)
        lead = client.get("/api/lead").json()
        assert lead["sentences"], "the answer comes from the estimates alone"
        assert lead["asked"]["pending"] is True
        go.set()
        while client.get("/api/lead").json()["asked"]["pending"] or client.get("/api/answers").status_code == 202:
            time.sleep(0.05)
        assert client.get("/api/answers").json()["total"] > 0
        assert client.get("/api/lead").json()["asked"]["prompt"]


def test_estimates_that_cannot_be_taken_are_a_sentence(small_run: object, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_runs: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(open_runs, "read_kept_estimates", fail)
    runs = OpenedRuns([StoredRun.open(small_run)])  # type: ignore[arg-type]
    with pytest.raises(DataError, match="The estimates could not be taken: the viewer's terminal says why"):
        document(runs, "lead")
    assert plain(document(runs, "answers"))["total"] > 0


def pieces(asked: list[int], of: int = 5) -> Iterator[Piece]:
    for number in range(of):
        asked.append(number)
        yield 10 * (number + 1), 10 * of, np.array([number], dtype=np.int32)


def test_a_search_stops_once_there_is_enough_and_goes_on_where_it_stopped() -> None:
    asked: list[int] = []
    search = Search(pieces(asked))
    first = search.so_far(None, enough=2)
    assert (first.places.tolist(), first.searched, first.pending) == ([0, 1], (20, 50), False)
    assert asked == [0, 1]
    every = search.so_far(None)
    assert (every.places.tolist(), every.searched, every.pending) == ([0, 1, 2, 3, 4], None, False)
    assert asked == [0, 1, 2, 3, 4]


def test_a_search_says_how_far_it_is_and_ends_when_nobody_asks_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facevalue.view.query._LEASE", 0.0)

    def slow() -> Iterator[Piece]:
        for number in range(3):
            time.sleep(0.05)
            yield number + 1, 3, np.array([number], dtype=np.int32)

    search = Search(slow())
    counts = []
    for _ in range(200):
        so_far = search.so_far(0.1)
        counts.append(so_far.places.size)
        if not so_far.pending:
            break
    assert counts == sorted(counts)
    assert counts[-1] == 3


def test_a_search_that_fails_says_so() -> None:
    def broken() -> Iterator[Piece]:
        yield from pieces([], 2)
        raise RunError("a file is gone.")

    search = Search((read, 50, places) for read, _, places in broken())
    with pytest.raises(DataError, match=r"The search failed: a file is gone\."):
        search.so_far(None)
