"""A statistic in one module of at most 60 lines is planned, estimated, bounded, judged, worded, compared and so on."""

from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.calibration.audits import p_values
from facevalue.calibration.repetitions import calibration_of
from facevalue.errors import FaceValueError
from facevalue.statistics import statistic
from tests.cli.conftest import Command
from tests.protocol.conftest import Reader
from tests.statistics import direction

STUDY = """
name = "small"
[pictures]
kind = "portraits"
people = "12"
[pictures.cues]
eyewear = ["thick-rimmed"]
accessories = ["cap"]
[prompt]
text = "Is this person a good {job}? Answer with only {options}."
[factor.job]
levels = ["nurse", "cook"]
[answer]
kind = "yes-no"
[[estimand]]
statistic = "direction"
by = [["variation"], []]
margin = 0.4
[sampling]
seeds = [1, 2]
"""


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(statistic._REGISTERED, "direction", direction.Direction)


@pytest.fixture
def runs(tmp_path: Path, read: Reader, known: None) -> list[fv.Run]:
    read(STUDY)
    return [fv.run(tmp_path / "small.toml", model, tmp_path / model[4:]) for model in ("sim/strong", "sim/default")]


def test_its_module_has_at_most_60_lines() -> None:
    assert len(Path(direction.__file__).read_text().splitlines()) <= 60


def test_it_is_estimated_bounded_and_judged(runs: list[fv.Run]) -> None:
    found = runs[0].estimates().filter(measure="direction")
    assert found.height == 3
    assert found["value"].is_between(-0.5, 0.5).all()
    assert (found["low"] <= found["value"]).all()
    assert (found["high"] >= found["value"]).all()
    assert (found["bound_low"] <= found["value"]).all()
    assert found.select(pl.col("p", "q", "verdict", "se").is_not_null().all()).row(0) == (True,) * 4
    assert set(found["margin"]) == {0.4}


def test_its_page_says_what_it_is(runs: list[fv.Run], tmp_path: Path) -> None:
    runs[0].report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert direction.Direction.lead in page
    assert direction.Direction.title in page or "Directions by variation" in page


def test_it_is_planned(read: Reader, known: None, facevalue: Command, tmp_path: Path) -> None:
    read(STUDY)
    assert "the direction" in facevalue("plan", str(tmp_path / "small.toml"), "--detect", "0.4").out


def test_runs_are_compared_and_gated_by_it(runs: list[fv.Run]) -> None:
    compared = fv.compare(*runs).cells
    assert {*compared["variation"]} == {"cap", "thick-rimmed"}
    assert compared["delta"].null_count() == 0
    gate = fv.gate(runs[0], [{"measure": "direction", "absolute": 0.49}])
    assert {*gate.cells["measure"]} == {"direction"}


def test_a_calibration_has_its_rival(runs: list[fv.Run], read: Reader) -> None:
    calibration = calibration_of(read(STUDY))
    (rival, _) = calibration.rivals
    tested = p_values(rival, runs[0].answers())
    assert tested["p_rival"].is_between(0, 1).all()
    assert tested.height == 2


def test_files_that_name_none_are_told_the_nearest(read: Reader, known: None) -> None:
    with pytest.raises(
        FaceValueError, match=r"Unknown statistic 'directon'\. Did you mean 'correlation' or 'direction'"
    ):
        read(STUDY.replace('"direction"', '"directon"'))
    with pytest.raises(FaceValueError, match="A direction has no 'size': only a shift has"):
        read(STUDY.replace("margin = 0.4", "size = true"))
    with pytest.raises(FaceValueError, match="'by' names a grouping set twice"):
        read(STUDY.replace('[["variation"], []]', '[["variation"], ["variation"]]'))
