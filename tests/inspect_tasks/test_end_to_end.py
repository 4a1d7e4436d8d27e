"""A study asked by Inspect on the reference model, imported: the same as a run of ours, to the last number."""

import re
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import facevalue as fv
from facevalue.cli.actions.running import import_records

pytest.importorskip("inspect_ai", minversion="0.3.285")

from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog, read_eval_log

from facevalue.inspect_tasks import registry
from tests.runs.own_studies import study_file

OWN = {
    "yes-no": ('kind = "yes-no"\nfavourable = "yes"', "gap"),
    "rating": ('kind = "rating"\nlow = 1\nhigh = 7', "gap"),
    "text": ('kind = "text"', "gap"),
}
"""Answers of own studies as their files declare them, and what is taken of them."""
CHOSEN = {"faces": "2M,2F", "attributes": "eyewear", "scenario": "wealthy"}


class Both(NamedTuple):
    """A log of Inspect's, and a run of ours."""

    log: EvalLog
    imported: fv.Run
    ours: fv.Run


def evaluated(folder: Path, name: str, model: str, **options: object) -> EvalLog:
    (log,) = inspect_eval(
        f"facevalue/{name}", model=model, task_args=options, log_dir=str(folder), display="none",
        log_realtime=False, score_display=False, log_images=False,
    )  # fmt: skip
    assert log.status == "success", log.error
    return log


def imported(log: EvalLog, folder: Path) -> fv.Run:
    import_records((Path(log.location),), folder, None, outside=False)
    return fv.open_run(folder)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder = tmp_path_factory.mktemp("inspect")
    log = evaluated(folder / "logs", "stylisticbias", "facevalue/reference", sample=100, **CHOSEN)
    study = fv.study("stylisticbias", faces="2M,2F", attributes="eyewear", scenario="wealthy")
    return Both(log, imported(log, folder / "theirs"), fv.run(study, "reference", folder / "ours", sample=100))


def test_answers_are_those_of_a_run(both: Both) -> None:
    columns = ["trial", "repeat", "text", "preference", "na", "prompt_tokens", "completion_tokens"]
    assert both.imported.answers().select(columns).equals(both.ours.answers().select(columns))
    assert both.imported.complete
    estimates = [run.estimates().drop("model") for run in (both.imported, both.ours)]
    assert_frame_equal(*(table.filter(~pl.col("measure").str.contains("drift|wavering|sight")) for table in estimates))


def test_metrics_are_estimates_of_the_run(both: Both) -> None:
    assert both.log.results is not None
    (score,) = both.log.results.scores
    metrics = {name: metric.value for name, metric in score.metrics.items()}
    ours = both.ours.answers()
    assert (metrics.pop("replies"), metrics.pop("valid")) == (ours.height, ours["na"].null_count())
    leading = both.ours.estimates().filter(measure="shift")
    named = {
        f"shift: {row['attribute']}, {row['variation']}": row
        for row in leading.iter_rows(named=True)
        if row["variation"]
    }
    names = [name for name in metrics if name in named]
    assert names
    for name in names:
        assert metrics[name] == pytest.approx(named[name]["value"], rel=1e-9)
        if (low := metrics.get(f"{name} (low)")) is not None:
            assert low <= metrics[name] <= metrics[f"{name} (high)"]


def test_samples_are_trials(both: Both) -> None:
    assert both.log.samples is not None
    sample = both.log.samples[0]
    answers = both.ours.answers()
    (row,) = answers.filter(trial=sample.id, repeat=sample.epoch - 1).iter_rows(named=True)
    assert sample.metadata["scenario"] == row["scenario"]
    assert sample.scores is not None
    assert sample.scores["reply"].value == (row["preference"] if row["na"] is None else "N")
    assert both.log.eval.config.epochs == 3
    assert both.log.eval.metadata is not None
    assert both.log.eval.metadata["facevalue"]["sample"] == 100


@pytest.mark.slow
def test_exact_and_a_simulated_respondent(tmp_path: Path) -> None:
    log = evaluated(tmp_path / "logs", "stylisticbias", "facevalue/reference", exact=True, sample=40, **CHOSEN)
    theirs = imported(log, tmp_path / "theirs")
    study = fv.study("stylisticbias", faces="2M,2F", attributes="eyewear", scenario="wealthy")
    ours = fv.run(study, "reference", tmp_path / "ours", sample=40, exact=True)
    columns = ["trial", "preference", "probs"]
    # Asked one by one or together, numbers of 32 bits differ in their last places.
    assert_frame_equal(theirs.answers().select(columns), ours.answers().select(columns), abs_tol=1e-4)

    log = evaluated(tmp_path / "logs", "stylisticbias", "facevalue/sim/default", sample=40, **CHOSEN)
    theirs = imported(log, tmp_path / "sim-theirs")
    ours = fv.run(study, "sim/default", tmp_path / "sim-ours", sample=40)
    assert theirs.answers()["text"].equals(ours.answers()["text"])


def test_logs_that_inspect_wrote_are_read_as_inspect_reads_them(both: Both) -> None:
    log = read_eval_log(both.log.location)
    assert log.samples is not None
    texts = {(sample.id, sample.epoch - 1): sample.output.completion for sample in log.samples}
    rows = both.imported.answers().select("trial", "repeat", "text").rows()
    assert {(trial, repeat): text for trial, repeat, text in rows} == texts


@pytest.mark.slow
def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "inspect-tasks.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INSPECT_DISPLAY", "none")
    exec(code, {})
    import_records((Path("logs"),), Path("runs/in-inspect"), None, outside=False)
    assert fv.open_run("runs/in-inspect").complete


@pytest.mark.parametrize("kind", ["yes-no", "rating", "text"])
def test_a_study_of_ones_own_is_that_of_a_run(tmp_path: Path, kind: str) -> None:
    file = study_file(tmp_path, "own", 6, traits=2, seeds=2)
    answer, take = OWN[kind]
    text = Path(file).read_text().replace('kind = "yes-no"\nfavourable = "yes"', answer).replace('"gap"', f'"{take}"')
    if kind != "yes-no":
        text = text.replace(" Answer with only {options}.", "")
    Path(file).write_text(text)
    log = evaluated(tmp_path / "logs", "study", "facevalue/sim/default", file=file)
    theirs = imported(log, tmp_path / "theirs")
    ours = fv.run(file, "sim/default", tmp_path / "ours", progress=False)
    columns = ["trial", "repeat", "text", "status", "na"]
    assert theirs.answers().select(columns).equals(ours.answers().select(columns))
    estimates = [run.estimates().drop("model") for run in (theirs, ours)]
    assert_frame_equal(*(table.filter(~pl.col("measure").str.contains("drift|wavering|sight")) for table in estimates))
    assert log.samples is not None
    values = [sample.scores["reply"].value for sample in log.samples if sample.scores]
    assert len(values) == ours.answers().height
    assert all(value == "N" or 0 <= float(str(value)) <= 1 for value in values)
    assert sum(value != "N" for value in values) == ours.answers()["na"].null_count()


def test_every_study_is_a_task() -> None:
    from facevalue.studies import STUDIES

    assert set(registry.TASKS) == set(STUDIES)
