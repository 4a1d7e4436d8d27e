"""Requests that failed, on the page: how many, with what, and how many replies came but cannot count."""

from dataclasses import replace
from pathlib import Path

import pytest

from facevalue.report.data import RunFacts
from facevalue.report.sections.checks import failed_requests_card
from facevalue.runs import run
from facevalue.runs.stored_run import StoredRun
from facevalue.store.reader import odd_replies
from facevalue.types import Request, Response
from tests.runs.test_odd_replies import STORED, stranger
from tests.runs.tiny import TinyModel, mixed, tiny_study
from tests.runs.tiny import failed as failing

FACTS = RunFacts("m", asked=100, errors=10, failure="“HTTP 503”", odd=3, oddity="“The reply cannot count: <b>”")


def test_replies_that_came_but_cannot_count_are_said_beside_those_that_never_came() -> None:
    (card,) = failed_requests_card([FACTS])
    assert card.value == "10.0% (10 of 100)"
    assert "with “HTTP 503”. 3 replies came but cannot count, such as “The reply cannot count: <b>”. They" in card.note


def test_an_error_is_quoted_once_and_one_reply_is_one() -> None:
    (card,) = failed_requests_card([replace(FACTS, odd=1, failure=FACTS.oddity)])
    assert card.note.count("<b>") == 1
    assert ". 1 reply came but cannot count. They" in card.note
    (plain,) = failed_requests_card([replace(FACTS, odd=0)])
    assert "cannot count" not in plain.note


def test_of_several_runs_each_has_a_line() -> None:
    (card,) = failed_requests_card([FACTS, replace(FACTS, model="other", errors=None)])
    (line,) = card.lines
    assert line.endswith("most often with “HTTP 503”; 3 replies came but cannot count, such as " + FACTS.oddity)


def test_odd_replies_are_counted_and_failed_requests_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = tiny_study(faces=20)
    monkeypatch.setattr("facevalue.studies.build", lambda name, options, manifest: study)

    def reply(r: Request) -> Response:
        if r.trial % 5 == 1:
            return failing(r)
        return mixed(r)._replace(completion_tokens=-1) if r.trial % 7 == 2 else mixed(r)

    model = TinyModel(reply)
    run(study, model, tmp_path)
    odd = sum(trial % 7 == 2 and trial % 5 != 1 for trial in range(60))
    many, why = odd_replies(tmp_path)
    assert many == odd
    assert why.startswith("The reply cannot count: its completion_tokens are -1 (int)")
    stranger(tmp_path, STORED["no status"])
    assert odd_replies(StoredRun.open(tmp_path).folder)[0] == odd + 1
