"""History of runs: which belong to it, what drifted, what changed at a date, and how often that is wrong."""

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import facevalue as fv
from facevalue.calibration.audits import Audits
from facevalue.calibration.planted_answers import PlantedCondition
from facevalue.calibration.repetitions import calibration_of
from facevalue.cli import main
from facevalue.errors import RunError
from facevalue.measures.caveats import MISSING_CAVEAT
from facevalue.models import load
from facevalue.protocol.kept_answers import KeptAnswers, UnitNames
from facevalue.protocol.protocol import Protocol
from facevalue.report.comparison_page import cell_rows, trend_sentence
from facevalue.runs.comparisons.trend import (
    DRIFT,
    STEADY,
    STEP,
    Trend,
    _Contrasts,
    _dates,
    contrasts_of,
    judged_histories,
    runs_below,
)
from facevalue.store.manifest import read_manifest, write_manifest
from facevalue.types import Request, Response, Status

SETTINGS: dict[str, Any] = {
    "faces": "6M,6F", "attributes": ["eyewear"], "scenario": ["wealthy", "polite"], "seeds": ["1"],
}  # fmt: skip
MODELS = ("sim/null@1", "sim/null@1", "sim/strong@1", "sim/strong@1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs, a month apart; the model changes between the second and the third."""
    place = tmp_path_factory.mktemp("history")
    study = fv.study("stylisticbias", **SETTINGS)
    for at, model in enumerate(MODELS):
        run = fv.run(study, model, place / f"{4 - at}" / "stylisticbias", progress=False)
        facts = read_manifest(run.folder)
        write_manifest(run.folder, replace(facts, start=facts.start - timedelta(days=30 * (4 - at))))
    return place


@pytest.fixture(scope="module")
def history(folder: Path) -> Trend:
    """Of the four, with its page beside them."""
    return fv.trend(folder, page=folder / "page.html")


@pytest.mark.slow
def test_runs_below_a_folder_are_put_in_the_order_of_their_dates(history: Trend) -> None:
    (study,) = history.studies
    assert [Path(run.folder).parent.name for run in study.runs] == ["4", "3", "2", "1"]
    assert len(set(study.names)) == 4
    assert study.settings["model"] == list(MODELS)
    assert study.units.endswith("all runs were asked about.")


def test_no_word_is_broken_at_eighty_columns(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "argv", ["facevalue", "trend", str(folder)])
    with pytest.raises(SystemExit):
        main()
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    for word in ("Sunglasses", "Thick-rimmed", "stylisticbias"):
        assert word in printed


def test_a_change_of_the_model_is_a_step_at_its_date(history: Trend) -> None:
    (study,) = history.studies
    changed = study.changed
    assert changed.height >= 1
    steps = changed.filter(pl.col("became") == STEP)
    assert set(steps["since"]) <= {2}
    placed = steps.filter(pl.col("since_first").is_not_null())
    assert (placed["since_first"] <= 2).all()
    assert (placed["since_last"] >= 2).all()
    assert study.cells.filter(pl.col("became") != STEP)["since_first"].null_count() == study.cells.height - steps.height
    for row in study.cells.iter_rows(named=True):
        assert (row["became"] != STEADY) == (row["page_low"] is not None and row["page_low"] * row["page_high"] > 0)
    assert study.values.height == 4 * study.cells.height


def test_two_runs_have_one_step(folder: Path) -> None:
    (study,) = fv.trend(folder / "4", folder / "1").studies
    assert set(study.cells["became"]) <= {STEP, STEADY}
    assert (study.cells["change"] - (study.cells["last"] - study.cells["first"])).abs().max() == pytest.approx(
        0, abs=1e-9
    )


@pytest.mark.usefixtures("history")
def test_the_page_draws_each_cell_and_escapes_names(folder: Path) -> None:
    page = (folder / "page.html").read_text()
    assert page.count('role="img"') >= 2
    assert re.search(r">(&lt; )?\.\d{3}</td", page)
    assert not re.search(r">0\.\d{3}</td", page)
    assert "<h1>History of" in page


@pytest.mark.parametrize(
    ("places", "says"),
    [
        (["4"], "A history takes two runs or more of one study; there is one of stylisticbias."),
        (["4", "4"], "is named twice"),
        (["empty"], "is no folder of runs or audits"),
    ],
)
def test_what_is_no_history_is_one_sentence(folder: Path, places: list[str], says: str) -> None:
    (folder / "empty").mkdir(exist_ok=True)
    with pytest.raises(RunError, match=says):
        fv.trend(*(folder / place for place in places))


class Filtered:
    """A model whose provider begins to withhold most of one answer at a date."""

    def __init__(self, spec: str, share: float, status: Status) -> None:
        self._model, self._share, self._status = load(spec), share, status
        self.name, self.capabilities = self._model.name, self._model.capabilities
        self.settings, self.close = self._model.settings, self._model.close

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        asked = list(requests)
        by_key = {request[:2]: request for request in asked}
        for response in self._model.respond(asked):
            request = by_key[response[:2]]
            chosen = [option for option in request.question.options if option.label == response.text]
            is_named = bool(chosen) and chosen[0].level == "unfavourable"
            is_cue = request.stimulus.factors["variation"] == "sunglasses"
            if is_named and is_cue and (request.trial * 2654435761) % 2**32 < self._share * 2**32:
                yield Response(response.trial, response.repeat, self._status, error="withheld")
            else:
                yield response


def test_a_change_that_withheld_answers_could_explain_is_told_with_unless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("facevalue.protocol.kept_answers.JACKKNIFE_GROUPS", 10)
    study = fv.study("stylisticbias", faces="10M,10F", attributes=["eyewear"], scenario=["wealthy"], seeds=["1", "2"])
    for at in range(2):
        model = Filtered("sim/null@3" if at else "sim/default@3", 0.7 if at else 0.0, Status.ERROR)
        run = fv.run(study, model, tmp_path / str(at), progress=False)
        facts = read_manifest(run.folder)
        write_manifest(run.folder, replace(facts, start=facts.start - timedelta(days=30 * (4 - at))))
    history = fv.trend(tmp_path, page=tmp_path / "page.html")
    (of_study,) = history.studies
    assert of_study.changed["variation"].to_list() == ["sunglasses"]
    (row,) = of_study.changed.iter_rows(named=True)
    assert row["caveat"] == MISSING_CAVEAT
    assert 0 < row["bound_low"] < row["change"] < row["bound_high"]  # their own errors reach beyond zero
    assert trend_sentence(of_study).endswith(f", {MISSING_CAVEAT}.")
    assert next(iter(cell_rows(of_study)))[3].endswith(MISSING_CAVEAT)
    assert (tmp_path / "page.html").read_text().count(MISSING_CAVEAT) >= 3


def test_hidden_folders_and_those_that_made_pictures_are_passed_over(tmp_path: Path) -> None:
    for name in (".trash/run", "made/making", "runs/a"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.toml").write_text("")
    assert runs_below(tmp_path) == [str(tmp_path / "runs" / "a")]


TEXT = """
name = "lab"
title = "Who looks like a scientist?"
[pictures]
kind = "portraits"
people = "16"
[pictures.cues]
eyewear = ["thick-rimmed"]
accessories = ["cap", "headscarf"]
[prompt]
text = "Is this person the {role} of a laboratory? Answer with only {options}."
[factor.role]
levels = ["head", "technician"]
[answer]
kind = "yes-no"
favourable = "yes"
[[estimand]]
statistic = "shift"
by = ["variation"]
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Protocol:
    from facevalue.studies import protocol

    path = tmp_path_factory.mktemp("lab") / "lab.toml"
    path.write_text(TEXT)
    return protocol(str(path))


def simulated(lab: Protocol, effects: list[float], repetition: int) -> _Contrasts:
    """History of a cue whose effect has these sizes, month by month."""
    audits, names, models = Audits(lab, calibration_of(lab), 1), UnitNames(), []
    for month, effect in enumerate(effects):
        condition = PlantedCondition("history", effect=0.5, lone=effect, target={"variation": "cap"})
        answers = KeptAnswers(audits.study, f"month {month}", names.study_units(audits.study), Path())
        answers.add(audits.answers(condition, repetition, 100 * repetition + month))
        models.append(answers)
    return contrasts_of(models, 30.0 * np.arange(len(effects), dtype=np.float64))


def became(lab: Protocol, effects: list[float], repetition: int) -> list[tuple[str, str]]:
    """What is found of it: kind, and date of a step."""
    (judged,) = judged_histories([simulated(lab, effects, repetition)])
    rows = judged.filter(pl.col("verdict") == "difference found")
    return [(DRIFT if since == "0" else STEP, since) for since in rows["since"]]


@pytest.mark.slow
def test_without_a_change_anything_is_found_in_at_most_one_of_twenty_histories(lab: Protocol) -> None:
    wrong = sum(bool(became(lab, [0.0] * 5, repetition)) for repetition in range(100))
    assert wrong <= 10  # P(more | 5%) = 1%


@pytest.mark.slow
@pytest.mark.parametrize("effects", [[0, 0, 3.0, 3.0, 3.0], [0, 0.75, 1.5, 2.25, 3.0]])
def test_a_large_change_is_found(lab: Protocol, effects: list[float]) -> None:
    found = sum(bool(became(lab, effects, repetition)) for repetition in range(20))
    assert found >= 12


@pytest.mark.slow
def test_the_date_of_a_step_lies_in_its_interval_in_nineteen_of_twenty_histories(lab: Protocol) -> None:
    missed = narrow = 0
    for repetition in range(24):
        history = simulated(lab, [0, 0, 3.0, 3.0, 3.0], repetition)
        (measure,) = history.measures
        cap = history.shared.filter(variation="cap").select(
            pl.lit(measure.name).alias("measure"), pl.exclude("measure")
        )
        (first, last), *_ = _dates(history, cap).select("since_first", "since_last").rows()
        missed += first is None or not first <= 2 <= last
        narrow += first is not None and last - first < 3
    assert missed <= 4  # P(more | 5%) = 1%
    assert narrow >= 12
