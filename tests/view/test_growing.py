"""A run that goes on while one looks: what is stored so far, marked as provisional, and the whole once it has ended."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import facevalue as fv
from facevalue.runs.stored_run import StoredRun
from facevalue.store.manifest import read_manifest
from facevalue.store.reader import scan_stored
from facevalue.store.shards import write_shard
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
    facts = read_manifest(tmp_path / "run")
    rows = scan_stored(tmp_path / "run", timed=True).collect()
    failed, again = rows.head(4).with_columns(status=pl.lit("error").cast(rows.schema["status"])), rows.head(3)
    write_shard(tmp_path / "run", 90, pl.concat([failed, again]), facts.id)
    (run,) = get("head")["runs"]
    assert (run["progress"]["stored"], run["progress"]["errors"]) == (30, 0), "each request is counted once"
    lead = get("lead")
    assert lead["provisional"] is True
    assert "provisional" in lead["cautions"][0]
    limit[0] = 10**9
    fv.run(study, model, tmp_path / "run", progress=False)
    (run,) = get("head")["runs"]
    assert (run["complete"], run["progress"]) == (True, None)
    assert get("answers")["total"] == 48
    assert get("lead")["provisional"] is False
