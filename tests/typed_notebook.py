"""Types of the Python API as a notebook sees them; `make check` reads this, nothing runs it."""

from typing import assert_type

import polars as pl

import facevalue as fv


def audit() -> None:
    study = assert_type(fv.study("vignette", people=2, dimension=["age"]), fv.Study)
    run = assert_type(fv.run(study, fv.model("sim/default"), "runs/first", sample=10), fv.Run)
    assert_type(run.answers(), pl.DataFrame)
    assert_type(run.estimates(margins={"shift": 0.05}), pl.DataFrame)
    assert_type(run.pictures(0), tuple[fv.Image, ...])
    assert_type(fv.open_run("runs/first").report(), fv.Report)
    assert_type(fv.annotate(run, "lexical"), fv.Run)
    assert_type(fv.judge("runs/first", "sim/default"), fv.Run)
    assert_type(study.plan().cost, float | None)
    assert_type(fv.errors.RunError(), fv.errors.RunError)
    fv.run(study, "sim/default", sample="10")  # type: ignore[arg-type]
    fv.run(study, object())  # type: ignore[arg-type]
