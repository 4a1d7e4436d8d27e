"""Single answers of two runs to the same trials: which flipped, how many, and all of them in words."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import DataError
from facevalue.runs.comparisons.answer_flips import AnswerFlips, AnswerSide, compare_answers
from facevalue.runs.stored_run import StoredRun

SETTINGS: dict[str, Any] = {"attributes": ["eyewear"], "scenario": ["wealthy"]}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StoredRun]:
    folder = tmp_path_factory.mktemp("runs")
    study = fv.study("stylisticbias", faces="6", seeds=["1", "2"], **SETTINGS)
    more = fv.study("stylisticbias", faces="8", seeds=["2"], **SETTINGS)
    asked = {
        "first": (study, "sim/null@1", False), "second": (study, "sim/strong@2", False),
        "more": (more, "sim/null@1", False),
        "exact": (study, "sim/null@1", True), "sure": (study, "sim/strong@2", True),
    }  # fmt: skip
    return {
        name: fv.run(of, model, folder / name, exact=exact, progress=False).stored
        for name, (of, model, exact) in asked.items()
    }


def flips(first: StoredRun, second: StoredRun, folder: Path) -> AnswerFlips:
    folder.mkdir(exist_ok=True)
    return compare_answers(AnswerSide(first), AnswerSide(second), folder).flips


def test_each_answer_is_compared_with_that_of_the_same_trial_and_seed(
    runs: dict[str, StoredRun], tmp_path: Path
) -> None:
    counted = flips(runs["first"], runs["second"], tmp_path)
    tables = [fv.open_run(runs[name].folder).answers() for name in ("first", "second")]
    joined = tables[0].join(tables[1], on=["trial", "repeat"], suffix="_2")
    valid = joined.filter(pl.col("na").is_null(), pl.col("na_2").is_null())
    assert counted.trials == valid.height
    assert counted.flipped == valid.filter(pl.col("preference") != pl.col("preference_2")).height > 0
    assert counted.lost == joined.filter(pl.col("na").is_null(), pl.col("na_2").is_not_null()).height
    assert counted.shares.identical.value[0] == pytest.approx(1 - counted.flipped / counted.trials)
    assert counted.units == 6
    assert (counted.telling["shift"] == 1.0).any()


def test_another_sample_of_faces_is_matched_by_what_was_shown_and_asked(
    runs: dict[str, StoredRun], tmp_path: Path
) -> None:
    counted = flips(runs["first"], runs["more"], tmp_path)
    replies = 6 * 3 * 4  # faces, looks, orders: under the one seed that both have
    assert counted.trials + counted.lost + counted.gained <= replies
    assert counted.trials > 0.8 * replies
    assert counted.flipped == 0 or counted.flipped < 0.5 * counted.trials


def test_exact_probabilities_say_what_each_run_repeats(runs: dict[str, StoredRun], tmp_path: Path) -> None:
    counted = flips(runs["exact"], runs["sure"], tmp_path)
    shares = counted.shares
    assert counted.exact
    within = (shares.within_first.value[0] + shares.within_second.value[0]) / 2
    assert shares.beyond.value[0] == pytest.approx(within - shares.between.value[0])
    assert shares.beyond.value[0] > 0
    again = flips(runs["exact"], runs["exact"], tmp_path / "again")
    assert (again.flipped, again.shares.beyond.value[0]) == (0, pytest.approx(0.0, abs=1e-9))


def test_answers_that_are_read_part_by_part_flip_alike(
    runs: dict[str, StoredRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = flips(runs["first"], runs["second"], tmp_path)
    monkeypatch.setattr("facevalue.runs.comparisons.answer_flips.PAIRS_AT_ONCE", 50)
    in_parts = flips(runs["first"], runs["second"], tmp_path / "parts")
    assert len(list((tmp_path / "parts").glob("0-*-*.arrow"))) > 1
    assert in_parts.flipped == at_once.flipped
    assert in_parts.telling.sort(pl.all()).equals(at_once.telling.sort(pl.all()))


def test_probabilities_are_not_compared_with_drawn_replies(runs: dict[str, StoredRun], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="single answers are not compared"):
        flips(runs["first"], runs["exact"], tmp_path)


def test_the_most_telling_flips_are_told_in_words(runs: dict[str, StoredRun]) -> None:
    (pair,) = fv.compare(runs["first"].folder, runs["second"].folder).pairs
    assert pair.flips is not None
    assert 0 < len(pair.telling_flips) <= pair.flips.flipped
    for flip in pair.telling_flips:
        assert flip.first != flip.second
        assert flip.asked
        assert flip.pictures(pair.runs[0]).images


def test_a_run_and_its_like_have_no_flips(runs: dict[str, StoredRun], tmp_path: Path) -> None:
    again = fv.run(fv.study("stylisticbias", faces="6", seeds=["1", "2"], **SETTINGS), "sim/null@1", tmp_path / "again",
                   progress=False)  # fmt: skip
    (pair,) = fv.compare(runs["first"].folder, again).pairs
    assert pair.flips is not None
    assert (pair.flips.flipped, pair.telling_flips) == (0, ())


def test_where_single_answers_cannot_be_compared_the_comparison_says_why(runs: dict[str, StoredRun]) -> None:
    (pair,) = fv.compare(runs["first"].folder, runs["exact"].folder).pairs
    assert "single answers are not compared" in pair.why_no_flips
    assert pair.flips is None
