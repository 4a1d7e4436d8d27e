"""Files of published protocols that start one's own study: planned, run, measured, compared and reported."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import facevalue as fv
from facevalue import studies
from facevalue.calibration.repetitions import calibration_of
from facevalue.protocol.settings import defaults
from facevalue.runs import RunSettings, run
from facevalue.types import Request, Response, Status
from tests.cli.conftest import Command
from tests.plain_model import PlainModel

MADE = ("genderbias-vl", "visogender")
NAMES = (*MADE, "trait-languages")


@pytest.fixture
def study(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, Mapping[str, str]]:
    """A file as `facevalue new` writes it, and the settings with which its pictures are found."""
    name = request.param
    file = tmp_path / f"{name}.toml"
    file.write_text(studies.file_text(name).replace('people = "24"', 'people = "4"'))
    making = studies.protocol(str(file)).extras.making
    if making is None:
        return file, {}
    table = making().plan(defaults(making().settings)).table
    paths = [f"{number}.png" for number in range(table.height)]
    for number, path in enumerate(paths):
        Image.new("RGB", (16, 16), (number, 80, 160)).save(tmp_path / path)
    rows = table.drop("source", "prompt", "picture_seed").with_columns(path=pl.Series(paths))
    rows.write_parquet(tmp_path / "made.parquet")
    return file, {"manifest": str(tmp_path / "made.parquet")}


class Stereotyped(PlainModel):
    """A model that chooses jobs by gender, and knows the pronouns of a job's majority alone."""

    name = "stereotyped"

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        for request in requests:
            shown, options = request.stimulus.factors, request.question.options
            if "women_share" in shown:
                is_her = float(str(shown["women_share"])) > np.random.default_rng(request.trial).random()
                level = "option her" if is_her else "option his"
            else:
                is_man = (shown["gender"] == "man") == (shown["version"] == "base")
                level = "option first" if is_man else "option second"
            text = next(option.wording for option in options if option.level == level)
            yield Response(request.trial, request.repeat, Status.OK, text)


@pytest.mark.parametrize("study", NAMES, indirect=True)
def test_a_file_is_planned_run_measured_compared_and_reported(
    study: tuple[Path, Mapping[str, str]], facevalue: Command, tmp_path: Path
) -> None:
    file, settings = study
    given = [word for name, value in settings.items() for word in (f"--{name}", value)]
    assert "this detects" in facevalue("plan", str(file), *given, "--detect", "0.4").out
    runs = []
    for model in ("strong", "default"):
        out = tmp_path / "runs" / model
        assert facevalue("run", str(file), *given, "--model", f"sim/{model}", "--out", str(out)).status == 0
        runs.append(str(out))
    assert facevalue("measure", runs[0]).status == 0
    document = json.loads(facevalue("compare", *runs, "--json").out)
    assert document
    assert facevalue("report", runs[0], "--out", str(tmp_path / "page.html")).status == 0
    assert (tmp_path / "page.html").read_text()


def planted(study: tuple[Path, Mapping[str, str]], folder: Path) -> fv.Run:
    """A run of a study with a model that is stereotyped throughout."""
    file, settings = study
    run(studies.protocol(str(file)).study(dict(settings)), Stereotyped(), folder / "planted", RunSettings())
    return fv.open_run(folder / "planted")


@pytest.mark.parametrize("study", ["genderbias-vl"], indirect=True)
def test_a_model_that_goes_by_gender_has_the_largest_bias_there_is(
    study: tuple[Path, Mapping[str, str]], tmp_path: Path
) -> None:
    found = planted(study, tmp_path).estimates()
    value = dict(
        found.filter(score="stereotype").filter(pl.col("pair").is_null()).select("measure", "value").iter_rows()
    )
    assert value["shift"] == -1.0
    assert (value["gap_size"], value["largest_gap"], value["gap_size_accuracy"]) == (1.0, 1.0, 0.0)
    right = found.filter(measure="mean", score="right").filter(pl.col("pair").is_null())["value"].item()
    assert right == 0.5
    assert set(found.filter(measure="gap_size")["verdict"]) == {"difference found"}


@pytest.mark.parametrize("study", ["visogender"], indirect=True)
def test_gaps_of_a_model_that_goes_by_the_majority_follow_it(
    study: tuple[Path, Mapping[str, str]], tmp_path: Path
) -> None:
    made = planted(study, tmp_path)
    found = made.estimates().filter(measure="gap_correlation")
    assert found.height == 3
    overall = found.filter(pl.col("people").is_null())
    assert overall["value"].item() < -0.9
    assert overall["verdict"].item() == "difference found"
    made.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    said = "gaps of gender in right answers fall with women share from occupation to occupation (r 1.0 of 1; at least"
    assert said in page
    assert "gaps that move only a little can be in any order" in page


@pytest.mark.parametrize("study", ["trait-languages"], indirect=True)
def test_a_calibration_takes_such_a_file(study: tuple[Path, Mapping[str, str]]) -> None:
    assert calibration_of(studies.protocol(str(study[0]))).rivals
