"""Repetitions are made once, whatever stops a calibration, and again where anything that they depend on is another."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from facevalue.calibration import repetitions
from facevalue.calibration.audits import PAIRS
from facevalue.calibration.planted_answers import PlantedCondition
from facevalue.calibration.repetitions import Audit, Comparison, Repetition, Truth, Workshop, place

T = TypeVar("T")
STRONG = PlantedCondition("strong", effect=1.5)


def quiet(items: Iterable[T], label: str, total: int | None = None) -> Iterable[T]:
    return items


def audits(study: str, many: int) -> list[Audit]:
    return [Audit(study, 1, STRONG, seed) for seed in range(1, many + 1)]


def test_a_calibration_that_is_stopped_goes_on(lab_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = Audit.make

    def counted(audit: Audit) -> pl.DataFrame:
        if len(made) == 2:
            raise KeyboardInterrupt
        made.append(audit.seed)
        return make(audit)

    monkeypatch.setattr(Audit, "make", counted)
    workshop = Workshop(quiet, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        workshop.make(audits(lab_file, 3), "")
    made.clear()
    found = workshop.make(audits(lab_file, 3), "")
    assert made == [3], "the first two are kept"
    assert [frame["audit"][0] for frame in found] == [1, 2, 3]
    whole = Workshop(quiet).make(audits(lab_file, 1), "")
    assert_frame_equal(found[0], whole[0], abs_tol=1e-12, rel_tol=1e-9)


def test_what_is_kept_is_of_the_same_study_condition_seed_and_code(
    lab_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Audit(lab_file, 1, STRONG, 1)
    other = tmp_path / "lab.toml"
    others: list[Repetition] = [
        replace(one, seed=2), replace(one, size=2), replace(one, condition=replace(STRONG, drift=0.5)),
        replace(one, margins={"shift": 0.1}), Truth(lab_file, 1, STRONG), Comparison(lab_file, PAIRS[0], 1),
    ]  # fmt: skip
    assert len({place(tmp_path, each) for each in (one, *others)}) == 7
    other.write_text(Path(lab_file).read_text())
    assert place(tmp_path, replace(one, study=str(other))) == place(tmp_path, one), "wherever its file lies"
    other.write_text(Path(lab_file).read_text().replace("Who looks", "Who seems"))
    assert place(tmp_path, replace(one, study=str(other))) != place(tmp_path, one)
    before = place(tmp_path, one)
    monkeypatch.setattr(repetitions, "state", lambda: "other code")
    assert place(tmp_path, one) != before


@pytest.mark.slow
def test_audits_of_other_processes_are_the_same(lab_file: str, tmp_path: Path) -> None:
    with Workshop(quiet, tmp_path, processes=1) as workshop:
        beside: list[Any] = workshop.make(audits(lab_file, 2), "")
    here = Workshop(quiet).make(audits(lab_file, 2), "")
    for one, two in zip(beside, here, strict=True):
        assert_frame_equal(one, two, abs_tol=1e-12, rel_tol=1e-9)
