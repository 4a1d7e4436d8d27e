"""A run that goes on while one looks: what is stored so far, marked as provisional, and the whole once it has ended."""

from pathlib import Path
from typing import Any

import pytest

import facevalue as fv
from facevalue.runs.stored_run import StoredRun
from facevalue.view import open_runs
from facevalue.view.documents import document, plain
from facevalue.view.open_runs import OpenedRuns


def test_a_run_grows_while_one_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_runs, "_PAUSE", 0.0)
    monkeypatch.setattr(open_runs, "_TIMES", 0.0)
    study = fv.study("stylisticbias", faces="2M,2F", attributes="eyewear", scenario="polite", seeds="1")
    limit, calls = [30], [0]

    def model(question: fv.Question) -> str:
        calls[0] += 1
        if calls[0] > limit[0]:
            raise KeyboardInterrupt
        return question.options[0].label

    with pytest.raises(KeyboardInterrupt):
        fv.run(study, model, tmp_path / "run", progress=False)
    runs = OpenedRuns([StoredRun.open(tmp_path / "run")])

    def get(kind: str) -> Any:
        return plain(document(runs, kind))

    (run,) = get("head")["runs"]
    assert run["complete"] is False
    assert (run["progress"]["stored"], run["progress"]["total"], run["progress"]["errors"]) == (30, 48, 0)
    assert get("answers")["total"] == 30
    lead = get("lead")
    assert lead["provisional"] is True
    assert "provisional" in lead["cautions"][0]
    limit[0] = 10**9
    fv.run(study, model, tmp_path / "run", progress=False)
    (run,) = get("head")["runs"]
    assert (run["complete"], run["progress"]) == (True, None)
    assert get("answers")["total"] == 48
    assert get("lead")["provisional"] is False
