"""A server that drifts moves no estimate: in the order of trial numbers it would, in that of a run it doesn't."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from facevalue import studies
from facevalue.design import Order
from facevalue.models import load
from facevalue.protocol.lookup import EstimateIndex
from facevalue.protocol.study import Study
from facevalue.report.data import RunFacts
from facevalue.report.sections.checks import drift_card
from facevalue.runs import RunSettings, run
from facevalue.runs.joined_runs import estimate
from facevalue.runs.stored_run import StoredRun
from facevalue.store.reader import scan_responses

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "stylisticbias": (
        {"faces": "20", "scenario": ["polite", "wealthy"], "attributes": ["eyewear"]},
        "option favourable",
    ),
    "vignette": (
        {
            "drawings": "none", "dimension": ["socioeconomic"], "gender": ["male"], "paradigm": ["decision"],
            "contrast": ["identity"], "activity": ["cooking", "dancing"],
        },
        "1",
    ),
}  # fmt: skip


def times(study: Study, *, ordered: bool, seed: int = 5) -> npt.NDArray[np.float64]:
    """When each trial is asked, from 0 to 1."""
    size = study.design.size
    places = np.arange(size)
    if ordered:
        order = Order(study.design, study.asked_together, seed)
        places[np.concatenate(list(order.pieces(2_048)))] = np.arange(size)
    return places / (size - 1)


def drifting(study: Study, when: npt.NDArray[np.float64], level: str) -> pl.DataFrame:
    """Exact answers of a model that has no preference but one for `level`, which grows by .3 logit over the run."""
    frame = study.design.trials(np.arange(study.design.size))
    probs = []
    for question, t in zip(study.ask(frame), when.tolist(), strict=True):
        e = np.exp([0.3 * (t - 0.5) * (option.level == level) for option in question.options])
        probs.append((e / e.sum()).tolist())
    rows = frame.with_columns(
        pl.lit(0, pl.UInt8).alias("repeat"),
        pl.lit("ok").alias("status"),
        pl.lit(None, pl.String).alias("text"),
        pl.Series("probs", probs, dtype=pl.List(pl.Float32)),
    )
    return study.answer(rows).with_columns(pl.lit(0, pl.UInt8).alias("reply"))


@pytest.mark.parametrize(("name", "column"), [("stylisticbias", "variation"), ("vignette", "identity_1")])
def test_drift_is_no_difference_between_what_is_compared(name: str, column: str) -> None:
    options, level = CASES[name]
    score = "preference" if name == "stylisticbias" else "weight"
    study = studies.build(name, options)
    spread = {}
    for ordered in (False, True):
        answers = drifting(study, times(study, ordered=ordered), level).group_by(column).agg(pl.col(score).mean())
        spread[ordered] = np.ptp(answers[score].to_numpy())
    assert spread[True] < spread[False] / 2
    if name == "stylisticbias":
        assert spread[True] < 0.005 < 0.03 < spread[False]


def test_no_group_of_visbias_is_asked_before_others() -> None:
    study = studies.build("visbias", {"task": ["mcq", "yesno", "description"]})
    frame = study.design.trials(np.arange(study.design.size))
    when = np.mean([times(study, ordered=True, seed=seed) for seed in range(60)], axis=0)  # chance alone orders one run
    for column in ("skin_tone", "gender", "occupation", "task"):
        mean = frame.with_columns(t=when).drop_nulls(column).group_by(column).agg(pl.col("t").mean())["t"]
        assert (mean - 0.5).abs().max() < 0.2, column  # type: ignore[operator]
    halves = frame.with_columns(t=when).drop_nulls("order").group_by("order").agg(pl.col("t").mean())["t"]
    assert np.ptp(halves.to_numpy()) < 0.01


def test_every_run_keeps_times_and_says_whether_it_drifted(tmp_path: Path) -> None:
    study = studies.build("stylisticbias", {**CASES["stylisticbias"][0], "faces": "24"})
    run(study, load("sim/null"), tmp_path / "r", RunSettings(check=False))
    assert scan_responses(tmp_path / "r", timed=True).collect()["at"].null_count() == 0
    assert "at" not in scan_responses(tmp_path / "r").collect_schema()
    found, _ = estimate([StoredRun.open(tmp_path / "r")])
    assert found.filter(measure="drift")["score"].to_list() == [None, "no valid answer"]
    run(study, load(f"replay/{tmp_path / 'r'}"), tmp_path / "again", RunSettings(check=False))
    again, _ = estimate([StoredRun.open(tmp_path / "again")])
    said = again.filter(pl.col("score").is_null(), measure="drift").row(0, named=True)
    assert said["value"] is None
    assert said["detail"].startswith("not measurable: these answers had been recorded before")
    (card,) = drift_card(EstimateIndex(again), [RunFacts("replay/r", replayed=True)])
    assert (card.value, str(card.status)) == ("Not measurable", "note")
    few = again.with_columns(model=pl.lit("few"), detail=pl.lit("not measurable: too few units asked together: 1"))
    (card,) = drift_card(EstimateIndex(few), [RunFacts("few")])
    assert (card.value, str(card.status)) == ("Not measurable", "note")
