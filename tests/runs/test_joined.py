"""Runs of one model that ask a paradigm each are put together; what does not go together is refused."""

import sys
from pathlib import Path

import polars as pl
import pytest

from facevalue.cli import main
from facevalue.errors import RunError
from facevalue.measures.definitions import rows_of
from facevalue.report.collect import gather
from facevalue.runs.joined_runs import estimate
from facevalue.runs.stored_run import StoredRun

ASKED = ("--dimension", "age", "--activity", "cooking,cycling", "--people", "2")
PARTS = ("decision", "perception", "stereotype")
_JUDGED = ("q", "q_page", "q_paper", "page_low", "page_high", "page_level", "mde", "verdict", "why")


def run_of(folder: Path, *asked: str, model: str = "sim/default") -> StoredRun:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["facevalue", "run", "vignette", "--model", model, "--out", str(folder), *asked])
        with pytest.raises(SystemExit) as end:
            main()
    assert not end.value.code
    return StoredRun.open(folder)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StoredRun]:
    """A run for each paradigm."""
    folder = tmp_path_factory.mktemp("parts")
    return {name: run_of(folder / name, *ASKED, "--paradigm", name) for name in PARTS}


def of(frame: pl.DataFrame, paradigm: str) -> pl.DataFrame:
    own = frame.filter(pl.col("paradigm") == paradigm)
    own = own.filter(~pl.col("measure").str.starts_with("paradigm_") & (pl.col("model") == "sim/default"))
    return own.drop(*(name for name in _JUDGED if name in own.columns))


@pytest.mark.slow
def test_each_part_has_the_numbers_that_it_has_alone(parts: dict[str, StoredRun]) -> None:
    together, tallies = estimate(list(parts.values()))
    assert set(tallies) == {str(run.folder) for run in parts.values()}
    for name, run in parts.items():
        alone, counted = estimate([run])
        assert of(together, name).equals(of(alone, name)), name
        assert tallies[str(run.folder)] == counted[str(run.folder)]
    across = together.filter(rows_of(["paradigm_correlation.Pearson"]))
    pairs = {frozenset(row) for row in across.select("paradigm", "other_paradigm").rows()}
    assert len(pairs) == 3  # what only runs together can say


def test_a_report_of_parts_is_of_the_whole(parts: dict[str, StoredRun]) -> None:
    runs = [parts["stereotype"], parts["decision"]]
    frame, tallies = estimate(runs)
    data = gather(runs, frame, tallies)
    assert data.study.options["paradigm"] == ["stereotype", "decision"]
    assert [facts.folder for facts in data.runs] == ["stereotype", "decision"]
    asked = {example.title.partition(":")[0] for example in data.prompts}
    assert len(asked) == 2


def test_the_same_part_twice_is_refused(parts: dict[str, StoredRun], tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"both asked sim/default about the same paradigm \(decision\)"):
        estimate([parts["decision"], parts["decision"]])
    both = run_of(tmp_path / "both", *ASKED, "--paradigm", "decision,perception")
    with pytest.raises(RunError, match=r"\(perception\): runs of one model are put together"):
        estimate([parts["perception"], both])


def test_parts_that_were_asked_otherwise_are_refused(parts: dict[str, StoredRun], tmp_path: Path) -> None:
    two = run_of(tmp_path / "two", *ASKED, "--paradigm", "perception", "--prompts", "two-options")
    with pytest.raises(RunError, match="prompts differs"):
        estimate([parts["decision"], two])


def test_models_are_compared_where_they_were_asked_the_same_parts(parts: dict[str, StoredRun], tmp_path: Path) -> None:
    other = {name: run_of(tmp_path / name, *ASKED, "--paradigm", name, model="sim/null") for name in PARTS[:2]}
    runs = [parts["decision"], other["perception"], parts["perception"], other["decision"]]
    found, _ = estimate(runs)
    assert set(found["model"]) >= {"sim/default", "sim/null"}
    assert found.filter(rows_of(["model_correlation.Pearson"]))["paradigm"].n_unique() == 2
    with pytest.raises(RunError, match="were not asked the same parts"):
        estimate(runs[:3])
