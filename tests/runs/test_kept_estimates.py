"""Estimates that a run's folder keeps are read again as long as nothing that they come from has changed."""

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import facevalue as fv
from facevalue.runs import joined_runs, kept_estimates
from facevalue.runs.stored_run import StoredRun
from facevalue.store.files import ESTIMATES

SMALL: dict[str, Any] = {"faces": "1M,1F", "attributes": "eyewear", "scenario": "wealthy"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a published study that keeps its estimates."""
    folder = tmp_path_factory.mktemp("kept") / "run"
    fv.run(fv.study("stylisticbias", **SMALL), "sim/default", folder, progress=False)
    kept_estimates.take_estimates([StoredRun.open(folder)])
    return folder


@pytest.fixture
def run(kept: Path, tmp_path: Path) -> StoredRun:
    return StoredRun.open(shutil.copytree(kept, tmp_path / "run"))


@pytest.fixture
def estimated(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has an entry for each time that estimates were taken from answers."""
    times: list[int] = []
    real = joined_runs.estimate

    def estimate(*given: Any) -> Any:
        times.append(1)
        return real(*given)

    monkeypatch.setattr(kept_estimates, "estimate", estimate)
    return times


def test_kept_estimates_are_read_again_and_equal_those_taken_anew_to_the_last_bit(
    run: StoredRun, estimated: list[int]
) -> None:
    read, counted = kept_estimates.take_estimates([run])
    assert not estimated
    taken, tallies = kept_estimates.take_estimates([run], again=True)
    assert len(estimated) == 1
    assert_frame_equal(read, taken, check_exact=True)
    assert counted == tallies


def test_estimates_are_taken_anew_with_other_margins(run: StoredRun, estimated: list[int]) -> None:
    kept_estimates.take_estimates([run], {"shift": 0.5})
    kept_estimates.take_estimates([run])
    assert len(estimated) == 2


def test_estimates_are_of_the_model_by_the_name_that_the_run_is_given(run: StoredRun) -> None:
    estimates, _ = kept_estimates.take_estimates([run.rename("a label")])
    assert estimates["model"].unique().to_list() == ["a label"]
    assert kept_estimates.take_estimates([run])[0]["model"].unique().to_list() == ["sim/default"]


def test_estimates_are_taken_anew_from_other_answers(run: StoredRun, estimated: list[int]) -> None:
    shards = run.folder / "responses"
    (next(iter(shards.glob("part-*")))).rename(shards / "of-another-run.parquet")
    with pytest.raises(fv.errors.RunError):
        kept_estimates.take_estimates([run])
    assert estimated


def test_estimates_are_taken_anew_by_another_version(
    run: StoredRun, estimated: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_estimates, "_code", lambda: "changed")
    kept_estimates.take_estimates([run])
    assert estimated


@pytest.mark.parametrize("damage", ["cut", "edited", "none"])
def test_a_file_of_estimates_that_is_not_what_was_kept_is_not_believed(
    run: StoredRun, estimated: list[int], damage: str
) -> None:
    path = run.folder / ESTIMATES
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-200])
    elif damage == "edited":
        pl.read_parquet(path).with_columns(value=pl.lit(0.0)).write_parquet(path)
    else:
        path.unlink()
    estimates, _ = kept_estimates.take_estimates([run])
    assert estimated
    assert estimates["value"].n_unique() > 1


def test_a_flipped_bit_never_changes_kept_estimates(run: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read is what was kept, or is taken anew: that it then is the same, other tests say."""
    path = run.folder / ESTIMATES
    data, (kept, counted) = path.read_bytes(), kept_estimates.take_estimates([run])
    monkeypatch.setattr(
        kept_estimates, "estimate", lambda _runs, _margins: (kept, {str(run.folder): counted[str(run.folder)]})
    )
    for at in range(4, len(data), len(data) // 400):
        flipped = bytearray(data)
        flipped[at] ^= 1 << at % 8
        path.write_bytes(flipped)
        estimates, tallies = kept_estimates.take_estimates([run])
        assert_frame_equal(estimates, kept, check_exact=True)
        assert tallies == counted


def test_estimates_of_a_protocol_in_python_are_taken_anew_as_its_code_may_have_changed(
    run: StoredRun, estimated: list[int]
) -> None:
    own = StoredRun.open(run.folder, protocol=run.protocol)
    kept_estimates.take_estimates([own])
    kept_estimates.take_estimates([own])
    assert len(estimated) == 2
