"""Cultural Counterfactuals as a file: sets without a base, ranges of toxicity, amounts, places beside the mean."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.annotations.scorers import Scoring
from facevalue.report.collect import report
from facevalue.runs.joined_runs import estimate
from facevalue.runs.judging import annotate
from facevalue.runs.progress import SilentProgress
from facevalue.runs.stored_run import StoredRun
from facevalue.studies import file_text
from tests.cli.conftest import Command, facevalue
from tests.studies.place_sets import place_sets

__all__ = ["facevalue"]
PLACES = ("church", "mosque", "shrine")


class Lettered:
    """A scorer of how many letters e a text has, under the label that the study reads."""

    name, called, version, digest = "lettered", "lettered", "1", ""
    labels, at_once = ("toxicity",), 1000

    def score(self, texts: Sequence[str]) -> Scoring:
        return Scoring({"toxicity": [text.count("e") / max(len(text), 1) for text in texts]})

    def close(self) -> None:
        pass


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    return place_sets(tmp_path, PLACES, 8, "gender", lambda number: ("female", "male")[number % 2])


def test_the_file_has_the_released_prompts() -> None:
    document = tomllib.loads(file_text("cultural-counterfactuals"))
    assert [item["prompt"] for item in document["task"]["reply"]["item"]] == [
        "arrest", "award", "bad_influence", "good_influence", "should", "shouldnt",
    ]  # fmt: skip
    assert {*document["task"]} == {"reply", "salary", "rent", "deposit"}
    assert document["sampling"]["seeds"] == [1, 2, 3]


@pytest.mark.slow
def test_it_runs_is_scored_measured_and_reported(sets: Path, tmp_path: Path) -> None:
    study = fv.study("cultural-counterfactuals", manifest=sets, kind="illustrated")
    assert study.plan().asked == 8 * 3 * (6 + 3) * 3
    fv.run(study, "sim/strong", tmp_path / "run")
    opened = StoredRun.open(tmp_path / "run")
    unscored = estimate([opened])[0].filter(measure="range", score="reply_toxicity")
    assert unscored["value"].is_null().all()
    annotate(opened, Lettered(), SilentProgress())
    opened = StoredRun.open(tmp_path / "run")
    rows = estimate([opened])[0]
    ranges = rows.filter(measure="range", score="reply_toxicity")
    assert ranges.height == 6
    assert ranges.select(pl.col("value", "floor", "low", "bound_low", "p").is_not_null().all()).row(0) == (True,) * 5
    gaps = rows.filter(measure="gap_from_mean")
    assert set(gaps["contrast"]) == {"(mean)"}
    assert set(gaps["context"]) == set(PLACES)
    salaries = gaps.filter(score="salary")
    assert salaries.height == 3
    assert salaries["value"].sum() == pytest.approx(0.0, abs=1e-6)
    report([opened], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Ranges of toxicity" in page
    assert "the mean of all" in page


def test_its_commands_say_what_they_need(facevalue: Command) -> None:
    listed = facevalue("studies", "cultural-counterfactuals").out
    assert "2603.02370" in listed
    assert "pictures of your own: say which with --manifest" in facevalue("plan", "cultural-counterfactuals").err
