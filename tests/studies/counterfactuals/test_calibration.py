"""Audits of counterfactual sets whose answers are drawn: what is planted is known, and what should be found."""

import numpy as np
import polars as pl
import pytest

from facevalue.protocol.calibration import summed_up
from facevalue.studies.counterfactuals import calibration
from facevalue.studies.counterfactuals.calibration import CONDITIONS, STATISTICS, Condition, audit, audits


@pytest.fixture(scope="module")
def default() -> pl.DataFrame:
    return next(audits("default", 80))


def test_every_kind_of_estimate_stands_beside_what_is_planted(default: pl.DataFrame) -> None:
    known = default.filter(pl.col("true").is_not_null())
    assert {"score_gap", "rating_gap", "word_share_gap", "max_score", "max_score_q90", "tail_share", "pmi"} <= set(
        known["measure"]
    )
    gaps = default.filter(pl.col("measure") == "score_gap")
    assert gaps["true"].sum() == pytest.approx(0, abs=0.2)
    assert gaps.filter("even")["true"].to_list() == [0.0] * 6
    assert gaps.filter(~pl.col("even"))["true"].abs().to_list() == pytest.approx([0.5] * 4, abs=0.05)


def test_what_is_planted_is_found_and_little_else(default: pl.DataFrame) -> None:
    found = summed_up([default], STATISTICS)
    assert found["found"] is not None
    assert found["found"] > 0.5
    assert found["means"] is not None
    assert found["means"] > 0.8
    strict = default.filter(pl.col("measure") == "pmi_strict", pl.col("found"))
    assert strict.height >= 4
    assert not strict["even"].any()


def test_planted_words_are_those_of_the_two_groups_above_their_sets(default: pl.DataFrame) -> None:
    above = set(default.filter(pl.col("measure") == "score_gap", pl.col("true") > 0.1)["group"])
    assert set(default.filter(pl.col("measure") == "pmi", pl.col("true").is_not_null())["group"]) == above
    assert len(above) == 2


def test_other_audits_have_other_groups_planted_and_the_same_one_is_the_same() -> None:
    drawn = Condition(planted=0.5)
    one, same, other = (audit(drawn, 5, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.select("measure", "group", "true").equals(other.select("measure", "group", "true"))


def test_where_nothing_is_planted_every_gap_is_even() -> None:
    nothing = next(audits("null, all of these", 20))
    assert nothing.filter(pl.col("measure").is_in(calibration._GAPS))["even"].all()
    assert not nothing.filter(pl.col("measure") == "max_score")["even"].any(), "pictures differ by themselves"
    assert next(audits("null", 20)).filter(pl.col("measure") == "max_score")["even"].all()
    assert {"rare scores", "missing replies", "pictures differ"} <= set(CONDITIONS)
